"""Which settings of a table of runs make grids of learning rates of their own, and what each grid is called.

Runs at one batch and rate that differ in a setting are no seeds of one another: a mean over two weight decays is the loss of
neither. A setting is a column of few different values, each of which was tried at several rates; what is measured has other
values in every row.
"""

import numpy as np
import pandas as pd

from bsmath.numerals import count

MOST_VALUES, MOST_SHARE = 20, 0.5
"""Different values of a setting, and their share of the rows, at most."""
RECURRING = 0.8
"""Share of the rows that must have a value which was tried at two rates or more."""
LONGEST = 40
"""Characters of one value in a name."""


def texts(column: pd.Series) -> pd.Series:
    """The cells of a column as they read in a name: "" where blank, 0.1 for 0.10, 1B for 1e9."""
    codes, different = pd.factorize(column.astype(object), use_na_sentinel=False)
    return pd.Series(np.array([*map(_text, different), ""], object)[codes], index=column.index, dtype=object)


def telling(settings: pd.DataFrame, batch: np.ndarray, rate: np.ndarray, key: np.ndarray) -> list[str]:
    """Settings in which runs of one key, batch and rate differ, the one with the fewest values first.

    Parameters
    ----------
    settings : DataFrame
        One column a setting, one row a run, as `texts` gives them.
    batch, rate, key : ndarray
        The batch, the rate and what tells the runs apart already, by row.
    """
    chosen, values = [], settings.nunique()
    for header in sorted(settings, key=values.get):
        if not 2 <= values[header] <= min(MOST_VALUES, MOST_SHARE * len(settings)):
            continue
        frame = pd.DataFrame({"key": key, "batch": batch, "rate": rate, "value": settings[header].to_numpy()})
        tried = frame.groupby("value")["rate"].transform("nunique") > 1
        if tried.mean() >= RECURRING and differs(frame["value"], [frame["key"], frame["batch"], frame["rate"]]):
            chosen.append(header)
            key = frame.groupby(["key", "value"]).ngroup().to_numpy()
    return chosen


def mixed(settings: pd.DataFrame, batch: np.ndarray, rate: np.ndarray, group: np.ndarray) -> list[str]:
    """Settings in which runs of one group, batch and rate differ all the same; not what has other values in most rows."""
    few = [header for header in settings if settings[header].nunique() <= MOST_SHARE * len(settings)]
    return [header for header in few if differs(settings[header], [group, batch, rate])]


def differs(values: pd.Series, cells: list) -> bool:
    """Whether some cell holds several values."""
    return bool((values.groupby(cells).nunique() > 1).any())


def names(settings: pd.DataFrame, models: list[str]) -> np.ndarray:
    """The name of each run's grid: "7b, weight_decay 0.1"; a model goes without its header, and a blank one is not named."""
    parts = [settings[header].map(lambda text, at=header: _part(at, text, at in models)) for header in settings]
    rows = zip(*parts, strict=True) if parts else [()] * len(settings)
    return np.array([*(", ".join(filter(None, row)) for row in rows), ""], object)[:-1]


def _part(header: str, text: str, alone: bool) -> str:
    if alone:
        return text
    return f"{header[:LONGEST]} {text}" if text else f"no {header[:LONGEST]}"


def _text(cell) -> str:
    if cell is None or cell is pd.NA or cell != cell:
        return ""
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return " ".join(str(cell).split())[:LONGEST]
    if np.isnan(number):
        return ""
    return count(number, 4) if 1000 <= abs(number) < 1e15 else f"{number:.6g}"
