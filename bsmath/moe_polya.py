"""Expected load beyond a capacity under Polya (beta-binomial) picks, from one pick to a billion.

    X ~ BetaBinomial(n, a, b),   P[X = x] = ((a x)) ((b n-x)) / ((a+b n)),   ((a x)) = Gamma(x + a) / (x! Gamma(a))
    overflow = E[max(X - C, 0)],   q = a / (a + b),   c = C/n,   h = density of Beta(a, b) at c

Three routes to the same number; each error is that of overflow / (n q), measured against the plain sum:

    C or n - C up to 64    the sum itself                                            1e-11
    n q > 64 a             Beta limit plus two terms of its expansion in 1/n         1e-6
    else                   sum by trapezoids in log |x - C|, less P[X = C]/12        1e-6

The expansion, derived: E[(n B - C)+] + c(1-c) h / 2 + ((c^2 (1-c)^2 h)''/8 - (c(1-c)(1-2c) h)'/6 - h/12) / n, by the
central moments of a binomial load at a kink; the last term is the Euler-Maclaurin one of whole loads (uniform h: exact
to 1/n). The trapezoids follow the tail on the side of C that is away from the mean. All arguments broadcast as arrays.
"""

import numpy as np
from scipy.special import betaincc, betaln, gammaln, xlog1py, xlogy

SUMMED = 64
"""Loads up to here are summed one by one. [tokens]"""
EXPANDED = 64
"""Mean load over a, the beta's variance over the binomial one, from which two terms of 1/n suffice."""
STEP = 0.125
TAIL = np.exp(np.arange(-9, 3 + STEP, STEP))
"""Distance from C in standard deviations: below e^-9 and above e^3 of them lies 1e-7 of the sum."""


def log_probability(load, picks, a, b):
    """ln P[X = load], relative error of P about min(n, a + b) 1e-15; fractional loads are interpolated."""
    return _log_multisets(load, a) + _log_multisets(picks - load, b) - _log_multisets(picks, a + b)


def overflow(picks, capacity, a, b):
    """E[max(X - C, 0)] for whole n and C, by the shortest of three routes. [tokens]

    Parameters
    ----------
    picks, capacity : numeric
        n picks of any expert and C of them that one expert accepts. [tokens]
    a, b : numeric
        Concentration of this expert and of all others together.
    """
    arguments = np.broadcast_arrays(picks, capacity, a, b)
    n, C, a, b = (np.ravel(argument).astype(float) for argument in arguments)
    summed = (C <= SUMMED) | (n - C <= SUMMED)
    expanded = ~summed & (n > EXPANDED * (a + b))
    over = np.empty(n.shape)
    for part, route in ((summed, _sum), (expanded, _expansion), (~summed & ~expanded, _trapezoids)):
        if part.any():
            over[part] = route(n[part], C[part], a[part], b[part])
    return np.where(C < n, np.maximum(over, 0), 0).reshape(arguments[0].shape)[()]


def overflow_limit_fraction(capacity_share, a, b):
    """E[max(B - c, 0)] / q for B ~ Beta(a, b): the share dropped once sampling noise is gone, for c = C/n."""
    c = np.minimum(capacity_share, 1)
    return np.maximum(betaincc(a + 1, b, c) - c * (a + b) / a * betaincc(a, b, c), 0)


def _log_multisets(x, a):
    """ln(Gamma(x + a) / (x! Gamma(a))), with Stirling's large terms paired so that they do not cancel."""
    paired = (x + 0.5) * np.log1p((a - 1) / (x + 1)) + (a - 0.5) * np.log1p(x / a) - 0.5 * np.log(x + a)
    return (
        paired + 1 - 0.5 * np.log(2 * np.pi) + _beyond_stirling(x + a) - _beyond_stirling(x + 1) - _beyond_stirling(a)
    )


def _beyond_stirling(y):
    """ln Gamma(y) less (y - 1/2) ln y - y + ln(2 pi)/2; its series from 16 on is good to 2e-12."""
    series = (1 / 12 - (1 / 360 - 1 / (1260 * y**2)) / y**2) / y
    near = np.minimum(y, 16)
    return np.where(y < 16, gammaln(near) - (near - 0.5) * np.log(near) + near - 0.5 * np.log(2 * np.pi), series)


def _sum(n, C, a, b):
    below = C <= SUMMED
    steps = np.arange(1, SUMMED + 1.0)
    return _one_sided(steps[None], steps[None], below, n, C, a, b)


def _trapezoids(n, C, a, b):
    deviation = np.sqrt(n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1)))
    below = (C < n * a / (a + b)) & (a > 20)  # with less a, loads near zero are likely and end the sum abruptly
    steps = deviation[:, None] * TAIL
    lattice = np.exp(log_probability(C, n, a, b)) / 12
    return _one_sided(steps, STEP * steps**2, below, n, C, a, b) - lattice


def _expansion(n, C, a, b):
    c, rest = C / n, 1 - C / n
    density = np.exp(xlogy(a - 1, c) + xlog1py(b - 1, -c) - betaln(a, b))
    slope = c * rest * (rest - c) * (a / c - b / rest) - 2 * c * rest
    lean = (a + 1) / c - (b + 1) / rest
    bend = (c * rest) ** 2 * (lean**2 - (a + 1) / c**2 - (b + 1) / rest**2)
    noise = c * rest / 2 + (bend / 8 - slope / 6 - 1 / 12) / n
    return n * a / (a + b) * overflow_limit_fraction(c, a, b) + density * noise


def _one_sided(steps, weights, below, n, C, a, b):
    """Sum of weight * P over loads C + step, or mean - C plus the sum over C - step where `below`. [tokens]"""
    n, C, a, b, below = (column[:, None] for column in (n, C, a, b, below))
    load = np.where(below, C - steps, C + steps)
    probability = np.exp(log_probability(np.clip(load, 0, n), n, a, b))
    total = (np.where((load >= 0) & (load <= n), weights, 0) * probability).sum(axis=1, keepdims=True)
    return (total + np.where(below, n * a / (a + b) - C, 0))[:, 0]
