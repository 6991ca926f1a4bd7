"""The noise scale averaged over a stretch of a log, with its interval, and how many rows would make it surer.

Both parts are averaged over rows and then divided, never the ratio, whose mean is too large (McCandlish et al. 2018, arXiv
1812.06162, appendix A.1). Intervals by Fieller's theorem, derived for normal means. `noise_along` averages along training.
"""

from dataclasses import dataclass

import numpy as np

from bsmath.fieller import fieller, student
from bsmath.noise import noise_scale

LEAST_ROWS = 3
"""Rows from which there is an interval: two have one difference, and a t quantile of 6.3."""


@dataclass(frozen=True, kw_only=True)
class NoiseScaleEstimate:
    """The noise scale over a stretch of training: the ratio of the means of both parts."""

    trace: float
    """Mean of the rows' tr(Sigma)."""
    grad_sq_norm: float
    """Mean of the rows' |G|^2."""
    variances: tuple[float, float, float]
    """Of the two means: variance of trace, covariance, variance of grad_sq_norm."""
    degrees: float
    """Degrees of freedom of these variances."""
    rows: int
    """Rows averaged."""

    @property
    def noise_scale(self) -> float:
        """B_simple; nan where the mean |G|^2 is not positive. [unit of the batch sizes]"""
        return noise_scale(self.trace, self.grad_sq_norm) if self.grad_sq_norm > 0 else np.nan

    @property
    def relative_deviation(self) -> float:
        """Standard deviation of the noise scale over itself, by the delta method; nan where it is not positive."""
        if not (self.trace > 0 and self.grad_sq_norm > 0):
            return np.nan
        first, both, second = self.variances
        x, y = self.trace, self.grad_sq_norm
        return float(np.sqrt(max(first / x**2 - 2 * both / (x * y) + second / y**2, 0)))

    def rows_needed(self, relative_deviation: float = 0.10) -> float:
        """Rows like these whose average has this relative standard deviation. [rows]"""
        return self.rows * (self.relative_deviation / relative_deviation) ** 2

    def interval(self, level: float = 0.90) -> tuple[float, float]:
        """Interval of the noise scale by Fieller's theorem; the upper end is inf where |G|^2 could be 0.

        Both ends are nan where |G|^2 is significantly negative, which no noise scale explains, or rows are too few.
        """
        if self.rows < LEAST_ROWS:
            return np.nan, np.nan
        low, high = fieller(self.trace, self.grad_sq_norm, *self.variances, student(self.degrees, level))
        return float(low), float(high)

    def verdict(self, level: float = 0.90) -> tuple[bool, str]:
        """Whether the rows identify the noise scale, and the sentence that says why."""
        low, high = self.interval(level)
        if self.rows < LEAST_ROWS:
            return False, f"An interval needs three rows or more with both parts of the noise scale, got {self.rows}."
        if not self.grad_sq_norm > 0:
            return False, (
                "The mean of |G|^2 is not positive: noise hides the gradient, and the noise scale is not identified. "
                "Average more steps, or measure with a larger batch."
            )
        if not self.trace > 0:
            return False, "The mean of tr(Sigma) is not positive: no noise can be told from zero. Average more steps."
        if not high < np.inf and not low > 0:
            return False, "The rows spread too far to bound the noise scale on either side. Average more steps."
        if not high < np.inf:
            return False, (
                "|G|^2 cannot be told from zero: the noise scale has only a lower bound. Average more steps, or "
                "measure with a larger batch."
            )
        if low <= 0:
            return (
                False,
                "The noise cannot be told from zero: the noise scale has only an upper bound. Average more steps.",
            )
        wide = " The interval is wide: more steps would help." if high > 4 * low else ""
        return True, f"Both parts are clear of zero.{wide}"


def estimate(trace, grad_sq_norm, weights=None) -> NoiseScaleEstimate:
    """The noise scale over a stretch of training from rows of both parts, in the order of training.

    The ratio of the means, never the mean of ratios. The variances of the means come from the differences of successive
    rows (von Neumann 1941): a drift of the parts through training, slow against a row, then adds nothing to them, and
    the interval is that of the average over the stretch. Rows must be independent given the weights: parts that the log
    has already smoothed make it too narrow.

    Parameters
    ----------
    trace, grad_sq_norm : array_like
        tr(Sigma) and |G|^2 of each row, negative ones included.
    weights : array_like, optional
        Steps averaged in each row; equal by default. [steps]

    Raises
    ------
    ValueError
        Where lengths differ, a value is not finite or a weight is not positive.
    """
    parts = both_parts(trace, grad_sq_norm)
    count = parts.shape[1]
    steps = np.ones(count) if weights is None else np.asarray(weights, float).ravel()
    if steps.size != count or not np.all(np.isfinite(steps) & (steps > 0)):
        raise ValueError(f"weights must be a positive number for each of the {count} rows, got {weights!r}")
    means = (parts * steps).sum(axis=1) / steps.sum() if count else np.full(2, np.nan)
    one_step = products(parts, steps).mean(axis=1) if count > 1 else np.full(3, np.nan)
    return NoiseScaleEstimate(
        trace=float(means[0]),
        grad_sq_norm=float(means[1]),
        variances=tuple((one_step / steps.sum()).tolist()),
        degrees=float(degrees_of_freedom(count)),
        rows=count,
    )


def both_parts(trace, grad_sq_norm) -> np.ndarray:
    """Both parts as two rows of finite floats."""
    parts = [np.asarray(part, float).ravel() for part in (trace, grad_sq_norm)]
    if parts[0].size != parts[1].size:
        raise ValueError(f"grad_sq_norm must be as long as trace, got {parts[1].size} for {parts[0].size}")
    for name, part in zip(("trace", "grad_sq_norm"), parts, strict=True):
        if not np.isfinite(part).all():
            raise ValueError(f"{name} must be finite, got {part[~np.isfinite(part)][0]!r}")
    return np.array(parts)


def products(parts: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Of each two successive rows: one step's variance of trace, covariance, and variance of grad_sq_norm."""
    first, second = np.diff(parts) / np.sqrt(1 / steps[1:] + 1 / steps[:-1])
    return np.array([first * first, first * second, second * second])


def degrees_of_freedom(rows):
    """Degrees of freedom of a variance from the differences of successive rows, 2 (n - 1)^2/(3 n - 4): about 2 n/3."""
    return 2 * (rows - 1) ** 2 / np.maximum(3 * rows - 4, 1e-9)
