"""Measured expert loads: how uneven they are, how much of that is sampling noise, what a capacity would drop.

    CV^2 = var(X)/mean(X)^2 over the E experts          E[CV^2] = (1 - p)/(M p) + skew^2 (1 - 1/M),  p = k/E
    dropped = sum max(X - C, 0) / (M k),  C = ceil(CF M k/E)

X are the loads of one group of M tokens, M k in sum. The skew is the CV of the experts' true shares: what is left of the
unevenness however many tokens are routed together. The first term is the sampling noise of `moe.expert_load_cv`. Derived,
exact for tokens that are routed independently of each other: a token picks k distinct experts, so that one expert's load is
a binomial and the loads sum to M k. Tokens of one text are alike, which shows as a skew that falls as the group grows.

`counts` is an array of loads whose last axis are the experts; functions give one number a group. No load was cut at a
capacity, or the skew comes out too small.
"""

import numpy as np
import pandas as pd

from bsmath import moe

STARVED = 0.1
"""An expert with less than this share of the mean load counts as starved; a convention."""


def routed_tokens(counts, top_k):
    """M, tokens of each group: the picks over k. [tokens]"""
    return np.asarray(counts).sum(axis=-1) / top_k


def load_cv(counts):
    """Coefficient of variation over the experts of each group (standard deviation of the population over the mean)."""
    counts = np.asarray(counts, float)
    return counts.std(axis=-1) / counts.mean(axis=-1)


def uniform_cv(counts, top_k):
    """The CV that sampling noise alone would give each group, see `moe.expert_load_cv`."""
    return moe.expert_load_cv(routed_tokens(counts, top_k), np.shape(counts)[-1], top_k)


def skew_squared(counts, top_k):
    """Unbiased estimate of the squared skew of each group, (CV^2 - (1 - p)/(M p)) / (1 - 1/M); negative ones are noise.

    Average it over groups, then take the root (see `skew`).

    Parameters
    ----------
    counts : array_like
        Loads, experts last. [tokens]
    top_k : numeric
        k, distinct experts that each token picked.
    """
    excess = load_cv(counts) ** 2 - uniform_cv(counts, top_k) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return excess / (1 - 1 / routed_tokens(counts, top_k))


def skew(counts, top_k) -> float:
    """CV that remains in large groups, from all groups together; 0 where noise explains everything."""
    return float(np.sqrt(max(np.mean(skew_squared(counts, top_k)), 0)))


def dropped_fraction(counts, top_k, capacity_factor):
    """Share of each group's picks that find their expert full, where the capacity is that of `moe.expert_capacity`."""
    counts = np.asarray(counts, float)
    capacity = moe.expert_capacity(routed_tokens(counts, top_k), counts.shape[-1], top_k, capacity_factor)
    return np.maximum(counts - np.expand_dims(capacity, -1), 0).sum(axis=-1) / counts.sum(axis=-1)


def busiest_ratio(counts):
    """Load of the busiest expert over the mean, in each group."""
    counts = np.asarray(counts, float)
    return counts.max(axis=-1) / counts.mean(axis=-1)


def starved_share(counts):
    """Share of the experts with less than a tenth of the mean load, in each group."""
    counts = np.asarray(counts, float)
    return (counts < STARVED * counts.mean(axis=-1, keepdims=True)).mean(axis=-1)


def summary(table: pd.DataFrame, capacity_factors: tuple[float, ...]) -> pd.DataFrame:
    """Loads by setting and size of the group, averaged over layers and groups.

    Parameters
    ----------
    table : DataFrame
        One row a group and layer: setting, routed_tokens [tokens], num_experts, top_k, counts (array of loads).
    capacity_factors : tuple of float
        CF, each gives a column.

    Returns
    -------
    DataFrame
        setting, num_experts, top_k, routed_tokens [tokens], groups (rows averaged), load_cv, uniform_cv, skew, busiest,
        starved, and `dropped_<CF>` for each factor.
    """
    keys = ["setting", "num_experts", "top_k", "routed_tokens"]
    found = []
    for values, rows in table.groupby(keys, sort=False):
        counts, top_k = np.stack(rows["counts"]), values[2]
        dropped = {f"dropped_{cf:g}": dropped_fraction(counts, top_k, cf).mean() for cf in capacity_factors}
        found.append(
            dict(zip(keys, values, strict=True))
            | {
                "groups": len(rows),
                "load_cv": load_cv(counts).mean(),
                "uniform_cv": uniform_cv(counts, top_k).mean(),
                "skew": skew(counts, top_k),
                "busiest": busiest_ratio(counts).mean(),
                "starved": starved_share(counts).mean(),
            }
            | dropped
        )
    return pd.DataFrame(found)
