"""Gaussian gradients whose noise scale is known, for the tests of the noise scale."""

import numpy as np

from bsmath import noise

SPREAD = np.linspace(0.2, 1.8, 200)  # the eigenvalues of Sigma in the sourced variances: tr(Sigma) = 200


def gradients(rng, steps: int, small_batches: int = 16, tokens_small: int = 8):
    """Squared norms at both batch sizes of drawn gradients: G along the first axis, Sigma = diag(SPREAD)."""
    shards = rng.standard_normal((steps, small_batches, SPREAD.size)) * np.sqrt(SPREAD / tokens_small)
    shards[..., 0] += 1
    return (shards**2).sum(axis=-1).mean(axis=-1), (shards.mean(axis=1) ** 2).sum(axis=-1)


def parts(rng, shape, relative_error: float, small_batches: int = 8):
    """trace and grad_sq_norm of independent steps by their exact laws, |G| = 1, tr(Sigma) = 200 with five eigenvalues.

    |G_big|^2 and the scatter of the small batches around G_big are independent sums of chi squares.
    """
    values, times = np.linspace(0.2, 1.8, 5), 40
    tokens_big = times * values.sum() / relative_error
    tokens_small = tokens_big / small_batches
    big = (1 + np.sqrt(values[0] / tokens_big) * rng.standard_normal(shape)) ** 2
    scatter = 0.0
    for i, value in enumerate(values):
        big += value / tokens_big * rng.chisquare(times - (i == 0), shape)
        scatter += value / tokens_small * rng.chisquare(times * (small_batches - 1), shape)
    norms = (tokens_small, tokens_big, big + scatter / small_batches, big)
    return noise.trace(*norms), noise.grad_sq_norm(*norms)
