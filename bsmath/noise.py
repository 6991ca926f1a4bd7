"""The gradient noise scale: its formulas from squared gradient norms at two batch sizes, and how sure one step is.

    E|G_B|^2 = |G|^2 + tr(Sigma)/B                B_simple = tr(Sigma) / |G|^2
    |G|^2 ~ (B_big |G_big|^2 - B_small |G_small|^2) / (B_big - B_small)
    tr(Sigma) ~ (|G_small|^2 - |G_big|^2) / (1/B_small - 1/B_big)

Derived (McCandlish, Kaplan, Amodei et al. 2018, arXiv 1812.06162, eq. 2.9-2.10, 2.6-2.7, A.1-A.2). Both parts are
unbiased, their ratio in one step is not: each is averaged over steps and then divided. Both are additive over
parameters, so that a layer has a noise scale of its own (Gray et al. 2024, arXiv 2411.00999). B_simple predicts the
critical batch to an order of magnitude; measured beside it, it was 0.4 to 18 times as large. `numeric` is a float, an
array or a Series; formulas validate nothing. The noise scale has the unit of the batch sizes put in. `noise_estimate`
averages a log, `noise_reading` judges two norms by themselves.
"""

import numpy as np


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


def improvement_at_step(step_over_best):
    """Gain in loss of a step this many times the best one, over the best one's gain: s (2 - s). [-]

    Derived from the same quadratic (eq. 2.5): 0 at twice the best step, and beyond it the loss rises.
    """
    return step_over_best * (2 - step_over_best)


def norm_ratio(tokens_per_step, noise_scale):
    """Root mean square of |g_B| over |G|, sqrt(1 + B_simple/B): how much longer than its signal a gradient is. Derived."""
    return np.sqrt(1 + relative_error(tokens_per_step, noise_scale))


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


def trace_relative_variance(relative_error, small_batches, effective_dimension, averaged=None):
    """Variance of `trace` in one step over tr(Sigma)^2; 2/((n - 1) d) with all small norms. Parameters as below."""
    excess = _norm_variances(relative_error, small_batches, effective_dimension, averaged)[2]
    return excess / ((small_batches - 1) * relative_error) ** 2


def grad_sq_norm_relative_variance(relative_error, small_batches, effective_dimension, averaged=None):
    """Variance of `grad_sq_norm` in one step over |G|^4; (4 r + 2 r^2 n/(n - 1))/d with all small norms.

    Derived for Gaussian gradients whose noise along G is like the rest of it.

    Parameters
    ----------
    relative_error : numeric
        r = B_simple/B, see `relative_error`.
    small_batches : numeric
        n, equal small batches that make up the big one.
    effective_dimension : numeric
        d = tr(Sigma)^2/tr(Sigma^2), the directions that noise spreads over.
    averaged : numeric, optional
        How many of the n small norms were averaged: 1 where a single replica logs its own; all by default.
    """
    n = small_batches
    small, big, _ = _norm_variances(relative_error, n, effective_dimension, averaged)
    return ((n**2 - 2 * n) * big + small) / (n - 1) ** 2


def relative_variance(relative_error, small_batches, effective_dimension, averaged=None):
    """Variance of the noise scale from one step over its square, by the delta method: for averages of many steps only.

    The variances of both parts, and minus twice their covariance. Parameters as in `grad_sq_norm_relative_variance`.
    """
    given = (relative_error, small_batches, effective_dimension, averaged)
    # The covariance over both parts is minus the variance of the trace over r.
    return (1 + 2 * relative_error) * trace_relative_variance(*given) + grad_sq_norm_relative_variance(*given)


def steps_needed(relative_variance, relative_deviation):
    """Steps to average for this relative standard deviation, from the relative variance in one step. [steps]"""
    return relative_variance / relative_deviation**2


def _norm_variances(r, n, d, averaged):
    """Variances of the averaged small squared norm and of the big one over |G|^4, and their difference.

    A small batch's norm and the big one's have the big one's variance as covariance, since each small gradient has the
    covariance Sigma/B with their mean.
    """
    m = n if averaged is None else averaged
    small, big = (4 * n * r + 2 * (n * r) ** 2) / (m * d), (4 * r + 2 * r**2) / d
    return small, big, small - big
