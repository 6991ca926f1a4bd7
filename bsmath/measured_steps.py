"""One series of measured steps to a target: its points, what was left out of them, and the hyperbola through them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import hyperbola_search, hyperbola_verdict, sweeps, tuned
from bsmath.hyperbola_fit import HyperbolaFit, fit_hyperbola
from bsmath.sweeps import Column, Sweep
from bsmath.sweeps.mlperf_units import ENTRY

COARSE = 0.25
"""Share of the steps from which a grid of evaluations is called coarse."""
MOST_NAMED = 5
"""Runs that a sentence names."""


@dataclass(frozen=True, kw_only=True)
class MeasuredSteps:
    """The points of a series and what they say."""

    points: pd.DataFrame
    """One row a batch size: tokens_per_step, median, low, high (over repeats), count."""
    fit: HyperbolaFit | None
    """None where there are fewer than two points."""
    identified: bool
    """Whether the points identify B_crit and S_min."""
    verdict: str
    """What they can tell, or why there is no fit."""
    tuning: pd.DataFrame | None
    """The best learning rate of each batch (see `tuned.best_rates`), where the points are taken there."""


def steps_of(sweep: Sweep, series: str) -> MeasuredSteps:
    """The measured steps of one series, fitted where they can be."""
    rows = sweep.table[sweep.table["series"] == series]
    best = sweeps.best_rates(sweep, series)
    arrived, said = rows.dropna(subset="steps"), []
    if best is None:
        wrong = hyperbola_search.absurd(arrived["tokens_per_step"], arrived["steps"])
        said += _named(arrived[wrong])
        arrived = arrived[~wrong]
        rows = _on_steps(rows)
        points = _with_stopped(rows, arrived, series)
    else:
        points = sweeps.at_best_rates(best)
    if len(points) < 2:
        alone = "One batch size cannot be fitted: measure another." if len(points) else "Nothing was measured."
        return MeasuredSteps(points=points, fit=None, identified=False, verdict=alone, tuning=best)
    spacing = _resolution(arrived, points)
    bounds, wild = _bounds(rows, best, points)
    fit = fit_hyperbola(points["tokens_per_step"], points["median"], spacing, bounds)
    identified, verdict = hyperbola_verdict.verdict(fit, unit=sweep.batch_unit)
    if (held := _held(sweep, arrived, best)) is not None and not fit.line.exact:
        identified, verdict = False, _refused(held, best is not None, fit, verdict)
    if len(bounds[0]):
        said.append(_stopped(bounds))
    if len(wild[0]):
        said.append(
            f"Left out, stopped far above the curve of the others (diverged, or a rate that was not tuned there): {_listed(wild)}."
        )
    # Losses of curves are interpolated between evaluations, counts are rounded up; only a table has columns.
    if spacing is not None and sweep.columns and (coarse := np.nanmax(spacing / points["median"])) > COARSE:
        said.append(
            f"The steps stand on a grid of evaluations as wide as {100 * coarse:.0f} % of them: where each was rounded up to the next one, B_crit "
            "comes out too low. Evaluate more often."
        )
    said += _rates(best)
    return MeasuredSteps(points=points, fit=fit, identified=identified, verdict=" ".join([verdict, *said]), tuning=best)


def _on_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those that have a rate and say nothing of steps: they are no runs that did not arrive."""
    silent = rows["steps"].isna() & rows["tokens_per_second"].notna()
    return rows[~silent | rows["stopped_at"].notna()] if "stopped_at" in rows else rows[~silent]


def _mostly_stopped(rows: pd.DataFrame) -> pd.Series:
    """By batch, whether half of its runs or more were stopped before they arrived."""
    return (rows["steps"].isna() & rows["stopped_at"].notna()).groupby(rows["tokens_per_step"]).mean() >= 0.5


def _with_stopped(rows: pd.DataFrame, arrived: pd.DataFrame, series: str) -> pd.DataFrame:
    """The points of a series; a run that was stopped counts as slower than any that arrived, so a lucky seed is no median."""
    if arrived.empty:
        return pd.DataFrame(columns=["tokens_per_step"])
    points = sweeps.aggregate(arrived, series, "steps")
    if "stopped_at" not in rows:
        return points
    slow = rows[rows["stopped_at"].notna()].assign(steps=np.inf)
    middle = pd.concat([arrived, slow]).groupby("tokens_per_step")["steps"].median()
    points["median"] = middle.reindex(points["tokens_per_step"]).to_numpy()
    lost = _mostly_stopped(rows).reindex(points["tokens_per_step"]).to_numpy(bool) | np.isinf(points["median"])
    return points[~lost].reset_index(drop=True)


def _resolution(arrived: pd.DataFrame, points: pd.DataFrame) -> np.ndarray | None:
    """Steps between evaluations at each point, as the file says or as its step counts show; None where neither does."""
    if "resolution" in arrived and arrived["resolution"].notna().any():
        each = arrived.groupby("tokens_per_step")["resolution"].median()
        return each.reindex(points["tokens_per_step"]).to_numpy(float)
    spacing = hyperbola_search.resolution(arrived["steps"])
    return np.full(len(points), spacing) if spacing > 1 else None


def _bounds(rows: pd.DataFrame, best: pd.DataFrame | None, points: pd.DataFrame) -> tuple[tuple, tuple]:
    """Batches where no run arrived, with the steps that it takes there at least; and those absurdly far above the others' fit."""
    if best is not None:
        found = tuned.least_steps(sweeps.runs(rows), best)
    elif "stopped_at" in rows:
        least = rows["steps"].fillna(rows["stopped_at"]).groupby(rows["tokens_per_step"]).median()
        found = least[_mostly_stopped(rows)].dropna()
    else:
        found = pd.Series(dtype=float)
    batch, least = found.index.to_numpy(float), found.to_numpy(float)
    wild = np.zeros(len(found), bool)
    if len(found):
        others = fit_hyperbola(points["tokens_per_step"], points["median"])
        wild = least > hyperbola_search.ABSURD * others.predict(batch)
    return (batch[~wild], least[~wild]), (batch[wild], least[wild])


def _stopped(bounds: tuple[np.ndarray, np.ndarray]) -> str:
    at = f"{len(bounds[0])} more batches" if len(bounds[0]) > 1 else "one more batch"
    return f"No run arrived at {at}; the fit knows that more steps are needed there ({_listed(bounds)})."


def _listed(bounds: tuple[np.ndarray, np.ndarray]) -> str:
    return ", ".join(f"{least:,.0f} at {size:,.0f}" for size, least in list(zip(*bounds, strict=True))[:MOST_NAMED])


def _named(wrong: pd.DataFrame) -> list[str]:
    """A sentence on runs that were left out as mistakes."""
    if wrong.empty:
        return []
    listed = ", ".join(
        f"{row.steps:,.0f} steps at {row.tokens_per_step:,.0f}" for row in wrong.head(MOST_NAMED).itertuples()
    )
    several = len(wrong) > 1
    return [
        f"{len(wrong)} run{'s' if several else ''} left out as a likely mistake, {hyperbola_search.ABSURD} times or more off all others ({listed})."
    ]


def _held(sweep: Sweep, arrived: pd.DataFrame, best: pd.DataFrame | None) -> float | None:
    """The learning rate of all batches, or of most, where it was not tuned at each; None where it was, or where that is not known.

    A base rate that the trainer multiplies by the batch is not that of the run. Where several rates were tried, an outermost one as
    the best of every batch says that the range was too small.
    """
    if best is not None:
        found = best.dropna(subset="steps")
        outermost = len(found) > 2 and found["at_edge"].isin(["lowest", "highest"]).all()
        return float(found["learning_rate"].mode()[0]) if outermost else None
    if "learning_rate" not in arrived or any(map(_is_base, sweep.columns)):
        return None
    rates = arrived["learning_rate"].dropna()
    mostly_known = 2 * len(rates) > len(arrived)
    return float(rates.iloc[0]) if rates.nunique() == 1 and mostly_known else None


def _is_base(column: Column) -> bool:
    """Whether a column says that the rates are base rates; those of MLPerf's reference points are."""
    return column.header == ENTRY or column.meaning == "learning_rate" and "base" in column.header.lower()


def _refused(held: float, tried: bool, fit: HyperbolaFit, verdict: str) -> str:
    """Why steps at one rate for all batches say nothing of a critical batch."""
    if fit.tokens_fall:
        return f"{verdict} In this file it is {held:g} at every batch."
    why = (
        f"at every batch the best rate is an outermost one of those tried (mostly {held:g}), so none was tuned"
        if tried
        else f"the learning rate is {held:g} at every batch, so smaller and larger batches are handicapped"
    )
    return (
        f"{hyperbola_verdict.REFUSED} {why}, and no critical batch can be read from this. Tune the rate at each batch. The curve is drawn "
        "for comparison only."
    )


def _rates(best: pd.DataFrame | None) -> list[str]:
    """Sentences on the learning rates behind the steps: tuned as the hyperbola needs, or a bound."""
    if best is None:
        return []
    best = best.dropna(subset="steps")
    if (best["at_edge"] == "only").all():
        return ["Each batch was run at one rate: nothing says whether that is the best there, as the hyperbola needs."]
    edges = best["at_edge"].value_counts()
    words = {"highest": "the largest tried", "lowest": "the smallest tried", "only": "the only one tried"}
    where = [f"at {edges[edge]} the best rate is {said}" for edge, said in words.items() if edge in edges]
    if stopped := int((best["undecided"] > 0).sum()):
        where.append(f"at {stopped} another rate was stopped too early to be ruled out")
    sentences = ["The rate is the best of those tried at each batch, as the hyperbola needs."]
    if where:
        sentences.append(f"Of {len(best)} batches, {' and '.join(where)}: those steps are upper bounds.")
    if best["confidence"].isna().all():
        sentences.append("With one run at each rate nothing says how sure the best rates are.")
    return sentences
