"""One law of `lr_grid_laws` fitted to measured optima, with the intervals of its parameters.

Intervals are profile likelihoods that equal Student's t where nothing is censored. The criterion is the corrected one of Akaike
(Hurvich and Tsai 1989), with the scale of the residuals among the parameters.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from bsmath.lr_grid_laws import SCALE_WEIGHT, GridLaw, Points, profile

REACH = 1e3
"""Saturation batches are searched this far beyond the batches measured: a law is constant or a power there."""
EXPONENTS = np.linspace(-3, 3, 1201)
"""Exponents searched."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LawFit:
    """One law fitted to optima."""

    law: GridLaw
    """What was fitted."""
    reference_tokens_per_step: float
    """B_0. [tokens]"""
    parameters: dict[str, float]
    """reference_learning_rate; the shape by its name [tokens for a batch]; largest_rate where the law has one."""
    interval: dict[str, tuple[float, float]]
    """Interval of each; an end of 0 or inf says that the data set no bound there."""
    scale: float
    """Residuals over the errors that the grids state; about 1 for a law that holds."""
    aicc: float
    """Corrected Akaike criterion; nan where the law is left out, having too many parameters for the optima."""

    def predict(self, tokens_per_step):
        """Best learning rate at these batches."""
        shape = self.parameters.get(self.law.shape)
        batch = np.asarray(tokens_per_step, float)
        return self.law.function(
            batch, self.parameters["reference_learning_rate"], self.reference_tokens_per_step, shape
        )


def fit_law(law: GridLaw, points: Points, level: float = 0.90) -> LawFit:
    """One law fitted by maximum likelihood, with intervals of that level."""
    shapes = _searched(law, points)
    best = _refined(law, points, shapes)
    deviance, log_rate, scale, _ = (value[0] for value in profile(law, points, np.array([best])))
    free, count = 1 + (law.shape is not None), int(points.known.sum())
    total = count + SCALE_WEIGHT
    student = stats.t.ppf((1 + level) / 2, total - free)
    allowed = deviance + total * np.log1p(student**2 / (total - free))
    parameters, interval = _parameters(law, points, shapes, allowed, (best, log_rate))
    size = free + 1
    aicc = deviance + 2 * size + 2 * size * (size + 1) / (total - size - 1) if count > free + 1 else np.nan
    return LawFit(
        law=law,
        reference_tokens_per_step=points.middle,
        parameters=parameters,
        interval=interval,
        scale=float(scale * np.sqrt(total / (total - free))),
        aicc=float(aicc),
    )


def _parameters(law: GridLaw, points: Points, shapes: np.ndarray, allowed: float, best) -> tuple[dict, dict]:
    """Each parameter at the best (shape, ln eta_0), and its interval: all values with a deviance up to the allowed one."""
    deviance, log_rate, _, error = profile(law, points, shapes)
    total = points.known.sum() + SCALE_WEIGHT
    room = np.maximum(allowed - deviance, 0)
    inside, half = room > 0, error * np.sqrt(total * np.expm1(room / total))  # of ln eta_0, given the shape
    found = {"reference_learning_rate": (best[1], (log_rate - half)[inside].min(), (log_rate + half)[inside].max())}
    if law.limit:
        found[law.shape] = (np.log(best[0]), *_ends(np.log(shapes), allowed - deviance))
        top = log_rate + np.log(law.function(law.limit * shapes, 1.0, points.middle, shapes))
        peak = best[1] + np.log(law.function(law.limit * best[0], 1.0, points.middle, best[0]))
        high = np.inf if inside[-1] else (top + half)[inside].max()
        found["largest_rate"] = (peak, (top - half)[inside].min(), high)
    ends = {name: tuple(float(np.exp(end)) for end in values) for name, values in found.items()}
    if law.shape == "exponent":
        ends["exponent"] = (float(best[0]), *_ends(shapes, allowed - deviance))
    return {name: one[0] for name, one in ends.items()}, {name: one[1:] for name, one in ends.items()}


def _searched(law: GridLaw, points: Points) -> np.ndarray:
    """Shapes that are tried."""
    if law.shape is None:
        return np.array([np.nan])
    if law.shape == "exponent":
        return EXPONENTS
    return np.geomspace(points.batch[0] / REACH, points.batch[-1] * REACH, 401)


def _refined(law: GridLaw, points: Points, shapes: np.ndarray) -> float:
    """The best shape, to a hundredth of the distance between two that are searched."""
    at = int(profile(law, points, shapes)[0].argmin())
    if at in (0, shapes.size - 1):
        return float(shapes[at])
    return float(
        optimize.minimize_scalar(
            lambda shape: float(profile(law, points, np.array([shape]))[0][0]),
            bounds=(shapes[at - 1], shapes[at + 1]),
            method="bounded",
            options={"xatol": 0.01 * (shapes[at + 1] - shapes[at])},
        ).x
    )


def _ends(shapes: np.ndarray, room: np.ndarray) -> tuple[float, float]:
    """The least and largest shape with room, between two neighbors by a line; infinite beyond what is searched."""
    inside = np.flatnonzero(room > 0)
    first, last = int(inside[0]), int(inside[-1])
    low = -np.inf if first == 0 else np.interp(0, room[first - 1 : first + 1], shapes[first - 1 : first + 1])
    high = np.inf if last == shapes.size - 1 else np.interp(0, room[[last + 1, last]], shapes[[last + 1, last]])
    return float(low), float(high)
