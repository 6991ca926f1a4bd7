"""What a Parquet file will take in memory, from its metadata and from the headers of its pages, before any data are decoded.

The metadata only claim a size; the header of a page has the one that a decoder allocates. They are read here and not by pyarrow,
which ends the whole process where the statistics of a damaged file contradict each other (seen with pyarrow 26).

Fields by number: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from dataclasses import dataclass

from bsmath.sweeps import thrift

LARGEST_FOOTER = 4 * 10**6
"""Metadata that are read. [bytes]"""
DELTA_BYTE_ARRAY = 7
"""Code of an encoding in which a few bytes stand for a text of any length."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of a file."""

    rows: int
    """Rows."""
    columns: int
    """Leaves of its schema, in every row group together with those of the others."""
    unpacked: int
    """Uncompressed pages. [bytes]"""
    prefixed: frozenset[str]
    """First names of the columns with texts in DELTA_BYTE_ARRAY."""


def read(data: bytes) -> Sizes:
    """The sizes of a file.

    Raises
    ------
    ValueError
        Where its metadata or a page header are damaged.
    """
    length = int.from_bytes(data[-8:-4], "little")
    if not data.endswith(b"PAR1") or not 0 < length <= len(data) - 12:
        raise ValueError("it must end with its metadata")
    if length > LARGEST_FOOTER:
        raise ValueError(f"its metadata must be at most {LARGEST_FOOTER / 1e6:.0f} MB, got {length / 1e6:.6g} MB")
    footer, _ = thrift.struct(data, len(data) - 8 - length)
    try:
        chunks = [chunk[3] for group in footer[4] for chunk in group[1]]
        groups = max(len(footer[4]), 1)
        rows = max(footer[3], sum(group[3] for group in footer[4]))
        unpacked = sum(_chunk(data, chunk) for chunk in chunks)
        first = {chunk[3][0].decode(errors="replace") for chunk in chunks if DELTA_BYTE_ARRAY in chunk[2]}
    except (KeyError, TypeError, IndexError, AttributeError):
        raise ValueError("its metadata must name rows, columns and pages") from None
    columns = max(-(-len(chunks) // groups), sum(5 not in element for element in footer[2][1:]) if not chunks else 0)
    return Sizes(rows=rows, columns=columns, unpacked=unpacked, prefixed=frozenset(first))


def _chunk(data: bytes, chunk: dict) -> int:
    """Uncompressed pages of one column in one row group. [bytes]"""
    position = min(start for start in (chunk[9], chunk.get(11, 0)) if start > 0 or start == chunk[9])
    total, end = 0, position + chunk[7]
    if not 0 < position <= end <= len(data):
        raise ValueError(f"a column must lie in the file, got bytes {position:,} to {end:,}")
    while position < end:
        header, position = thrift.struct(data, position)
        if min(header[2], header[3]) < 0:
            raise ValueError("a page must have a size")
        total, position = total + header[2], position + header[3]
    return total
