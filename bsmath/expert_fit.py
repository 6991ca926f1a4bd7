"""Fit of measured expert loads: the true shares of a layer's experts, their skew, and what any capacity would drop.

    X_gi = load of expert i in group g, M_g tokens,  p_i = chance that a token picks i,  sum p_i = k,  p = k/E
    var(X_gi) = D M_g p_i (1 - p_i)                     D = 1 + (min(M_g, text) - 1) rho: tokens of a text are alike
    skew^2 = (CV^2 - (1 - p)/(N p)) / (1 - 1/N)         CV of the loads pooled over groups, N = (sum M)^2 / sum(M D)
    share = 1/E + kept (pooled share - 1/E)             kept = skew^2 / (skew^2 + (1 - p)/(N p))
    dropped = sum_i E[max(X_i - C, 0)] / (M k)          C of `moe.expert_capacity`

D is the variance between groups over that of independent tokens (Pearson's statistic), so N counts tokens as if they were
independent; one group alone cannot tell, and D = 1 is assumed. Shrinkage is the linear empirical Bayes estimate (Efron and
Morris 1975) with the skew as spread of the prior. X_i of a new group of M tokens is beta-binomial, with the variance of D
plus what is unknown of p_i; where the group is larger than a text, D stays that of one text.
The one-parameter alternative takes every p_i from one Beta law with mean p and the skew (for k = 1 the Dirichlet-multinomial).

Status: derived for the moments; the Beta law is empirical. Which predicts better, as measured: from the loads of half the
groups of a small 16-expert model, the drops of the other half (groups of 2,048 tokens and more, drops above 1 %) come out
within 1.4 % from the shares and within 4 % by the Beta law at the median; in smaller groups within 6 % by both. Fitted
to the skew of OLMoE the Beta law errs by 11-19 % at the median (CF 1 to 2); for Mixtral's 8 experts it is right at CF 1
(6 %) and far too high from 1.25 on, for it has a tail and they have none. For a kind of text that was not fitted both are
30-60 % off in OLMoE.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from bsmath import expert_counts
from bsmath import expert_fit_drops as drops
from bsmath import expert_fit_groups as groups

LEVEL = 0.9
"""Coverage that the interval of the skew aims at."""
MIN_GROUPS = 5
"""Groups from which their own scatter gives the interval; below, the binomial's does."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Imbalance:
    """The imbalance of one layer in one setting, and what it drops."""

    setting: str
    """Name of the setting."""
    layer: int
    """Number of the layer."""
    top_k: int
    """k, distinct experts that each token picks."""
    groups: int
    """Groups of tokens that were pooled."""
    tokens: float
    """Tokens of all groups. [tokens]"""
    independent_tokens: float
    """N, independent tokens that would tell the shares as well. [tokens]"""
    shares: np.ndarray
    """Each expert's share of the picks, shrunk towards 1/E; they sum to 1."""
    kept: float
    """Share of the pooled deviations from 1/E that is not shrunk away, 0 to 1."""
    skew: float
    """CV of the true shares; 0 where noise explains everything."""
    low: float
    """Lower end of the interval of the skew."""
    high: float
    """Upper end of the interval of the skew."""
    excess: float
    """CV of a group's loads over that of uniform routing, root of the mean square over groups."""
    correlation: float
    """rho, correlation of two tokens of one text in picking an expert; nan where there is one group alone."""
    text_tokens: float
    """Tokens up to which a group is one text; a larger group is several. nan where there is one group alone. [tokens]"""

    def noise_ratio(self, routed_tokens):
        """D, variance between groups of this size over that of independent tokens. Numeric."""
        return groups.noise_ratio(routed_tokens, self.correlation, self.text_tokens)

    def between(self, routed_tokens):
        """Share of the variance of a load that comes from differences between groups of this size. Numeric."""
        return 1 - 1 / self.noise_ratio(routed_tokens)

    def predict(self, capacity_factor, routed_tokens):
        """Expected dropped share of the picks in a new group, from the experts' shares.

        Parameters
        ----------
        capacity_factor : numeric
            CF, room of an expert over the mean load.
        routed_tokens : numeric
            M, tokens routed together. [tokens]
        """
        known = self.kept / self.independent_tokens  # relative variance of p_i that is left, in units of (1 - p)/p
        ratio = self.noise_ratio(routed_tokens) + routed_tokens * known
        return drops.dropped_fraction(
            np.minimum(self.shares * self.top_k, 1), len(self.shares), capacity_factor, routed_tokens, ratio
        )

    def predict_from_skew(self, capacity_factor, routed_tokens):
        """The same from the skew alone, by the Beta law. Parameters as in `predict`."""
        share, noise = self.top_k / len(self.shares), self.noise_ratio(routed_tokens)
        ratio = noise + self.skew**2 * share / (1 - share) * (routed_tokens - noise)
        return drops.dropped_fraction(np.array([share]), len(self.shares), capacity_factor, routed_tokens, ratio)


def fit_table(table: pd.DataFrame) -> list[Imbalance]:
    """One fit a setting and layer; `table` as in `expert_counts.summary`, with a column layer. Layers in which every token goes to
    every expert have no imbalance and are left out."""
    keys = ["setting", "layer", "num_experts", "top_k"]
    return [
        fit(np.stack(rows["counts"]), int(top_k), setting=setting, layer=layer)
        for (setting, layer, experts, top_k), rows in table.groupby(keys, sort=False)
        if top_k < experts
    ]


def fit(counts, top_k: int, *, setting: str = "", layer: int = 0) -> Imbalance:
    """Fit the loads of one layer.

    Parameters
    ----------
    counts : array_like
        Loads, one row a group, experts last; no load was cut at a capacity. [tokens]
    top_k : int
        k, distinct experts that each token picked.
    """
    counts = _checked(counts, top_k)
    routed, share = counts.sum(axis=1) / top_k, top_k / counts.shape[1]
    correlation, text = groups.between_groups(counts, routed)
    load = routed * groups.noise_ratio(routed, correlation, text)
    squared, independent = _skew_squared(counts.sum(axis=0), routed.sum(), load.sum(), share)
    error = _half_width(counts, routed, load, share, max(squared, 0))
    kept = max(squared, 0) / (max(squared, 0) + (1 - share) / (independent * share))
    relative = counts.sum(axis=0) / counts.sum(axis=0).mean()
    excess = expert_counts.load_cv(counts) / expert_counts.uniform_cv(counts, top_k)
    return Imbalance(
        setting=setting,
        layer=layer,
        top_k=top_k,
        groups=len(counts),
        tokens=float(routed.sum()),
        independent_tokens=float(independent),
        shares=(1 + kept * (relative - 1)) / len(relative),
        kept=float(kept),
        skew=float(np.sqrt(max(squared, 0))),
        low=float(np.sqrt(max(squared - error, 0))),
        high=float(np.sqrt(max(squared + error, 0))),
        excess=float(np.sqrt(np.mean(excess**2))),
        correlation=correlation,
        text_tokens=text,
    )


def _checked(counts, top_k: int) -> np.ndarray:
    counts = np.atleast_2d(np.asarray(counts, float))
    if counts.ndim != 2 or counts.shape[1] < 2:
        raise ValueError(f"counts must have one row a group and at least two experts, got shape {counts.shape}")
    if not (np.isfinite(counts).all() and (counts >= 0).all() and (counts.sum(axis=1) > 0).all()):
        raise ValueError(
            "counts must be numbers of tokens with some in every group, got a negative, empty or missing one"
        )
    if not 1 <= top_k < counts.shape[1]:
        raise ValueError(f"top_k must be from 1 to below the {counts.shape[1]} experts, got {top_k!r}")
    return counts


def _skew_squared(pooled, tokens, load, share: float):
    """Unbiased squared skew of pooled loads (any number of them), and N. [tokens]"""
    independent = tokens**2 / load
    squared = pooled.var(axis=-1) / pooled.mean(axis=-1) ** 2 - (1 - share) / (independent * share)
    return squared / (1 - 1 / np.maximum(independent, 1.01)), independent


def _half_width(counts, routed, load, share: float, squared: float) -> float:
    """Half the width of the interval of the squared skew: jackknife over groups, or the noise of the pool for few."""
    tokens = routed.sum()
    effective = tokens**2 / (routed**2).sum()
    noise = (1 - share) / share * load.sum() / tokens**2
    error = np.sqrt((4 * squared * noise + 2 * noise**2) / counts.shape[1])
    if effective < MIN_GROUPS:
        return float(stats.norm.ppf((1 + LEVEL) / 2) * error)
    without, _ = _skew_squared(counts.sum(axis=0) - counts, tokens - routed, load.sum() - load, share)
    influence = (without - without.mean()) * (1 - routed / tokens)
    jackknife = np.sqrt((influence**2).sum() * effective / (effective - 1))
    return float(stats.t.ppf((1 + LEVEL) / 2, effective - 1) * jackknife)
