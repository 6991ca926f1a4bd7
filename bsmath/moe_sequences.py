"""Expert load where tokens of one sequence pick alike: the design effect of cluster sampling.

    deff = 1 + (m - 1) rho      var = M p (1 - p) deff      M_eff = M / deff

m tokens of a sequence are routed together, rho is the correlation of "picks this expert" between two of them, p = k/E.
The variance is derived, exact for whole sequences with one rho for every pair (Kish 1965, Survey Sampling). The dropped
share is an approximation: the load is taken for a beta-binomial of that variance, X ~ BetaBinomial(M, A p, A (1 - p))
with A = (M - deff)/(deff - 1). It is exact for one sequence with Dirichlet shares and for rho = 0, and in between
within 0.003 of loads simulated from 8 or more such sequences (0.005 from 4; k = 1, rho up to 0.1).
`numeric` is a float or an array.
"""

import numpy as np

from bsmath import moe, moe_polya

LEAST = 1e-9
"""Keeps the concentration finite for independent tokens and positive where all tokens pick as one."""


def design_effect(routed_tokens, seq_len, correlation):
    """Variance of a load over that of independent tokens, 1 + (m - 1) rho with m = min(seq_len, M).

    Parameters
    ----------
    routed_tokens, seq_len : numeric
        M, and the tokens of a sequence among them. [tokens], [tokens/sequence]
    correlation : numeric
        rho; 0 for independent tokens, 1 where a sequence picks as one.
    """
    return 1 + (np.minimum(seq_len, routed_tokens) - 1) * correlation


def effective_tokens(routed_tokens, seq_len, correlation):
    """Independent tokens whose load is as uneven, M / deff. Parameters as in `design_effect`. [tokens]"""
    return routed_tokens / design_effect(routed_tokens, seq_len, correlation)


def expert_load_variance(routed_tokens, num_experts, top_k, seq_len, correlation):
    """Variance of one expert's load, M p (1 - p) deff. [tokens^2]"""
    deff = design_effect(routed_tokens, seq_len, correlation)
    return deff * moe.expert_load_variance(routed_tokens, num_experts, top_k)


def expert_load_cv(routed_tokens, num_experts, top_k, seq_len, correlation):
    """Coefficient of variation of one expert's load, that of `effective_tokens`."""
    return moe.expert_load_cv(effective_tokens(routed_tokens, seq_len, correlation), num_experts, top_k)


def dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor, seq_len, correlation):
    """Expected share of picks beyond capacity, E[max(X - C, 0)] / (M p) for the beta-binomial X of this variance.

    At rho = 0 it equals `moe.dropped_fraction` to 1e-6. Parameters as there and in `design_effect`; M whole.
    """
    share = top_k / num_experts
    deff = design_effect(routed_tokens, seq_len, correlation)
    concentration = np.maximum(routed_tokens - deff, LEAST) / np.maximum(deff - 1, LEAST)
    capacity = moe.expert_capacity(routed_tokens, num_experts, top_k, capacity_factor)
    others = concentration * np.maximum(1 - share, LEAST)
    over = moe_polya.overflow(routed_tokens, capacity, concentration * share, others)
    return over / (routed_tokens * share)
