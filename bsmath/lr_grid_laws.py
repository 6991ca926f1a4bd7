"""Laws of the best learning rate against the batch, and how likely they make measured optima, some of them bounds.

    ln eta = ln eta_0 + ln law(B, shape)        law(B_0) = 1, B_0 the geometric middle of the batches

An optimum's error is normal in ln eta, s times the error that its grid states; an optimum at an edge enters with the chance
that it lies beyond its bound (Tobin 1958). With a handful of batches s is poorly known, so the grids' own statement, s = 1,
counts as SCALE_WEIGHT more observations of it (the moderated variance of Smyth 2004). `lr_grid_law_fit` fits one law.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from bsmath import lr

SCALE_WEIGHT = 4
"""Observations that the stated errors count for in the scale of the residuals; an assumption, a few batches' worth."""
ROUNDS, SETTLED = 200, 1e-9
"""Most rounds of the censored fit, and the change in ln rate at which it stops."""


def power(tokens_per_step, reference_learning_rate, reference_tokens_per_step, exponent):
    """eta_0 (B/B_0)^exponent, the empirical form of most published laws."""
    return reference_learning_rate * (tokens_per_step / reference_tokens_per_step) ** exponent


def saturating_root(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch):
    """eta_max / sqrt(1 + B_n/B): square root far below B_n, constant far above (Adam, McCandlish et al. 2018, E.2)."""
    return lr.saturating(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch, 0.5)


@dataclass(frozen=True, kw_only=True)
class GridLaw:
    """A law that can be fitted to optima."""

    label: str
    """Name in sentences."""
    function: Callable
    """(tokens_per_step, reference_learning_rate, reference_tokens_per_step, shape) -> learning rate."""
    shape: str | None = None
    """Name of its one parameter besides the rate: exponent, or a batch in tokens; None where it has none."""
    limit: float | None = None
    """Batch, in units of the shape, at which its largest rate is reached; None where it has none."""


GRID_LAWS: dict[str, GridLaw] = {
    "power": GridLaw(label="power", function=power, shape="exponent"),
    "square_root": GridLaw(label="square root", function=lr.square_root),
    "linear": GridLaw(label="linear", function=lr.linear),
    "constant": GridLaw(label="constant", function=lr.constant),
    "saturating": GridLaw(label="saturating", function=lr.saturating, shape="saturation_batch", limit=1e9),
    "saturating_root": GridLaw(
        label="saturating square root", function=saturating_root, shape="saturation_batch", limit=1e9
    ),
    "surge": GridLaw(label="surge", function=lr.surge, shape="peak_batch", limit=1.0),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """Optima as the likelihood takes them."""

    batch: np.ndarray
    """Batches, ascending. [tokens]"""
    log_rate: np.ndarray
    """ln optimum, or ln bound."""
    log_sd: np.ndarray
    """Its stated standard deviation."""
    side: np.ndarray
    """0 an optimum, +1 where the optimum lies above the bound, -1 below."""

    @property
    def known(self) -> np.ndarray:
        """Which are optima."""
        return self.side == 0

    @property
    def middle(self) -> float:
        """B_0. [tokens]"""
        return float(np.sqrt(self.batch[0] * self.batch[-1]))


def profile(law: GridLaw, points: Points, shapes: np.ndarray) -> tuple[np.ndarray, ...]:
    """For each shape the least deviance, and there ln eta_0, the scale, and the error of ln eta_0 given the shape.

    The deviance is -2 ln likelihood less a constant. Bounds are met by expectation and maximization: each stands for the mean
    and the variance that an optimum beyond it would have.
    """
    y = np.tile(points.log_rate, (shapes.size, 1))
    y -= np.log(law.function(points.batch, 1.0, points.middle, shapes[:, None]))
    known, sd, side = points.known, points.log_sd, points.side[~points.known]
    weight = 1 / sd**2
    at = (y * weight)[:, known].sum(axis=1) / weight[known].sum()
    total = known.sum() + SCALE_WEIGHT
    scale = np.sqrt((((y - at[:, None]) ** 2 * weight)[:, known].sum(axis=1) + SCALE_WEIGHT) / total)
    for _ in range(ROUNDS if side.size else 0):
        beyond = side * (y - at[:, None])[:, ~known] / (sd[~known] * scale[:, None])
        mean = np.exp(-(beyond**2) / 2 - special.log_ndtr(-beyond)) / np.sqrt(2 * np.pi)
        off = y - at[:, None]
        off[:, ~known] = side * mean * sd[~known] * scale[:, None]
        step = (off * weight).sum(axis=1) / weight.sum()
        at = at + step
        squares = ((off - step[:, None]) ** 2 * weight).sum(axis=1) + SCALE_WEIGHT
        squares += scale**2 * (1 + beyond * mean - mean**2).sum(axis=1)
        scale = np.sqrt(squares / (total + side.size))
        if np.abs(step).max() < SETTLED:
            break
    beyond = side * (y - at[:, None])[:, ~known] / (sd[~known] * scale[:, None])
    squares = ((y - at[:, None]) ** 2 * weight)[:, known].sum(axis=1) + SCALE_WEIGHT
    deviance = 2 * total * np.log(scale) + squares / scale**2 - 2 * special.log_ndtr(-beyond).sum(axis=1)
    return deviance, at, scale, scale / np.sqrt(weight[known].sum())
