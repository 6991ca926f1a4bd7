"""Pollux: the throughput of a data-parallel job, its statistical efficiency, and their product.

    T_grad = alpha_c + beta_c m                                    one micro-batch of m on each of K devices
    T_sync = 0 if K = 1, else alpha + beta max(K - 2, 0)           one pair on one node, another across nodes
    T_iter = (a - 1) T_grad + (T_grad^g + T_sync^g)^(1/g)          g from 1 (no overlap) to 10 (nearly the longer one)
    throughput = K m a / T_iter      efficiency = (phi + M0)/(phi + M)      goodput = throughput efficiency,  M >= M0

Qiao et al. 2021 (OSDI), as in the source of AdaptDL. T_iter is an empirical form with seven fitted constants; efficiency is
derived from the noise scale phi = tr(Sigma)/|G|^2 and compares with a reference batch M0. `a` is our `grad_accum_steps`, one
more than AdaptDL's `accum_steps`. Batches and phi are in one unit, here tokens. `numeric` is a float, an array or a Series.
"""

import numpy as np


def grad_time(micro_tokens, fixed_time, time_per_token):
    """T_grad, forward and backward of one micro-batch, alpha_c + beta_c m. [s]

    Parameters
    ----------
    micro_tokens : numeric
        m, of one device. [tokens]
    fixed_time : numeric
        alpha_c. [s]
    time_per_token : numeric
        beta_c. [s/token]
    """
    return fixed_time + time_per_token * micro_tokens


def sync_time(num_devices, fixed_time, time_per_device):
    """T_sync, alpha + beta max(K - 2, 0), nothing for one device. [s]

    Parameters
    ----------
    num_devices : numeric
        K.
    fixed_time : numeric
        alpha_r on one node, alpha_n across nodes. [s]
    time_per_device : numeric
        beta_r or beta_n, for every device beyond the second. [s]
    """
    return np.where(np.equal(num_devices, 1), 0, fixed_time + time_per_device * np.maximum(num_devices - 2, 0))[()]


def iteration_time(grad_time, sync_time, overlap_exponent, grad_accum_steps=1):
    """T_iter, one optimizer step: only the last micro-batch overlaps with the exchange of gradients. [s]

    Parameters
    ----------
    grad_time, sync_time : numeric
        T_grad, T_sync. [s]
    overlap_exponent : numeric
        gamma, 1 to 10: 1 adds the two times, a large one approaches the longer of them.
    grad_accum_steps : numeric
        Micro-batches per step.
    """
    last = (grad_time**overlap_exponent + sync_time**overlap_exponent) ** (1 / overlap_exponent)
    return (grad_accum_steps - 1) * grad_time + last


def throughput(micro_tokens, num_devices, iteration_time, grad_accum_steps=1):
    """Tokens per second of the whole job, K m a / T_iter. [tokens/s]"""
    return num_devices * micro_tokens * grad_accum_steps / iteration_time


def efficiency(tokens_per_step, noise_scale, reference_tokens_per_step):
    """Progress per token relative to the reference batch, (phi + M0)/(phi + M).

    Parameters
    ----------
    tokens_per_step : numeric
        M, at least M0. [tokens]
    noise_scale : numeric
        phi; at a constant loss it plays the part of B_crit. [tokens]
    reference_tokens_per_step : numeric
        M0. [tokens]
    """
    return (noise_scale + reference_tokens_per_step) / (noise_scale + tokens_per_step)


def goodput(throughput, tokens_per_step, noise_scale, reference_tokens_per_step):
    """Throughput times efficiency: tokens per second, at what a token of the reference batch is worth. [tokens/s]"""
    return throughput * efficiency(tokens_per_step, noise_scale, reference_tokens_per_step)


def adascale_gain(tokens_per_step, noise_scale, reference_tokens_per_step):
    """AdaScale's factor on the learning rate of SGD, (phi/M0 + 1)/(phi/M + 1); AdaptDL takes its square root for Adam.

    Also the reference steps that one step is worth, so that efficiency = gain M0/M. Parameters as in `efficiency`.
    """
    return (noise_scale / reference_tokens_per_step + 1) / (noise_scale / tokens_per_step + 1)
