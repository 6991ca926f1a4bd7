"""A whole number that a log does not state but that its rounded numbers agree on: a batch from two rates, devices from two more."""

import math
from collections.abc import Iterable

import numpy as np

CLOSE = 0.03
"""Largest relative distance of a ratio from the whole number that it is taken for. A convention: rates are printed rounded."""
AGREE = 0.9
"""Share of the rows that must be that close."""


def whole(ratios: Iterable[float], multiple_of: int = 1) -> int | None:
    """The whole number (a multiple of `multiple_of`) nearest to the median of these ratios; None where they do not agree on it.

    The more digits the ratios have, the more it says: above 17, every number is within 3 % of a whole one.
    """
    known = np.array([ratio for ratio in ratios if ratio is not None and math.isfinite(ratio) and 0 < ratio < 1e15])
    if not known.size:
        return None
    found = round(float(np.median(known)) / multiple_of) * multiple_of
    if found < 1 or np.mean(np.abs(known / found - 1) <= CLOSE) < AGREE:
        return None
    return found


def ratio(above, below) -> float:
    """above / below; nan where one of them is missing or is not positive."""
    return above / below if above and below and above > 0 and below > 0 else math.nan
