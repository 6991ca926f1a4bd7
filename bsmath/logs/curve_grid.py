"""The grid of learning rates and batches in logs of runs: the loss of each run at one length in tokens."""

import numpy as np
import pandas as pd

from bsmath import loss_curves
from bsmath.rate_grid import RateGrid, is_grid

UNFINISHED = 0.95
"""Share of the longest run's length below which a run did not finish."""
LATE = 0.02
"""Longer runs are read at the length of the shortest that finished, where the lengths differ by more than this."""


def grid(record, reading) -> RateGrid | None:
    """The grid of a `LossCurves`: the smoothed loss of each at one length in tokens; None where there is none.

    All runs are read at the length of the shortest that finished, since a loss after fewer tokens is no smaller for its rate.
    """
    curves, unit = record.curves(reading), record.batches(reading)[1]
    rows = [
        {"run": one.run, "tokens_per_step": one.tokens_per_step, "learning_rate": record.runs.loc[one.run, "learning_rate"]}
        | {"group": _named(record.runs.loc[one.run, "model"]), "length": one.tokens_per_step * one.last}
        for one in curves
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["run", "tokens_per_step", "learning_rate", "group", "length"])
    table = table[(table["tokens_per_step"] > 0) & (table["learning_rate"] > 0)]
    if not is_grid(table):
        return None
    by_run, said = {one.run: one for one in curves}, []
    table["value"] = [np.nan if loss_curves.diverged(by_run[run].raw) else 0.0 for run in table["run"]]
    short = (table["length"] < UNFINISHED * table["length"].max()) & table["value"].notna()
    if short.any():
        said.append(f"{short.sum()} of {len(table)} runs stopped early and are left out.")
        table = table[~short]
    length = float(table.loc[table["value"].notna(), "length"].min())
    ran = table["value"].notna()
    table.loc[ran, "value"] = [_at(by_run[run], length) for run in table.loc[ran, "run"]]
    if table["length"].max() > length * (1 + LATE):
        said.append(
            "Longer runs are read at the length of the shortest; where the rate decays to the end that favors the shortest."
        )
    loss = record.resolved(reading).loss
    return RateGrid(
        name=record.name,
        table=table[["tokens_per_step", "learning_rate", "value", "group"]].reset_index(drop=True),
        value=f"{loss} loss",
        batch_unit=unit,
        problems=tuple(said),
    )


def _named(model) -> str:
    """A model's name; empty where it has none."""
    return "" if pd.isna(model) else str(model)


def _at(curve, length: float) -> float:
    """The smoothed loss at a length in tokens, linear in the logarithm of the step."""
    steps, good = curve.steps, np.isfinite(curve.loss) & (curve.steps > 0)
    return float(np.interp(np.log(length / curve.tokens_per_step), np.log(steps[good]), curve.loss[good]))
