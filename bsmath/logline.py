"""The one estimator behind both fits: y = a + b x with a, b >= 0, least squares on log y.

The hyperbola is S = S_min + E_min (1/B), the step time is t = t_fixed + B / rate: both are lines whose errors are relative.
With q = b/a the model is log y = log a + log(1 + q x). For a given q the best log a is a mean, so the profile of q is exact
and one-dimensional, and {(q, log a): SSR <= limit} is known in closed form. Every interval below is the range of its quantity
over that region: a profile-likelihood interval with limit = SSR_min + s^2 t^2, s^2 = SSR_min / (n - 2) and t Student's quantile
for n - 2 degrees of freedom (Bates and Watts 1988, Nonlinear Regression Analysis, ch. 6). Where y was read off a grid, s is at
least the grid's own error (`floor`).

A measurement that was stopped before it ended bounds y from below. It adds its squared distance where the curve lies under the
bound, and nothing above: the limit of a censored likelihood (Tobin 1958) for errors small against that distance.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

_NO_BOUNDS = (np.array([]), np.array([]))

DECADES = 6
"""How far beyond 1/x the ratio is searched: further out the curvature is below 1e-6 and no data could show it."""


def pairs(x_name: str, x, y_name: str, y) -> tuple[np.ndarray, np.ndarray]:
    """Two columns as positive finite float arrays of one length with at least two different x, or a ValueError."""
    columns = []
    for name, values in ((x_name, x), (y_name, y)):
        values = np.asarray(values, float).ravel()
        wrong = ~(np.isfinite(values) & (values > 0))
        if wrong.any():
            raise ValueError(f"{name} must be positive and finite, got {values[wrong][0]!r}")
        columns.append(values)
    if columns[0].size != columns[1].size:
        raise ValueError(f"{y_name} must be as long as {x_name}, got {columns[1].size} for {columns[0].size}")
    if np.unique(columns[0]).size < 2:
        raise ValueError(f"{x_name} must hold at least two different values, got {np.unique(columns[0]).size}")
    return columns[0], columns[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class LogLine:
    """A fitted line with relative errors."""

    x: np.ndarray
    """Different abscissae, ascending."""
    log_y: np.ndarray
    """Median of log y over the repeats at each x."""
    counts: np.ndarray
    """Repeats at each x."""
    ratio: float
    """q = b/a, 0 to inf."""
    intercept: float
    """a; 0 where q is inf."""
    slope: float
    """b; 0 where q is 0."""
    ssr: float
    """Sum of squared residuals of log y, and of bounds that the curve undercuts."""
    floor: float = 0.0
    """Least standard deviation of log y, from the grid on which it was read."""
    bounds: tuple[np.ndarray, np.ndarray] = _NO_BOUNDS
    """Abscissae and logarithms of lower bounds on y: measurements that were stopped before they ended."""

    @property
    def dof(self) -> int:
        """Degrees of freedom left: different x less two parameters."""
        return self.x.size - 2

    @property
    def exact(self) -> bool:
        """Whether there are as many points as parameters, so that the residuals say nothing."""
        return self.dof < 1

    @property
    def residuals(self) -> np.ndarray:
        """Relative residuals y/prediction - 1, one for each x."""
        return np.expm1(self.log_y - np.log(self.predict(self.x)))

    @property
    def scatter(self) -> float:
        """Standard deviation of log y about the line, the floor at least; nan where the fit is exact."""
        return max(float(np.sqrt(self.ssr / self.dof)), self.floor) if self.dof else float("nan")

    def predict(self, x):
        """The line at x."""
        return self.intercept + self.slope * np.asarray(x, float)

    def interval(self, level: float = 0.90) -> dict[str, tuple[float, float]]:
        """Intervals of ratio, intercept and slope."""
        q, low, high = self._region(level)
        with np.errstate(over="ignore", divide="ignore"):
            log_q = np.log(q)
            bounds = {
                "ratio": (float(q[0]), float(q[-1])),
                "intercept": (float(np.exp(low.min())), float(np.exp(high.max()))),
                "slope": (float(np.exp((low + log_q).min())), float(np.exp((high + log_q).max()))),
            }
        if q[-1] >= self._reach[1]:
            bounds["ratio"] = (bounds["ratio"][0], np.inf)
            bounds["intercept"] = (0.0, bounds["intercept"][1])
        if q[0] <= self._reach[0]:
            bounds["ratio"] = (0.0, bounds["ratio"][1])
            bounds["slope"] = (0.0, bounds["slope"][1])
        return bounds

    def band(self, x, level: float = 0.90) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the interval of the curve at x."""
        q, low, high = self._region(level)
        curve = np.log1p(np.multiply.outer(np.atleast_1d(x), q))
        with np.errstate(over="ignore"):
            return np.exp((curve + low).min(axis=1)), np.exp((curve + high).max(axis=1))

    def joint(self, level: float = 0.90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ratios, and for each the least and largest intercept, that the data allow together: the region of both parameters.

        Its limit is SSR_min + 2 s^2 F, F Fisher's quantile for 2 and n - 2 degrees of freedom.
        """
        q, low, high = self._region(level, both=True)
        with np.errstate(over="ignore"):
            return q, np.exp(low), np.exp(high)

    @property
    def _reach(self) -> tuple[float, float]:
        return 10.0**-DECADES / self.x[-1], 10.0**DECADES / self.x[0]

    def _region(self, level: float, both: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ratios inside the confidence region of one quantity or of both parameters, and for each the ends of log a."""
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        low, high = self._reach
        limit = self._limit(level, both)
        best = float(np.clip(self.ratio, low, high))

        def excess(log_q: float) -> float:
            return self._profile(np.exp(log_q))[0] - limit

        ends = []
        for far in (low, high):
            inside = np.isinf(limit) or excess(np.log(far)) <= 0 or far == best
            ends.append(far if inside else np.exp(optimize.brentq(excess, *sorted((np.log(far), np.log(best))))))
        q = np.unique(np.append(np.geomspace(ends[0], ends[1], 200), best))
        ssr, center = self._profile(q)
        half = np.sqrt(np.maximum(limit - ssr, 0) / self.x.size)
        bottom = center - half if self.bounds[0].size == 0 or np.isinf(limit) else self._bottom(q, center, half, limit)
        return q, bottom, center + half

    def _limit(self, level: float, both: bool) -> float:
        """Largest sum of squares inside the region."""
        if self.exact:
            return np.inf
        quantile = 2 * stats.f.ppf(level, 2, self.dof) if both else stats.t.ppf((1 + level) / 2, self.dof) ** 2
        return self.ssr + self.scatter**2 * quantile + 1e-24  # noiseless data: the point itself, up to rounding

    def _profile(self, ratio):
        return profile(ratio, self.x, self.log_y, self.bounds)

    def _bottom(self, q: np.ndarray, center: np.ndarray, half: np.ndarray, limit: float) -> np.ndarray:
        """Lower end of log a for each ratio where bounds push it up, by bisection."""
        remainder = self.log_y - np.log1p(np.multiply.outer(q, self.x))
        least = self.bounds[1] - np.log1p(np.multiply.outer(q, self.bounds[0]))
        outside, inside = center - half, center.copy()
        for _ in range(50):
            middle = (outside + inside) / 2
            squares = ((remainder - middle[:, None]) ** 2).sum(1) + (np.maximum(least - middle[:, None], 0) ** 2).sum(1)
            fits = squares <= limit
            inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
        return inside


def fit(
    x: np.ndarray, y: np.ndarray, floor: float = 0.0, bounds: tuple[np.ndarray, np.ndarray] = _NO_BOUNDS
) -> LogLine:
    """Fit positive pairs (see `pairs`); repeats at one x enter as their median. `bounds` as in LogLine."""
    unique, position, counts = np.unique(x, return_inverse=True, return_counts=True)
    log_y = np.array([np.median(np.log(y[position == i])) for i in range(unique.size)])
    grid = ratios(unique)

    def squares(log_q: float) -> float:
        return profile(np.exp(log_q), unique, log_y, bounds)[0]

    start = int(np.argmin(profile(grid, unique, log_y, bounds)[0]))
    bracket = np.log(grid[max(start - 1, 0)]), np.log(grid[min(start + 1, grid.size - 1)])
    found = optimize.minimize_scalar(squares, bounds=bracket, method="bounded", options={"xatol": 1e-10})
    ratio = float(np.exp(found.x))
    ssr, center = profile(ratio, unique, log_y, bounds)
    at_end = (start == 0, start == grid.size - 1)
    flat = float(np.exp(center)) if not at_end[1] else 0.0
    slope = 0.0 if at_end[0] else float(np.exp(center) * ratio)
    ratio = 0.0 if at_end[0] else np.inf if at_end[1] else ratio
    return LogLine(
        x=unique,
        log_y=log_y,
        counts=counts,
        ratio=ratio,
        intercept=flat,
        slope=slope,
        ssr=float(ssr),
        floor=floor,
        bounds=bounds,
    )


def deleted(x: np.ndarray, log_y: np.ndarray) -> np.ndarray:
    """Least sum of squares without each point in turn, to the resolution of a grid of ratios.

    Leaving out one of n values lowers the sum of squares about the mean by n/(n-1) times its squared deviation.
    """
    remainder = log_y - np.log1p(np.multiply.outer(ratios(x), x))
    square = (remainder - remainder.mean(axis=1, keepdims=True)) ** 2
    return (square.sum(axis=1, keepdims=True) - x.size / (x.size - 1) * square).min(axis=0)


def ratios(x: np.ndarray) -> np.ndarray:
    return np.geomspace(10.0**-DECADES / x[-1], 10.0**DECADES / x[0], 241)


def profile(ratio, x: np.ndarray, log_y: np.ndarray, bounds: tuple[np.ndarray, np.ndarray] = _NO_BOUNDS):
    """Least sum of squares over log a for given ratios, and the log a that reaches it.

    Bounds count from the highest down as long as they pull log a up: the largest of those running means is the minimum.
    """
    remainder = log_y - np.log1p(np.multiply.outer(ratio, x))
    center = remainder.mean(axis=-1)
    if bounds[0].size:
        least = -np.sort(np.log1p(np.multiply.outer(ratio, bounds[0])) - bounds[1], axis=-1)
        sums = np.cumsum(least, axis=-1) + remainder.sum(axis=-1, keepdims=True)
        pulled = sums / (x.size + np.arange(1, bounds[0].size + 1))
        center = np.maximum(center, pulled.max(axis=-1))
    squares = ((remainder - np.expand_dims(center, -1)) ** 2).sum(axis=-1)
    if bounds[0].size:
        squares = squares + (np.maximum(least - np.expand_dims(center, -1), 0) ** 2).sum(axis=-1)
    return squares, center
