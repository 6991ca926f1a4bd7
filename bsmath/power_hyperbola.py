"""The hyperbola with an exponent of its own, to see whether the data reject the plain one.

    S = S_min (1 + (B_crit / B)^alpha)

alpha = 1 is the hyperbola of `critical`; five language models with the rate tuned at every batch gave 0.97 to 1.08. Empirical:
no theory stands behind another alpha. For a given alpha it is the line of `logline` in B^-alpha, so one more profile suffices.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from bsmath import logline
from bsmath.logline import LogLine

LOWEST, HIGHEST = 0.3, 3.0
"""Exponents searched."""
FEWEST = 5
"""Batch sizes that three parameters need."""
GAIN = 0.8
"""The exponent must shrink the scatter to this share, besides being significant."""
SIGNIFICANCE = 0.01
"""Chance of rejecting a hyperbola that holds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PowerFit:
    """The hyperbola with an exponent, fitted to the points of a plain one."""

    exponent: float
    """alpha."""
    line: LogLine
    """S = S_min + slope B^-alpha, in log space; its degrees of freedom do not count the exponent."""
    chance: float
    """Chance that a hyperbola with the same noise would be bettered as much (F test of the nested fits)."""

    @property
    def critical_batch_size(self) -> float:
        """Where steps are twice their least; inf where no least shows. [tokens]"""
        return float(self.line.ratio ** (1 / self.exponent))

    @property
    def min_steps(self) -> float:
        """S_min. [steps]"""
        return self.line.intercept

    def predict(self, tokens_per_step):
        """Steps to the target at these batch sizes. [steps]"""
        return self.line.predict(np.asarray(tokens_per_step, float) ** -self.exponent)


def fit(line: LogLine) -> PowerFit | None:
    """The exponent for the points of a fitted hyperbola (x = 1/B); None where they are fewer than FEWEST."""
    if line.x.size < FEWEST:
        return None
    inverse = line.x / line.x[-1]  # powers of it stay within range

    def squares(exponent: float) -> float:
        return float(logline.profile(logline.ratios(inverse**exponent), inverse**exponent, line.log_y)[0].min())

    exponents = np.geomspace(LOWEST, HIGHEST, 47)
    start = int(np.argmin([squares(exponent) for exponent in exponents]))
    ends = exponents[max(start - 1, 0)], exponents[min(start + 1, exponents.size - 1)]

    def curve_at(exponent: float) -> LogLine:
        bounds = line.bounds[0] ** exponent, line.bounds[1]
        return logline.fit(line.x**exponent, np.exp(line.log_y), line.floor, bounds)

    best = optimize.minimize_scalar(
        lambda exponent: curve_at(exponent).ssr, bounds=ends, method="bounded", options={"xatol": 1e-5}
    ).x
    curve = curve_at(best)
    left = line.x.size - 3
    gained = max(line.ssr - curve.ssr, 0) / max(curve.ssr / left, line.floor**2, 1e-24)
    return PowerFit(exponent=float(best), line=curve, chance=float(stats.f.sf(gained, 1, left)))


def is_better(power: PowerFit, line: LogLine) -> bool:
    """Whether the exponent describes the points clearly better than the plain hyperbola."""
    scatter = np.sqrt(power.line.ssr / (line.x.size - 3))
    return power.chance < SIGNIFICANCE and max(scatter, line.floor) < GAIN * line.scatter
