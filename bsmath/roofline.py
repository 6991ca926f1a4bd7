"""Whether arithmetic or memory bandwidth limits a matmul, and the least time that reading the weights takes.

    intensity = m K N / (m K + K N + m N) = 1 / (1/m + 1/K + 1/N)     [m, K] x [K, N], two-byte numbers, FLOP/byte
    balance   = peak / memory bandwidth                               compute-bound where intensity > balance
    m*        = 1 / (1/balance - 1/K - 1/N)                           about `balance` tokens for large matrices

Derived: every matrix crosses the memory bus once, and arithmetic overlaps with it perfectly. A real kernel needs more
tokens than m* before it is near its peak. `numeric` is a float, an array or a Series.
"""

import numpy as np

WEIGHT_PASSES = 3
"""Passes of a micro-batch over the weights: forward, gradient of the input, gradient of the weights (which it writes)."""


def matmul_intensity(tokens, inner, outer):
    """FLOPs per byte moved by the matmul [m, K] x [K, N] in two-byte numbers; about m while m is small. [FLOP/byte]

    Parameters
    ----------
    tokens : numeric
        m, tokens of one micro-batch on one device. [tokens]
    inner, outer : numeric
        K and N, the dimensions of the weights; np.inf drops a term.
    """
    return 1 / (1 / tokens + 1 / inner + 1 / outer)


def machine_balance(peak_flops, memory_bandwidth):
    """FLOPs that a device can do for each byte that its memory delivers. [FLOP/byte]"""
    return peak_flops / memory_bandwidth


def compute_bound_tokens(machine_balance, inner, outer):
    """m*, least tokens at which the matmul can be compute-bound; inf where no number is enough. [tokens]

    `inner` and `outer` are those of `matmul_intensity`.
    """
    with np.errstate(divide="ignore"):
        return np.divide(1, np.maximum(1 / machine_balance - 1 / inner - 1 / outer, 0))


def weight_read_time(weight_bytes, memory_bandwidth):
    """Least time of a micro-batch, however few its tokens: three passes over the weights. [s]

    Derived, with no reuse between the passes, which holds where the weights are much larger than the caches.

    Parameters
    ----------
    weight_bytes : numeric
        Weights that one device uses in a micro-batch: two bytes for each of its active parameters. [bytes]
    memory_bandwidth : numeric
        Of one device; np.inf leaves the weights out. [bytes/s]
    """
    return WEIGHT_PASSES * weight_bytes / memory_bandwidth


def weight_read_excess(compute_time, weight_bytes, memory_bandwidth):
    """How much longer a micro-batch takes than its arithmetic because the weights must be read; 0 where it is longer. [s]

    Parameters
    ----------
    compute_time : numeric
        Arithmetic of the micro-batch at the plateau's rate. [s]
    weight_bytes, memory_bandwidth : numeric
        As in `weight_read_time`.
    """
    return np.maximum(weight_read_time(weight_bytes, memory_bandwidth) - compute_time, 0)


def weight_bound_tokens(weight_bytes, memory_bandwidth, tokens_per_second):
    """Micro-batch of one device below which reading the weights takes longer than the arithmetic. [tokens]

    Parameters
    ----------
    weight_bytes, memory_bandwidth : numeric
        As in `weight_read_time`.
    tokens_per_second : numeric
        Rate of one device at the plateau. [tokens/s]
    """
    return weight_read_time(weight_bytes, memory_bandwidth) * tokens_per_second
