"""Tokens per second against batch size, and the batch that reaches a target loss soonest.

    t = t_fixed + P / R          R = num_devices peak mfu / flops_per_token            P, R in padded tokens
    tokens/s = B / t             B_half = t_fixed R (1 - padding)                       B in real tokens, B = P (1 - padding)
    goodput  = tokens/s / (1 + B / B_crit)
    T = S_min (1 + B_crit/B) (t_fixed + B/R_real),  least at  B_fast = sqrt(B_half B_crit)

The step time is an empirical form: over 63 public sweeps its worst residual is at most 5 % in 20, 5-15 % in 23 and above in
20. Goodput is Pollux's term (Qiao et al. 2021, OSDI); B_fast is derived by setting dT/dB = 0, and maximizing goodput gives
the same. Step time sees padded tokens, optimization real ones: each parameter says which. `numeric` is a float, an array
or a Series.
"""

import numpy as np

from bsmath.critical import step_overhead, token_overhead


def plateau(peak_flops, mfu, flops_per_token, num_devices=1):
    """Rate R that is approached at large batches, whole job. [padded tokens/s]

    Parameters
    ----------
    peak_flops : numeric
        Dense peak of one device. [FLOP/s]
    mfu : numeric
        Model-FLOPs utilization at the plateau, 0 to 1.
    flops_per_token : numeric
        6N for a dense transformer. [FLOP/token]
    num_devices : numeric
        Devices of the job.
    """
    return num_devices * peak_flops * mfu / flops_per_token


def step_time(padded_tokens_per_step, fixed_time, plateau):
    """One optimizer step, t = t_fixed + P/R. [s]

    Parameters
    ----------
    padded_tokens_per_step : numeric
        Tokens that the hardware processes in a step, padding included. [tokens]
    fixed_time : numeric
        Seconds per step that do not grow with the batch. [s]
    plateau : numeric
        R. [padded tokens/s]
    """
    return fixed_time + padded_tokens_per_step / plateau


def tokens_per_second(tokens_per_step, fixed_time, plateau, padding_fraction=0):
    """Real tokens per second of the whole job. [tokens/s]

    `tokens_per_step` counts real tokens; the other parameters are those of `step_time`.
    """
    return tokens_per_step / step_time(tokens_per_step / (1 - padding_fraction), fixed_time, plateau)


def half_batch(fixed_time, plateau, padding_fraction=0):
    """B_half = t_fixed R (1 - padding), the batch at which half the plateau's rate is reached. [real tokens]"""
    return fixed_time * plateau * (1 - padding_fraction)


def batch_at_plateau_fraction(fraction, half_batch):
    """Batch at which this share of the plateau's rate is reached, B_half f/(1-f). [tokens]"""
    return half_batch * fraction / (1 - fraction)


def plateau_fraction(tokens_per_step, half_batch):
    """Share of the plateau's rate reached, B/(B + B_half)."""
    return tokens_per_step / (tokens_per_step + half_batch)


def goodput(tokens_per_second, tokens_per_step, critical_batch_size):
    """Rate times statistical efficiency, tokens/s / (1 + B/B_crit): tokens at the efficiency of a tiny batch. [tokens/s]"""
    return tokens_per_second / token_overhead(tokens_per_step, critical_batch_size)


def fastest_batch(half_batch, critical_batch_size):
    """B_fast = sqrt(B_half B_crit), least wall-clock to a target on fixed hardware, before feasibility. [tokens]"""
    return np.sqrt(half_batch * critical_batch_size)


def time_to_target(tokens_per_step, half_batch, critical_batch_size, min_steps, plateau):
    """Wall-clock to the target loss, S_min (1 + B_crit/B) (B_half + B)/R. [s]

    Parameters
    ----------
    tokens_per_step, half_batch, critical_batch_size : numeric
        Real tokens. [tokens]
    min_steps : numeric
        S_min. [steps]
    plateau : numeric
        R in real tokens, that is times (1 - padding). [tokens/s]
    """
    return min_steps * step_overhead(tokens_per_step, critical_batch_size) * (half_batch + tokens_per_step) / plateau


def batches_within(excess, half_batch, critical_batch_size, floor=0.0):
    """Smallest and largest batch whose time to target is at most (1 + excess) times the best from `floor` up. [tokens]

    T is proportional to B + K/B + const with K = B_half B_crit, so both ends solve one quadratic equation.
    """
    product = half_batch * critical_batch_size
    best = np.maximum(np.sqrt(product), floor)
    total = (best + product / best + half_batch + critical_batch_size) * (1 + excess)
    middle = (total - half_batch - critical_batch_size) / 2
    high = middle + np.sqrt(middle**2 - product)
    return np.maximum(product / high, floor), high


def fastest_feasible_batch(half_batch, critical_batch_size, smallest):
    """The multiple of `smallest` with the least time to target. [tokens]

    Parameters
    ----------
    half_batch, critical_batch_size : float
        [tokens]
    smallest : float
        Real tokens of one micro-batch on every replica: a job can do no less in a step, and adds whole ones. [tokens]
    """
    product = half_batch * critical_batch_size
    below = np.maximum(np.floor(np.sqrt(product) / smallest), 1) * smallest
    above = below + smallest
    return np.where(above + product / above < below + product / below, above, below)[()]


def plateau_from_rate(padded_tokens_per_step, padded_tokens_per_second, fixed_time):
    """The plateau R that gives a measured rate at a stated batch: step_time solved for it. [padded tokens/s]

    Negative or infinite where the measured step is not longer than `fixed_time`.
    """
    return padded_tokens_per_step / (padded_tokens_per_step / padded_tokens_per_second - fixed_time)
