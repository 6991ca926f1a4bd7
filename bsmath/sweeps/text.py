"""Bytes of any file -> clean UTF-8 bytes, or one sentence on why they are no text."""

import re

from bsmath.sweeps.model import SweepError

MAX_BYTES = 50 * 10**6
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

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 2**16
_UTF16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def clean(data: bytes, name: str) -> bytes:
    """The file as UTF-8 with line feeds, without byte-order mark and terminal colors; the same object where it is so
    already."""
    if len(data) > MAX_BYTES:
        raise SweepError(f"{name} must be at most {MAX_BYTES / 1e6:.0f} MB, got {len(data) / 1e6:.6g} MB")
    if not data.strip():
        raise SweepError(f"{name} must hold a table, got an empty file")
    for magic, kind in BINARY.items():
        if data.startswith(magic):
            raise SweepError(f"{name} must be text such as CSV, got {kind}")
    data = _to_utf8(data, name)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if not data.strip():
        raise SweepError(f"{name} must hold a table, got no text")
    return data


def _to_utf8(data: bytes, name: str) -> bytes:
    if data[:2] in _UTF16:
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            raise SweepError(f"{name} must be text, got a UTF-16 mark and bytes that are not UTF-16") from None
    if b"\0" in data:
        raise SweepError(f"{name} must be text, got binary data with NUL bytes")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if _CONTROL.search(data, 0, _LOOKED_AT):
            raise SweepError(f"{name} must be text, got bytes that are not (the first at {error.start:,})") from None
        return data.decode("latin-1").encode()
    return data.removeprefix(b"\xef\xbb\xbf")
