"""Bytes of any file -> clean UTF-8 bytes, or one sentence on why they are no text."""

import re

import numpy as np

from bsmath.sweeps.model import SweepError

MAX_BYTES = 200 * 10**6
"""Largest file that is read. [bytes]"""

BINARY = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
    **{bytes([0x80, protocol]): "a Python pickle, which is never opened" for protocol in range(2, 6)},
}
"""First bytes of files that people take for tables."""

LEAST_NULS = 0.9
"""Share of NULs in every other byte from which a file is UTF-16 without its mark."""

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 2**16
_PIECE = 2**20
_UTF16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def clean(data: bytes, name: str) -> bytes:
    """The file as UTF-8 with line feeds, without byte-order mark and terminal colors; the same object where it is so
    already."""
    if len(data) > MAX_BYTES:
        raise SweepError(f"{name} must be at most {MAX_BYTES / 1e6:.0f} MB, got {len(data) / 1e6:.6g} MB")
    if not data or data.isspace():
        raise SweepError(f"{name} must hold a table, got an empty file")
    for magic, kind in BINARY.items():
        if data.startswith(magic):
            raise SweepError(f"{name} must be text such as CSV, got {kind}")
    data = _to_utf8(data, name)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if not data or data.isspace():
        raise SweepError(f"{name} must hold a table, got no text")
    return data


def _to_utf8(data: bytes, name: str) -> bytes:
    if data[:2] in _UTF16:
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            raise SweepError(f"{name} must be text, got a UTF-16 mark and bytes that are not UTF-16") from None
    if np.frombuffer(data, np.int8).min(initial=1) > 0:  # in one pass: ASCII without NUL
        return data
    if b"\0" in data:
        if encoding := _unmarked(data):
            return data[: len(data) // 2 * 2].decode(encoding, errors="replace").encode()
        raise SweepError(f"{name} must be text, got binary data with NUL bytes")
    if (wrong := _not_utf8(data)) is not None:
        if _CONTROL.search(data, 0, _LOOKED_AT):
            raise SweepError(f"{name} must be text, got bytes that are not (the first at {wrong:,})")
        return data.decode("latin-1").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def _not_utf8(data: bytes) -> int | None:
    """Where the first byte is that is not UTF-8, looking at some of the file at a time."""
    start = 0
    while start < len(data):
        end = min(start + _PIECE, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80 and end > start + _PIECE - 4:
            end -= 1  # not within a letter
        try:
            data[start:end].decode()
        except UnicodeDecodeError as error:
            return start + error.start
        start = end
    return None


def _unmarked(data: bytes) -> str | None:
    """UTF-16 without a byte-order mark, in which every other byte of most letters is a NUL."""
    sample = data[: _LOOKED_AT // 2 * 2]
    first, second = sample[::2], sample[1::2]
    shares = first.count(0) / len(first), second.count(0) / max(len(second), 1)
    if max(shares) < LEAST_NULS or min(shares) > 1 - LEAST_NULS:
        return None
    return "utf-16-be" if shares[0] > shares[1] else "utf-16-le"
