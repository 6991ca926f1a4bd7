"""A parabola through the values of the learning rates around the best one of a batch.

Three to five rates, the nearer the heavier: the best one's two neighbors, and what lies within a factor 6 of it. Farther off, a
public grid of rates a factor 3 apart rises more steeply toward high rates than any parabola.

No value more than a third above the best of its batch is a point (`walls`): a run that diverged and logged about ln(vocabulary)
stands there, and a valley is no parabola so high up. It bounds the optimum, as a run without a finite loss does. The exception
are the best rate's two neighbors where both are so high, neither above twice the best, and rise alike for their distance: of
coarse rates in steps to a target, which vary by factors, a parabola still says on which side of the best rate the optimum lies.
"""

from dataclasses import dataclass

import numpy as np

MOST_POINTS, REACH = 5, float(np.log(6))
"""Points of a parabola, and the distance in ln rate at which a point has no weight; the two neighbors always have some."""
FAR = 1 / 3
"""Excess over the best value, as a share of it, from which a value is a wall."""
DOUBLE, ALIKE = 1.0, 2.0
"""The most excess of two far neighbors that are points nevertheless, and the most ratio of their rises over squared distance."""


@dataclass(frozen=True)
class Valley:
    """A parabola fitted to the values of one batch, in u = ln rate less that of the best rate."""

    curvature: float
    """Half the second derivative by u."""
    vertex: float
    """u of the least value; infinite, on the side that falls, where the curvature is not positive."""
    least: float
    """The value there."""
    gradient: np.ndarray
    """Change of the vertex with each value."""
    points: np.ndarray
    """Which rates it was fitted to."""
    squares: float
    """Squared residuals, relative to the best value."""
    freedom: float
    """Degrees of freedom of the squares."""


def walls(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Which finite values at the ln rates x are too far above the best for a parabola (see the module)."""
    finite = np.flatnonzero(np.isfinite(value))
    excess = value / np.min(value[finite], initial=np.inf) - 1
    far = excess > FAR
    place = int(np.argmin(value[finite])) if finite.size else 0
    if 0 < place < finite.size - 1:
        sides = finite[[place - 1, place + 1]]
        rise = excess[sides] / (x[sides] - x[finite[place]]) ** 2
        if far[sides].all() and excess[sides].max() <= DOUBLE and rise.max() <= ALIKE * rise.min():
            far[sides] = False
    return far


def valley_of(x: np.ndarray, value: np.ndarray) -> Valley | None:
    """The parabola around the best value; None where that is not enclosed by two rates that did not diverge."""
    finite = np.flatnonzero(np.isfinite(value))
    best = int(np.nanargmin(value)) if finite.size else 0
    if finite.size < 3 or best in (finite[0], finite[-1]):
        return None
    place = int(np.searchsorted(finite, best))
    triple = finite[place - 1 : place + 2]
    near = finite[np.argsort(np.abs(x[finite] - x[best]), kind="stable")]
    near = near[(np.abs(x[near] - x[best]) < REACH) & ~np.isin(near, triple)]
    points = np.sort(np.concatenate([triple, near[: MOST_POINTS - 3]]))
    u = x[points] - x[best]
    weight = (1 - (np.abs(u) / max(REACH, 1.3 * np.abs(u).max())) ** 3) ** 3  # tricube
    design = np.stack([u**2, u, np.ones_like(u)], axis=1)
    solve = np.linalg.pinv(design * np.sqrt(weight)[:, None]) * np.sqrt(weight)
    a, b, c = solve @ value[points]
    left = np.eye(u.size) - design @ solve
    squares = float(((left @ value[points] / value[best]) ** 2).sum())
    vertex = -b / (2 * a) if a > 0 else -np.sign(b) * np.inf
    gradient = -(solve[1] + 2 * vertex * solve[0]) / (2 * a) if a > 0 else np.zeros_like(u)
    return Valley(a, vertex, c - b**2 / (4 * a) if a > 0 else np.nan, gradient, points, squares, float((left**2).sum()))
