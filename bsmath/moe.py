"""Expert load of a mixture of experts under uniform routing: spread, idle experts, dropped tokens.

    X ~ Binomial(M, p),  p = k/E          mean = M p,  var = M p (1 - p),  CV = sqrt((1 - p) / (M p))
    C = ceil(CF M k / E)                  dropped = (M p P[Bin(M-1, p) >= C] - C P[Bin(M, p) >= C+1]) / (M p)

X is the load of one expert where each of M tokens picks k distinct ones of E experts, all alike. Derived, unless a
function says otherwise. It is the best case: sampling noise falls with M, a skewed router does not. Measured loads are
10 to 230 times more uneven (CV 0.3-1.35 in OLMoE, 0.04-0.25 in Mixtral), so that drops stop falling once 5 to 1,800
tokens are routed together. M is these, not the tokens of the global step, wherever capacity or a matmul is concerned.
The capacity is that of Switch (Fedus et al. 2021, arXiv 2101.03961, eq. 3), times k as in Megatron-LM. `numeric` is a
float, an array or a Series.
"""

import numpy as np
import pandas as pd
from scipy.stats import binom

CEIL_SLACK = 1e-14
"""Relative float noise of a product of three numbers (about 4e-16) that must not lift a capacity by one token."""


def routed_tokens(micro_batch_size, seq_len, expert_parallel_size):
    """M, tokens routed together, where capacity applies: one micro-batch in each replica of the group. [tokens]

    Parameters
    ----------
    micro_batch_size : numeric
        Sequences that one replica forwards at once. [sequences]
    seq_len : numeric
        Padding is routed too. [tokens/sequence]
    expert_parallel_size : numeric
        Replicas whose tokens are routed together.
    """
    return micro_batch_size * seq_len * expert_parallel_size


def tokens_per_expert(routed_tokens, num_experts, top_k):
    """Mean load of one expert, M k/E; exact for any routing. [tokens]

    Parameters
    ----------
    routed_tokens : numeric
        M, or the global batch for what an expert's gradient sees in a step. [tokens]
    num_experts : numeric
        E, routed experts of one layer.
    top_k : numeric
        k, distinct experts that each token picks.
    """
    return routed_tokens * top_k / num_experts


def expert_load_variance(routed_tokens, num_experts, top_k):
    """Variance of one expert's load, M p (1 - p). Parameters as in `tokens_per_expert`. [tokens^2]"""
    share = top_k / num_experts
    return routed_tokens * share * (1 - share)


def expert_load_covariance(routed_tokens, num_experts, top_k):
    """Covariance of two experts' loads, -var/(E - 1) for E > 1, since all loads sum to M k. [tokens^2]"""
    return -expert_load_variance(routed_tokens, num_experts, top_k) / (num_experts - 1)


def expert_load_cv(routed_tokens, num_experts, top_k):
    """Coefficient of variation of one expert's load, sqrt((1 - p) / (M p))."""
    return np.sqrt((1 - top_k / num_experts) / tokens_per_expert(routed_tokens, num_experts, top_k))


def min_routed_tokens_for_cv(cv, num_experts, top_k):
    """Tokens routed together at which sampling noise alone gives this CV, (1 - p) / (p CV^2). [tokens]"""
    share = top_k / num_experts
    return (1 - share) / (share * cv**2)


def expert_capacity(routed_tokens, num_experts, top_k, capacity_factor):
    """Tokens that one expert accepts, C = ceil(CF M k/E). [tokens]

    Parameters
    ----------
    routed_tokens, num_experts, top_k : numeric
        As in `tokens_per_expert`.
    capacity_factor : numeric
        Room of an expert over the mean load; CF = E/k gives room for every token, as dropless does.
    """
    room = capacity_factor * tokens_per_expert(routed_tokens, num_experts, top_k)
    return np.ceil(room * (1 - CEIL_SLACK))


def dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor):
    """Expected share of the M k picks that find their expert full, E[max(X - C, 0)] / (M p); a dropped pick is skipped.

    Exact under uniform routing for whole M; measured shares are larger (4-11 % in OLMoE at 1.25). Parameters as in
    `expert_capacity`.
    """
    share = top_k / num_experts
    mean = tokens_per_expert(routed_tokens, num_experts, top_k)
    capacity = expert_capacity(routed_tokens, num_experts, top_k, capacity_factor)
    at_least = binom.sf(capacity - 1, routed_tokens - 1, share)
    over = mean * at_least - capacity * binom.sf(capacity, routed_tokens, share)
    return np.maximum(over, 0) / mean  # far in the tail the difference of two equal numbers may round below zero


def idle_probability(routed_tokens, num_experts, top_k):
    """Probability that one expert gets no token, (1 - p)^M."""
    return (1 - top_k / num_experts) ** routed_tokens


def expected_idle_experts(routed_tokens, num_experts, top_k):
    """Expected number of experts without a token, E (1 - p)^M."""
    return num_experts * idle_probability(routed_tokens, num_experts, top_k)


def max_load(routed_tokens, num_experts, top_k):
    """Load of the busiest expert, about mean + sd sqrt(2 ln E) and at most M. [tokens]

    Rule of thumb: the extreme of E normal loads, a few percent high at a mean of 100 (165 against a simulated 161).
    """
    deviation = np.sqrt(expert_load_variance(routed_tokens, num_experts, top_k))
    extreme = tokens_per_expert(routed_tokens, num_experts, top_k) + deviation * np.sqrt(2 * np.log(num_experts))
    return np.minimum(extreme, routed_tokens)


def load_distribution(routed_tokens: float, num_experts: int, top_k: int, rows: int = 200) -> pd.DataFrame:
    """Probability of each load of one expert over five standard deviations either side of the mean.

    Returns
    -------
    DataFrame
        load [tokens] and its probability. Where the span holds more than `rows` loads they are thinned to evenly spaced
        ones, each still with the probability of exactly that load.
    """
    mean = tokens_per_expert(routed_tokens, num_experts, top_k)
    reach = 5 * np.sqrt(expert_load_variance(routed_tokens, num_experts, top_k))
    low, high = np.floor(max(mean - reach, 0)), np.ceil(min(mean + reach, routed_tokens))
    load = np.arange(low, high + 1, np.ceil((high - low + 1) / rows)).astype(int)
    return pd.DataFrame({"load": load, "probability": binom.pmf(load, routed_tokens, top_k / num_experts)})
