"""The hyperbola of `critical` fitted to measured steps to one target loss.

Least squares on log S (a linear-space fit lets the smallest batch alone decide: on five public language-model sweeps it is off
by up to 4.5 times). The scale of every interval comes from the fit's own residuals over batches with Student's t: on public
sweeps the spread over seeds alone is far too narrow where the model misfits, and seed errors widened by the misfit are too wide.
"""

from dataclasses import dataclass

import numpy as np

from bsmath import hyperbola_search, logline, power_hyperbola, step_search
from bsmath.critical import steps_to_target
from bsmath.logline import LogLine
from bsmath.power_hyperbola import PowerFit

LEAST_SCATTER = 0.01
"""Standard deviation of log steps below which no sweep is believed: seeds alone move steps by more, and a few points may lie on a
curve by luck. An assumption; public sweeps with tuned rates scatter by 0.04 to 0.08."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HyperbolaFit:
    """The hyperbola fitted to measured steps to one target loss."""

    line: LogLine
    """S = S_min + E_min (1/B) in log space, fitted to the batches that are used."""
    batch: np.ndarray
    """Every batch measured, ascending. [tokens]"""
    log_steps: np.ndarray
    """Logarithm of the steps at each."""
    left: tuple[float, ...]
    """Batches below the least of the tokens, left out since no hyperbola rises there. [tokens]"""
    broken: tuple[float, ...]
    """Batches that contradict the others, left out. [tokens]"""
    power: PowerFit | None
    """The curve with an exponent of its own, where it is clearly better; both are then shown."""

    @property
    def critical_batch_size(self) -> float:
        """B_crit = E_min/S_min; inf where every step count is still proportional to 1/B. [tokens]"""
        return self.line.ratio

    @property
    def min_steps(self) -> float:
        """S_min. [steps]"""
        return self.line.intercept

    @property
    def min_tokens(self) -> float:
        """E_min. [tokens]"""
        return self.line.slope

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted numbers by name; the keys of `interval`."""
        return {name: getattr(self, name) for name in ("critical_batch_size", "min_steps", "min_tokens")}

    @property
    def left_out(self) -> tuple[float, ...]:
        """Batches that the fit does not use. [tokens]"""
        return self.left + self.broken

    @property
    def used(self) -> np.ndarray:
        """Batches that the fit uses, ascending. [tokens]"""
        return self.batch[~np.isin(self.batch, self.left_out)]

    @property
    def tokens(self) -> np.ndarray:
        """Measured tokens to the target at every batch. [tokens]"""
        return np.exp(self.log_steps) * self.batch

    @property
    def cheapest(self) -> tuple[float, float]:
        """The batch with the least measured tokens [tokens], and how much more the smallest batch needs, as a share."""
        return float(self.batch[self.tokens.argmin()]), float(self.tokens[0] / self.tokens.min() - 1)

    @property
    def tokens_fall(self) -> bool:
        """Whether tokens fall from the smallest to the largest batch, which no hyperbola does."""
        return hyperbola_search.tokens_fall(self.batch, self.log_steps)

    @property
    def worst(self) -> tuple[float, float]:
        """The used batch farthest off the fit [tokens], and its relative distance, measured over fitted less 1."""
        off = self.line.residuals
        at = int(np.abs(off).argmax())
        return float(self.used[::-1][at]), float(off[at])

    def predict(self, tokens_per_step):
        """Steps to the target at these batch sizes; the same formula that predicts without a fit. [steps]"""
        if np.isinf(self.critical_batch_size):
            return self.min_tokens / np.asarray(tokens_per_step, float)
        return steps_to_target(tokens_per_step, self.critical_batch_size, self.min_steps)

    def interval(self, level: float = 0.90) -> dict[str, tuple[float, float]]:
        """Profile-likelihood interval of each parameter; an end of 0 or inf says that the data set no bound there."""
        bounds = self.line.interval(level)
        return {
            "critical_batch_size": bounds["ratio"],
            "min_steps": bounds["intercept"],
            "min_tokens": bounds["slope"],
        }

    def band(self, tokens_per_step, level: float = 0.90):
        """Lower and upper end of the curve's interval at these batch sizes. [steps]"""
        return self.line.band(1 / np.asarray(tokens_per_step, float), level)

    def joint(self, level: float = 0.90):
        """B_crit [tokens], and for each the least and largest S_min [steps], that the data allow together."""
        return self.line.joint(level)


def fit_hyperbola(tokens_per_step, steps, resolution=None, stopped=None) -> HyperbolaFit:
    """Fit B_crit and S_min to measured steps to one target loss.

    Batches left of the least of the tokens, and single batches that the others contradict, are left out of the fit and named.

    Parameters
    ----------
    tokens_per_step, steps : array_like
        Batch sizes [tokens] and steps to the target [steps], one pair a run, or one a batch; at least two different batch
        sizes. Repeats at one batch enter as their median; wrong runs are `hyperbola_search.absurd`'s to find.
    resolution : array_like, optional
        Steps between two evaluations of each run: its steps are no surer than resolution/sqrt(12). [steps]
    stopped : tuple of array_like, optional
        Batch sizes [tokens] and steps [steps] of runs that were stopped before they reached the target.

    Raises
    ------
    ValueError
        Where lengths differ, a value is not positive and finite, or there are fewer than two batch sizes.
    """
    batch, count = logline.pairs("tokens_per_step", tokens_per_step, "steps", steps)
    floor = LEAST_SCATTER if resolution is None else _grid_error(np.asarray(resolution, float) / count)
    batch = np.array([float(f"{size:.12g}") for size in batch])  # batches that rounding alone tells apart are one
    sizes = np.unique(batch)
    log_steps = logline.fit(1 / batch, count).log_y[::-1]
    # A wrong value amid the others is found first: it could pass for the minimum of a U.
    good = ~np.isin(sizes, _broken(sizes, log_steps))
    falls = hyperbola_search.tokens_fall(sizes, log_steps)
    turned = 0 if falls else hyperbola_search.turning(sizes[good], log_steps[good])
    right = sizes >= (sizes[good][turned] if turned else 0.0)
    broken = _broken(sizes[right], log_steps[right])
    used = right & ~np.isin(sizes, broken)
    line = logline.fit(
        1 / sizes[used], np.exp(log_steps[used]), floor, _bounds(stopped, sizes[right][0] if turned else 0.0)
    )
    power = power_hyperbola.fit(line)
    return HyperbolaFit(
        line=line,
        batch=sizes,
        log_steps=log_steps,
        left=tuple(sizes[~right].tolist()),
        broken=tuple(broken.tolist()),
        power=power if power and power_hyperbola.is_better(power, line) else None,
    )


def _broken(sizes: np.ndarray, log_steps: np.ndarray) -> np.ndarray:
    """Batches that contradict the others, ascending. [tokens]"""
    _, broken = step_search.without_broken(logline, 1 / sizes[::-1], log_steps[::-1])
    return sizes[np.isin(1 / sizes, broken)]


def _bounds(stopped, smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """Stopped runs as `logline` wants them; those left of a U say nothing of the hyperbola."""
    if stopped is None:
        return np.array([]), np.array([])
    batch, least = (np.asarray(values, float) for values in stopped)
    right = batch >= smallest
    return 1 / batch[right], np.log(least[right])


def _grid_error(spacing: np.ndarray) -> float:
    """Standard deviation of log steps that were read off a grid of this relative spacing, where it is widest: it decides there."""
    known = spacing[np.isfinite(spacing)]
    return max(float(known.max() / np.sqrt(12)), LEAST_SCATTER) if known.size else LEAST_SCATTER
