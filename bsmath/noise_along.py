"""The noise scale along training, from a log of both parts: by a window around each row, or by exponential averages.

Both parts are averaged separately and then divided, never the ratio, whose mean is too large (McCandlish et al. 2018, arXiv
1812.06162, appendix A.1). An exponential average gives the row k rows back the weight beta^k and is as sure as
(1 + beta)/(1 - beta) rows that count alike (derived for independent rows). Decays in use: 0.99 a step in GPT-NeoX, 0.9998 in
nanoGNS.
"""

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from bsmath.fieller import fieller, student
from bsmath.noise import noise_scale
from bsmath.noise_estimate import both_parts, degrees_of_freedom, products


def effective_rows(decay):
    """Rows that count alike and are as sure as an exponential average of many, (1 + beta)/(1 - beta). [rows]"""
    return (1 + decay) / (1 - decay)


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
    parts, steps = both_parts(log["trace"], log["grad_sq_norm"]), _steps(log)
    ends = np.clip(np.arange(len(log)) + [[-(rows // 2)], [rows // 2 + 1]], 0, len(log))
    total, count = _between(steps, *ends), ends[1] - ends[0]
    means = _between(parts * steps, *ends) / total
    with np.errstate(invalid="ignore"):
        one_step = _between(products(parts, steps), ends[0], ends[1] - 1) / np.where(count > 1, count - 1, np.nan)
    return _along(log, means, one_step / total, count, level)


def exponential(log: pd.DataFrame, decay: float, level: float = 0.90) -> pd.DataFrame:
    """The noise scale along training by exponential averages of both parts over each row and those before it.

    Each average is divided by the sum of its weights, so that the first rows are not pulled towards 0.

    Parameters
    ----------
    log, level
        As in `smoothed`.
    decay : float
        beta, weight of a row over that of the next, from 0 to below 1.

    Returns
    -------
    DataFrame
        Columns as in `smoothed`.
    """
    if not 0 <= decay < 1:
        raise ValueError(f"decay must be from 0 to below 1, got {decay!r}")
    parts, steps = both_parts(log["trace"], log["grad_sq_norm"]), _steps(log)
    total = _faded(steps, decay)
    squares = _faded(steps, decay**2)  # of weights beta^k steps, each over a variance of one step over its steps
    means = _faded(parts * steps, decay) / total
    count = _faded(np.ones(len(log)), decay) ** 2 / _faded(np.ones(len(log)), decay**2)
    squared = np.pad(products(parts, steps), ((0, 0), (min(len(log), 1), 0)))
    pairs = _faded(np.minimum(np.arange(len(log)), 1.0), decay)
    one_step = _faded(squared, decay) / np.where(pairs > 0, pairs, np.nan)
    return _along(log, means, one_step * squares / total**2, count, level)


def _along(log: pd.DataFrame, means: np.ndarray, variances: np.ndarray, rows: np.ndarray, level: float) -> pd.DataFrame:
    """A row for each of the log's from both means, their variances and the rows that these rest on."""
    low, high = fieller(*means, *variances, student(degrees_of_freedom(rows), level))
    positive = means[1] > 0
    ratio = np.where(positive, noise_scale(means[0], np.where(positive, means[1], np.nan)), np.nan)
    columns = {"noise_scale": ratio, "low": low, "high": high, "grad_sq_norm": means[1], "trace": means[0]}
    return pd.DataFrame({"tokens": log["tokens"].to_numpy(), **columns})


def _steps(log: pd.DataFrame) -> np.ndarray:
    """Steps averaged in each row."""
    return np.asarray(log.get("steps_averaged", np.ones(len(log))), float)


def _faded(values: np.ndarray, decay: float) -> np.ndarray:
    """Sums along the last axis over each value and those before it, k back weighted by decay^k."""
    return lfilter([1.0], [1.0, -decay], values, axis=-1) if values.shape[-1] else values


def _between(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Sums along the last axis from each `first` on to before each `last`."""
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    return sums[..., last] - sums[..., first]
