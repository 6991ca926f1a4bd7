"""Loss curves crossed by a target -> a sweep of steps, with what was censored and how coarse the evaluations are."""

import numpy as np
import pandas as pd

from bsmath import loss_curves
from bsmath.sweeps import ALL_ROWS, Problem, Sweep, SweepError, plausible

COARSE = 0.1
"""Share of the steps from which the spacing of the evaluations is said to be coarse."""
LISTED = 8
"""Runs or batches that are named in one sentence."""


def steps(rows: pd.DataFrame, run: pd.Series, tokens_per_step: float) -> pd.Series:
    """Optimizer steps done at each row: tokens over the batch where both are known, as the numbers of steps may begin at 0."""
    counted = rows["tokens"] / tokens_per_step
    if rows["step"].isna().all():
        return counted.fillna(rows["samples"] / run["batch"])
    offset = counted - rows["step"]
    return counted if offset.between(-0.01, 1.01).all() else rows["step"]


def sweep(curves, target: float | None, reading) -> Sweep:
    """Rows of steps, one a run with a batch, and rows of rates, one a run and batch; see `LossCurves.sweep`."""
    found = curves.targets(reading)
    rates = curves.throughput(reading)
    if found is None and rates.empty:
        raise SweepError(f"{curves.name} must have a run with a batch, and losses or a rate that are numbers, got none")
    table, problems = (pd.DataFrame(), []) if found is None else _steps(curves, target or found.default, reading)
    names = curves.name if found is None else f"{curves.name}, steps to {target or found.default:g}"
    unit = curves.batches(reading)[1]
    lost = curves.runs.index.difference([*(rates["row"] - 1), *(table["row"] - 1 if len(table) else ())])
    problems += _left_out(curves, reading, lost)
    said = [_problem(sentence, "see the table of runs") for sentence in curves.problems]
    if unit == "tokens" and len(rates):
        told = (rates[name].to_numpy(float) for name in ("tokens_per_step", "tokens_per_second", "num_devices"))
        said += [_problem(*doubt) for doubt in plausible.doubts(*told)]
    return Sweep(
        name=names,
        table=_joined(table, rates.drop(columns=["left_out"])),
        batch_unit=unit,
        columns=(),
        questions=tuple(curves.questions(reading)),
        problems=tuple(said + problems),
        comments=(),
    )


def _steps(curves, target: float, reading) -> tuple[pd.DataFrame, list[Problem]]:
    """One row a run with a batch and a loss; and what was left out or is doubtful."""
    runs, unit = curves.runs.to_dict("index"), curves.batches(reading)[1]
    known = [one for one in curves.curves(reading) if one.tokens_per_step > 0]
    begun = [one for one in known if loss_curves.begins_below(one.loss, target)]
    out = {one.run for one in begun} if len(begun) < len(known) else set()
    table = pd.DataFrame([_row(runs[one.run], one, target) for one in known if one.run not in out])
    problems = []
    rates = table["learning_rate"]
    tuned = rates.nunique() > 1
    if out:
        what = f"{_runs(len(begun), 'begins', 'begin')} below {target:g} already ({_few(one.label for one in begun)})"
        problems.append(_problem(what, "left out: the steps to it are not known"))
    problems += _doubts(table, target, unit, tuned)
    if tuned and rates.isna().any():
        names = _few(curves.runs.loc[table.loc[rates.isna(), "row"] - 1, "label"])
        problems.append(_problem(f"{_runs(rates.isna().sum(), 'has', 'have')} no learning rate ({names})", "left out"))
        table = table[rates.notna()]
    if not tuned:
        stopped = table["steps_run"].where(np.isfinite(table["steps_run"]))
        table = table.drop(columns=["censored", "steps_run"]).assign(stopped_at=stopped)
    optional = [name for name in ("learning_rate", "seed") if table[name].isna().any()]
    return table.drop(columns=optional), problems


def _joined(steps: pd.DataFrame, rates: pd.DataFrame) -> pd.DataFrame:
    """Both kinds of rows under all columns; each row has a rate or steps."""
    parts = [part for part in (steps, rates) if len(part)]
    table = pd.concat(parts, ignore_index=True)
    for name in ("steps", "tokens_per_second", "step_time"):
        table[name] = table[name].astype(float) if name in table else np.nan
    if "censored" in table:
        table["censored"] = table["censored"].eq(True)
    empty = [name for name in ("num_devices", "num_params", "seq_len") if name in table and table[name].isna().all()]
    return table.drop(columns=empty)


def missing(curves) -> list[str]:
    """Sentences on what a critical batch needs and these runs do not have."""
    sizes, _ = curves.batches()
    different = sizes.dropna().nunique()
    said = []
    ramps = sizes.isna() & curves.runs.index.isin(curves.rates["run"][curves.rates["run"].duplicated()])
    lost = sizes.isna() & ~ramps
    if ramps.any():
        names = _few(curves.runs.loc[ramps, "label"])
        said.append(
            f"The batch of {names} changes on the way: its rates count at each batch, its steps to a loss at none."
        )
    if lost.any():
        what = "The batch is" if len(sizes) == 1 else f"The batch of {_few(curves.runs.loc[lost, 'label'])} is"
        said.append(f"{what} in no column and no name: type it into the table of runs.")
    if different < loss_curves.LEAST_BATCHES:
        have = {0: "is no run with a batch", 1: "is one batch", 2: "are two batches"}[different]
        said.append(
            f"There {have}; a critical batch needs runs at {loss_curves.LEAST_BATCHES} or more: drop their files together."
        )
    return said


def _row(run: dict, curve, target: float) -> dict:
    found = loss_curves.crossing(curve.steps, curve.loss, target)
    never = not found.steps > 0
    given = np.inf if loss_curves.diverged(curve.raw) else curve.last
    return {
        "row": curve.run + 1,
        "series": run["model"] or ALL_ROWS,
        "tokens_per_step": curve.tokens_per_step,
        "steps": found.steps,
        "learning_rate": run["learning_rate"] if run["learning_rate"] > 0 else np.nan,
        "seed": run["seed"],
        "censored": never,
        "steps_run": given if never else np.nan,
        "resolution": found.resolution,
    }


def _doubts(table: pd.DataFrame, target: float, unit: str, tuned: bool) -> list[Problem]:
    """What was censored, which counts only beside runs at other rates, and where the evaluations are too far apart."""
    said = []
    if table["censored"].any():
        lost = table[table["censored"]]
        ended = int(np.isinf(lost["steps_run"]).sum())
        what = (
            f"{len(lost):,} of {_runs(len(table), 'never', 'never')} reach{'es' if len(lost) == 1 else ''} {target:g}"
        )
        each = "it" if len(lost) == 1 else "each"
        bounds = f"kept: the fit must lie above where {each} ended" if ended < len(lost) else "left out of the fit"
        action = "kept: each counts as more steps than any run that arrived" if tuned else bounds
        said.append(_problem(what + (f", {ended:,} diverged" if ended else ""), action))
    arrived = set(table.loc[~table["censored"], "tokens_per_step"])
    none = sorted(set(table["tokens_per_step"]) - arrived)
    if none:
        sizes = _few(f"{size:,.0f}" for size in none)
        said.append(_problem(f"no run at {sizes} {unit} per step reaches {target:g}", "no point of the fit"))
    share = (table["resolution"] / table["steps"]).dropna()
    if len(share) and share.median() > COARSE:
        median = share.median()
        apart = f"{100 * median:.0f} % of the steps" if median < 1 else f"{median:.3g} times the steps"
        what = f"the evaluations around {target:g} lie {apart} apart, in the median of the runs"
        said.append(_problem(what, "interpolated; each count of steps is uncertain by a third of that"))
    return said


def _left_out(curves, reading, without: pd.Index) -> list[Problem]:
    """Runs without a batch, and runs without a loss of the kind that is read."""
    if not len(without):
        return []
    sizes = curves.batches(reading)[0]
    said = []
    for lost, what in (
        (without[sizes[without].isna()], "batch"),
        (without[sizes[without].notna()], f"{reading.loss} loss"),
    ):
        if len(lost):
            names = _few(curves.runs.loc[lost, "label"])
            said.append(_problem(f"{_runs(len(lost), 'has', 'have')} no {what} ({names})", "left out"))
    return said


def _problem(what: str, action: str) -> Problem:
    return Problem(row=None, column=None, what=what, action=action)


def _runs(count: int, one: str, several: str) -> str:
    """So many runs, and the verb that goes with them."""
    return f"1 run {one}" if count == 1 else f"{count:,} runs {several}"


def _few(names) -> str:
    names = list(map(str, names))
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} others" if len(names) > LISTED else "")
