"""Regular tables of many rows, read in blocks by pyarrow: faster than in one piece, and no column is twice in memory.

A block that is not regular (rows with other numbers of fields, quotes that span lines, empty lines) ends the attempt:
`delimited` then reads the file as it reads a small one. A column on which pyarrow and pandas may differ (nan, inf, "+5",
numbers beside text) is read by pandas, so that the result does not depend on the size of a file.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from bsmath.sweeps.layout import Layout

LEAST = 2**20
"""Size from which a table is read in blocks. [bytes]"""
BLOCK = 3 * 2**18
"""Size of a block, after each of which progress is told. [bytes]"""
AHEAD = 3
"""Blocks that are parsed at once."""
RELEASED = 20
"""Blocks after which memory that was freed is given back; the C library would keep it for each thread."""
MOST_DIFFERENT = 1000
"""Different texts of a column up to which it is kept as a category."""
WHOLE = (np.int16, np.int32, np.int64)
"""Types of whole numbers; the first that holds them all is taken."""
EXACT = 2.0**63
"""Numbers from here on are read by pandas."""
CODED = pa.dictionary(pa.int32(), pa.string())
"""Texts as pyarrow reads them: each different one once."""

Progress = Callable[[float], object] | None


class Column:
    """One column while its blocks come in; its cells are put where they will stay."""

    def __init__(self, rows: int, trusted: bool = False):
        self.trusted = trusted  # whether numbers and texts are what the file says that they are
        self.values = np.empty(rows, np.int16)  # what is not filled takes no memory
        self.size = 0
        self.is_text: bool | None = None  # None as long as every cell was empty
        self.names: dict[str, int] = {}
        self.texts: list[pa.Array] = []  # in place of codes, where too many are different
        self.disputed = False

    @property
    def type(self) -> pa.DataType | None:
        """Of the next block, where it is known."""
        return (pa.string() if self.texts else CODED) if self.is_text else None

    def add(self, column: pa.ChunkedArray) -> None:
        """The next block."""
        if self.disputed:
            return
        if pa.types.is_null(column.type):
            self._put(np.full(len(column), np.nan))
            return
        is_text = not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type))
        if self.is_text is None and is_text:
            self.disputed = not self.trusted and _looks_numeric(column)
            self.values, self.size, empty = np.empty(len(self.values), np.int16), 0, self.size
            self._put(np.full(empty, -1, np.int16))
        self.disputed |= self.is_text is not None and self.is_text != is_text
        self.is_text = is_text
        if is_text and not self.disputed:
            self._put_texts(column)
        elif not self.disputed:
            values, doubtful = _numbers(column)
            self.disputed = doubtful and not self.trusted
            self._put(values)

    def _put(self, part: np.ndarray) -> None:
        end, kind = self.size + len(part), np.result_type(part, self.values[:0]) if self.size else part.dtype
        if end > len(self.values) or kind != self.values.dtype:
            grown = np.empty(max(len(self.values), end + end // 4 * (end > len(self.values))), kind)
            grown[: self.size] = self.values[: self.size]
            self.values = grown
        self.values[self.size : end] = part
        self.size = end

    def _put_texts(self, column: pa.ChunkedArray) -> None:
        for chunk in column.chunks:
            if not self.texts:
                coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
                known = len(self.names)
                local = [self.names.setdefault(name, len(self.names)) for name in coded.dictionary.to_pylist()]
                if len(self.names) <= MOST_DIFFERENT:
                    indices = coded.indices.fill_null(len(local)) if coded.null_count else coded.indices
                    self._put(np.array([*local, -1], np.int16)[indices.to_numpy()])
                    continue
                names = pa.array([*list(self.names)[:known], None], pa.string())
                self.texts.append(names.take(pa.array(self.values[: self.size] % (known + 1))))
            self.texts.append(chunk.cast(pa.string()))

    def whole(self) -> np.ndarray | pd.Categorical | pd.api.extensions.ExtensionArray:
        """The column."""
        if self.texts:
            return pd.array(pa.chunked_array(self.texts).cast(pa.large_string()).to_pandas(), dtype="str")
        values = self.values[: self.size]
        if not self.is_text:
            return values
        names = sorted(self.names)
        places = np.array([*np.argsort(np.argsort(list(self.names))), -1], np.int8 if len(names) < 2**7 else np.int16)
        return pd.Categorical.from_codes(places[values], categories=pd.Index(names, dtype="str"), validate=False)


def read(
    data: bytes, start: int, found: Layout, quoted: bool, by_pandas: Callable, progress: Progress = None
) -> pd.DataFrame | None:
    """The rows from byte `start` on, or None where they have to be read with more care.

    Parameters
    ----------
    data : bytes
        UTF-8 text with line feeds.
    start : int
        Where the first row begins.
    found : Layout
        How to read it; its separator is one character, its decimal mark a point.
    quoted : bool
        Whether cells may be in quotes.
    by_pandas : callable
        Reads the columns of some headers with pandas; None where it cannot.
    progress : callable, optional
        Gets the share that was read; what it raises passes through.
    """
    columns = _columns(data, start, found, quoted, progress)
    if columns is None:
        return None
    pa.system_memory_pool().release_unused()
    disputed = [header for header, column in columns.items() if column.disputed]
    careful = by_pandas(disputed) if disputed else {}
    if careful is None:
        return None
    whole = {name: careful[name] if name in careful else columns.pop(name).whole() for name in found.headers}
    return pd.DataFrame(whole, copy=False) if len({len(column) for column in whole.values()}) == 1 else None


def _columns(data: bytes, start: int, found: Layout, quoted: bool, progress: Progress) -> dict[str, Column] | None:
    """The columns of all blocks, or None where a block is not regular."""
    columns: dict[str, Column] = {}
    try:
        for count, (begin, end, table) in enumerate(_tables(data, start, found, quoted, columns), start=1):
            if count % RELEASED == 0:
                pa.system_memory_pool().release_unused()
            if quoted and table.num_rows != data.count(b"\n", begin, end) + (data[end - 1 : end] != b"\n"):
                return None
            if _is_foreign(data, begin, end, found.separator):
                return None
            expected = int(1.05 * table.num_rows * (len(data) - start) / (end - begin)) + 1
            for header in found.headers:
                columns.setdefault(header, Column(expected)).add(table[header])
            if progress:
                progress(end / len(data))
    except pa.ArrowInvalid:
        return None
    return columns


def _is_foreign(data: bytes, begin: int, end: int, separator: str) -> bool:
    """Whether a block may hold numbers of other kinds for pyarrow than for pandas."""
    marks = ((b"x", b"0x"), (b"X", b"0X"), (b"+", separator.encode() + b"+"))
    return any(data.find(mark, begin, end) >= 0 and data.find(cell, begin, end) >= 0 for mark, cell in marks)


def _tables(data: bytes, start: int, found: Layout, quoted: bool, columns: dict) -> Iterator[tuple[int, int, pa.Table]]:
    """Begin, end and rows of each block; while one is taken, the next are parsed on other cores."""
    with ThreadPoolExecutor(AHEAD) as pool:
        waiting: deque = deque()
        for begin, end in cuts(data, start, BLOCK):
            block = pa.py_buffer(data).slice(begin, end - begin)
            waiting.append((begin, end, pool.submit(_parsed, block, found, quoted, columns)))
            if len(waiting) == AHEAD or not columns:  # the first block tells the kinds of the columns
                yield _done(waiting)
        while waiting:
            yield _done(waiting)


def _done(waiting: deque) -> tuple[int, int, pa.Table]:
    begin, end, parsing = waiting.popleft()
    return begin, end, parsing.result()


def cuts(data: bytes, start: int, size: int) -> Iterator[tuple[int, int]]:
    """Begin and end of blocks of whole lines."""
    while start < len(data):
        end = data.rfind(b"\n", start, start + size) + 1 if start + size < len(data) else len(data)
        end = end or data.find(b"\n", start) + 1 or len(data)
        yield start, end
        start = end


def _parsed(block: pa.Buffer, found: Layout, quoted: bool, columns: dict[str, Column]) -> pa.Table:
    types = {header: column.type for header, column in tuple(columns.items()) if column.type is not None}
    table = _table(block, found, quoted, types)
    dates = {field.name: CODED for field in table.schema if pa.types.is_temporal(field.type)}
    return _table(block, found, quoted, types | dates) if dates else table


def _table(block: pa.Buffer, found: Layout, quoted: bool, types: dict[str, pa.DataType]) -> pa.Table:
    return csv.read_csv(
        pa.BufferReader(block),
        read_options=csv.ReadOptions(column_names=list(found.headers), use_threads=False, block_size=block.size + 1),
        parse_options=csv.ParseOptions(
            delimiter=found.separator, quote_char='"' if quoted else False, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            true_values=[],
            false_values=[],
            strings_can_be_null=True,
            check_utf8=False,
        ),
        memory_pool=pa.system_memory_pool(),  # the default one keeps what it was given
    )


def _numbers(column: pa.ChunkedArray) -> tuple[np.ndarray, bool]:
    """The cells, nan where empty, and whether pandas may read them otherwise."""
    values = column.chunk(0).to_numpy(zero_copy_only=False) if column.num_chunks == 1 else column.to_numpy()
    if values.dtype.kind == "i":
        ends = np.array([values.min(initial=0), values.max(initial=0)])
        return values.astype(next(kind for kind in WHOLE if (ends == ends.astype(kind)).all()), copy=False), False
    if column.null_count == len(values):
        return values, False
    if len(values) and max(values.max(), -values.min()) < EXACT:  # so none is nan
        return values, False
    largest = np.fmax(np.fmax.reduce(values), -np.fmin.reduce(values))
    return values, bool(not largest < EXACT or np.isnan(values).sum() != column.null_count)


def _looks_numeric(column: pa.ChunkedArray) -> bool:
    """Whether the first cell is a number or truth for pandas, although the cells are text for pyarrow."""
    first = column.drop_null()[:1].to_pylist()
    if first and first[0].strip().lower() in ("true", "false"):
        return True
    return bool(pd.to_numeric(pd.Series(first, dtype=object), errors="coerce").notna().any())
