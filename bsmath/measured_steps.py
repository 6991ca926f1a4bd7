"""One series of measured steps to a target: its points, what was left out of them, and the hyperbola through them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import hyperbola_search, hyperbola_verdict, sweeps, tuned
from bsmath.hyperbola_fit import HyperbolaFit, fit_hyperbola
from bsmath.sweeps import Sweep

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
        points = (
            sweeps.aggregate(arrived, series, "steps") if len(arrived) else pd.DataFrame(columns=["tokens_per_step"])
        )
    else:
        points = sweeps.at_best_rates(best)
    if len(points) < 2:
        alone = "One batch size cannot be fitted: measure another." if len(points) else "Nothing was measured."
        return MeasuredSteps(points=points, fit=None, identified=False, verdict=alone, tuning=best)
    bounds = _bounds(rows, best)
    fit = fit_hyperbola(points["tokens_per_step"], points["median"], _resolution(arrived, points), bounds)
    identified, verdict = hyperbola_verdict.verdict(fit, unit=sweep.batch_unit)
    if best is None and (held := _held(arrived)) is not None:
        identified, verdict = False, _refused(held, fit, verdict)
    if len(bounds[0]):
        said.append(_stopped(bounds))
    said += _rates(best)
    return MeasuredSteps(points=points, fit=fit, identified=identified, verdict=" ".join([verdict, *said]), tuning=best)


def _resolution(arrived: pd.DataFrame, points: pd.DataFrame) -> np.ndarray | None:
    """Steps between evaluations at each point, as the file says or as its step counts show; None where neither does."""
    if "resolution" in arrived and arrived["resolution"].notna().any():
        each = arrived.groupby("tokens_per_step")["resolution"].median()
        return each.reindex(points["tokens_per_step"]).to_numpy(float)
    spacing = hyperbola_search.resolution(arrived["steps"])
    return np.full(len(points), spacing) if spacing > 1 else None


def _bounds(rows: pd.DataFrame, best: pd.DataFrame | None) -> tuple[np.ndarray, np.ndarray]:
    """Batches where no run arrived, and the steps that it takes there at least."""
    if best is not None:
        found = tuned.least_steps(sweeps.runs(rows), best)
    elif "stopped_at" in rows:
        stopped = rows[
            rows["stopped_at"].notna() & ~rows["tokens_per_step"].isin(rows.dropna(subset="steps")["tokens_per_step"])
        ]
        found = stopped.groupby("tokens_per_step")["stopped_at"].max()
    else:
        return np.array([]), np.array([])
    return found.index.to_numpy(float), found.to_numpy(float)


def _stopped(bounds: tuple[np.ndarray, np.ndarray]) -> str:
    listed = ", ".join(f"{least:,.0f} at {size:,.0f}" for size, least in list(zip(*bounds, strict=True))[:MOST_NAMED])
    return f"No run arrived at {len(bounds[0])} more of its batches; the fit knows that more steps are needed there ({listed})."


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


def _held(arrived: pd.DataFrame) -> float | None:
    """The learning rate that every batch was run at; None where it changes or is not known."""
    rates = arrived["learning_rate"].dropna().unique() if "learning_rate" in arrived else ()
    return float(rates[0]) if len(rates) == 1 else None


def _refused(held: float, fit: HyperbolaFit, verdict: str) -> str:
    """Why steps at one rate for all batches say nothing of a critical batch."""
    if fit.tokens_fall:
        return f"{verdict} In this file it is {held:g} at every batch."
    return (
        f"{hyperbola_verdict.REFUSED} the learning rate is {held:g} at every batch, so smaller and larger batches are handicapped and no critical batch can "
        "be read from this. Tune the rate at each batch. The curve is drawn for comparison only."
    )


def _rates(best: pd.DataFrame | None) -> list[str]:
    """Sentences on the learning rates behind the steps: tuned as the hyperbola needs, or a bound."""
    if best is None:
        return []
    best = best.dropna(subset="steps")
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
