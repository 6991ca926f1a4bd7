"""Sweeps as one short text that fits into a link, there and back: base64url of zlib of versioned JSON, numbers in columns.

Reading trusts nothing: the length is checked before anything is decoded, decompression is bounded, and what comes out goes through
`shared_checks`.
"""

import base64
import json
import re
import zlib

import numpy as np
import pandas as pd

from bsmath.shared_checks import COLUMNS, DIVERGED, VERSION, Written, sweeps, wrong

MAX_UNPACKED = 2**16
"""Largest JSON that a text may hold. [bytes]"""


def packed(written: list[Written], digits: int = 6) -> str:
    """The text; fractions with so many significant digits, whole numbers exactly."""
    text = json.dumps([VERSION, [_record(one, digits) for one in written]], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpacked(text: str) -> list[Written]:
    """The sweeps in a text, or a SweepError."""
    return sweeps(_json(_decompressed(_decoded(text))))


# --- writing


def _record(one: Written, digits: int) -> dict:
    """A sweep as JSON; a column of one value is that value, an empty one is left out."""
    series = one.table["series"]
    lengths = series.groupby((series != series.shift()).cumsum(), sort=False).agg(["first", "size"])
    columns = {}
    for name in COLUMNS:
        if name in one.table and one.table[name].notna().any():
            values = [_number(value, digits) for value in one.table[name]]
            columns[name] = values[0] if len(set(values)) == 1 else values
    return {
        "name": one.name,
        "unit": one.unit,
        "kind": one.kind,
        "source": one.source,
        "series": [[name, int(count)] for name, count in lengths.itertuples(index=False)],
        "columns": columns,
    }


def _number(value, digits: int):
    if pd.isna(value):
        return None
    value = float(value)
    if np.isinf(value):
        return DIVERGED
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.{digits}g}")


# --- reading


def _decoded(text: str) -> bytes:
    if not isinstance(text, str) or not re.fullmatch("[A-Za-z0-9_-]+", text) or len(text) % 4 == 1:
        raise wrong("be base64url text, whole as it was copied", text)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _decompressed(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(data, MAX_UNPACKED)
    except zlib.error:
        raise wrong("be compressed with zlib, whole as it was copied", said=f"{len(data):,} other bytes") from None
    if not unpacker.eof:
        got = f"more than {MAX_UNPACKED:,} bytes" if len(found) == MAX_UNPACKED else "a part of it"
        raise wrong(f"unpack to at most {MAX_UNPACKED:,} bytes", said=got)
    if unpacker.unused_data:
        raise wrong("end where their data end", said=f"{len(unpacker.unused_data):,} bytes more")
    return found


def _json(data: bytes):
    try:
        return json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, a key twice, NaN, too long a number, too deep
        raise wrong("hold JSON with finite numbers", data[:40]) from None


def _once(pairs: list[tuple]) -> dict:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_number(text: str):
    raise ValueError(f"{text} is not finite")
