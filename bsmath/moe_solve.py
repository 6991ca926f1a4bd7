"""Capacity, or tokens routed together, for a wanted load spread or drop rate; skew as in `moe_imbalance`.

    least capacity      smallest whole C whose dropped share is at most the wanted one
    tokens for a CV     CV^2 = skew^2 + (E - 1 - skew^2)/(M k);  none where CV <= skew
    tokens for a drop   smallest M with u(M) <= wanted;  none where the limit of many tokens is above it

    u(M) = E[max(X - CF M k/E, 0)] E/(M k)

u is the dropped share with the capacity not rounded up to a whole token. Loads per token are averages of exchangeable
picks and max is convex, so u never rises with M, and it bounds the rounded share from above. The rounded share itself
is a sawtooth: a lone token is never dropped. So M is the size from which on the wanted rate holds for every size.
Skew 0 is the uniform routing of `moe`, with k distinct picks. `numeric` is a float or an array.
"""

import numpy as np

from bsmath import moe, moe_imbalance

MOST_DOUBLINGS = 40
"""Sizes up to 2^40 = 1.1e12 tokens are searched; a wanted rate that needs more counts as out of reach."""


def least_capacity(dropped, routed_tokens, num_experts, top_k, skew=0.0):
    """Smallest capacity of an expert whose dropped share is at most `dropped`. [tokens]

    Parameters
    ----------
    dropped : numeric
        Wanted share of the M k picks beyond capacity, 0-1.
    routed_tokens, num_experts, top_k : numeric
        As in `moe.tokens_per_expert`; M whole.
    skew : numeric
        CV of the experts' true shares; 0 for uniform routing.
    """
    mean = moe.tokens_per_expert(routed_tokens, num_experts, top_k)
    most = routed_tokens * np.where(np.equal(skew, 0), 1, top_k)  # independent picks may all be of one expert

    def enough(capacity):
        return _dropped_fraction(routed_tokens, num_experts, top_k, capacity / mean, skew) <= dropped

    return smallest(enough, np.broadcast_arrays(dropped, most, mean)[1])


def least_capacity_factor(dropped, routed_tokens, num_experts, top_k, skew=0.0):
    """Smallest capacity factor whose dropped share is at most `dropped`, C E/(M k) of `least_capacity`."""
    mean = moe.tokens_per_expert(routed_tokens, num_experts, top_k)
    return least_capacity(dropped, routed_tokens, num_experts, top_k, skew) / mean


def min_routed_tokens_for_cv(cv, num_experts, top_k, skew=0.0):
    """Tokens routed together for this load CV, (E - 1 - skew^2)/(k (CV^2 - skew^2)). [tokens]

    inf for a CV up to the skew. At skew 0 as `moe.min_routed_tokens_for_cv`, (E - k)/(k CV^2).
    """
    excess = np.square(cv) - np.square(skew)
    others = np.where(np.equal(skew, 0), num_experts - top_k, num_experts - 1 - np.square(skew))
    reachable = excess > 0
    return np.where(reachable, others / (top_k * np.where(reachable, excess, 1)), np.inf)[()]


def min_routed_tokens_for_dropped(dropped, num_experts, top_k, capacity_factor, skew=0.0):
    """Tokens routed together from which on at most this share is dropped; inf where the skew forbids it. [tokens]

    Parameters
    ----------
    dropped : numeric
        Wanted share of the M k picks beyond capacity, 0-1.
    num_experts, top_k, capacity_factor, skew : numeric
        As in `moe_imbalance.dropped_fraction`; skew 0 for uniform routing.
    """
    routing = num_experts, top_k, capacity_factor, skew

    def enough(routed_tokens):
        return unrounded_dropped_fraction(routed_tokens, *routing) <= dropped

    largest = np.broadcast_arrays(2.0**MOST_DOUBLINGS, dropped, *routing)[0]
    return np.where(enough(largest), smallest(enough, largest), np.inf)[()]


def unrounded_dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor, skew=0.0):
    """Dropped share with a capacity of exactly CF M k/E, linear between whole capacities since loads are whole."""
    mean = moe.tokens_per_expert(routed_tokens, num_experts, top_k)
    room = capacity_factor * mean
    whole = np.floor(room)
    low, high = (
        _dropped_fraction(routed_tokens, num_experts, top_k, capacity / mean, skew) for capacity in (whole, whole + 1)
    )
    return low + (room - whole) * (high - low)


def _dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor, skew):
    uniform = moe.dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor)
    if not np.any(skew):
        return uniform
    skewed = moe_imbalance.dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor, skew)
    return np.where(np.equal(skew, 0), uniform, skewed)


def smallest(enough, largest):
    """Smallest whole number from 1 to `largest` that is enough, if `largest` is; by bisection, as far as floats tell whole numbers apart."""
    low, high = np.zeros_like(largest, dtype=float), np.array(largest, dtype=float)
    while np.any(apart := high - low > np.maximum(1, 2 * np.spacing(high))):
        middle = np.where(apart, np.floor((low + high) / 2), high)
        good = enough(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return high[()]
