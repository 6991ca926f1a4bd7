"""Reader of Parquet files. What a file will take in memory is known from its metadata and page headers before data are decoded.

Reference: the Apache Parquet format specification, https://parquet.apache.org/docs/file-format/
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet

from bsmath.sweeps import layout, parquet_sizes
from bsmath.sweeps.blocks import MOST_DIFFERENT, Column, Progress
from bsmath.sweeps.model import Problem, RawTable, SweepError
from bsmath.sweeps.parquet_sizes import Sizes
from bsmath.sweeps.text import MAX_BYTES

MOST_COLUMNS = 5_000
"""Columns that are read."""
MOST_CELLS = 20_000_000
"""Rows times columns that are read."""
BATCH = 2**16
"""Rows that are decoded at once."""
DEEPEST = 8
"""Structs within structs that are taken apart."""
BROKEN = (pa.ArrowException, OSError, ValueError, OverflowError, NotImplementedError)
"""What pyarrow raises where a file is damaged or uses what it cannot read."""


def recognizes(data: bytes) -> bool:
    """Whether these are the first bytes of a Parquet file."""
    return data.startswith(b"PAR1")


def read(data: bytes, name: str, progress: Progress = None) -> RawTable:
    """The table in a Parquet file; its rows are numbered from 1.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        Its name, for messages.
    progress : callable, optional
        Gets the share that was read, from 0 to 1; what it raises to stop passes through.
    """
    if len(data) > MAX_BYTES:
        raise SweepError(f"{name} must be at most {MAX_BYTES / 1e6:.0f} MB, got {len(data) / 1e6:.6g} MB")
    try:
        sizes = parquet_sizes.read(data)
        _check(sizes, name)
        wanted, texts, problems = _wanted(parquet.read_schema(pa.BufferReader(data)), sizes.prefixed)
    except BROKEN as error:
        raise error if isinstance(error, SweepError) else _broken(name, error) from None
    columns: list[Column] = []
    done = 0
    for batch in _batches(data, wanted, texts, name):
        columns = columns or [Column(sizes.rows, trusted=True) for _ in batch.columns]
        for column, part in zip(columns, batch.columns, strict=True):
            column.add(part)
        done += len(batch)
        if progress:
            progress(min(done / sizes.rows, 1.0))
    headers = layout.unique(batch.column_names) if columns else ()
    whole = {header: column.whole() for header, column in zip(headers, columns, strict=True)}
    frame = pd.DataFrame(whole, copy=False)
    return RawTable(frame=frame, rows=np.arange(1, len(frame) + 1, dtype=np.int32), problems=tuple(problems))


def _check(sizes: Sizes, name: str) -> None:
    """Refuse what would take more memory than a text of the largest size."""
    if sizes.columns > MOST_COLUMNS:
        raise SweepError(f"{name} must have at most {MOST_COLUMNS:,} columns, got {sizes.columns:,}")
    if sizes.rows * max(sizes.columns, 1) > MOST_CELLS:
        got = f"{sizes.rows:,} rows of {sizes.columns:,} columns"
        raise SweepError(f"{name} must have at most {MOST_CELLS:,} cells, got {got}")
    if sizes.unpacked > MAX_BYTES:
        raise SweepError(f"{name} must unpack to at most {MAX_BYTES / 1e6:.0f} MB, got {sizes.unpacked / 1e6:.6g} MB")


def _broken(name: str, error: Exception) -> SweepError:
    said = str(error).split("\n")[0].strip()[:60]
    return SweepError(f"{name} must be a whole Parquet file, got a damaged one ({said or type(error).__name__})")


def _wanted(schema: pa.Schema, prefixed: frozenset[str]) -> tuple[list[str], list[str], list[Problem]]:
    """Columns that are numbers or texts, or structs of them; the texts among their leaves; the others as problems."""
    wanted, texts, problems = [], [], []
    for field in schema:
        leaves = _flat(pa.schema([field]).empty_table()).schema
        why = next((f"it holds {leaf.type}" for leaf in leaves if not _is_plain(leaf.type)), "")
        why = "its texts are in the encoding DELTA_BYTE_ARRAY" if field.name in prefixed else why
        if why:
            what = f"{why[:80]}, which is not read"
            problems.append(Problem(row=None, column=field.name[:80], what=what, action="column left out"))
        else:
            wanted.append(field.name)
            texts += [
                leaf.name for leaf in leaves if pa.types.is_string(leaf.type) or pa.types.is_large_string(leaf.type)
            ]
    return wanted, texts, problems


def _is_plain(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_temporal,
        pa.types.is_string, pa.types.is_large_string, pa.types.is_null,
    )  # fmt: skip
    return any(test(kind.value_type if pa.types.is_dictionary(kind) else kind) for test in tests)


def _flat(table: pa.Table) -> pa.Table:
    """Structs as columns of their own, under names such as "config.lr"."""
    for _ in range(DEEPEST):
        if not any(pa.types.is_struct(kind) for kind in table.schema.types):
            break
        table = table.flatten()
    return table


def _batches(data: bytes, wanted: list[str], texts: list[str], name: str) -> Iterator[pa.Table]:
    """The rows, some at a time, as numbers and texts alone."""
    if not wanted:
        return
    size = 0
    try:
        file = parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        for batch in file.iter_batches(BATCH, columns=wanted):
            batch.validate(full=True)
            table = _flat(pa.table(batch))
            size += sum(_text_size(part) for part in table.columns)
            if size > MAX_BYTES:
                raise SweepError(f"{name} must unpack to at most {MAX_BYTES / 1e6:.0f} MB, got more text")
            yield pa.table([_simple(part) for part in table.columns], table.column_names)
    except BROKEN as error:
        raise error if isinstance(error, SweepError) else _broken(name, error) from None


def _text_size(column: pa.ChunkedArray) -> int:
    """What a column of coded texts takes when it is written out; nothing where it stays coded. [bytes]"""
    chunks = column.chunks if pa.types.is_dictionary(column.type) else []
    long = [chunk for chunk in chunks if len(chunk.dictionary) > MOST_DIFFERENT]
    lengths = [compute.binary_length(chunk.dictionary.cast(pa.large_string())).take(chunk.indices) for chunk in long]
    return sum(compute.sum(each).as_py() or 0 for each in lengths)


def _simple(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_boolean(kind):
        return compute.if_else(column, "True", "False")
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_integer(kind):
        return column.cast(pa.float64() if kind == pa.uint64() else pa.int64(), safe=False)
    if pa.types.is_dictionary(kind) and not pa.types.is_string(kind.value_type):
        return _simple(column.cast(kind.value_type))
    return column.cast(pa.string()) if pa.types.is_temporal(kind) or pa.types.is_large_string(kind) else column
