"""A measured series beside the theory: its points, its fit or the reason why there is none, its curve with a band, and the
scenario fields that the fit sets.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bsmath import batch, flops, step_costs, step_fit, step_verdict, sweeps
from bsmath.hyperbola_fit import HyperbolaFit
from bsmath.measured_steps import steps_of
from bsmath.outlook import outlook
from bsmath.scenario import RANGES, Scenario
from bsmath.step_fit import StepTimeFit
from bsmath.sweeps import Sweep

CURVE_POINTS = 60
"""Points of a drawn fit."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One series of one quantity."""

    series: str
    """The series' name."""
    label: str
    """What to call it: the series, or the file where nothing tells its rows apart."""
    quantity: str
    """One of sweeps.QUANTITIES."""
    points: pd.DataFrame
    """One row a batch size: tokens_per_step, median, low, high (over repeats), count. Empty where nothing was measured."""
    fit: StepTimeFit | HyperbolaFit | None
    """None where the points cannot carry one."""
    identified: bool
    """Whether the data identify the fitted parameters."""
    verdict: str
    """What the data can tell, or why there is no fit; for steps also what the rates behind them are."""
    num_params: float | None
    """Parameters, if the file names one number for the series."""
    batch_unit: str = "tokens"
    """"tokens", or "sequences" where the tokens per sequence are not known."""
    source: str = ""
    """Key of the loaded sweep that it belongs to, where several are."""
    tuning: pd.DataFrame | None = None
    """The best learning rate of each batch and how sure it is (see `tuned.best_rates`), where the points are taken there."""

    @property
    def worst_residual(self) -> float:
        """Largest relative distance between a point and the fit."""
        return float(np.abs(self.fit.line.residuals).max())

    def residuals(self) -> pd.DataFrame:
        """The points with `fit`, what the fit says at each of their batches, in the points' unit."""
        return self.points.assign(fit=self.fit.predict(self.points["tokens_per_step"].to_numpy()))

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The 90 % interval of each fitted parameter; empty where two points leave none."""
        return {} if self.fit.line.exact else self.fit.interval()

    @cached_property
    def unweighted(self) -> tuple[float, float]:
        """Plateau and B_half of an ordinary fit of the rates to the points that the fit uses, for comparison."""
        used = self.points[~self.points["tokens_per_step"].isin(self.fit.left_out)]
        return step_fit.fit_unweighted(used["tokens_per_step"], used["median"])

    @property
    def split_points(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The points that the fit uses, and those that it leaves out."""
        out = self.points["tokens_per_step"].isin(() if self.fit is None else self.fit.left_out)
        return self.points[~out], self.points[out]

    @cached_property
    def curve(self) -> pd.DataFrame:
        """The fit and its 90 % interval from a third of the smallest to three times the largest batch measured.

        Where another exponent fits better than the hyperbola, also that curve, as `other`. Computed once: it is drawn at every
        step of a slider.
        """
        ends = self.points["tokens_per_step"].min() / 3, self.points["tokens_per_step"].max() * 3
        sizes = np.geomspace(*ends, CURVE_POINTS)
        low, high = self.fit.band(sizes)
        curve = {"tokens_per_step": sizes, "value": self.fit.predict(sizes), "low": low, "high": high}
        power = getattr(self.fit, "power", None)
        return pd.DataFrame(curve if power is None else curve | {"other": power.predict(sizes)})


def measurement(sweep: Sweep, series: str, quantity: str, padding_fraction: float = 0.0) -> Measurement:
    """One series of a sweep, fitted where it can be.

    A throughput benchmark counts the tokens that the hardware processes; `padding_fraction` turns them into real ones. Steps
    to a target are taken as they are: their batch sizes are real tokens.
    """
    rows = sweep.table[sweep.table["series"] == series].dropna(subset=[quantity])
    sizes = _values(rows, "num_params")
    found = vars(steps_of(sweep, series)) if quantity == "steps" else _throughput(sweep, series, rows, padding_fraction)
    return Measurement(
        series=series,
        label=sweep.name if series == sweeps.ALL_ROWS else series,
        quantity=quantity,
        batch_unit=sweep.batch_unit,
        num_params=float(sizes[0]) if len(sizes) == 1 else None,
        **found,
    )


def _throughput(sweep: Sweep, series: str, rows: pd.DataFrame, padding_fraction: float) -> dict:
    """Points, fit, identified and verdict of a throughput series."""
    points = sweeps.aggregate(sweep, series, "tokens_per_second")
    columns = ["tokens_per_step", "median", "low", "high"]
    points = points.assign(**(points[columns] * (1 - padding_fraction)))
    devices = _values(rows, "num_devices")
    fit, identified = None, False
    if len(points) < 2:
        verdict = "One batch size cannot be fitted: measure another." if len(points) else "Nothing was measured."
    elif len(devices) > 1:
        verdict = (
            f"The number of devices changes with the batch, from {min(devices):g} to {max(devices):g}: no one step time "
            "describes that, so there is no fit. Measure several batches on the same devices."
        )
    else:
        fit = step_fit.fit_step_time(points["tokens_per_step"], points["median"])
        identified, verdict = step_verdict.verdict(fit)
        verdict += _splits_said(rows)
    return {"points": points, "fit": fit, "identified": identified, "verdict": verdict}


def _splits_said(rows: pd.DataFrame) -> str:
    """A sentence where the way that a batch is split changes inside a sweep; empty where at most the micro-batch grows."""
    micros, accumulations = _values(rows, "micro_batch_size"), _values(rows, "grad_accum_steps")
    if len(micros) < 2 or len(accumulations) < 2:
        return ""
    return (
        f" The micro-batch changes inside the sweep, from {min(micros):g} to {max(micros):g} sequences, and accumulation from "
        f"{min(accumulations):g} to {max(accumulations):g}: one step time cannot describe both, so a jump may come from that. Vary one "
        "of them."
    )


def _values(rows: pd.DataFrame, column: str) -> np.ndarray:
    """The different values of a column that a file may lack."""
    return rows[column].dropna().unique() if column in rows else np.array([])


STAND_IN = (
    "The measured plateau is out of reach of this accelerator with these parameters, so the sweep comes from another: "
    "a stand-in peak gives the measured rate, and MFU means nothing until you type the device's own peak."
)
FAR_BELOW = (
    "The measured plateau is below 1 % MFU on this scenario's devices: most likely the rate is one device's and not the job's, or the "
    "parameters are another model's. A stand-in peak gives the measured rate, and MFU means nothing until that is settled."
)
SEQUENCES = "The batch counts sequences or samples: say on the Upload page how many tokens one holds."
NO_SCALE = "S_min is less than one step, so the scale of this file's steps is not known."
FASTER_NETWORK = (
    "The sweep is faster than the network of this scenario allows, so the network is set out of the way: type the bandwidth of the one "
    "that it ran on."
)
CURVED = (
    "The fit is a curve: the plateau is its own, and the fixed time is the one that gives the fitted step time at this run's "
    "batch. Take it again after changing the batch."
)


def refusal(found: Measurement) -> str:
    """Why this fit cannot enter a scenario; empty where it can."""
    if (
        found.fit is None
        or found.fit.line.exact
        or not all(0 <= value < np.inf for value in found.fit.parameters.values())
    ):
        return found.verdict
    if found.batch_unit != "tokens":
        return SEQUENCES
    if found.quantity == "tokens_per_second" and not step_verdict.usable(found.fit):
        return found.verdict
    if found.quantity == "steps" and not found.identified:
        return found.verdict
    if found.quantity == "steps" and found.fit.min_steps < RANGES["min_steps"][0]:
        return NO_SCALE
    low, high = RANGES["critical_batch_size"]
    if found.quantity == "steps" and not low <= found.fit.critical_batch_size <= high:
        return f"critical_batch_size must be from {low:g} to {high:g} tokens, got {found.fit.critical_batch_size:.3g}."
    return ""


def own_params(scenario: Scenario, found: Measurement) -> float | None:
    """The parameters that the file names, if they can stand for the scenario's: one possible number, and a dense model."""
    low, high = RANGES["num_params"]
    possible = found.num_params and low <= found.num_params <= high and scenario.active_params == scenario.num_params
    return found.num_params if possible else None


def fitted_changes(scenario: Scenario, found: Measurement) -> tuple[dict, str]:
    """The scenario fields that this fit sets, and a sentence on what else had to give way.

    A plateau enters as the MFU that yields it with the parameters that the file names (else the scenario's), the devices and
    the peak. Where that MFU is impossible, the sweep was not measured on this accelerator: a typed peak then stands in, with
    the MFU left as it is.
    """
    if found.quantity == "steps":
        fit = found.fit
        changes = {"critical_batch_size": fit.critical_batch_size, "min_steps": fit.min_steps, "goal": "target"}
        return changes, ""
    return _rate_changes(scenario, found)


def _rate_changes(scenario: Scenario, found: Measurement) -> tuple[dict, str]:
    """Fixed time and plateau of a throughput fit as scenario fields, whatever the scenario's job adds to both."""
    fit = found.fit
    fixed = fit.fixed_time_at(outlook(scenario).tokens_per_step) if fit.curved else fit.fixed_time
    changes = {"micro_batch_time": 0.0}
    if own := own_params(scenario, found):
        changes["num_params"] = own
    said = [CURVED] if fit.curved else []
    run = scenario.change(**changes, fixed_time=0)
    wanted = batch.padded_tokens(fit.plateau, scenario.padding_fraction)
    raw = step_costs.raw_plateau(run, wanted)
    if raw is None or step_costs.effective(run, raw)[0] > fixed:
        changes["network_bandwidth"] = RANGES["network_bandwidth"][1]
        said.append(FASTER_NETWORK)
        run = run.change(network_bandwidth=changes["network_bandwidth"])
        raw = step_costs.raw_plateau(run, wanted) or wanted
    # The sweep's fixed time holds its communication.
    changes["fixed_time"] = max(fixed - step_costs.effective(run, raw)[0], 0.0)
    mfu = flops.mfu(
        raw,
        flops.flops_per_token(run.active_params),
        run.peak_flops,
        batch.num_devices(run.data_parallel_size, run.model_parallel_size),
    )
    low, high = RANGES["mfu"]
    if low <= mfu <= high:
        return changes | {"mfu": mfu}, " ".join(said)
    said.append(STAND_IN if mfu > high else FAR_BELOW)
    return changes | {"accelerator": repr(run.peak_flops * mfu / run.mfu)}, " ".join(said)
