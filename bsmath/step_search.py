"""What in a measured sweep breaks a step time linear in the batch: broken points, a falling rate, overlapping costs.

Everything works on log step time against the batch, so that errors are relative. The tests are F tests of nested fits: a fit
without a point, or with one parameter more, against the fit itself. Empirical choices; how often they are right on public
sweeps is measured by `python -m tests.benchmarks.throughput_fits`.
"""

import numpy as np
from scipy import stats

from bsmath import logcurve, logline
from bsmath.logcurve import LogCurve
from bsmath.logline import LogLine

MISFIT = 0.15
"""Worst relative residual above which no step-time model is said to describe a sweep."""
VISIBLE = 0.10
"""Smallest relative distance at which a point is called broken: below it a sweep's own noise is usual."""
FALL = 0.05
"""Fall of the rate from its best that is called one, and residual below which a line is straight enough."""
GAIN = 0.8
"""A curve with one parameter more must shrink the scatter to this share, besides being significant."""
FEWEST = 6
"""Batch sizes that a curve of three parameters needs."""
SIGNIFICANCE = 0.01
"""Chance of calling a good point broken, over all points."""
CURVED = 0.05
"""Chance of calling a straight line curved."""


def _line(x: np.ndarray, log_y: np.ndarray) -> LogLine:
    return logline.fit(x, np.exp(log_y))


def rising(x: np.ndarray, log_y: np.ndarray) -> tuple[float, int]:
    """How far the rate falls from its best to the largest batch (0 if it does not), and how many batches to fit.

    A fall within three times the scatter of the rising batches is noise. A single high point followed by others that lie on
    one line with the rest is a broken point. With fewer than three rising batches everything is fitted: it will not fit well.
    """
    log_rate = np.log(x) - log_y
    best = int(log_rate.argmax())
    fall = float(-np.expm1(log_rate[-1] - log_rate[best]))
    if fall <= FALL or x.size < 3:
        return 0.0, x.size
    if x.size - best > 2 and _is_lonely(x, log_y, best):
        return 0.0, x.size
    if best < 2:
        falls = np.all(np.diff(log_rate[best:]) < 0) or fall > MISFIT
        return (fall if falls else 0.0), x.size
    climb = _line(x[: best + 1], log_y[: best + 1])
    if fall < 3 * climb.scatter:
        return 0.0, x.size
    return fall, best + 1


def _is_lonely(x: np.ndarray, log_y: np.ndarray, at: int) -> bool:
    """Whether the other points lie on one line that this point is far off."""
    rest = np.arange(x.size) != at
    others = _line(x[rest], log_y[rest])
    return others.dof > 1 and np.abs(others.residuals).max() < VISIBLE and _distance(others, x[at], log_y[at]) > VISIBLE


def _distance(fitted: LogLine | LogCurve, x: float, log_y: float) -> float:
    """Relative distance of a point from a fit."""
    return float(abs(np.expm1(log_y - np.log(fitted.predict(x)))))


def without_broken(module, x: np.ndarray, log_y: np.ndarray) -> tuple[LogLine | LogCurve, tuple[float, ...]]:
    """A fit by `logline` or `logcurve` without the points that the others contradict, at most a fourth of them."""
    fitted, broken = module.fit(x, np.exp(log_y)), []
    for _ in range(x.size // 4):
        if fitted.dof < 2:
            break
        worst = int(np.argmin(module.deleted(fitted.x, fitted.log_y)))
        if worst == fitted.x.size - 1 and fitted.residuals[worst] > 0:
            break  # a slow last batch is a knee or a fall, not an accident
        other = module.fit(np.delete(fitted.x, worst), np.exp(np.delete(fitted.log_y, worst)))
        ratio = (fitted.ssr - other.ssr) / max(other.ssr / other.dof, 1e-24)
        chance = fitted.x.size * stats.f.sf(ratio, 1, other.dof)
        if chance > SIGNIFICANCE or _distance(other, fitted.x[worst], fitted.log_y[worst]) < VISIBLE:
            break
        broken.append(float(fitted.x[worst]))
        fitted = other
    return fitted, tuple(sorted(broken))


def overlapping(x: np.ndarray, log_y: np.ndarray) -> tuple[LogCurve | None, tuple[float, ...]]:
    """The curve with overlapping costs where it is clearly better than a line through the same points, else None."""
    if x.size < FEWEST:
        return None, ()
    straight = _line(x, log_y)
    if np.abs(straight.residuals).max() < FALL:
        return None, ()
    curve, broken = without_broken(logcurve, x, log_y)
    straight = _line(curve.x, curve.log_y)
    ratio = (straight.ssr - curve.ssr) / max(curve.ssr / curve.dof, 1e-24)
    clear = stats.f.sf(ratio, 1, curve.dof) < CURVED and curve.scatter < GAIN * straight.scatter
    return (curve, broken) if clear else (None, ())


def better_than(curve: LogCurve, straight: LogLine) -> bool:
    """Whether the curve describes the sweep and leaves less scatter than the line without its broken points."""
    return np.abs(curve.residuals).max() <= MISFIT and not curve.scatter > straight.scatter
