"""Costs that overlap: y = (a^g + (b x)^g)^(1/g) with a, b > 0, least squares on log y.

With g = 1 the two costs add up (`logline`), with large g the longer one hides the shorter, y = max(a, b x): Pollux's form of
computation and synchronization (Qiao et al. 2021, OSDI, T_iter). Below 1 the cost grows more slowly than in proportion long
after the knee. An empirical form; g is fitted. Intervals are profile-likelihood intervals as in `logline`, with three
parameters.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

POWERS = np.append(np.geomspace(0.4, 1, 6)[:-1], np.geomspace(1, 20, 14))
"""Exponents searched: at 20 the corner is sharp to 3 %, below 0.4 the curve is a power law over three decades."""
RATIOS = 100
"""Ratios searched for each exponent."""
CELLS = 60
"""Exponents and ratios of the refined grid over a confidence region, each."""
MARGIN = 1e3
"""How far beyond the abscissae the corner is searched."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogCurve:
    """A fitted curve with relative errors."""

    x: np.ndarray
    """Different abscissae, ascending."""
    log_y: np.ndarray
    """Log y at each x."""
    ratio: float
    """q = b/a: the corner lies at x = 1/q."""
    intercept: float
    """a."""
    power: float
    """g."""
    ssr: float
    """Sum of squared residuals of log y."""

    @property
    def slope(self) -> float:
        """b."""
        return self.intercept * self.ratio

    @property
    def dof(self) -> int:
        """Degrees of freedom left: different x less three parameters."""
        return self.x.size - 3

    @property
    def exact(self) -> bool:
        """Whether there are no more points than parameters."""
        return self.dof < 1

    @property
    def residuals(self) -> np.ndarray:
        """Relative residuals y/prediction - 1, one for each x."""
        return np.expm1(self.log_y - np.log(self.intercept) - bend(self.ratio * self.x, self.power))

    @property
    def scatter(self) -> float:
        """Standard deviation of log y about the curve."""
        return float(np.sqrt(self.ssr / self.dof)) if self.dof > 0 else float("nan")

    def predict(self, x):
        """The curve at x."""
        return self.intercept * np.exp(bend(self.ratio * np.asarray(x, float), self.power))

    def interval(self, level: float = 0.90) -> dict[str, tuple[float, float]]:
        """Intervals of intercept, slope and half, the x at which b x is half of y."""
        q, g, center, half = self._region(level)
        low, high = center - half, center + half
        halves = half_way(g) / q
        return {
            "intercept": (float(np.exp(low.min())), float(np.exp(high.max()))),
            "slope": (float((q * np.exp(low)).min()), float((q * np.exp(high)).max())),
            "half": (float(halves.min()), float(halves.max())),
        }

    def band(self, x, level: float = 0.90) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the interval of the curve at x."""
        q, g, center, half = self._region(level)
        curve = bend(np.multiply.outer(np.atleast_1d(x), q), g) + center
        return np.exp((curve - half).min(axis=1)), np.exp((curve + half).max(axis=1))

    def _region(self, level: float):
        """Ratios and exponents inside the confidence region, and for each the center and half width of log a.

        The region is a narrow ridge: it is searched on grids that close in on it.
        """
        limit = self.ssr * (1 + stats.t.ppf((1 + level) / 2, max(self.dof, 1)) ** 2 / max(self.dof, 1)) + 1e-24
        log_q, log_g = np.log(_ratios(self.x)), np.log(POWERS)
        for _ in range(4):
            q, g = (np.exp(values.ravel()) for values in np.meshgrid(log_q, log_g))
            q, g = np.append(q, self.ratio), np.append(g, self.power)
            ssr, center = _profile(q, g, self.x, self.log_y)
            inside = ssr <= limit
            inside[-1] = True
            log_q, log_g = _around(np.log(q[inside]), log_q), _around(np.log(g[inside]), log_g)
        room = np.sqrt(np.maximum(limit - ssr[inside], 0) / self.x.size)
        return q[inside], g[inside], center[inside], room


def _around(inside: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """A finer grid from one cell below what lies inside to one above, within the old grid."""
    cell = np.diff(grid).max()
    return np.linspace(max(inside.min() - cell, grid[0]), min(inside.max() + cell, grid[-1]), CELLS)


def bend(u, power):
    """log of (1 + u^g)^(1/g)."""
    with np.errstate(divide="ignore"):
        return np.logaddexp(0, power * np.log(u)) / power


def half_way(power):
    """u = q x at which b x is half of y: 1 where the costs add up, 1/2 where the longer hides the shorter."""
    return (2**power - 1) ** (-1 / power)


def fit(x: np.ndarray, y: np.ndarray) -> LogCurve:
    """Fit at least four different ascending x, one positive y each."""
    log_y = np.log(y)
    q, g = (values.ravel() for values in np.meshgrid(_ratios(x), POWERS))
    start = int(np.argmin(_profile(q, g, x, log_y)[0]))

    def misfit(parameters):
        remainder = log_y - bend(np.exp(parameters[0]) * x, np.exp(parameters[1]))
        return remainder - remainder.mean()

    ends = np.log(_ratios(x)[[0, -1]]), np.log(POWERS[[0, -1]])
    found = optimize.least_squares(
        misfit,
        [np.clip(np.log(q[start]), *ends[0]), np.clip(np.log(g[start]), *ends[1])],
        bounds=list(zip(*ends, strict=True)),
        xtol=1e-9,
        ftol=1e-9,
        gtol=1e-9,
    )
    ratio, power = np.exp(found.x)
    ssr, center = _profile(ratio, power, x, log_y)
    return LogCurve(
        x=x, log_y=log_y, ratio=float(ratio), power=float(power), intercept=float(np.exp(center)), ssr=float(ssr)
    )


def deleted(x: np.ndarray, log_y: np.ndarray) -> np.ndarray:
    """Least sum of squares without each point in turn, to the resolution of the grid."""
    q, g = (values.ravel() for values in np.meshgrid(_ratios(x), POWERS))
    remainder = log_y - bend(np.multiply.outer(q, x), g[:, None])
    square = (remainder - remainder.mean(axis=1, keepdims=True)) ** 2
    return (square.sum(axis=1, keepdims=True) - x.size / (x.size - 1) * square).min(axis=0)


def _ratios(x: np.ndarray) -> np.ndarray:
    return np.geomspace(1 / (MARGIN * x[-1]), MARGIN / x[0], RATIOS)


def _profile(ratio, power, x: np.ndarray, log_y: np.ndarray):
    """Least sum of squares over log a for given ratios and exponents, and the log a that reaches it."""
    remainder = log_y - bend(np.multiply.outer(ratio, x), np.expand_dims(power, -1))
    center = remainder.mean(axis=-1)
    return ((remainder - np.expand_dims(center, -1)) ** 2).sum(axis=-1), center
