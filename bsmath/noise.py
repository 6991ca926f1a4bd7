"""The gradient noise scale: its estimator from squared gradient norms at two batch sizes, and how sure it is.

    E|G_B|^2 = |G|^2 + tr(Sigma)/B                B_simple = tr(Sigma) / |G|^2
    |G|^2 ~ (B_big |G_big|^2 - B_small |G_small|^2) / (B_big - B_small)
    tr(Sigma) ~ (|G_small|^2 - |G_big|^2) / (1/B_small - 1/B_big)

Derived (McCandlish, Kaplan, Amodei et al. 2018, arXiv 1812.06162, eq. 2.9-2.10, 2.6-2.7, A.1-A.2). Both parts are
unbiased, their ratio in one step is not: each is averaged over steps and then divided. Both are additive over
parameters, so that a layer has a noise scale of its own (Gray et al. 2024, arXiv 2411.00999). B_simple predicts the
critical batch to an order of magnitude; measured beside it, it was 0.4 to 18 times as large. `numeric` is a float, an
array or a Series; formulas validate nothing. The noise scale has the unit of the batch sizes put in.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath.fieller import fieller, student


def noise_scale(trace, grad_sq_norm):
    """B_simple = tr(Sigma)/|G|^2. [unit of the batch sizes]"""
    return trace / grad_sq_norm


def grad_sq_norm(tokens_small, tokens_big, grad_sq_norm_small, grad_sq_norm_big):
    """Unbiased estimate of |G|^2, the squared norm of the noiseless gradient; may be negative (eq. A.1).

    Parameters
    ----------
    tokens_small, tokens_big : numeric
        The two batch sizes. [tokens]
    grad_sq_norm_small : numeric
        Mean over the small batches of the squared norm of each one's mean gradient.
    grad_sq_norm_big : numeric
        Squared norm of the mean gradient of the big batch, which the small ones make up.
    """
    return (tokens_big * grad_sq_norm_big - tokens_small * grad_sq_norm_small) / (tokens_big - tokens_small)


def trace(tokens_small, tokens_big, grad_sq_norm_small, grad_sq_norm_big):
    """Unbiased estimate of tr(Sigma), the variance of one token's gradient (eq. A.2). Parameters as above."""
    return (grad_sq_norm_small - grad_sq_norm_big) / (1 / tokens_small - 1 / tokens_big)


def relative_error(tokens_per_step, noise_scale):
    """E|G_B - G|^2/|G|^2 = B_simple/B, the noise of a batch's gradient over its signal (eq. 2.10)."""
    return noise_scale / tokens_per_step


def improvement(tokens_per_step, noise_scale):
    """1/(1 + B_noise/B): a step's gain in loss over that of a noiseless one; so for its best rate.

    Derived for SGD on a local quadratic at its best rate (eq. 2.6-2.7); B_simple stands for B_noise where the loss
    curves alike in all directions.
    """
    return 1 / (1 + noise_scale / tokens_per_step)


def trace_variance(trace_of_square, small_batches):
    """Variance of `trace` in one step, 2 tr(Sigma^2)/(n - 1). Derived for Gaussian gradients.

    Parameters
    ----------
    trace_of_square : numeric
        tr(Sigma^2); tr(Sigma)^2 over it is the effective dimension of the noise.
    small_batches : numeric
        n, equal small batches that make up the big one.
    """
    return 2 * trace_of_square / (small_batches - 1)


def grad_sq_norm_variance(trace_of_square, small_batches, tokens_per_step, along):
    """Variance of `grad_sq_norm` in one step, 4 G'Sigma G/B + 2 tr(Sigma^2)/B^2 n/(n - 1). Derived likewise.

    Parameters
    ----------
    trace_of_square, small_batches : numeric
        As in `trace_variance`.
    tokens_per_step : numeric
        B, the big batch. [tokens]
    along : numeric
        G'Sigma G, the noise along the gradient; |G|^2 tr(Sigma^2)/tr(Sigma) where it lies like the rest of the noise.
    """
    spread = 2 * trace_of_square / tokens_per_step**2
    return 4 * along / tokens_per_step + spread * small_batches / (small_batches - 1)


def covariance(trace_of_square, small_batches, tokens_per_step):
    """Covariance of `trace` and `grad_sq_norm` in one step, -2 tr(Sigma^2)/((n - 1) B). Parameters as above."""
    return -trace_variance(trace_of_square, small_batches) / tokens_per_step


def grad_sq_norm_relative_variance(relative_error, small_batches, effective_dimension):
    """Variance of `grad_sq_norm` in one step over |G|^4, (4 r + 2 r^2 n/(n - 1))/d. Derived from the one above.

    Parameters
    ----------
    relative_error : numeric
        r = B_simple/B, see `relative_error`.
    small_batches : numeric
        n, as in `trace_variance`.
    effective_dimension : numeric
        d = tr(Sigma)^2/tr(Sigma^2).
    """
    r, n = relative_error, small_batches
    return (4 * r + 2 * r**2 * n / (n - 1)) / effective_dimension


def relative_variance(relative_error, small_batches, effective_dimension):
    """Variance of the noise scale from one step over its square, by the delta method: for averages of many steps only.

    The variances of both parts, and minus twice their covariance. Parameters as in `grad_sq_norm_relative_variance`.
    """
    rest = (2 + 4 * relative_error) / ((small_batches - 1) * effective_dimension)
    return rest + grad_sq_norm_relative_variance(relative_error, small_batches, effective_dimension)


def steps_needed(relative_variance, relative_deviation):
    """Steps to average for this relative standard deviation, from the relative variance in one step. [steps]"""
    return relative_variance / relative_deviation**2


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

    def interval(self, level: float = 0.90) -> tuple[float, float]:
        """Interval of the noise scale by Fieller's theorem; the upper end is inf where |G|^2 could be 0.

        Both ends are nan where |G|^2 is significantly negative, which no noise scale explains, or rows are too few.
        """
        low, high = fieller(self.trace, self.grad_sq_norm, *self.variances, student(self.degrees, level))
        return float(low), float(high)

    def verdict(self, level: float = 0.90) -> tuple[bool, str]:
        """Whether the rows identify the noise scale, and the sentence that says why."""
        low, high = self.interval(level)
        if self.rows < 3:
            return (
                False,
                f"An interval needs at least three rows with both parts of the noise scale, and there are {self.rows}.",
            )
        if not self.grad_sq_norm > 0:
            return False, (
                "The mean of |G|^2 is not positive: noise hides the gradient, and the noise scale is not identified. "
                "Average more steps, or measure with a larger batch."
            )
        if not self.trace > 0:
            return False, "The mean of tr(Sigma) is not positive: no noise can be told from zero. Average more steps."
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
    parts = _parts(trace, grad_sq_norm)
    count = parts.shape[1]
    steps = np.ones(count) if weights is None else np.asarray(weights, float).ravel()
    if steps.size != count or not np.all(np.isfinite(steps) & (steps > 0)):
        raise ValueError(f"weights must be a positive number for each of the {count} rows, got {weights!r}")
    means = (parts * steps).sum(axis=1) / steps.sum() if count else np.full(2, np.nan)
    one_step = _products(parts, steps).mean(axis=1) if count > 1 else np.full(3, np.nan)
    return NoiseScaleEstimate(
        trace=float(means[0]),
        grad_sq_norm=float(means[1]),
        variances=tuple((one_step / steps.sum()).tolist()),
        degrees=float(_degrees(count)),
        rows=count,
    )


def smoothed(log: pd.DataFrame, rows: int = 5, level: float = 0.90) -> pd.DataFrame:
    """The noise scale along training: the ratio of both parts' averages over the rows around each.

    A window forgets: |G|^2 falls a hundredfold within the first rows of a run, and an exponential average would carry those to
    its end.

    Parameters
    ----------
    log : DataFrame
        tokens [tokens], grad_sq_norm and trace of each row; steps_averaged where rows differ in it.
    rows : int
        Rows averaged, an odd number; fewer at both ends of the log.
    level : float
        Of the interval, which is that of `NoiseScaleEstimate` for the rows of the window.

    Returns
    -------
    DataFrame
        tokens, noise_scale, low, high, grad_sq_norm, trace, one row for each of the log's; nan where not identified.
    """
    if not (rows >= 1 and rows % 2 == 1):
        raise ValueError(f"rows must be an odd number from 1, got {rows!r}")
    parts = _parts(log["trace"], log["grad_sq_norm"])
    steps = np.asarray(log.get("steps_averaged", np.ones(len(log))), float)
    ends = np.clip(np.arange(len(log)) + [[-(rows // 2)], [rows // 2 + 1]], 0, len(log))
    total, count = _between(steps, *ends), ends[1] - ends[0]
    means = _between(parts * steps, *ends) / total
    with np.errstate(invalid="ignore"):
        one_step = _between(_products(parts, steps), ends[0], ends[1] - 1) / np.where(count > 1, count - 1, np.nan)
    low, high = fieller(*means, *(one_step / total), student(_degrees(count), level))
    positive = means[1] > 0
    ratio = np.where(positive, noise_scale(means[0], np.where(positive, means[1], np.nan)), np.nan)
    columns = {"noise_scale": ratio, "low": low, "high": high, "grad_sq_norm": means[1], "trace": means[0]}
    return pd.DataFrame({"tokens": log["tokens"].to_numpy(), **columns})


def _parts(trace, grad_sq_norm) -> np.ndarray:
    """Both parts as two rows of finite floats."""
    parts = [np.asarray(part, float).ravel() for part in (trace, grad_sq_norm)]
    if parts[0].size != parts[1].size:
        raise ValueError(f"grad_sq_norm must be as long as trace, got {parts[1].size} for {parts[0].size}")
    for name, part in zip(("trace", "grad_sq_norm"), parts, strict=True):
        if not np.isfinite(part).all():
            raise ValueError(f"{name} must be finite, got {part[~np.isfinite(part)][0]!r}")
    return np.array(parts)


def _products(parts: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Of each two successive rows: one step's variance of trace, covariance, and variance of grad_sq_norm."""
    first, second = np.diff(parts) / np.sqrt(1 / steps[1:] + 1 / steps[:-1])
    return np.array([first * first, first * second, second * second])


def _degrees(rows):
    """Degrees of freedom of a variance from the differences of successive rows, 2 (n - 1)^2/(3 n - 4): about 2 n/3."""
    return 2 * (rows - 1) ** 2 / np.maximum(3 * rows - 4, 1e-9)


def _between(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Sums along the last axis from each `first` on to before each `last`."""
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    return sums[..., last] - sums[..., first]
