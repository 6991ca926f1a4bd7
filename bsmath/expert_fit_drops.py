"""Dropped picks of experts whose loads scatter more than independent tokens: exact for a beta-binomial up to quadrature."""

import numpy as np
from scipy import special, stats

from bsmath import moe

EVEN = 1e-11
"""Correlation up to which tokens count as independent."""
NODES = 2048
"""Quantiles of the beta law over all experts of a layer together; 16 to 256 for each expert."""


def dropped_fraction(chances, num_experts: int, capacity_factor, routed_tokens, ratio):
    """Mean E[max(X - C, 0)] over the mean load, each X beta-binomial.

    Parameters
    ----------
    chances : array
        Chance that a token picks the expert, for every expert or for one kind alone that stands for all.
    num_experts : int
        E, for the capacity.
    capacity_factor, routed_tokens : numeric
        As in `moe.expert_capacity`.
    ratio : numeric
        Variance of X over that of a binomial, at least 1.
    """
    routed, ratio = np.broadcast_arrays(routed_tokens, ratio)
    top_k = chances.mean() * num_experts
    capacity = np.asarray(moe.expert_capacity(routed, num_experts, top_k, np.asarray(capacity_factor)))[..., None, None]
    routed, ratio = routed[..., None, None].astype(float), ratio[..., None, None]
    correlation = (ratio - 1) / np.maximum(routed - 1, 1)
    nodes = int(np.clip(NODES // len(chances), 16, 256)) if (correlation > EVEN).any() else 1
    chance = _beta_nodes(chances[:, None], correlation, nodes)
    over = routed * chance * stats.binom.sf(capacity - 1, routed - 1, chance)
    over = over - capacity * stats.binom.sf(capacity, routed, chance)
    return np.maximum(over, 0).mean(axis=(-2, -1)) * num_experts / (routed[..., 0, 0] * top_k)


def _beta_nodes(mean, correlation, nodes: int):
    """Equally likely values of a beta law, with its mean; all at the mean without correlation."""
    spread = np.clip(correlation, 1e-12, 1 - 1e-9)
    weight, inside = 1 / spread - 1, np.clip(mean, 1e-12, 1 - 1e-12)
    middle = (np.arange(nodes) + 0.5) / nodes
    values = special.betaincinv(inside * weight, (1 - inside) * weight, middle)
    values = np.minimum(values * (inside / values.mean(axis=-1, keepdims=True)), 1)
    return np.where(correlation > EVEN, values, inside)
