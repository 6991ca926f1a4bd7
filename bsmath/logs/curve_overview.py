"""What each logged run was and did, one row a run: what was taken from its log, and how it ended."""

import numpy as np
import pandas as pd

from bsmath import loss_curves
from bsmath.logs.curve_headers import LOSSES

FINISHED = ("", "finished", "completed", "complete", "success", "succeeded", "nan")
"""What a log or a tracker calls a run that came to its end."""


def overview(curves, reading) -> pd.DataFrame:
    """One row a run: label, batch (as logged or named), seq_len, num_devices, learning_rate, seed, model; tokens_per_step;
    tokens_per_second (median of the steady steps), steady and left_out (logged steps of each kind); last_step, last_loss (smoothed),
    grad_norm, dropped; and ended: "diverged", or what the log says of its end.

    A run whose batch changes has a rate for each batch in `LossCurves.throughput`, and none here.
    """
    runs = curves.runs
    rates = curves.throughput(reading).groupby("row")
    single = rates.size() == 1
    told = rates[["tokens_per_second", "count", "left_out"]].first()[single]
    told.index -= 1
    drawn = {one.run: one for one in curves.curves(reading)}
    steps = curves.points.groupby("run")["step"].max()
    table = runs[["label", "batch", "seq_len", "num_devices", "learning_rate", "seed", "model"]].assign(
        tokens_per_step=curves.batches(reading)[0],
        tokens_per_second=told["tokens_per_second"].reindex(runs.index),
        steady=told["count"].reindex(runs.index),
        left_out=told["left_out"].reindex(runs.index),
        last_step=steps.reindex(runs.index),
        last_loss=[_last(drawn.get(run)) for run in runs.index],
        grad_norm=runs["grad_norm"],
        dropped=runs["dropped"],
    )
    lost = (
        curves.points.groupby("run")[list(LOSSES)]
        .last()
        .isin([np.inf, -np.inf])
        .any(axis=1)
        .reindex(runs.index, fill_value=False)
    )
    return table.assign(ended=[_ended(drawn.get(run), lost[run], runs.at[run, "state"]) for run in runs.index])


def _last(curve) -> float:
    if curve is None:
        return np.nan
    known = curve.loss[np.isfinite(curve.loss)]
    return float(known[-1]) if len(known) else np.nan


def _ended(curve, lost: bool, state: str) -> str:
    """How a run ended, empty where it came to its end as far as the log says."""
    if lost or curve is not None and loss_curves.diverged(curve.raw):
        return "diverged"
    return "" if str(state).strip().lower() in FINISHED else str(state)
