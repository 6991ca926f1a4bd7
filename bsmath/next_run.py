"""The batch size worth measuring next: the run that tells most about the knee for each token, or second, that it costs.

For each candidate and each of some values that the knee may have, the point that this knee predicts is added to the sweep, and
the profile-likelihood interval of `logline` is taken with one degree of freedom more. Information is 1/width^2 of that
interval in log(knee), the precision of an estimate (Fisher); its gain is averaged over the values of the knee, so that a
sweep on one side of the knee gets sound advice too, and divided by the predicted cost (a Bayesian design: Chaloner and Verdinelli
1995, Statistical Science 10, 273). The values are quantiles of the knee's posterior under a flat prior of its logarithm.

Approximate: one step ahead; noise enters through its typical square only; the scatter is blended with an assumed one; stopped
runs count as today. `python -m tests.benchmarks.next_run` measures what the advice gains and how well widths are foretold.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from bsmath import logline
from bsmath.hyperbola_fit import HyperbolaFit
from bsmath.logline import LogLine
from bsmath.step_fit import StepTimeFit

SCATTER, WEIGHT = 0.06, 2
"""Standard deviation of log y that is assumed, and the degrees of freedom that it counts for beside the fit's own: residuals of
language-model sweeps with a tuned rate were 0.04 to 0.08 (five sweeps). Two batches leave nothing else; three next to nothing."""
TYPICAL = float(stats.chi2.median(1))
"""Squared error of one more run, in units of its variance, that is as often exceeded as not: 0.455."""
BEYOND = 30
"""How many times beyond every batch measured the knee may lie: there the curve differs from none by 3 %, below that scatter."""
FARTHEST = 4
"""How many times beyond the measured batches a candidate may lie: its cost and its use are extrapolated, and beyond what was tried
small batches may cost tokens too and large ones may not train."""
NEAR = 2**0.25
"""A batch within this factor of a measured one counts as the same: neighbors share what the curve gets wrong."""
CELLS, SCENARIOS = 400, 15
"""Knees on the grid of a profile, and values of the knee that are averaged over."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NextRun:
    """Which batch to measure next, and what it would tell about the knee: B_crit, or B_half of a throughput sweep."""

    tokens_per_step: float
    """The batch. [tokens]"""
    cost: float
    """Its predicted cost. [tokens, or s]"""
    now: tuple[float, float]
    """Interval of the knee today; 0 and inf where there is none. [tokens]"""
    expected: tuple[float, float]
    """Interval after the run: the median of each end over the values that the knee may have. [tokens]"""
    repeat: pd.Series | None
    """The row of `table` of the measured batch most worth repeating; None where a repeat tells nothing."""
    table: pd.DataFrame
    """One row a candidate: tokens_per_step [tokens], cost, low, high (expected interval), information (gain for its cost, in units of the
    best's), repeat (whether it was measured already)."""
    scatter: float
    """Standard deviation of log y that is reckoned with."""
    assumed: bool
    """Whether that is assumed alone, since the fit is exact."""
    reason: str
    """Why this batch, in sentences."""


def hyperbola(fit: HyperbolaFit, candidates=None, sequence: float = 1, level: float = 0.90) -> NextRun | None:
    """The batch whose run to the target tells most about B_crit for each token; None where nothing can be advised.

    Parameters
    ----------
    fit : HyperbolaFit
        The sweep so far.
    candidates : array_like, optional
        Batch sizes to choose from; by default 2^k and 1.5 2^k times the smallest measured, up to `FARTHEST` times beyond the
        measured ones, not left of a minimum of the tokens. [tokens]
    sequence : float
        Those by default are whole multiples of this. [tokens]
    level : float
        Of the intervals.
    """
    if fit.tokens_fall:
        return None
    smallest = fit.used[0] if fit.left else fit.batch[0] / FARTHEST
    new = _candidates(fit.batch, smallest, fit.batch[-1] * FARTHEST, sequence) if candidates is None else candidates
    now = (0.0, np.inf) if fit.line.exact else fit.interval(level)["critical_batch_size"]
    new = _beyond_the_known(np.asarray(new, float), fit, now)
    return _best(fit.line, fit.batch, fit.used, new, lambda size: size * fit.predict(size), now, level)


def _beyond_the_known(new: np.ndarray, fit: HyperbolaFit, now: tuple[float, float]) -> np.ndarray:
    """Candidates that no run was stopped at; where every batch lies on one side of the knee, those on the other side."""
    if fit.line.bounds[0].size:
        new = new[(np.abs(np.log(new[:, None] * fit.line.bounds[0])) > np.log(NEAR)).all(axis=1)]
    if fit.line.exact or np.isinf(now[1]) == (now[0] <= 0):
        return new
    return new[new > fit.batch[-1]] if np.isinf(now[1]) else new[new < fit.batch[0]]


def throughput(
    fit: StepTimeFit, steps: int = 50, warmup: int = 10, candidates=None, sequence: float = 1, level: float = 0.90
) -> NextRun | None:
    """The batch whose timing tells most about B_half for each second; None where a straight line does not describe the sweep.

    `steps` are timed, after `warmup` others; the rest as in `hyperbola`. Where the rate falls, no default lies beyond the
    batches that the fit uses.
    """
    if fit.curved:
        return None
    sizes = np.sort(np.concatenate([fit.line.x, fit.broken, fit.beyond]))
    largest = fit.line.x[-1] if fit.fall else sizes[-1] * FARTHEST
    new = _candidates(sizes, sizes[0] / FARTHEST, largest, sequence) if candidates is None else candidates
    now = (0.0, np.inf) if fit.line.exact else fit.interval(level)["half_batch"]
    cost = lambda size: (steps + warmup) * fit.line.predict(size)  # noqa: E731
    return _best(fit.line, sizes, fit.line.x, new, cost, now, level, inverse=True)


def _candidates(measured: np.ndarray, low: float, high: float, sequence: float) -> np.ndarray:
    """Readable batches between two ends, in whole sequences. [tokens]"""
    powers = 2.0 ** np.arange(np.floor(np.log2(low / measured[0])) - 1, np.ceil(np.log2(high / measured[0])) + 1)
    sizes = np.sort(np.concatenate([powers, 1.5 * powers])) * measured[0]
    sizes = np.unique(np.round(sizes / sequence)) * sequence
    return sizes[(sizes > 0) & (sizes > low * 0.999) & (sizes < high * 1.001)]


def _best(line: LogLine, measured, used, candidates, cost, now, level, inverse=False) -> NextRun | None:
    """The candidate with the largest gain for its cost; `inverse` where the line is in B and the knee 1/ratio."""
    new = np.asarray(candidates, float)
    new = new[(np.abs(np.log(new[:, None] / measured)) > np.log(NEAR)).all(axis=1)]
    if not new.size:
        return None
    profile = _Profile(line, level)
    outcomes = np.column_stack([profile.with_new(new if inverse else 1 / new), *[profile.with_repeat()] * used.size])
    table = pd.DataFrame({"tokens_per_step": np.append(new, used)})
    table["cost"] = cost(table["tokens_per_step"].to_numpy())
    ends = np.exp(outcomes[1:])
    with np.errstate(divide="ignore"):  # an open end
        table["low"], table["high"] = 1 / ends[::-1] if inverse else ends
    information = outcomes[0] / table["cost"]
    table["information"] = information / (information[: new.size].max() or 1)
    table["repeat"] = np.arange(len(table)) >= new.size
    best = table.iloc[int(table["information"][: new.size].argmax())]
    repeats = table[table["repeat"] & (table["information"] > 0)]
    return NextRun(
        tokens_per_step=float(best["tokens_per_step"]),
        cost=float(best["cost"]),
        now=now,
        expected=(float(best["low"]), float(best["high"])),
        repeat=repeats.loc[repeats["information"].idxmax()] if len(repeats) else None,
        table=table.sort_values("tokens_per_step", ignore_index=True),
        scatter=float(np.sqrt(profile.variance)),
        assumed=line.exact,
        reason=_reason(float(best["tokens_per_step"]), measured),
    )


def _reason(size: float, measured: np.ndarray) -> str:
    """Why a batch tells most for its price, by where it lies."""
    if size > measured[-1]:
        return "It is larger than every batch measured: what lies beyond them is known least for its price."
    if size < measured[0]:
        return "It is smaller than every batch measured: small batches are cheap, and the curve before its knee is known least."
    return "It lies between batches measured, where the curve turns: a new batch there tells more than another end."


class _Profile:
    """The least sum of squares over log(ratio) of a sweep, on a grid where it matters, and what another point makes of it."""

    def __init__(self, line: LogLine, level: float):
        self.line, self.level = line, level
        self.reach = np.log([1 / (BEYOND * line.x[-1]), BEYOND / line.x[0]])
        grid = np.linspace(*self.reach, CELLS)
        ssr, _ = logline.profile(np.exp(grid), line.x, line.log_y, line.bounds)
        self.variance = max((WEIGHT * SCATTER**2 + ssr.min()) / (WEIGHT + line.dof), line.floor**2)
        # Where the interval can lie, today or later.
        inside = np.flatnonzero(ssr <= ssr.min() + 4 * max(self.variance, ssr.min()) * self._quantile(max(line.dof, 1)))
        self.log_q = np.linspace(grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, CELLS - 1)], CELLS)
        self.ssr, self.center = logline.profile(np.exp(self.log_q), line.x, line.log_y, line.bounds)

    def with_new(self, x: np.ndarray):
        """Gain of information, and median lower and upper end of the interval, with one more point at each x."""
        n = self.line.x.size
        curve = np.log1p(np.multiply.outer(x, np.exp(self.log_q))) + self.center
        off = curve[:, self._scenarios(), None] - curve[:, None, :]
        ssr = self.ssr + n / (n + 1) * off**2  # one more value: the sum of squares about the mean, updated
        low, high = self._ends(ssr, n - 1)
        gain = ((high - low) ** -2.0).mean(axis=1) - self._information(n - 2)
        return np.maximum(gain, 0), *self._open(np.median(low, axis=1), np.median(high, axis=1))

    def with_repeat(self):
        """The same with one more run at a batch measured: at most, as if all scatter were the runs' own and each batch had one.

        The mean variance over n batches then falls by s^2 / 2n. A repeat adds no degree of freedom, and what the curve gets
        wrong it does not remove.
        """
        n = self.line.x.size
        low, high = self._ends(self.ssr, n - 2, 1 - 1 / (2 * n))
        return (high - low) ** -2.0 - self._information(n - 2), *self._open(low, high)

    def _information(self, dof: int) -> float:
        low, high = self._ends(self.ssr, dof)
        return (high - low) ** -2.0

    def _quantile(self, dof: int) -> float:
        return stats.t.ppf((1 + self.level) / 2, dof) ** 2 if dof > 0 else np.inf

    def _scenarios(self) -> np.ndarray:
        """Cells of the grid at quantiles of the posterior, the scatter integrated out (its prior: scaled inverse chi-square)."""
        squares = WEIGHT * SCATTER**2 + self.ssr
        mass = np.cumsum((squares / squares.min()) ** (-(WEIGHT + self.line.x.size - 1) / 2))
        return np.searchsorted(mass / mass[-1], (np.arange(SCENARIOS) + 0.5) / SCENARIOS).clip(0, CELLS - 1)

    def _ends(self, ssr: np.ndarray, dof: int, share: float = 1.0):
        """Ends of the interval in log(ratio) along the last axis, with the scatter to be expected after one more run."""
        least = ssr.min(axis=-1)
        squares = share * (least + TYPICAL * self.variance) / max(self.line.x.size - 1, 1)
        variance = np.maximum(squares, self.line.floor**2)
        over = ssr - (least + variance * self._quantile(dof))[..., None]
        inside = over <= 0
        first, last = inside.argmax(axis=-1), CELLS - 1 - inside[..., ::-1].argmax(axis=-1)
        return self._crossing(over, first, first - 1), self._crossing(over, last, last + 1)

    def _crossing(self, over: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """Where the excess crosses zero between two neighboring cells."""
        outer = outer.clip(0, CELLS - 1)
        within, beyond = (np.take_along_axis(over, at[..., None], -1)[..., 0] for at in (inner, outer))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(outer == inner, 0, within / (within - beyond))
        return self.log_q[inner] + share * (self.log_q[outer] - self.log_q[inner])

    def _open(self, low: np.ndarray, high: np.ndarray):
        """Ends at the reach of the search are no ends."""
        return np.where(low > self.reach[0] + 1e-9, low, -np.inf), np.where(high < self.reach[1] - 1e-9, high, np.inf)
