"""What in measured steps to a target breaks the hyperbola: absurd runs, tokens that fall with the batch, a U in the tokens.

On a hyperbola tokens never fall as the batch grows. In real sweeps they do at small batches, by up to 2.8 times, where betas,
decay or minimum rate were held fixed, and at every batch where the learning rate was. Everything works on logarithms, so that
errors are relative. Thresholds are empirical choices; `python -m tests.benchmarks.critical_fits` measures what they do.
"""

import numpy as np
from scipy import stats

from bsmath import logline

ABSURD, ABSURD_AT_END = 3, 5
"""Times off the curve of the others from which a run is a mistake; at the smallest and largest batch a hyperbola may break so much
that more is needed, unless another run at the same batch agrees with the curve."""
SPREADS = 8
"""And how many times the typical distance of the runs."""
VISIBLE, PLAIN = 0.15, 0.40
"""Share by which the smallest batch may need more tokens than the cheapest before a U is looked for; and than the cheapest, or than
the rest lets one expect there, before it is plain."""
SHALLOW = 0.05
"""Share above the least of the tokens up to which a batch counts as at the minimum: well-tuned sweeps scatter by about as much."""
SIGNIFICANCE = 0.05
"""Chance of seeing a U in a hyperbola."""
FALL = 0.2
"""Share of the smallest batch's tokens that the largest saves before the learning rate is suspected."""


def absurd(tokens_per_step, steps) -> np.ndarray:
    """Which runs are mistakes, such as a ten-fold typing error: far off the curve that goes nearest to most of them.

    The curve has the least sum of absolute logarithmic distances, which a few wrong runs cannot pull away.

    Parameters
    ----------
    tokens_per_step, steps : array_like
        Batch size [tokens] and steps to the target of each run; positive.
    """
    batch, log_steps = np.asarray(tokens_per_step, float), np.log(np.asarray(steps, float))
    nothing = np.zeros(batch.size, bool)
    if batch.size < 5 or np.unique(batch).size < 3:
        return nothing
    remainder = log_steps - np.log1p(np.multiply.outer(logline.ratios(np.unique(1 / batch)), 1 / batch))
    distance = remainder - np.median(remainder, axis=1, keepdims=True)
    distance = np.abs(distance[np.abs(distance).sum(axis=1).argmin()])
    far = distance > max(np.log(ABSURD), SPREADS * 1.4826 * np.median(distance))
    agreed = np.isin(batch, batch[~far])
    at_end = np.isin(batch, (batch.min(), batch.max()))
    far &= agreed | ~at_end | (distance > np.log(ABSURD_AT_END))
    kept = np.unique(batch[~far]).size
    return far if 4 * far.sum() <= batch.size and kept >= 3 else nothing


def tokens_fall(batch: np.ndarray, log_steps: np.ndarray) -> bool:
    """Whether tokens fall from the smallest to the largest batch, where they are about least, by more than chance."""
    log_tokens = log_steps + np.log(batch)
    fall = log_tokens[-1] - log_tokens[0]
    if fall > np.log1p(-FALL) or log_tokens[-1] > log_tokens.min() + 0.05:
        return False
    if batch.size < 4:
        return True
    slope = stats.linregress(np.log(batch), log_tokens)
    return bool(slope.slope < 0 and slope.pvalue < 2 * SIGNIFICANCE)


def turning(batch: np.ndarray, log_steps: np.ndarray) -> int:
    """How many of the smallest batches lie left of the minimum of a U in the tokens; 0 where there is none.

    Tested by leaving them out (Chow 1960): the fit to the rest must be better by more than chance, for any place of the
    minimum. Where too few are left to test, only a plain excess counts.
    """
    log_tokens = log_steps + np.log(batch)
    above = np.expm1(log_tokens - log_tokens.min())
    left = int(np.argmax(above <= SHALLOW))
    if above[0] < VISIBLE:
        return 0
    if above[0] > PLAIN:
        return left
    right = batch.size - left - 2
    if right < 1:
        return 0
    every, rest = (logline.fit(1 / batch[first:], np.exp(log_steps[first:])) for first in (0, left))
    if log_steps[0] - np.log(rest.predict(1 / batch[0])) > np.log1p(PLAIN):
        return left
    ratio = (every.ssr - rest.ssr) / left / max(rest.ssr / right, 1e-24)
    return left if (batch.size - 2) * stats.f.sf(ratio, left, right) < SIGNIFICANCE else 0


def resolution(steps) -> float:
    """Steps between two values of the grid on which all steps stand, as where they were read off evaluations; nan where on none.

    It is the greatest common divisor of all step counts, told from chance by at least four different ones.
    """
    count = np.asarray(steps, float)
    whole = np.round(count)
    if np.unique(whole).size < 4 or np.abs(count - whole).max() > 1e-6 * count.max() or count.max() > 1e15:
        return np.nan
    spacing = int(np.gcd.reduce(whole.astype(np.int64)))
    return float(spacing) if spacing > 1 else np.nan
