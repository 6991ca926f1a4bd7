"""Which mark the decimals of a table have: some cells can be read in one way only, and they decide for all.

comma alone   0,164   1,5   1.234,5   16.384.000       point alone   0.164   1.5   1,234.5   16,384,000
either        1,250   16.384
"""

import re

from bsmath.sweeps import columns
from bsmath.sweeps.model import Question

_UNIT = r"(?:\s?[a-zA-Zµ%][\w/%]{0,15})?"
_SURE = r"[+-]?(?:\d{{1,3}}(?:{other}\d{{3}})+{mark}\d+|[1-9]\d{{0,2}}(?:{other}\d{{3}}){{2,3}}|0\d*{mark}\d+|\d*{mark}(?:\d{{1,2}}|\d{{4,}})|\d{{4,}}{mark}\d+)"
_COMMA = re.compile(_SURE.format(mark=",", other=r"\.") + _UNIT)
_POINT = re.compile(rf"(?:{_SURE.format(mark=r'[.]', other=',')}|[+-]?\d*\.\d+[eE][+-]?\d+){_UNIT}")
_EITHER = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}{_UNIT}") for mark in ",."}


def decimal(separator: str, headers: list[str], rows: list[list[str]]) -> tuple[str, tuple[Question, ...]]:
    """The decimal mark, and the question where every cell may be read in both ways.

    Parameters
    ----------
    separator : str
        What separates the columns; where that is a comma, it is no decimal mark.
    headers, rows : list
        The headers and some rows of cells.
    """
    if separator == ",":
        return ".", ()
    every = [cell.strip() for row in rows for cell in row]
    commas, points = (sum(sure.fullmatch(cell) is not None for cell in every) for sure in (_COMMA, _POINT))
    if commas or points:
        return "," if commas >= points else ".", ()
    grouped = next((cell for cell in every if _EITHER[","].fullmatch(cell)), None)
    pointed = _whole(headers, rows)
    if pointed is None and (grouped is None or separator != ";"):
        return ".", ()
    mark, shown = (",", grouped) if pointed is None else (".", pointed)
    named = {",": "comma", ".": "point"}[mark]
    text = f"Is {shown} in this file a decimal fraction or does the {named} separate thousands?"
    return ",", (Question(key="decimal", text=text, choices=(",", "."), default=","),)


def _whole(headers: list[str], rows: list[list[str]]) -> str | None:
    """A cell of a column of batches all of which read `16.384`: as tokens or sequences are whole, its point separates thousands."""
    for place, header in enumerate(headers):
        cells = [row[place].strip() for row in rows if place < len(row) and row[place].strip()]
        if cells and columns.recognize(header, is_number=True).meaning in columns.BATCHES:
            if all(map(_EITHER["."].fullmatch, cells)):
                return cells[0]
    return None
