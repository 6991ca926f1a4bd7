"""Two measured series of one quantity laid over each other, and in words how they differ.

The ratio of the rates (or steps) is taken at the batches that both measured, or else by both fits inside the range that both cover. Its
interval comes from the scatter of the points about their fits. Intervals of a ratio of two fitted numbers join those of the two fits by
MOVER on logarithms (Zou and Donner 2008, doi 10.1002/sim.3095): with d = ln b - ln a, its lower end is
d - sqrt((ln b - ln low_b)^2 + (ln high_a - ln a)^2), the upper end likewise; a difference of fixed times the same way, without logarithms.
All are 90 % intervals of independent measurements. A difference is claimed only where its interval excludes none.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from bsmath import hyperbola_verdict, step_verdict
from bsmath.difference_words import CANNOT, sentences
from bsmath.measured import Measurement

LEVEL = 0.90
"""Level of every interval."""
SAME_BATCH = 1e-6
"""Relative difference up to which two batches are one."""
INSIDE = 9
"""Batches inside the common range at which two fits are compared."""
PARAMETERS = {"tokens_per_second": ("plateau", "fixed_time"), "steps": ("critical_batch_size", "min_steps")}
"""The fitted numbers that are compared, by quantity."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One number of the second against the first."""

    value: float
    """The ratio; of fixed times the difference. [s]"""
    low: float
    """Lower end of its 90 % interval; nan where nothing says how sure it is."""
    high: float
    """Upper end."""
    none: float = 1.0
    """The value that is no change: 1 for a ratio, 0 for a difference."""

    @property
    def clear(self) -> bool:
        """Whether the interval excludes no change."""
        return bool(self.low > self.none or self.high < self.none)

    def over(self, factor: float) -> "Change":
        """The same per something of which the second has so many times as many."""
        return Change(value=self.value / factor, low=self.low / factor, high=self.high / factor)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The second series against the first, in numbers."""

    quantity: str
    """One of sweeps.QUANTITIES."""
    batch_unit: str
    """What the batches count."""
    names: tuple[str, str]
    """Labels of the first and the second."""
    batches: tuple[float, ...]
    """Where they are compared, ascending. [tokens, or batch_unit]"""
    by_fits: bool
    """Whether by both fits, as they measured no two batches in common."""
    mean: Change
    """Geometric mean of the ratios."""
    smallest: Change
    """Ratio at the smallest of these batches."""
    largest: Change
    """Ratio at the largest."""
    parameters: dict[str, Change] = field(default_factory=dict)
    """Fitted numbers of which both have an interval."""
    reason: str = ""
    """Why fitted numbers are not compared; empty where they are."""
    devices: tuple[float | None, float | None] = (None, None)
    """Devices of each, where known."""


def between(a: Measurement, b: Measurement, devices: tuple[float | None, float | None] | None = None) -> list[str]:
    """How b differs from a, in sentences; one sentence where they cannot be compared.

    Parameters
    ----------
    a, b : Measurement
        Two series of one quantity; b is described against a.
    devices : tuple, optional
        Devices of each, by default as the measurements say.
    """
    refused = refusal(a, b)
    return [refused] if refused else sentences(compare(a, b, devices))


def refusal(a: Measurement, b: Measurement) -> str:
    """Why two series cannot be compared; empty where they can."""
    if a.quantity != b.quantity:
        return f"{CANNOT} one measured tokens per second and the other steps to a target."
    if a.batch_unit != b.batch_unit:
        return f"{CANNOT} {a.label} counts its batches in {a.batch_unit}, {b.label} in {b.batch_unit}."
    for one in (a, b):
        if not len(one.points) or "median" not in one.points:
            return f"{CANNOT} {one.label} has no points."
    if len(_common(a, b)[0]):
        return ""
    (low_a, high_a), (low_b, high_b) = (_measured_range(one) for one in (a, b))
    if max(low_a, low_b) >= min(high_a, high_b):
        return f"{CANNOT} their batches do not overlap."
    if _inside(a, b) is None:
        return f"{CANNOT} they measured no batch in common, and not both have a fit that describes them where they overlap."
    return ""


def compare(a: Measurement, b: Measurement, devices: tuple[float | None, float | None] | None = None) -> Difference:
    """How b differs from a, in numbers; parameters as for `between`.

    Raises
    ------
    ValueError
        Where they cannot be compared.
    """
    if refused := refusal(a, b):
        raise ValueError(refused)
    (at, one, other), inside = _common(a, b), _inside(a, b)
    by_fits = inside is not None and len(at) < 2
    batches, mean, ends = _by_fits(a, b, inside) if by_fits else _by_points(a, b, at, np.log(other / one))
    reason = _no_parameters(a, b)
    return Difference(
        quantity=a.quantity,
        batch_unit=a.batch_unit,
        names=(a.label, b.label),
        batches=tuple(batches.tolist()),
        by_fits=by_fits,
        mean=mean,
        smallest=ends[0],
        largest=ends[1],
        parameters={} if reason else {name: _parameter(a, b, name) for name in PARAMETERS[a.quantity]},
        reason=reason,
        devices=devices or (getattr(a, "num_devices", None), getattr(b, "num_devices", None)),
    )


def _common(a: Measurement, b: Measurement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The batches that both measured, and the median of each there; points that a fit found broken are no measurements."""
    good = [one.points[~one.points["tokens_per_step"].isin(getattr(one.fit, "broken", ()))] for one in (a, b)]
    sizes = [each["tokens_per_step"].to_numpy(float) for each in good]
    of_a, of_b = np.nonzero(np.abs(sizes[0][:, None] / sizes[1] - 1) <= SAME_BATCH)
    return sizes[0][of_a], good[0]["median"].to_numpy(float)[of_a], good[1]["median"].to_numpy(float)[of_b]


def _measured_range(one: Measurement) -> tuple[float, float]:
    return float(one.points["tokens_per_step"].min()), float(one.points["tokens_per_step"].max())


def _describes(one: Measurement) -> bool:
    """Whether the fit describes the series where it was measured; its numbers may still not be identified."""
    if one.fit is None or one.fit.line.exact:
        return False
    return abs(one.fit.worst[1]) <= (
        step_verdict.MISFIT if one.quantity == "tokens_per_second" else hyperbola_verdict.MISFIT
    )


def _inside(a: Measurement, b: Measurement) -> tuple[float, float] | None:
    """The range in which both fits use batches; None where there is none, or where a fit does not describe its series."""
    if not (_describes(a) and _describes(b)):
        return None
    used = [one.split_points[0]["tokens_per_step"] for one in (a, b)]
    low, high = max(each.min() for each in used), min(each.max() for each in used)
    return (float(low), float(high)) if low < high else None


def _by_points(
    a: Measurement, b: Measurement, at: np.ndarray, ratios: np.ndarray
) -> tuple[np.ndarray, Change, tuple[Change, Change]]:
    """Ratios at common batches; each point scatters about its fit by as much as all of that series do."""
    spread, quantile = np.nan, np.nan
    lines = [one.fit.line for one in (a, b) if _describes(one)]
    if len(lines) == 2:
        squares = [line.scatter**2 for line in lines]
        spread = float(np.sqrt(sum(squares)))
        weight = sum(square**2 / line.dof for square, line in zip(squares, lines, strict=True))
        freedom = spread**4 / weight if weight > 0 else min(line.dof for line in lines)  # Welch and Satterthwaite
        quantile = float(stats.t.ppf((1 + LEVEL) / 2, freedom))

    def change(log_ratio: float, count: int) -> Change:
        half = quantile * spread / np.sqrt(count)
        return Change(value=_exp(log_ratio), low=_exp(log_ratio - half), high=_exp(log_ratio + half))

    return at, change(ratios.mean(), len(at)), (change(ratios[0], 1), change(ratios[-1], 1))


def _by_fits(
    a: Measurement, b: Measurement, inside: tuple[float, float]
) -> tuple[np.ndarray, Change, tuple[Change, Change]]:
    """Ratios of two fits; the interval of their mean takes the errors at all batches as one, which is the widest that it can be."""
    at = np.geomspace(*inside, INSIDE)
    log_a, log_b = (np.log(one.fit.predict(at)) for one in (a, b))
    (low_a, high_a), (low_b, high_b) = (np.log(one.fit.band(at, LEVEL)) for one in (a, b))
    ratio = log_b - log_a
    low = ratio - np.hypot(log_b - low_b, high_a - log_a)
    high = ratio + np.hypot(high_b - log_b, log_a - low_a)
    ends = [Change(value=_exp(ratio[i]), low=_exp(low[i]), high=_exp(high[i])) for i in (0, -1)]
    return at, Change(value=_exp(ratio.mean()), low=_exp(low.mean()), high=_exp(high.mean())), tuple(ends)


def _no_parameters(a: Measurement, b: Measurement) -> str:
    """Why fitted numbers are not compared; empty where they are."""
    for one in (a, b):
        if one.fit is None or one.fit.line.exact or not one.identified:
            return f"the points of {one.label} do not identify them"
    if getattr(a.fit, "curved", False) or getattr(b.fit, "curved", False):
        return "a curve was fitted in place of the straight line, whose numbers mean something else"
    return ""


def _parameter(a: Measurement, b: Measurement, name: str) -> Change:
    """One fitted number of b against that of a, its interval by MOVER."""
    triples = [(one.fit.parameters[name], *one.bounds[name]) for one in (a, b)]
    if name == "fixed_time":
        value, low, high = mover(*triples)
        return Change(value=value, low=low, high=high, none=0.0)
    with np.errstate(divide="ignore"):
        value, low, high = mover(*np.log(triples))
    return Change(value=_exp(value), low=_exp(low), high=_exp(high))


def mover(a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, float, float]:
    """Difference b - a and its interval, from value, lower and upper end of each."""
    (at_a, low_a, high_a), (at_b, low_b, high_b) = a, b
    value = at_b - at_a
    down, up = np.hypot(at_b - low_b, high_a - at_a), np.hypot(high_b - at_b, at_a - low_a)
    return float(value), float(value - down), float(value + up)


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))
