"""Expert loads of a mixture-of-experts layer: mean, spread, dropped tokens, and when an expert's matmul is compute-bound.

    mean load = M k / E        X ~ Binomial(M, p), p = k/E        CV = sqrt((1 - p) / (M p))        C = ceil(CF M k / E)

M is the number of tokens *routed together*, where capacity applies (micro-batch x expert-parallel group), not the global
batch. Derived, exact under uniform routing: each token picks k different experts with equal chance. Measured routers are
10 to 230 times more uneven (public OLMoE and Mixtral counts), so drops here are a lower bound. Capacity as in Switch (Fedus
et al. 2021, arXiv 2101.03961, eq. 3) and Megatron-LM. `numeric` is a float, an array or a Series.
"""

import numpy as np
import pandas as pd
from scipy import stats

ROUNDING = 1e-9
"""Relative slack before a capacity is rounded up: 1.1 * 100 must be 110, not 111."""


def routed_tokens(micro_batch_size, seq_len, expert_parallel_size):
    """Tokens routed together, M: one micro-batch of every replica of the expert-parallel group. [tokens]"""
    return micro_batch_size * seq_len * expert_parallel_size


def tokens_per_expert(routed_tokens, num_experts, top_k):
    """Mean load of an expert, M k / E. [tokens]

    Parameters
    ----------
    routed_tokens : numeric
        M; put in the global batch to get what an expert's gradient sees in a step. [tokens]
    num_experts : numeric
        Routed experts, E.
    top_k : numeric
        Experts per token, k.
    """
    return routed_tokens * top_k / num_experts


def expert_load_variance(routed_tokens, num_experts, top_k):
    """Variance of one expert's load, M p (1 - p). [tokens^2]"""
    share = top_k / num_experts
    return routed_tokens * share * (1 - share)


def expert_load_cv(routed_tokens, num_experts, top_k):
    """Coefficient of variation of one expert's load, sqrt((1 - p) / (M p))."""
    share = top_k / num_experts
    return np.sqrt((1 - share) / (routed_tokens * share))


def min_routed_tokens_for_cv(cv, num_experts, top_k):
    """Tokens to route together for a wanted CV, the inverse of `expert_load_cv`. [tokens]"""
    share = top_k / num_experts
    return (1 - share) / (share * cv**2)


def expert_capacity(routed_tokens, num_experts, top_k, capacity_factor):
    """Tokens that one expert accepts, ceil(CF M k / E). [tokens]"""
    return np.ceil(tokens_per_expert(routed_tokens, num_experts, top_k) * capacity_factor * (1 - ROUNDING))


def dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor):
    """Expected share of routed tokens beyond their expert's capacity, exact under uniform routing.

    E max(X - C, 0) / (M p) with X ~ Binomial(M, p), by the identity x P[X = x] = M p P[Bin(M - 1, p) = x - 1]. Parameters as in
    `tokens_per_expert`; `routed_tokens` must be whole.
    """
    share = top_k / num_experts
    mean = tokens_per_expert(routed_tokens, num_experts, top_k)
    capacity = expert_capacity(routed_tokens, num_experts, top_k, capacity_factor)
    above = stats.binom.sf(capacity - 1, routed_tokens - 1, share)
    beyond = stats.binom.sf(capacity, routed_tokens, share)
    return np.maximum(above - capacity / mean * beyond, 0)


def idle_probability(routed_tokens, num_experts, top_k):
    """Chance that an expert gets no token, (1 - p)^M."""
    return (1 - top_k / num_experts) ** routed_tokens


def expected_idle_experts(routed_tokens, num_experts, top_k):
    """Expected number of experts without a token."""
    return num_experts * idle_probability(routed_tokens, num_experts, top_k)


def max_load(routed_tokens, num_experts, top_k):
    """Load of the busiest expert, mean + sd sqrt(2 ln E); rule of thumb, a little high. [tokens]"""
    spread = np.sqrt(expert_load_variance(routed_tokens, num_experts, top_k))
    return tokens_per_expert(routed_tokens, num_experts, top_k) + spread * np.sqrt(2 * np.log(num_experts))


def expert_matmul_intensity(tokens, width, hidden):
    """FLOP per byte of an expert's 2-byte matmul [tokens, width] x [width, hidden], 1 / (1/m + 1/d + 1/f). [FLOP/byte]

    Parameters
    ----------
    tokens : numeric
        Tokens per expert in one call, m. [tokens]
    width, hidden : numeric
        Model width d and expert hidden size f; inf for large ones.
    """
    return 1 / (1 / tokens + 1 / width + 1 / hidden)


def compute_bound_tokens(machine_balance, width, hidden):
    """Tokens per expert and call at which the matmul turns compute-bound, 1 / (1/balance - 1/d - 1/f). [tokens]

    `machine_balance` is peak over memory bandwidth [FLOP/byte]; inf or negative where the matrices are too small for it.
    """
    return 1 / (1 / machine_balance - 1 / width - 1 / hidden)


def load_distribution(routed_tokens, num_experts, top_k, points: int = 200) -> pd.DataFrame:
    """Chance of each load of one expert within five standard deviations of its mean.

    Returns
    -------
    DataFrame
        load [tokens], thinned to at most `points` rows, and probability of exactly that load.
    """
    mean = tokens_per_expert(routed_tokens, num_experts, top_k)
    reach = 5 * np.sqrt(expert_load_variance(routed_tokens, num_experts, top_k))
    low, high = max(np.floor(mean - reach), 0), min(np.ceil(mean + reach), routed_tokens)
    load = np.arange(low, high + 1, max(np.ceil((high - low) / points), 1))
    return pd.DataFrame({"load": load, "probability": stats.binom.pmf(load, routed_tokens, top_k / num_experts)})
