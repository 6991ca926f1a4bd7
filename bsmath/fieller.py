"""The interval of a ratio of two means whose variances and covariance are known (Fieller 1954). Derived for normal means."""

import numpy as np
from scipy import stats


def student(degrees, level: float):
    """Two-sided quantile of Student's t; nan where there are no degrees of freedom."""
    return stats.t.ppf((1 + level) / 2, np.where(np.asarray(degrees) > 0, degrees, np.nan))


def fieller(numerator, denominator, numerator_variance, covariance, denominator_variance, quantile):
    """Ends of the interval of a positive ratio of two means: all ratios R at which numerator - R denominator is within
    `quantile` of its own standard deviations of 0 (Fieller 1954). Broadcasts.

    Returns
    -------
    tuple
        Lower end, 0 or more, and upper end, inf where the denominator could be 0; nan where no positive ratio is
        inside.
    """
    a = denominator**2 - quantile**2 * denominator_variance
    b = numerator * denominator - quantile**2 * covariance
    c = numerator**2 - quantile**2 * numerator_variance
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(np.maximum(b**2 - a * c, 0))
        # The roots of a R^2 - 2 b R + c, without the difference of two equal numbers where a is about 0.
        far = b + np.where(b < 0, -root, root)
        first, second = far / a, c / far
    low, high = np.fmin(first, second), np.fmax(first, second)
    bounded = a > 0
    everything = ~bounded & ((b**2 < a * c) | (low > 0))  # no ratio is outside, or only a stretch between positive ones
    lower = np.where(bounded, np.maximum(low, 0), np.where(everything, 0, np.maximum(high, 0)))
    upper = np.where(bounded, high, np.inf)
    known = np.isfinite(a + b + c) & ~(bounded & (high <= 0))
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)
