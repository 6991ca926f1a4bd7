"""Expert load under a skewed router: spread, idle experts and dropped tokens where experts differ in popularity.

    shares p ~ Dirichlet(a, ..., a) over E experts    skew = CV of the shares = sqrt((E - 1) / (a E + 1))
    load   X ~ BetaBinomial(n, a, a(E - 1)),  n = M k     CV^2 = skew^2 + (E - 1 - skew^2) / n
    dropped = E[max(X - C, 0)] E/n  ->  E[max(B - c, 0)] E,  B ~ Beta(a, a(E - 1)), c = C/n     as n grows
    Zipf   p_i ~ i^-s                                 dropped -> sum_i max(p_i - CF/E, 0)

Derived. Sampling noise falls with M, skew does not: no batch is large enough to even out a skewed router. Measured CVs
are 0.3-1.35 (OLMoE) and 0.04-0.25 (Mixtral). Functions have the names and parameters of `moe` with the skew last.

The k picks of a token count as independent, though a real token picks k distinct experts. So the noise variance is
(E - 1)/(E - k) of the true one at skew 0: 1.03 for 8 of 256, 1.17 for 2 of 8. Use `moe` for uniform routing, and this
where skew^2 is well above 1/(tokens per expert). A share above 1/k, more than every token, is not excluded either.
`numeric` is a float or an array; 0 < skew < sqrt(E - 1), and 0 stands for a skew below all noise.
"""

import numpy as np
import pandas as pd
from scipy import optimize
from scipy.special import betainc

from bsmath import moe, moe_polya

MOST_EXPONENT = 60.0
"""Largest Zipf exponent that is searched: the second expert then gets 1e-18 of the first."""
EVEN = 1e9
"""Concentration of all experts over the picks from which a skew is not told from none, for skews as small as 0."""


def concentration_of_skew(skew, num_experts):
    """Dirichlet concentration a per expert of this skew, ((E - 1)/skew^2 - 1)/E; inf at 0."""
    with np.errstate(divide="ignore"):
        return (np.divide(num_experts - 1, np.square(skew)) - 1) / num_experts


def skew_of_concentration(concentration, num_experts):
    """CV of the experts' true shares, sqrt((E - 1)/(a E + 1)): the load CV of infinitely many tokens."""
    return np.sqrt((num_experts - 1) / (concentration * num_experts + 1))


def expert_load_variance(routed_tokens, num_experts, top_k, skew):
    """Variance of one expert's load, mean^2 CV^2. Parameters as in `dropped_fraction`. [tokens^2]"""
    mean = moe.tokens_per_expert(routed_tokens, num_experts, top_k)
    return mean**2 * (skew**2 + (num_experts - 1 - skew**2) / (routed_tokens * top_k))


def expert_load_cv(routed_tokens, num_experts, top_k, skew):
    """Coefficient of variation of one expert's load; never below the skew."""
    return np.sqrt(skew**2 + (num_experts - 1 - skew**2) / (routed_tokens * top_k))


def dropped_fraction(routed_tokens, num_experts, top_k, capacity_factor, skew):
    """Expected share of the M k picks that find their expert full; error below 1e-6, see `moe_polya`.

    Parameters
    ----------
    routed_tokens : numeric
        M, whole. [tokens]
    num_experts, top_k : numeric
        E routed experts of one layer, k picks of each token.
    capacity_factor : numeric
        Room of an expert over the mean load, rounded up to whole tokens as in `moe.expert_capacity`.
    skew : numeric
        CV of the experts' true shares.
    """
    picks = routed_tokens * top_k
    capacity = moe.expert_capacity(routed_tokens, num_experts, top_k, capacity_factor)
    over = moe_polya.overflow(picks, capacity, *_concentrations(picks, num_experts, skew))
    return over * num_experts / picks


def dropped_limit(num_experts, capacity_factor, skew):
    """Share dropped however many tokens are routed together, E[max(B - CF/E, 0)] E; max(1 - CF, 0) at skew 0."""
    a, b = _concentrations(1e7, num_experts, skew)  # skews below 1e-8 then count as none
    return moe_polya.overflow_limit_fraction(capacity_factor / num_experts, a, b)


def idle_probability(routed_tokens, num_experts, top_k, skew):
    """Probability that one expert gets no token. Parameters as in `dropped_fraction`."""
    picks = routed_tokens * top_k
    return np.exp(moe_polya.log_probability(0, picks, *_concentrations(picks, num_experts, skew)))


def expected_idle_experts(routed_tokens, num_experts, top_k, skew):
    """Expected number of experts without a token."""
    return num_experts * idle_probability(routed_tokens, num_experts, top_k, skew)


def load_distribution(routed_tokens: float, num_experts: int, top_k: int, skew: float, rows: int = 200) -> pd.DataFrame:
    """Probability of each load of one expert over five standard deviations either side of the mean.

    Returns
    -------
    DataFrame
        load [tokens] and its probability, thinned to at most `rows` evenly spaced loads as in `moe.load_distribution`.
    """
    picks, mean = routed_tokens * top_k, moe.tokens_per_expert(routed_tokens, num_experts, top_k)
    reach = 5 * np.sqrt(expert_load_variance(routed_tokens, num_experts, top_k, skew))
    low, high = np.floor(max(mean - reach, 0)), np.ceil(min(mean + reach, picks))
    load = np.arange(low, high + 1, np.ceil((high - low + 1) / rows)).astype(int)
    log_probability = moe_polya.log_probability(load, picks, *_concentrations(picks, num_experts, skew))
    return pd.DataFrame({"load": load, "probability": np.exp(log_probability)})


def zipf_shares(num_experts: int, exponent: float) -> np.ndarray:
    """Shares of E experts by popularity, p_i ~ i^-s."""
    weights = np.arange(1, num_experts + 1.0) ** -exponent
    return weights / weights.sum()


def zipf_skew(num_experts: int, exponent: float) -> float:
    """CV of Zipf shares, the skew of the Dirichlet shares that are as uneven."""
    return float(num_experts * zipf_shares(num_experts, exponent).std())


def zipf_exponent(num_experts: int, skew: float) -> float:
    """Exponent of the Zipf shares that are as uneven; `skew` below sqrt(E - 1)."""
    if skew == 0:
        return 0.0
    return float(optimize.brentq(lambda exponent: zipf_skew(num_experts, exponent) - skew, 0, MOST_EXPONENT))


def zipf_dropped_limit(num_experts: int, capacity_factor, exponent: float):
    """Share dropped however many tokens are routed together, sum_i max(p_i - CF/E, 0)."""
    room = np.asarray(capacity_factor)[..., None] / num_experts
    return np.maximum(zipf_shares(num_experts, exponent) - room, 0).sum(axis=-1)


def zipf_dropped_fraction(routed_tokens, num_experts: int, top_k: int, capacity_factor, exponent: float):
    """Expected share of the M k picks that find their expert full, exact for n = M k independent picks.

    Each expert's load is Binomial(n, p_i), over C by n p_i I(p_i; C, n - C) - C I(p_i; C + 1, n - C). At s = 0 this is
    the even router, with the k picks independent.
    """
    picks = np.asarray(routed_tokens, dtype=float)[..., None] * top_k
    capacity = moe.expert_capacity(routed_tokens, num_experts, top_k, np.asarray(capacity_factor))[..., None]
    rest, shares = np.maximum(picks - capacity, 1), zipf_shares(num_experts, exponent)
    over = picks * shares * betainc(capacity, rest, shares) - capacity * betainc(capacity + 1, rest, shares)
    return (np.where(picks > capacity, np.maximum(over, 0), 0) / picks).sum(axis=-1)


def _concentrations(picks, num_experts, skew):
    """a of one expert and b of the others, kept finite where the skew is none."""
    a = np.minimum(concentration_of_skew(skew, num_experts), EVEN * picks / num_experts)
    return a, a * (num_experts - 1)
