"""How alike the tokens of one text are to a router, from the scatter of loads between groups.

    D = sum_gi (X_gi - M_g p_i)^2/M_g / ((G - 1) sum_i p_i (1 - p_i)) = 1 + (min(M, text) - 1) rho

Pearson's statistic over its degrees of freedom. Derived for groups of whole independent texts and for parts of one text.
"""

import numpy as np


def noise_ratio(routed_tokens, correlation, text_tokens):
    """D, variance between groups over that of independent tokens; 1 where nothing is known (nan). Numeric.

    Parameters
    ----------
    routed_tokens : numeric
        M, size of the groups. [tokens]
    correlation : numeric
        rho, correlation of two tokens of one text in picking an expert.
    text_tokens : numeric
        Tokens up to which a group is one text. [tokens]
    """
    return 1 + np.nan_to_num((np.minimum(routed_tokens, text_tokens) - 1) * correlation)


def between_groups(counts, routed) -> tuple[float, float]:
    """rho and the tokens of a text, of greatest likelihood for Pearson's statistic at each size as a scaled chi-square."""
    near, found = np.round(np.log2(routed)), []
    for rows in (near == size for size in np.unique(near)):  # sizes within a factor of about 1.4 together
        chance = counts[rows].sum(axis=0) / routed[rows].sum()
        scatter = ((counts[rows] - np.outer(routed[rows], chance)) ** 2 / routed[rows, None]).sum()
        freedom, binomial = rows.sum() - 1, (chance * (1 - chance)).sum()
        if freedom and binomial > 0 and routed[rows].min() > 1:
            found.append((float(np.median(routed[rows])), scatter / (freedom * binomial), freedom))
    if not found:
        return np.nan, np.nan
    size, ratio, freedom = np.array(found).T
    correlation = np.append(0, np.geomspace(1e-9, 0.999, 3000))[:, None, None]
    model = noise_ratio(size, correlation, size[:, None])
    best = (freedom * (np.log(model) + ratio / model)).sum(axis=-1)
    chosen, text = np.unravel_index(best.argmin(), best.shape)
    return float(correlation[chosen, 0, 0]), float(size[text])
