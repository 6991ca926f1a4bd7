"""From loss curves to steps to a target: smoothing, the crossing of a target, and which targets several batches reach.

A crossing counts where the next logged loss is at or below the target too. The first loss below it alone would let one lucky
or broken value decide, and the more often a run is evaluated the more chances it has; waiting until the loss stays below for
good would deny a run that reached the target and overfitted later, although anyone would have stopped it there.

Between two evaluations the loss is taken as linear in the logarithm of the step, in which the power laws of training are
nearly straight; a line in the step itself would be late, as losses are convex. What the spacing of the evaluations hides is
the resolution: a place that is uniform within it has the standard deviation resolution/sqrt(12), the floor of the error.

Smoothing has a width that is a share of the steps so far. What it delays is then the same factor at every batch: S_min moves
by that factor, and B_crit does not. The noise that is left makes a first crossing a little early (4 % with noise of 0.1 nats on
a power law logged every 10 of 10,000 steps, where the raw curve is crossed at less than half of them).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

SMOOTHINGS = ("none", "window", "EMA")
"""Ways to smooth: not at all; the mean over a window around each step; an exponential moving average, which lags."""

WIDTH = 0.1
"""Width of the window, or time constant of the average, as a share of the steps so far."""

WIDTHS = (0.02, 0.05, WIDTH, 0.2, 0.5)
"""Widths to choose from."""

SPIKE_ROWS = 5
"""Rows of the running median that takes spikes of up to two rows out of a curve before it is averaged."""

BEGUN = 0.5
"""Share of the median first loss below which a run was continued or is odd; it sets no bound on the targets."""
LEAST_BATCHES = 3
"""A hyperbola with an interval needs so many batches."""

MOST = 0.75
"""Share of the batches that must reach the default target."""

DIGITS = 3
"""The default target is rounded up to so many digits."""


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """Where a curve reaches a target."""

    steps: float
    """Steps to the target; nan where the curve never reaches it. [steps]"""
    resolution: float
    """Distance of the evaluations around the crossing; nan where there is none. [steps]"""


@dataclass(frozen=True, kw_only=True)
class TargetRange:
    """Losses that can be a target."""

    low: float
    """The lowest loss that `batches` batches reach. [nats/token]"""
    batches: int
    """LEAST_BATCHES, or all that reach any loss where those are fewer."""
    high: float
    """The highest: no curve begins below it. [nats/token]"""
    default: float
    """The lowest that most batches reach, rounded up. [nats/token]"""


def smoothed(steps, loss, kind: str = "window", width: float = WIDTH) -> np.ndarray:
    """A loss curve without its noise; falling curves stay falling. Losses that are no number stay so and smooth nothing.

    Parameters
    ----------
    steps, loss : array_like
        Ascending steps [steps] and the loss at each [nats/token].
    kind : str
        One of SMOOTHINGS.
    width : float
        Share of the steps so far over which is averaged.
    """
    steps, loss = np.asarray(steps, float), np.asarray(loss, float)
    finite = np.isfinite(loss)
    if kind == "none" or not width > 0 or finite.sum() < 2:
        return loss.copy()
    values = loss[finite]
    if len(values) >= SPIKE_ROWS:
        values = ndimage.median_filter(values, SPIKE_ROWS, mode="nearest")
    result = loss.copy()
    result[finite] = {"window": _window, "EMA": _ema}[kind](steps[finite], values, width)
    return result


def _window(steps: np.ndarray, loss: np.ndarray, width: float) -> np.ndarray:
    """Means over the rows around each step, as far as there are any: at the end of a run late rather than early."""
    first = np.searchsorted(steps, steps * math.exp(-width / 2), side="left")
    last = np.searchsorted(steps, steps * math.exp(width / 2), side="right")
    middle = loss.mean()  # keeps the digits of long sums
    total = np.append(0.0, np.cumsum(loss - middle))
    return middle + (total[last] - total[first]) / (last - first)


def _ema(steps: np.ndarray, loss: np.ndarray, width: float) -> np.ndarray:
    before = np.append(0.0, steps[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = 1 - np.nan_to_num(before / steps) ** (1 / width)
    average, result = loss[0], np.empty(len(loss))
    for place, (weight, value) in enumerate(zip(weights.tolist(), loss.tolist(), strict=True)):
        average += weight * (value - average)
        result[place] = average
    return result


def crossing(steps, loss, target: float) -> Crossing:
    """The first step from which a curve is at or below a target, at the next logged loss too.

    A curve whose first loss is below the target crossed it at an unknown place before: its first step above 0 is an upper
    bound, and the resolution.
    """
    steps, loss = np.asarray(steps, float), np.asarray(loss, float)
    below = loss <= target
    held = below & np.append(below[1:], True)
    if not held.any():
        return Crossing(steps=math.nan, resolution=math.nan)
    place = int(held.argmax())
    earlier = np.flatnonzero(np.isfinite(loss[:place]))
    if not len(earlier):
        bound = next((step for step in steps[place:].tolist() if step > 0), math.nan)
        return Crossing(steps=bound, resolution=bound)
    ends, losses = steps[[earlier[-1], place]], loss[[earlier[-1], place]]
    share = (losses[0] - target) / (losses[0] - losses[1]) if losses[0] > target else 1.0
    if ends[0] > 0:
        at = ends[0] * (ends[1] / ends[0]) ** share
    else:  # from the start of a run a logarithm does not reach
        at = ends[0] + share * (ends[1] - ends[0])
    return Crossing(steps=float(at), resolution=float(ends[1] - ends[0]))


def grid_error(resolution):
    """Standard deviation of a place that is uniform between two evaluations, resolution/sqrt(12). [unit of resolution]"""
    return resolution / math.sqrt(12)


def lowest(loss) -> float:
    """The lowest target that a curve reaches and holds for one more loss; inf for none. [nats/token]"""
    loss = np.asarray(loss, float)
    loss = np.where(np.isfinite(loss), loss, np.inf)
    if len(loss) < 2:
        return float(loss[0]) if len(loss) else math.inf
    return float(np.maximum(loss[1:], loss[:-1]).min())


def diverged(loss) -> bool:
    """Whether a curve ends as no number, or above where it began."""
    loss = np.asarray(loss, float)
    return len(loss) > 1 and not loss[-1] <= loss[0]


def begins_below(loss, target: float) -> bool:
    """Whether the first loss of a curve is at or below a target already, so that it says nothing of the steps to it."""
    loss = np.asarray(loss, float)
    first = loss[np.isfinite(loss) & (loss > 0)][:1]
    return bool((first <= target).any())


def target_range(curves) -> TargetRange | None:
    """The targets that several batches reach; None where no two losses of a curve are numbers.

    Parameters
    ----------
    curves : iterable of (batch, loss)
        The batch of each curve, in any unit, and its losses [nats/token].
    """
    least: dict = {}
    begins = []
    for size, loss in curves:
        loss = np.asarray(loss, float)
        least[size] = min(least.get(size, math.inf), lowest(loss))
        begins += loss[np.isfinite(loss) & (loss > 0)][:1].tolist()
    reached = sorted(loss for loss in least.values() if loss < math.inf)
    if not reached:
        return None
    batches = min(LEAST_BATCHES, len(reached))
    low = reached[batches - 1]
    wanted = reached[min(math.ceil(MOST * len(least)), len(reached)) - 1]
    usual = [loss for loss in begins if loss > BEGUN * np.median(begins)]
    high = max(min(usual, default=low), low)
    return TargetRange(low=low, batches=batches, high=high, default=max(min(_rounded_up(wanted), high), low))


def places(found: TargetRange, count: int) -> list[float]:
    """Readable targets over a range, at even ratios. [nats/token]"""
    if not 0 < found.low < found.high:
        return []
    spaced = np.geomspace(found.low, found.high, count)
    rounded = {float(f"{loss:.{DIGITS}g}") for loss in spaced}
    return sorted(loss for loss in rounded if found.low <= loss <= found.high)


def _rounded_up(loss: float) -> float:
    if not loss > 0:
        return loss
    places = DIGITS - 1 - math.floor(math.log10(loss))
    return round(math.ceil(round(loss * 10.0**places, 6)) / 10.0**places, max(places, 0))
