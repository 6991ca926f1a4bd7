"""Draws from the joint distribution of a fit's two parameters, so that a plan can carry their uncertainty.

Both fits are the line of `logline`, y = a (1 + q x) with relative errors, SSR(q) the profile and c(q) the log a that reaches it:

    sign(q - best) sqrt((SSR(q) - SSR_min) / s^2) = t_(n-2)            log a = c(q) + sqrt(SSR(q) / (n (n-1))) t_(n-1)

The first is the signed root of the profile likelihood: quantiles of the drawn q are the ends of its profile interval, at every
level. The second is exact for a prior flat in (log a, log q, log sigma) and given q (derived); there the density of log q is
SSR(q)^(-(n-1)/2), to second order the same as the root's, but on few batches its far ends would depend on where q is cut off.
Where the scatter s is the floor of the line, SSR is raised by s^2 (n-2) - SSR_min, so that the draws scatter by it.

Approximate: with bounds of stopped runs log a keeps its t distribution though its lower side is cut short. A curved step time
has three parameters: see `step_draws`. The points are quasi-random and fixed, so a result changes smoothly with its inputs.
"""

import numpy as np
import pandas as pd
from scipy import stats
from scipy.stats import qmc

from bsmath import hyperbola_verdict, logline, step_verdict
from bsmath.hyperbola_fit import HyperbolaFit
from bsmath.logline import LogLine
from bsmath.step_fit import StepTimeFit

COUNT = 512
"""Draws: on them the ends of a 90 % band are known to 2 % of its width."""
CELLS = 1000
"""Ratios on the grid of the profile."""
LEVEL = 0.9999
"""The grid spans this interval of q; the draws beyond are put at its ends."""
STEPS, TIMES = (0, 1), (2, 3)
"""Coordinates of the points that serve the hyperbola and the step time: different ones, so that both fits err independently."""


def draws(line: LogLine, count: int = COUNT, coordinates: tuple[int, int] = STEPS) -> tuple[np.ndarray, np.ndarray]:
    """Intercepts and slopes.

    Raises
    ------
    ValueError
        Where an end of a 90 % interval is 0 or inf: then nothing can be carried through.
    """
    _bounded(line.interval(), "the data set no bound there.")
    first, second = _points(count)[:, coordinates].T
    log_q, rise, center = _grid(line)
    n = line.x.size
    least = max(line.scatter**2 * line.dof, 1e-24)  # noiseless data: the point itself, up to rounding
    root = np.sign(log_q - np.log(line.ratio)) * np.sqrt(rise * line.dof / least)
    drawn = np.interp(stats.t.ppf(first, line.dof), np.maximum.accumulate(root), log_q)
    spread = np.sqrt((least + np.interp(drawn, log_q, rise)) / (n * (n - 1)))
    log_a = np.interp(drawn, log_q, center) + spread * stats.t.ppf(second, n - 1)
    return np.exp(log_a), np.exp(log_a + drawn)


def hyperbola_draws(fit: HyperbolaFit, count: int = COUNT) -> pd.DataFrame:
    """Draws of critical_batch_size [tokens] and min_steps [steps].

    Raises
    ------
    ValueError
        Where an interval of the fit has no bound on one side; with what its data can tell.
    """
    _bounded(fit.interval(), hyperbola_verdict.verdict(fit)[1])
    least, tokens = draws(fit.line, count, STEPS)
    return pd.DataFrame({"critical_batch_size": tokens / least, "min_steps": least})


def step_draws(fit: StepTimeFit, count: int = COUNT) -> pd.DataFrame:
    """Draws of fixed_time [s] and plateau [tokens/s].

    Where the fit is a curve, the draws are those of its straight line, shifted to the curve's values and stretched so that each
    parameter has the curve's own 90 % interval: how the two vary together is then the line's, an approximation.

    Raises
    ------
    ValueError
        Where an interval of the fit has no bound on one side; with what its data can tell.
    """
    reason = step_verdict.verdict(fit)[1]
    straight = StepTimeFit(line=fit.straight, straight=fit.straight, largest=fit.largest) if fit.curved else fit
    _bounded(fit.interval(), reason)
    _bounded(straight.interval(), reason)
    fixed, slope = draws(fit.straight, count, TIMES)
    drawn = {"fixed_time": fixed, "plateau": 1 / slope}
    if fit.curved:
        drawn = {name: _stretched(values, name, straight, fit) for name, values in drawn.items()}
    return pd.DataFrame(drawn)


def _points(count: int) -> np.ndarray:
    """Points of a scrambled Halton sequence, a row each, the same in every call."""
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count!r}")
    return qmc.Halton(d=4, rng=0).random(count)


def _grid(line: LogLine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log ratios, and for each how far the profile lies above its minimum and the best log a."""
    low, high = np.clip(line.interval(LEVEL)["ratio"], *line._reach)
    q = np.unique(np.append(np.geomspace(low, high, CELLS), line.ratio))
    ssr, center = logline.profile(q, line.x, line.log_y, line.bounds)
    return np.log(q), np.maximum(ssr - line.ssr, 0), center


def _bounded(bounds: dict[str, tuple[float, float]], reason: str) -> None:
    for name, (low, high) in bounds.items():
        if not (low > 0 and np.isfinite(high)):
            raise ValueError(f"{name} must be bounded on both sides by the data, got {(low, high)!r}: {reason}")


def _stretched(drawn: np.ndarray, name: str, straight: StepTimeFit, curve: StepTimeFit) -> np.ndarray:
    """Draws of the straight line's parameter as draws of the curve's: each side by the ratio of their log intervals."""
    (low, high), (to_low, to_high) = (np.log(fit.interval()[name]) for fit in (straight, curve))
    middle, to_middle = (np.log(fit.parameters[name]) for fit in (straight, curve))
    off = np.log(drawn) - middle
    below, above = (to_low - to_middle) / (low - middle), (to_high - to_middle) / (high - middle)
    return np.exp(to_middle + off * np.where(off < 0, below, above))
