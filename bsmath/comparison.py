"""The critical batch size by three measurements, side by side, and where they disagree.

They do not measure the same thing (McCandlish et al. 2018, arXiv 1812.06162; Merrill et al. 2025, arXiv 2505.23971):

- hyperbola: E_min/S_min over whole runs to one loss, each batch at its best rate
- noise scale: tr(Sigma)/|G|^2 averaged over a stretch of one run; equal to the hyperbola's only where the loss is quadratic,
  curves alike in all directions, and SGD descends it
- branched: the largest batch with which a stretch of training ends no worse, from one point of one run
"""

import math
from dataclasses import dataclass

from bsmath.branching import Branch
from bsmath.hyperbola_fit import HyperbolaFit
from bsmath.logs.noise import LATE, NoiseLog

HYPERBOLA, NOISE, BRANCHED = "hyperbola", "noise scale", "branched run"
STRETCHES = ((0.0, "whole run"), (LATE, "second half of the run"))
"""Shares of a run from which on the noise scale is averaged."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """One measured critical batch size."""

    method: str
    """HYPERBOLA, NOISE or BRANCHED."""
    at: str
    """What it holds for: a run, or a part or point of it."""
    batch: float
    """The value; nan where the data did not identify it. [tokens]"""
    low: float
    """Lower end of its 90 % interval, or the largest batch that recovered. [tokens]"""
    high: float
    """Upper end, or the smallest batch that did not recover; inf where the data set none. [tokens]"""


def values(hyperbola: HyperbolaFit | None, noise: NoiseLog | None, branches: tuple[Branch, ...]) -> list[Value]:
    """What each measurement that is there says; a noise scale in another unit than tokens says nothing."""
    found = []
    if hyperbola is not None:
        low, high = hyperbola.interval()["critical_batch_size"]
        batch = hyperbola.critical_batch_size
        found.append(Value(method=HYPERBOLA, at="whole runs", batch=batch, low=low, high=high))
    if noise is not None and noise.unit == "tokens" and noise.has_parts:
        for since, at in STRETCHES:
            part = noise.estimate(noise.groups[0], since)
            low, high = part.interval()
            found.append(Value(method=NOISE, at=at, batch=part.noise_scale, low=low, high=high))
    for one in branches:
        batch = one.critical_batch_size
        found.append(Value(method=BRANCHED, at=one.label, batch=batch, low=one.low, high=one.high))
    return found


def ratio(value: Value, reference: Value) -> float:
    """How many times the reference."""
    return value.batch / reference.batch


def apart(value: Value, reference: Value) -> bool:
    """Whether the two intervals have nothing in common."""
    return value.low > reference.high or value.high < reference.low


def identified(found: list[Value]) -> list[float]:
    """The values that the data identify. [tokens]"""
    return [value.batch for value in found if math.isfinite(value.batch) and value.batch > 0]
