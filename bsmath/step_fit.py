"""The step time fitted to a measured throughput sweep.

The straight line t = t_fixed + B/R is fitted by relative error (`logline`): small batches count as much as large ones. What a
sweep may break it with is looked for, named, and kept from bending the fit (`step_search`): broken points, a rate that falls
after its best batch, costs that overlap instead of adding up (`logcurve`). What the sweep can tell is said by `step_verdict`.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from bsmath import logcurve, logline, step_search
from bsmath.logcurve import LogCurve
from bsmath.logline import LogLine


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTimeFit:
    """The step time fitted to a measured throughput sweep."""

    line: LogLine | LogCurve
    """Step time against the batch: the straight line, or the curve where that is clearly better."""
    straight: LogLine
    """The straight line, in either case."""
    broken: tuple[float, ...] = ()
    """Batch sizes left out because the other points contradict them. [tokens]"""
    beyond: tuple[float, ...] = ()
    """Batch sizes left out because the rate falls there. [tokens]"""
    fall: float = 0.0
    """How far the rate falls from its best to the largest batch, as a share."""
    largest: float
    """The largest batch measured. [tokens]"""

    @property
    def left_out(self) -> tuple[float, ...]:
        """Batches that the fit does not use. [tokens]"""
        return self.broken + self.beyond

    @property
    def curved(self) -> bool:
        """Whether the straight line was given up for a curve."""
        return isinstance(self.line, LogCurve)

    @property
    def fixed_time(self) -> float:
        """Step time of a vanishing batch. [s]"""
        return self.line.intercept

    @property
    def plateau(self) -> float:
        """R, in the tokens that were put in; inf where step time never grew. [tokens/s]"""
        return 1 / self.line.slope if self.line.slope else np.inf

    @property
    def half_batch(self) -> float:
        """B_half, where half the plateau is reached: t_fixed R on the straight line. [tokens]"""
        if self.curved:
            return float(logcurve.half_way(self.line.power) / self.line.ratio)
        return 1 / self.line.ratio if self.line.ratio else np.inf

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted numbers by name; the keys of `interval`."""
        return {name: getattr(self, name) for name in ("fixed_time", "plateau", "half_batch")}

    @property
    def worst(self) -> tuple[float, float]:
        """The batch whose point lies farthest off the fit [tokens], and its relative residual of step time."""
        at = int(np.abs(self.line.residuals).argmax())
        return float(self.line.x[at]), float(self.line.residuals[at])

    def predict(self, tokens_per_step):
        """Tokens per second at these batch sizes. [tokens/s]"""
        with np.errstate(divide="ignore"):
            return np.asarray(tokens_per_step, float) / self.line.predict(tokens_per_step)

    def interval(self, level: float = 0.90) -> dict[str, tuple[float, float]]:
        """Profile-likelihood interval of each parameter; an end of 0 or inf says that the data set no bound there."""
        bounds = self.line.interval(level)
        half = bounds["half"] if self.curved else _inverse(bounds["ratio"])
        return {"fixed_time": bounds["intercept"], "plateau": _inverse(bounds["slope"]), "half_batch": half}

    def band(self, tokens_per_step, level: float = 0.90):
        """Lower and upper end of the rate's interval at these batch sizes. [tokens/s]"""
        batch = np.asarray(tokens_per_step, float)
        fast, slow = self.line.band(batch, level)
        with np.errstate(divide="ignore"):
            return batch / slow, batch / fast

    def fixed_time_at(self, tokens_per_step: float) -> float:
        """The fixed time with which a straight line of this plateau gives the fitted step time at this batch. [s]"""
        return max(float(self.line.predict(tokens_per_step)) - tokens_per_step * self.line.slope, 0.0)

    def doubling_gain(self, tokens_per_step: float, level: float = 0.90) -> tuple[float, float, float]:
        """By how much twice this batch raises the rate, as a share, and its interval.

        On the straight line the gain is B_half / (2B + B_half), which grows with B_half; on a curve the interval is the
        straight line's, widened to hold the curve's own gain.
        """
        gain = float(self.predict(2 * tokens_per_step) / self.predict(tokens_per_step) - 1)
        with np.errstate(divide="ignore"):
            ends = 1 / (2 * tokens_per_step * np.array(self.straight.interval(level)["ratio"][::-1]) + 1)
        return gain, min(float(ends[0]), gain), max(float(ends[1]), gain)


def fit_step_time(tokens_per_step, tokens_per_second) -> StepTimeFit:
    """Fit fixed time and plateau to a measured sweep, by relative error of the step time.

    Parameters
    ----------
    tokens_per_step, tokens_per_second : array_like
        Batch sizes [tokens] and whole-job rates [tokens/s], one pair a measurement, both padded or both real; at least
        two different batch sizes. Repeats at one batch enter as their median, which a single cold run cannot move.

    Raises
    ------
    ValueError
        Where lengths differ, a value is not positive and finite, or there are fewer than two batch sizes.
    """
    batch, rate = logline.pairs("tokens_per_step", tokens_per_step, "tokens_per_second", tokens_per_second)
    every = logline.fit(batch, batch / rate)
    fall, kept = step_search.rising(every.x, every.log_y)
    x, log_y = every.x[:kept], every.log_y[:kept]
    straight, broken = step_search.without_broken(logline, x, log_y)
    curve, off_curve = step_search.overlapping(x, log_y)
    better = curve is not None and step_search.better_than(curve, straight)
    return StepTimeFit(
        line=curve if better else straight,
        straight=straight,
        broken=off_curve if better else broken,
        beyond=tuple(map(float, every.x[kept:])),
        fall=fall,
        largest=float(every.x[-1]),
    )


def fit_unweighted(tokens_per_step, tokens_per_second) -> tuple[float, float]:
    """Plateau [tokens/s] and B_half [tokens] by ordinary least squares on the rate, R B / (B + B_half).

    For comparison only: its errors are absolute, so the fastest batches decide and the small ones, which fix B_half, hardly
    count. Parameters as in `fit_step_time`.
    """
    batch, rate = logline.pairs("tokens_per_step", tokens_per_step, "tokens_per_second", tokens_per_second)
    start = logline.fit(batch, batch / rate)
    guess = np.log([1 / (start.slope or start.intercept / batch.max()), 1 / np.clip(start.ratio, 1e-12, 1e12)])

    def misfit(logs):
        return np.exp(logs[0]) * batch / (batch + np.exp(logs[1])) - rate

    plateau, half = np.exp(optimize.least_squares(misfit, guess, x_scale=1.0, ftol=1e-14, xtol=1e-14).x)
    return float(plateau), float(half)


def _inverse(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    return (1 / high if np.isfinite(high) else 0.0), (1 / low if low else np.inf)
