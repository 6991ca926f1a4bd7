"""Reader of CSV, TSV, semicolon, pipe and space-separated tables. Regular files go through pandas in one pass, the
others (comments between rows, cells that span lines, columns of spaces) through the csv module, row by row.
"""

import csv
import io

import numpy as np
import pandas as pd

from bsmath.sweeps import layout
from bsmath.sweeps.layout import Layout
from bsmath.sweeps.model import Problem, RawTable, SweepError

HEAD = 2**16
"""Bytes at the beginning of a file from which its layout is found."""


def recognizes(head: str) -> bool:
    """Whether the beginning of a file has a header line over columns."""
    return not head.lstrip().startswith(("{", "[")) and layout.find(head) is not None


def read(data: bytes, name: str, decimal: str | None = None) -> RawTable:
    """The table below the first line that can be a header."""
    found = layout.find(head(data), decimal)
    if found is None:
        raise SweepError(f"{name} must hold a table with a header line, got text without columns")
    start = _line_start(data, found.header_line + 1)
    table = _at_once(data, start, found)
    if table is None:
        try:
            table = _row_by_row(data[start:].decode(), found)
        except csv.Error as error:
            raise SweepError(f"{name} must have cells of ordinary length, got '{error}'") from None
    frame, rows, problems = table
    return RawTable(
        frame=frame,
        rows=rows,
        comments=found.comments,
        decimal=found.decimal,
        questions=found.questions,
        problems=(*found.problems, *problems),
    )


def head(data: bytes) -> str:
    """The first lines of a file as text, without the one that was cut."""
    if len(data) <= HEAD:
        return data.decode()
    return data[: data.rfind(b"\n", 0, HEAD) if b"\n" in data[:HEAD] else HEAD].decode(errors="ignore")


def _line_start(data: bytes, line: int) -> int:
    position = 0
    for _ in range(line - 1):
        position = data.find(b"\n", position) + 1
        if position == 0:
            return len(data)
    return position


def _at_once(data: bytes, start: int, found: Layout) -> tuple[pd.DataFrame, np.ndarray, list[Problem]] | None:
    """Rows, their lines and problems as pandas reads them, or None where its result would hide something."""
    separator, quotes = found.separator.encode(), data.count(b'"', start)
    if len(separator) != 1 or separator == b" " or quotes % 2 or data.find(b"\n#", max(start - 1, 0)) >= 0:
        return None
    lines = data.count(b"\n", start) + (not data.endswith(b"\n"))
    frame = _pandas(data, start, found, csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)
    if frame is None or len(frame) != lines or not lines:
        return None
    rows, problems = np.arange(lines) + found.header_line + 1, []
    if not frame.iloc[:, -1].isna().any():
        return frame, rows, problems
    if quotes or data.count(separator, start) != (len(found.headers) - 1) * lines:
        # pandas fills short rows with nothing: look at the text of every row that ends with nothing.
        ends_empty = np.flatnonzero(frame.iloc[:, -1].isna())
        text = data[start:].split(b"\n")
        widths = np.array([len(layout.split(text[i].decode(), found.separator)) for i in ends_empty], int)
        short = (widths != len(found.headers)) & (widths > 0)
        lost = zip(rows[ends_empty[short]].tolist(), widths[short].tolist(), strict=True)
        problems = [_misfit(row, width, found) for row, width in lost if text[row - found.header_line - 1].strip()]
        keep = np.delete(np.arange(lines), ends_empty[short | (widths == 0)])
        frame, rows = frame.iloc[keep], rows[keep]
    filled = frame.notna().any(axis=1).to_numpy()
    return (frame if filled.all() else frame[filled]).reset_index(drop=True), rows[filled], problems


def _pandas(data: bytes, start: int, found: Layout, quoting: int) -> pd.DataFrame | None:
    source = io.BytesIO(data)
    source.seek(start)
    try:
        frame = pd.read_csv(
            source,
            sep=found.separator,
            header=None,
            names=list(found.headers),
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
            decimal=found.decimal,
            quoting=quoting,
            skipinitialspace=found.separator.encode() + b" " in data[start : start + HEAD],
            skip_blank_lines=False,
            on_bad_lines="error",
        )
    except (ValueError, OverflowError):
        return None
    if not isinstance(
        frame.index, pd.RangeIndex
    ):  # rows longer than the header: pandas took the first cells for an index
        return None
    flags = frame.select_dtypes(bool).columns
    return frame.astype(dict.fromkeys(flags, str)) if len(flags) else frame


def _row_by_row(text: str, found: Layout) -> tuple[pd.DataFrame, np.ndarray, list[Problem]]:
    kept, rows, problems = [], [], []
    width, first = len(found.headers), found.headers[0]
    for row, fields in _records(text, found):
        while len(fields) > width and not fields[-1].strip():
            fields.pop()
        if len(fields) != width:
            if fields and "".join(fields).strip() and not fields[0].startswith(("```", "#")):
                problems.append(_misfit(row, len(fields), found))
        elif any(fields) and (fields[0] != first or tuple(fields) != found.headers):
            kept.append(fields)
            rows.append(row)
    columns = zip(*kept, strict=True) if kept else [()] * width
    frame = pd.DataFrame({header: typed(cells) for header, cells in zip(found.headers, columns, strict=True)})
    return frame, np.array(rows, int), problems


def _misfit(row: int, width: int, found: Layout) -> Problem:
    what = f"the row has {width} fields where the header has {len(found.headers)}"
    return Problem(row=row, column=None, what=what, action="row left out")


def _records(text: str, found: Layout):
    """Line in the file and fields of each row."""
    if found.separator in ("  ", " "):
        for offset, line in enumerate(text.split("\n"), start=1):
            yield found.header_line + offset, layout.split(line, found.separator) if line.strip() else [""]
        return
    before = 0
    # A quote that is never closed would swallow the rest of the file.
    quoting = csv.QUOTE_NONE if text.count('"') % 2 else csv.QUOTE_MINIMAL
    reader = csv.reader(
        text.split("\n"), delimiter=found.separator, quoting=quoting, skipinitialspace=found.separator != "\t"
    )
    for fields in reader:
        yield found.header_line + before + 1, fields
        before = reader.line_num


def typed(cells) -> pd.Series:
    """Numbers where every cell is one, else the text."""
    column = pd.Series(cells, dtype=object)
    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError):
        return column
