"""The worked example that proves the model: times to the target predicted without the batches that they are for.

    predicted seconds = S(B) t(B)         S from a convergence sweep, t from a throughput sweep, both without B

Both sweeps are of one model on one machine. The measured time is the wall-clock of the training steps of whole runs, at the best
rate of their batch, so neither fit has seen it. Two ways to hold batches out: each alone, and every other one, so that four
batches predict the four between and beyond them. Low and high are the 90 % band of the fitted curves (`plan_draws`): it leaves
out the scatter of a single measurement.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bsmath import measured_steps, plan_bands, plan_draws, shipped, step_fit, sweeps
from bsmath.critical import steps_to_target
from bsmath.hyperbola_fit import HyperbolaFit
from bsmath.step_fit import StepTimeFit
from bsmath.sweeps import Sweep
from bsmath.throughput import step_time


@dataclass(frozen=True, kw_only=True, eq=False)
class Check:
    """Predicted times to the target beside measured ones."""

    table: pd.DataFrame
    """One row a batch, ascending: tokens_per_step [tokens], predicted, low, high, measured [s], and error, predicted over measured
    less 1. Low and high are nan where a fit is not bounded by its data."""

    @property
    def median_error(self) -> float:
        """Median of the absolute errors, as a share."""
        return float(self.table["error"].abs().median())

    @property
    def within(self) -> float:
        """Share of the measured times inside the band, of those that have one."""
        rows = self.table.dropna(subset=["low", "high"])
        return float(rows["measured"].between(rows["low"], rows["high"]).mean())


@dataclass(frozen=True, kw_only=True)
class WorkedExample:
    """Both checks of the shipped sweeps."""

    one_out: Check
    """Each batch predicted by all others."""
    every_other: Check
    """The first, third, ... batch predicted by the second, fourth, ..., and these by those."""


def worked_example() -> WorkedExample:
    """The check on the two sweeps that were measured together."""
    rate_path, steps_path = (shipped.path(f"together_{kind}") for kind in ("throughput", "convergence"))
    rate = sweeps.read(rate_path.read_bytes(), rate_path.name)
    data = steps_path.read_bytes()
    steps = sweeps.read(data, steps_path.name)
    measured = measured_seconds(steps, data)
    sizes = measured.index.to_numpy()
    return WorkedExample(
        one_out=check(rate, steps, measured, [(size,) for size in sizes]),
        every_other=check(rate, steps, measured, [tuple(sizes[::2]), tuple(sizes[1::2])]),
    )


def measured_seconds(steps: Sweep, data: bytes) -> pd.Series:
    """Median wall-clock of the runs at the best rate of each batch that reached the target, by tokens_per_step. [s]

    `data` is the harness's file from which the sweep was read: a sweep holds no wall-clock.
    """
    runs = pd.read_csv(io.BytesIO(data), comment="#")
    if "train_seconds" not in runs:
        raise ValueError(f"{steps.name} must have the column train_seconds, got {', '.join(runs.columns)}")
    best = sweeps.best_rates(steps, steps.series[0]).dropna(subset="steps")
    keys = ["tokens_per_step", "learning_rate"]
    at_best = runs[runs["outcome"] == "reached"].merge(best[keys], on=keys)
    return at_best.groupby("tokens_per_step")["train_seconds"].median()


def check(rate: Sweep, steps: Sweep, measured: pd.Series, held_out: Iterable[tuple[float, ...]]) -> Check:
    """Predict each group of batches from both sweeps without it.

    Parameters
    ----------
    rate, steps : Sweep
        A throughput and a convergence sweep of one series.
    measured : Series
        Time to the target by tokens_per_step. [s]
    held_out : iterable of tuple
        Groups of batches, each left out of both sweeps and predicted. [tokens]
    """
    rows = [_predicted(*_fits(rate, steps, group), np.array(group, float)) for group in held_out]
    table = pd.concat(rows).sort_values("tokens_per_step", ignore_index=True)
    table["measured"] = measured.reindex(table["tokens_per_step"]).to_numpy()
    return Check(table=table.assign(error=table["predicted"] / table["measured"] - 1))


def _fits(rate: Sweep, steps: Sweep, without: tuple[float, ...]) -> tuple[HyperbolaFit, StepTimeFit]:
    """Both fits without these batches."""
    rates = sweeps.aggregate(_without(rate, without), rate.series[0], "tokens_per_second")
    found = measured_steps.steps_of(_without(steps, without), steps.series[0])
    return found.fit, step_fit.fit_step_time(rates["tokens_per_step"], rates["median"])


def _without(sweep: Sweep, batches: tuple[float, ...]) -> Sweep:
    return replace(sweep, table=sweep.table[~sweep.table["tokens_per_step"].isin(batches)])


def _predicted(hyperbola: HyperbolaFit, step: StepTimeFit, sizes: np.ndarray) -> pd.DataFrame:
    """Predicted seconds and their band at these batches."""
    predicted = hyperbola.predict(sizes) * sizes / step.predict(sizes)
    try:
        knee, least = plan_draws.hyperbola_draws(hyperbola).to_numpy().T[:, :, None]
        fixed, limit = plan_draws.step_draws(step).to_numpy().T[:, :, None]
        seconds = steps_to_target(sizes, knee, least) * step_time(sizes, fixed, limit)
        low, high = plan_bands.band(seconds)[["low", "high"]].to_numpy().T
    except ValueError:  # a fit without bounds carries no band; its prediction stands
        low = high = np.full(sizes.size, np.nan)
    return pd.DataFrame({"tokens_per_step": sizes, "predicted": predicted, "low": low, "high": high})
