"""Reader of CSV, TSV, semicolon, pipe and space-separated tables. Regular files go through pandas in one pass, large ones
in blocks (see `blocks`), the others (comments between rows, cells that span lines, columns of spaces) through the csv
module, row by row.
"""

import csv
import io
from collections.abc import Iterator

import numpy as np
import pandas as pd

from bsmath.sweeps import blocks, layout
from bsmath.sweeps.blocks import Progress
from bsmath.sweeps.layout import Layout
from bsmath.sweeps.model import Problem, RawTable, SweepError

HEAD = 2**16
"""Bytes at the beginning of a file from which its layout is found."""
PIECE = 2**20
"""Bytes of which the lines are held at once where a file is read row by row."""
ROWS = 2**15
"""Rows that are held as Python objects at once."""

Table = tuple[pd.DataFrame, np.ndarray, list[Problem]]
"""Rows, their lines in the file, and problems."""


def recognizes(head: str) -> bool:
    """Whether the beginning of a file has a header line over columns."""
    return not head.lstrip().startswith(("{", "[")) and layout.find(head) is not None


def read(data: bytes, name: str, decimal: str | None = None, progress: Progress = None) -> RawTable:
    """The table below the first line that can be a header.

    Parameters
    ----------
    data : bytes
        UTF-8 text with line feeds.
    name : str
        The file's name, for messages.
    decimal : str, optional
        Decimal mark, where it is known.
    progress : callable, optional
        Gets the share that was read, from 0 to 1, at least every 8 MB; what it raises to stop passes through.
    """
    found = layout.find(head(data), decimal)
    if found is None:
        raise SweepError(f"{name} must hold a table with a header line, got text without columns")
    start = _line_start(data, found.header_line + 1)
    table = _at_once(data, start, found, progress)
    if table is None:
        try:
            table = _row_by_row(data, start, found, progress)
        except csv.Error as error:
            raise SweepError(f"{name} must have cells of ordinary length, got '{error}'") from None
    if progress:
        progress(1.0)
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


def _at_once(data: bytes, start: int, found: Layout, progress: Progress) -> Table | None:
    """The table as pyarrow or pandas read it, or None where their result would hide something."""
    separator, quotes = found.separator.encode(), data.count(b'"', start) if b'"' in data else 0
    commented = b"#" in data and data.find(b"\n#", max(start - 1, 0)) >= 0
    if len(separator) != 1 or separator == b" " or quotes % 2 or commented or start >= len(data):
        return None
    if len(data) - start >= blocks.LEAST and found.decimal == "." and not _spaced(data, start, separator):
        frame = blocks.read(
            data, start, found, quotes > 0, lambda names: _pandas(data, start, found, quotes, names), progress
        )
        if frame is not None:  # of regular rows alone
            return _filled(
                frame, np.arange(found.header_line + 1, found.header_line + 1 + len(frame), dtype=np.int32), []
            )
    end = data.find(b"\n", start)
    first_row = data[start : end if end >= 0 else len(data)]
    if first_row.count(separator) >= len(found.headers) and (
        not quotes or len(layout.split(first_row.decode(), found.separator)) > len(found.headers)
    ):
        return None  # longer than the header: pandas would make an index of its first cells
    frame = _pandas(data, start, found, quotes, None, progress)
    lines = data.count(b"\n", start) + (not data.endswith(b"\n"))
    if frame is None or len(frame) != lines:
        return None
    rows = np.arange(lines) + found.header_line + 1
    even = not quotes and data.count(separator, start) == (len(found.headers) - 1) * lines
    if even or not frame.iloc[:, -1].isna().any():
        return _filled(frame, rows, [])
    # pandas fills short rows with nothing: look at the text of every row that ends with nothing.
    ends_empty = np.flatnonzero(frame.iloc[:, -1].isna())
    text = data[start:].split(b"\n")
    widths = np.array([len(layout.split(text[i].decode(), found.separator)) for i in ends_empty], int)
    short = (widths != len(found.headers)) & (widths > 0)
    lost = zip(rows[ends_empty[short]].tolist(), widths[short].tolist(), strict=True)
    problems = [_misfit(row, width, found) for row, width in lost if text[row - found.header_line - 1].strip()]
    keep = np.delete(np.arange(lines), ends_empty[short | (widths == 0)])
    return _filled(frame.iloc[keep], rows[keep], problems)


def _spaced(data: bytes, start: int, separator: bytes) -> bool:
    """Whether spaces follow the separators."""
    return separator + b" " in data[start : start + HEAD]


def _filled(frame: pd.DataFrame, rows: np.ndarray, problems: list[Problem]) -> Table:
    """The rows that have any cell."""
    if not frame.iloc[:, -1].isna().any():
        return frame.reset_index(drop=True), rows, problems
    empty = np.ones(len(frame), bool)
    for header in frame:
        empty &= frame[header].isna().to_numpy()
    return (frame[~empty] if empty.any() else frame).reset_index(drop=True), rows[~empty], problems


class _Told(io.BytesIO):
    """Bytes that tell how far they were read, and keep what that raised."""

    def __init__(self, data: bytes, progress: Progress):
        super().__init__(data)
        self.size, self.progress, self.told, self.raised = len(data), progress, 0, None

    def _tell(self, part: bytes) -> bytes:
        if self.progress and self.tell() - self.told >= blocks.BLOCK:
            self.told = self.tell()
            try:
                self.progress(self.told / self.size)
            except BaseException as error:
                self.raised = error
                raise
        return part

    def read(self, size: int | None = -1) -> bytes:
        return self._tell(super().read(size))

    def read1(self, size: int | None = -1) -> bytes:
        return self._tell(super().read1(size))


def _pandas(
    data: bytes, start: int, found: Layout, quotes: int, names: list[str] | None = None, progress: Progress = None
) -> pd.DataFrame | None:
    """The rows, or the columns of some names."""
    source = _Told(data, progress)
    source.seek(start)
    try:
        frame = pd.read_csv(
            source,
            sep=found.separator,
            header=None,
            names=list(found.headers),
            usecols=names,
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
            decimal=found.decimal,
            quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
            skipinitialspace=_spaced(data, start, found.separator.encode()),
            skip_blank_lines=False,
            on_bad_lines="error",
        )
    except (ValueError, OverflowError):
        if source.raised is not None:
            raise source.raised from None
        return None
    if not isinstance(
        frame.index, pd.RangeIndex
    ):  # rows longer than the header: pandas took the first cells for an index
        return None
    flags = frame.select_dtypes(bool).columns
    return frame.astype(dict.fromkeys(flags, str)) if len(flags) else frame


def _row_by_row(data: bytes, start: int, found: Layout, progress: Progress) -> Table:
    kept, rows, problems = [], [], []
    width, first = len(found.headers), found.headers[0]
    for row, fields in _records(data, start, found, progress):
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


def _records(data: bytes, start: int, found: Layout, progress: Progress) -> Iterator[tuple[int, list[str]]]:
    """Line in the file and fields of each row."""
    lines = _lines(data, start, progress)
    if found.separator in ("  ", " "):
        for offset, line in enumerate(lines, start=1):
            yield found.header_line + offset, layout.split(line, found.separator) if line.strip() else [""]
        return
    before = 0
    # A quote that is never closed would swallow the rest of the file.
    quoting = csv.QUOTE_NONE if data.count(b'"', start) % 2 else csv.QUOTE_MINIMAL
    reader = csv.reader(lines, delimiter=found.separator, quoting=quoting, skipinitialspace=found.separator != "\t")
    for fields in reader:
        yield found.header_line + before + 1, fields
        before = reader.line_num


def _lines(data: bytes, start: int, progress: Progress) -> Iterator[str]:
    """Lines without their ends, of which few are held at once."""
    for begin, end in blocks.cuts(data, start, PIECE):
        yield from data[begin:end].decode().removesuffix("\n").split("\n")
        if progress:
            progress(end / len(data))


def typed(cells) -> pd.Series:
    """Numbers where every cell is one, else the text."""
    column = pd.Series(cells, dtype=object)
    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError):
        return column
