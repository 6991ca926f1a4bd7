"""What a batch that moves costs where the critical batch moves too: useful tokens, tokens and steps to a target.

    dE = (1 + B/B_n) du      dS = dE/B      dS_min = du/B_n          u useful tokens, those that tiny batches would have needed
    flat batch       E = u + B s,  S = u/B + s,  s = integral of du/B_n: the hyperbola with B_crit = u/s, the harmonic mean of B_n
    adaptive batch   B = sqrt(r B_n):  (S/S_min - 1)(E/E_min - 1) = gamma = (integral of du/sqrt(B_n))^2 / (E_min S_min) <= 1

Derived for a local quadratic model with the rate tuned at every moment (McCandlish, Kaplan, Amodei et al. 2018, arXiv 1812.06162,
appendix D, whose full-batch steps are our s). B_n(u) is the critical batch after u useful tokens: how far a run has come decides,
not how many tokens it spent. The course of B_n is a `Ramp` over u, so that its `steps` are s.
"""

from dataclasses import dataclass

import numpy as np

from bsmath import ramp as ramps
from bsmath.ramp import Ramp

GRID = 1500
"""Points of u at which the course is known between two steps of the march; interpolation then errs by about 1e-6."""
PARTS = 60
"""Parts into which a rising piece is cut, each then taken as flat at its mean batch, which keeps its steps exactly."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Progress:
    """One schedule carried through to its end."""

    tokens: float
    """Tokens of the run, E. [tokens]"""
    useful_tokens: float
    """u at its end. [tokens]"""
    steps: float
    """S. [steps]"""

    @property
    def waste(self) -> float:
        """Tokens that taught nothing, as a share of all: 1 - u/E."""
        return 1 - self.useful_tokens / self.tokens


def critical_batch(course: Ramp, useful_tokens: float) -> float:
    """B_crit of whole runs to u: the harmonic mean of the course, u/s. [tokens]"""
    return useful_tokens / float(course.steps(useful_tokens))


def leveled(course: Ramp, useful_tokens: float, critical_batch_size: float) -> Ramp:
    """The same course, times a factor that gives whole runs to u this critical batch. [tokens]"""
    factor = critical_batch_size / critical_batch(course, useful_tokens)
    return Ramp(tokens=course.tokens, first=course.first * factor, last=course.last * factor, shape=course.shape)


def rooted(course: Ramp) -> Ramp:
    """The course of sqrt(B_n): its `steps` are the integral of du/sqrt(B_n). For courses that are flat or powers."""
    return Ramp(tokens=course.tokens, first=np.sqrt(course.first), last=np.sqrt(course.last), shape=course.shape)


def gamma(course: Ramp, useful_tokens: float) -> float:
    """(integral of du/sqrt(B_n))^2 / (E_min S_min), 1 where B_n is constant: the best that any schedule can do, eq. D.5."""
    root = float(rooted(course).steps(useful_tokens))
    return root**2 / (useful_tokens * float(course.steps(useful_tokens)))


def to_target(ramp: Ramp, course: Ramp, useful_tokens: float) -> Progress:
    """Tokens and steps of a schedule until u has reached this.

    Parameters
    ----------
    ramp : Ramp
        The batch over the tokens seen. [tokens]
    course : Ramp
        B_n over useful tokens. [tokens]
    useful_tokens : float
        E_min of the target. [tokens]
    """
    edges, batches = _flat_parts(ramp)
    grid, least = _grid(course, useful_tokens)
    useful = 0.0
    for start, stop, batch in zip(edges[:-1], edges[1:], batches, strict=False):
        spent = grid + batch * least
        reached = float(np.interp(useful, grid, spent)) + stop - start
        if reached >= spent[-1]:
            tokens = start + spent[-1] - float(np.interp(useful, grid, spent))
            return Progress(tokens=tokens, useful_tokens=useful_tokens, steps=float(ramp.steps(tokens)))
        useful = float(np.interp(reached, spent, grid))
    left = float(course.steps(useful_tokens) - course.steps(useful))
    tokens = edges[-1] + (useful_tokens - useful) + ramp.end * left
    return Progress(tokens=tokens, useful_tokens=useful_tokens, steps=float(ramp.steps(tokens)))


def through(ramp: Ramp, course: Ramp, tokens: float) -> Progress:
    """How far a schedule comes with so many tokens; parameters as in `to_target`."""
    edges, batches = _flat_parts(ramp)
    grid, least = _grid(course, tokens)
    useful = 0.0
    for start, stop, batch in zip(edges, np.append(edges[1:], np.inf), np.append(batches, ramp.end), strict=True):
        if start >= tokens:
            break
        spent = grid + batch * least
        reached = float(np.interp(useful, grid, spent)) + min(stop, tokens) - start
        useful = float(np.interp(reached, spent, grid))
    return Progress(tokens=tokens, useful_tokens=useful, steps=float(ramp.steps(tokens)))


def _grid(course: Ramp, most: float) -> tuple[np.ndarray, np.ndarray]:
    """Useful tokens up to `most`, and the least steps to each."""
    grid = np.concatenate([[0.0], np.geomspace(most * 1e-8, most, GRID)])
    return grid, course.steps(grid)


def _flat_parts(ramp: Ramp) -> tuple[np.ndarray, np.ndarray]:
    """Edges of the parts of all pieces but the last, its beginning included, and the mean batch of each part."""
    rising = np.flatnonzero((ramp.first != ramp.last)[:-1])
    edges, parts = ramp.tokens, PARTS // max(len(rising), 1)
    if parts > 1 and len(rising):
        before, after = ramp.steps(ramp.tokens[rising]), ramp.steps(ramp.tokens[rising + 1])
        cuts = ramp.tokens_after(np.linspace(before, after, parts + 1)[1:-1])
        edges = np.sort(np.concatenate([edges, cuts.ravel()]))
    return edges, np.diff(edges) / np.diff(ramp.steps(edges))


def adaptive(course: Ramp, useful_tokens: float, factor: float, low: float, high: float, points: int = 80) -> Ramp:
    """B = factor sqrt(B_crit B_n(u)) between two batches, as a ramp over the tokens seen: eq. D.3 with r = factor^2 E_min/S_min."""
    scale = factor * np.sqrt(critical_batch(course, useful_tokens))
    return _followed(lambda u: scale * np.sqrt(course.at(u)), course, useful_tokens, (low, high), points)


def proportional(course: Ramp, useful_tokens: float, factor: float, low: float, high: float, points: int = 80) -> Ramp:
    """B = factor B_n(u) between two batches, as a ramp over the tokens seen."""
    return _followed(lambda u: factor * course.at(u), course, useful_tokens, (low, high), points)


def _followed(rule, course: Ramp, most: float, ends: tuple[float, float], points: int) -> Ramp:
    """A batch that is a function of u, as a function of the tokens that its run has seen by then."""
    useful = np.geomspace(most * 1e-6, most, 16 * points + 1)
    batch = np.clip(rule(useful), *ends)
    spent = useful[0] * (1 + batch[0] / course.at(useful[0]))
    rate = 1 + batch / course.at(useful)
    tokens = spent + np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(useful))])
    return ramps.through(tokens[::16], batch[::16]) if np.ptp(batch) > 0 else ramps.flat(batch[0])


def doubling(course: Ramp, useful_tokens: float, factor: float, low: float, high: float) -> Ramp:
    """Doubles as soon as factor B_n(u) has reached twice the batch, up to `high` (Merrill et al. 2025, arXiv 2505.23971)."""
    useful = np.concatenate([[0.0], np.geomspace(useful_tokens * 1e-6, useful_tokens, GRID)])
    wanted = factor * np.maximum.accumulate(course.at(useful))
    thresholds, batches, batch, seen, before = [0.0], [low], low, 0.0, 0.0
    for place in np.flatnonzero(np.diff(np.floor(np.log2(np.maximum(wanted / low, 1))), prepend=0) > 0):
        least = float(course.steps(useful[place]))
        seen += float(useful[place]) - before + batch * (least - float(course.steps(before)))
        before, batch = float(useful[place]), min(low * 2.0 ** np.floor(np.log2(wanted[place] / low)), high)
        if batch > batches[-1]:
            thresholds, batches = ([0.0], [batch]) if seen == 0 else ([*thresholds, seen], [*batches, batch])
    return ramps.staircase(thresholds, batches)
