"""Columns of cells -> floats. Whole columns first; the slow parser sees only the different cells that are left over."""

import re

import numpy as np
import pandas as pd

from bsmath.quantities import parse_number

TIMES = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1,
    "seconds": 1, "s/it": 1, "s/step": 1, "ms/step": 1e-3, "ms/it": 1e-3, "m": 60, "min": 60, "mins": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hours": 3600,
}  # fmt: skip
"""Seconds in each unit that may be glued to a time."""

COUNTS = dict.fromkeys(
    "tokens token toks tok sequences sequence seqs seq samples sample steps step iterations iters updates gpus gpu "
    "devices "
    "tok/s toks/s tokens/s tokens/sec tok/sec t/s samples/s samples/sec seq/s seqs/s it/s its/s steps/s steps/sec "
    "batches/s tok/s/gpu tokens/s/gpu tokens/sec/gpu".split(),
    1,
)
"""Units that may be glued to a count or a rate."""

MOST_LOOKED_AT = 50_000
"""Rows of a long table that are looked at where they tell as much as all of them."""

FEW = 1000
"""Cells up to which it is faster to look at each by itself."""

_DIGIT = re.compile("[0-9]")


_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2}(?:\.\d{1,9})?)")
"""A length of time such as 0:04:24.27."""


def spread(values: np.ndarray, most: int = MOST_LOOKED_AT) -> np.ndarray:
    """The values, or where there are far more than `most` some that are spread evenly over them."""
    return values[:: max(len(values) // most, 1)]


def positive(values: np.ndarray) -> np.ndarray:
    """The values, nan where one is not positive and finite; the same array where all are."""
    if len(values) and values.min() > 0 and values.max() < np.inf:  # not so where one is nan
        return values
    good = (values > 0) & (values < np.inf)
    return values if good.all() or np.isnan(values).all() else np.where(good, values, np.nan)


def numbers(cells: pd.Series, units: dict[str, float], scale: float = 1.0, decimal: str = ".") -> np.ndarray:
    """The cells as floats, nan where a cell is empty or no number.

    Parameters
    ----------
    cells : Series
        Numbers or text.
    units : dict
        Factors of the units that a cell may carry; such a cell ignores `scale`.
    scale : float
        Factor of the unit that the header names.
    decimal : str
        Decimal mark of text cells.
    """
    if pd.api.types.is_numeric_dtype(cells.dtype):
        if cells.dtype.kind in "iu" and len(cells) > 1 and (least := cells.min()) == cells.max():
            return np.broadcast_to(np.float64(least) * scale, len(cells))  # a constant column takes no memory
        values = cells.to_numpy(float) if isinstance(cells.dtype, np.dtype) else cells.to_numpy(float, na_value=np.nan)
        return values if scale == 1 else values * scale
    if isinstance(cells.dtype, pd.CategoricalDtype):  # each different cell once
        different = numbers(pd.Series(cells.cat.categories), units, scale, decimal)
        return np.append(different, np.nan)[cells.cat.codes.to_numpy()]
    try:
        found = pd.to_numeric(cells, errors="coerce").to_numpy(float, na_value=np.nan) * scale
    except OverflowError:  # a whole number of hundreds of digits
        found = np.full(len(cells), np.nan)
    left = np.isnan(found) & ~blank(cells)
    if decimal == ",":
        left |= (
            cells.astype("string").str.contains("[.,]", na=False).to_numpy(bool)
        )  # may hold whole numbers too long for a dtype
    if left.any():
        codes, different = pd.factorize(cells[left])
        found[left] = np.array([_one(str(text), units, scale, decimal) for text in different], float)[codes]
    return found


def blank(cells: pd.Series) -> np.ndarray:
    """Whether each cell is empty."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return np.append(blank(pd.Series(cells.cat.categories)), True)[cells.cat.codes.to_numpy()]
    empty = cells.isna().to_numpy(bool)
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return empty
    if len(cells) <= FEW:
        return empty | np.array([not str(cell).strip() for cell in cells], bool)
    return empty | (cells.astype(str).str.strip() == "").to_numpy(bool)


def is_number(text: str) -> bool:
    """Whether a cell is a number in either decimal notation, a unit of time aside."""
    if not _DIGIT.search(text):
        return False
    return not np.isnan(_one(text, TIMES, 1.0, ",")) or not np.isnan(_one(text, TIMES, 1.0, "."))


def _one(text: str, units: dict[str, float], scale: float, decimal: str) -> float:
    lower = text.strip().lower()
    known = () if lower[-1:].isdigit() else units
    for unit in sorted((unit for unit in known if lower.endswith(unit)), key=len, reverse=True):
        value = _parsed(lower[: -len(unit)], decimal)
        if not np.isnan(value):
            return value * units[unit]
    if units is TIMES and (clock := _CLOCK.fullmatch(lower)):
        return 3600 * float(clock[1] or 0) + 60 * float(clock[2]) + float(clock[3])
    return _parsed(lower, decimal) * scale


def _parsed(text: str, decimal: str) -> float:
    # A point in a file with decimal commas is taken for one only where it cannot separate thousands.
    for mark in (decimal, ".") if decimal == "," else (".",):
        try:
            return parse_number(text, mark)
        except ValueError:
            continue
    return np.nan
