"""Steps and tokens to a target loss against batch size: the hyperbola and its knee; `hyperbola_fit` fits it.

    S = S_min (1 + B_crit / B)          E = B S = E_min (1 + B / B_crit)          E_min = S_min B_crit
    (S / S_min - 1) (E / E_min - 1) = 1

Derived from a local quadratic model of the loss with the learning rate tuned at every batch (McCandlish, Kaplan, Amodei
et al. 2018, arXiv 1812.06162, eq. 2.11-2.12). Measured: holds to 4-8 % on language models whose rate was tuned at every
batch; fails where it was not. `numeric` is a float, an array or a Series; nothing is validated.
"""

import numpy as np
import pandas as pd


def steps_to_target(tokens_per_step, critical_batch_size, min_steps):
    """Optimizer steps to the target loss, S = S_min (1 + B_crit/B). [steps]

    Parameters
    ----------
    tokens_per_step : numeric
        Global batch size B. [tokens]
    critical_batch_size : numeric
        B_crit = E_min/S_min: there both steps and tokens are twice their least. [tokens]
    min_steps : numeric
        S_min, the steps that remain however large the batch. [steps]
    """
    return min_steps * (1 + critical_batch_size / tokens_per_step)


def tokens_to_target(tokens_per_step, critical_batch_size, min_steps):
    """Real tokens to the target loss, E = E_min (1 + B/B_crit). Parameters as in `steps_to_target`. [tokens]"""
    return min_steps * (critical_batch_size + tokens_per_step)


def min_tokens(critical_batch_size, min_steps):
    """E_min, the tokens that remain however small the batch. [tokens]"""
    return critical_batch_size * min_steps


def step_overhead(tokens_per_step, critical_batch_size):
    """S/S_min: how many times the least possible steps."""
    return 1 + critical_batch_size / tokens_per_step


def token_overhead(tokens_per_step, critical_batch_size):
    """E/E_min: how many times the least possible tokens; its inverse is the statistical efficiency."""
    return 1 + tokens_per_step / critical_batch_size


def doubling_step_ratio(tokens_per_step, critical_batch_size):
    """S(2B)/S(B), from 1/2 far below the critical batch to 1 far above."""
    return step_overhead(2 * tokens_per_step, critical_batch_size) / step_overhead(tokens_per_step, critical_batch_size)


def doubling_token_ratio(tokens_per_step, critical_batch_size):
    """E(2B)/E(B), from 1 far below the critical batch to 2 far above."""
    return token_overhead(2 * tokens_per_step, critical_batch_size) / token_overhead(
        tokens_per_step, critical_batch_size
    )


def tradeoff(critical_batch_size, min_steps, tokens_per_step=None) -> pd.DataFrame:
    """The hyperbola as a table, one row per batch size.

    Parameters
    ----------
    critical_batch_size, min_steps : float
        B_crit [tokens] and S_min [steps].
    tokens_per_step : array_like, optional
        Batch sizes; by default 121 of them over three decades either side of B_crit. [tokens]

    Returns
    -------
    DataFrame
        tokens_per_step [tokens], steps, tokens [tokens], step_overhead, token_overhead.
    """
    if tokens_per_step is None:
        tokens_per_step = critical_batch_size * np.logspace(-3, 3, 121)
    batch = np.asarray(tokens_per_step, float)
    return pd.DataFrame(
        {
            "tokens_per_step": batch,
            "steps": steps_to_target(batch, critical_batch_size, min_steps),
            "tokens": tokens_to_target(batch, critical_batch_size, min_steps),
            "step_overhead": step_overhead(batch, critical_batch_size),
            "token_overhead": token_overhead(batch, critical_batch_size),
        }
    )
