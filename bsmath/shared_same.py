"""Whether two measurements are the same: that of a sweep, and that of what a link holds of it."""

import re

import numpy as np
import pandas as pd

from bsmath.measured import Measurement

SAME_POINT, SAME_NUMBER, SAME_WORD = 1e-5, 5e-5, 1e-3
"""Relative difference up to which points, fitted numbers, and the numbers in a verdict are the same."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
"""A number in a verdict."""


def same(ours: Measurement, theirs: Measurement, verdict: bool = True) -> bool:
    """Whether two measurements have the same points and the same fit, and say the same."""
    if (
        (ours.fit is None) != (theirs.fit is None)
        or ours.identified != theirs.identified
        or len(ours.points) != len(theirs.points)
    ):
        return False
    if len(ours.points) and not np.allclose(
        ours.points, theirs.points[list(ours.points)], equal_nan=True, rtol=SAME_POINT, atol=0
    ):
        return False
    if verdict and (ours.num_params != theirs.num_params or not _says_the_same(ours.verdict, theirs.verdict)):
        return False
    if ours.fit is None:
        return True
    if len(ours.fit.left_out) != len(theirs.fit.left_out):
        return False
    numbers = ([*one.fit.parameters.values()] for one in (ours, theirs))
    return np.allclose(*numbers, rtol=SAME_NUMBER, atol=0) and (not verdict or _same_rates(ours.tuning, theirs.tuning))


def _same_rates(ours: pd.DataFrame | None, theirs: pd.DataFrame | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    numbers = [name for name in ours if name != "at_edge"]
    near = np.allclose(
        ours[numbers].astype(float), theirs[numbers].astype(float), rtol=SAME_POINT, atol=0, equal_nan=True
    )
    return near and ours["at_edge"].tolist() == theirs["at_edge"].tolist()


def _says_the_same(ours: str, theirs: str) -> bool:
    """The same words, and the same numbers but for their last digits."""
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(one == other or _near(one, other) for one, other in pairs)


def _near(one: str, other: str) -> bool:
    """Whether two numbers differ by a thousandth, or by one in the last digit shown."""
    first, second = (float(text.replace(",", "")) for text in (one, other))
    last = 10.0 ** -len(one.partition(".")[2].partition("e")[0])
    return abs(first - second) <= max(SAME_WORD * abs(first), 1.001 * last)
