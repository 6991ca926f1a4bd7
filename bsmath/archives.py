"""Archives as people upload them -> the files in them, in memory alone and within limits.

A zip or a gzip file is found by its content. Sizes that its headers state are checked before anything is unpacked; what comes out is
counted while it does, as headers may lie. Formats: PKWARE's APPNOTE.TXT 6.3 (zip), RFC 1952 (gzip).
"""

import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from bsmath.sweeps import text
from bsmath.sweeps.model import SweepError

MAX_FILES = 200
"""Files of one archive."""
MAX_BYTES = 200 * 10**6
"""What an archive may unpack to in all; a file of it has the limit of a single upload. [bytes]"""
MAX_RATIO, FREE = 200, 10**6
"""Size over packed size, and the size up to which it does not count [bytes]. Logs come to 5 to 30, deflate can reach 1,032."""
MOST_MEMBERS = 20_000
"""Parts of a gzip file; writers that pack in blocks have one part per 64 kB."""
BLOCK = 2**18
"""What is unpacked at once. [bytes]"""
LONGEST_NAME, MOST_NAMED = 80, 3
"""Characters of a name that are kept, and names in one sentence."""

ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
GZIP = b"\x1f\x8b"
NESTED = (*ZIP, GZIP, b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"\x28\xb5\x2f\xfd")
"""First bytes of archives."""
ARCHIVES = tuple(".zip .gz .gzip .tgz .tar .bz2 .xz .7z .rar .zst .jar .whl .xlsx .xlsm .docx .ods .odt".split())
PICKLES = tuple(".pkl .pickle .pt .pth .ckpt .npy .npz .joblib".split())
"""Endings of files that are left packed."""
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RuntimeError,
    IndexError,
)
"""What the standard library raises where an archive is damaged or uses what it cannot read."""

Progress = Callable[[float], None] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Unpacked:
    """What an upload holds."""

    files: tuple[tuple[str, bytes], ...]
    """Name and bytes of each file, in the order of the archive."""
    notes: tuple[str, ...] = ()
    """Sentences on what was left out."""

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return iter(self.files)


def files(data: bytes, name: str, progress: Progress = None) -> Unpacked:
    """The files in a zip, or in a gzip file; anything else comes back as it is.

    Parameters
    ----------
    data : bytes
        The upload.
    name : str
        Its name, for messages.
    progress : callable, optional
        Gets the share that was unpacked, from 0 to 1; what it raises to stop passes through.

    Raises
    ------
    SweepError
        Where the archive is damaged, above a limit, or a container that is no archive of logs; the sentence says why.
    """
    if not data.startswith((*ZIP, GZIP)):
        return Unpacked(files=((name, data),))
    name = _clean(name) or "file"
    if len(data) > text.MAX_BYTES:
        raise SweepError(f"{name} must be at most {text.MAX_BYTES / 1e6:.0f} MB, got {len(data) / 1e6:.6g} MB")
    return _gunzipped(data, name, progress) if data.startswith(GZIP) else _unzipped(data, name, progress)


def _gunzipped(data: bytes, name: str, progress: Progress) -> Unpacked:
    body = _body(_gzip_blocks(data, name), len(data), name, text.MAX_BYTES, progress)
    if body.startswith(NESTED) or body[257:262] == b"ustar":
        raise SweepError(f"{name} must hold one file of text, got an archive within an archive: unpack it first")
    ending = next((each for each in (".gz", ".gzip") if name.lower().endswith(each)), "")
    return Unpacked(files=((name.removesuffix(name[len(name) - len(ending) :]) or name, body),))


def _gzip_blocks(data: bytes, name: str) -> Iterator[tuple[bytes, float]]:
    """What the parts of a gzip file hold, and the share that was read; zeros behind the last part are padding."""
    at, rest = 0, memoryview(data)
    for _ in range(MOST_MEMBERS):
        stream = zlib.decompressobj(zlib.MAX_WBITS + 16)  # header and checksum of gzip
        while not stream.eof:
            fed = stream.unconsumed_tail
            if not fed:
                fed = rest[at : at + BLOCK]
                at += len(fed)
            try:
                if not fed:
                    raise EOFError("it ends too early")
                block = stream.decompress(fed, BLOCK)
            except BROKEN as error:
                raise _broken(name, "gzip file", error) from None
            yield block, at / len(data)
        at -= len(stream.unused_data)
        if at == len(data) or data[at] == 0 and not data[at:].strip(b"\0"):
            return
    raise SweepError(f"{name} must have at most {MOST_MEMBERS:,} parts, got more")


def _unzipped(data: bytes, name: str, progress: Progress) -> Unpacked:
    try:
        archive = zipfile.ZipFile(_Careful(data))
    except BROKEN as error:
        raise _broken(name, "zip archive", error) from None
    entries = archive.infolist()
    _refuse_container([entry.filename for entry in entries], name)
    wanted, left = _chosen(entries)
    _check(wanted, name)
    whole, done, found = sum(entry.file_size for entry in wanted) or 1, 0, []
    for called, entry in zip(_names([_parts(entry.filename) for entry in wanted]), wanted, strict=True):
        blocks = _zip_blocks(archive, entry, name, done, whole)
        body = _body(blocks, entry.compress_size, name, min(MAX_BYTES - done, text.MAX_BYTES), progress)
        done += len(body)
        if body.startswith(NESTED):
            left.setdefault("an archive within an archive, unpack it first", []).append(called)
        else:
            found.append((called, body))
    notes = tuple(f"{name}: {_said(names)} left out ({why})." for why, names in left.items())
    if not found:
        why = "none" if not left else "only " + "; ".join(f"{_said(names)[:60]} ({why})" for why, names in left.items())
        raise SweepError(f"{name} must hold files that can be read, got {why}")
    return Unpacked(files=tuple(found), notes=notes)


class _Careful(io.BytesIO):
    """The bytes of a zip; its directory is read whole by `zipfile`, so that its length is limited here."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > 4 * BLOCK:
            raise zipfile.BadZipFile("its directory is too long")
        return super().read(size)


def _zip_blocks(archive, entry, name: str, done: int, whole: int) -> Iterator[tuple[bytes, float]]:
    """What one file of a zip holds, and the share of all files that was unpacked."""
    stream, block = None, b""
    while stream is None or block:
        try:
            stream = stream or archive.open(entry)
            block = stream.read(BLOCK)
        except BROKEN as error:
            raise _broken(name, "zip archive", error) from None
        done += len(block)
        yield block, min(done / whole, 1.0)


def _body(blocks: Iterable[tuple[bytes, float]], packed: int, name: str, room: int, progress: Progress) -> bytes:
    """The blocks as one, which stop where they become too many. `packed` is their size in the archive [bytes]."""
    body = io.BytesIO()
    for block, share in blocks:
        size = body.tell() + len(block)
        if size > room:
            raise SweepError(f"{name} must unpack to at most {MAX_BYTES / 1e6:.0f} MB, got more")
        _check_ratio(size, packed, name)
        body.write(block)
        if progress:
            progress(share)
    return body.getvalue()


def _check_ratio(size: int, packed: int, name: str) -> None:
    if size > FREE and size > MAX_RATIO * packed:
        got = f"{size / 1e6:.3g} MB or more from {packed:,} bytes"
        raise SweepError(f"{name} must unpack to at most {MAX_RATIO} times its size, got {got}")


def _refuse_container(paths: list[str], name: str) -> None:
    """Refuse zips that are one document, or hold pickles."""
    last = [path.rsplit("/", 1)[-1] for path in paths]
    office = "[Content_Types].xml" in paths or paths[:1] == ["mimetype"]
    if office:
        raise SweepError(f"{name} must be text such as CSV, got an Excel, Word or OpenDocument file: save it as CSV")
    if "data.pkl" in last:
        raise SweepError(
            f"{name} must hold text such as CSV, got a PyTorch file, a Python pickle, which is never opened"
        )
    if last and all(each.endswith(".npy") for each in last):
        raise SweepError(
            f"{name} must hold text such as CSV, got NumPy arrays, which may be pickles and are never opened"
        )


def _chosen(entries: list[zipfile.ZipInfo]) -> tuple[list[zipfile.ZipInfo], dict[str, list[str]]]:
    """Entries to unpack, and names of the others by reason."""
    wanted, left = [], {}
    for entry in entries:
        if stat.S_ISDIR(entry.external_attr >> 16) or entry.filename.endswith(("/", "\\")):
            continue
        if why := _why_not(entry):
            left.setdefault(why, []).append("/".join(_parts(entry.filename)[-1:]))
        else:
            wanted.append(entry)
    return wanted, left


def _why_not(entry: zipfile.ZipInfo) -> str | None:
    parts = _parts(entry.filename)
    last = parts[-1].lower() if parts else ""
    if "__MACOSX" in parts or any(part.startswith(".") for part in parts):
        return "hidden"
    if entry.flag_bits & 0x2041:  # encrypted, strongly, with its directory
        return "encrypted"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return "a link"
    if last.endswith(ARCHIVES):
        return "an archive within an archive, unpack it first"
    if last.endswith(PICKLES):
        return "may be a pickle, which is never opened"
    known = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of other methods the standard library unpacks without limit
    return None if entry.compress_type in known else "packed by a method other than deflate"


def _check(wanted: list[zipfile.ZipInfo], name: str) -> None:
    """Refuse by what the headers state."""
    if len(wanted) > MAX_FILES:
        raise SweepError(f"{name} must hold at most {MAX_FILES} files, got {len(wanted):,}")
    whole = sum(entry.file_size for entry in wanted)
    if whole > MAX_BYTES or any(entry.file_size > text.MAX_BYTES for entry in wanted):
        raise SweepError(f"{name} must unpack to at most {MAX_BYTES / 1e6:.0f} MB, got {whole / 1e6:.6g} MB")
    for entry in wanted:
        _check_ratio(entry.file_size, entry.compress_size, name)
    ends = sorted((one.header_offset, one.header_offset + 30 + one.compress_size) for one in wanted)
    if any(end > start for (_, end), (start, _) in pairwise(ends)):
        raise SweepError(f"{name} must hold each file by itself, got files that share their bytes")


def _parts(path: str) -> list[str]:
    """Folders and name of a path, without those that lead elsewhere."""
    parts = [_clean(part) for part in path.replace("\\", "/").split("/")]
    return [part for part in parts if part not in ("", ".", "..")] or ["file"]


def _names(paths: list[list[str]]) -> list[str]:
    """The last part of each path, with as many of its folders as tell it from the others, or a number where nothing does."""
    depths, names = [1] * len(paths), []
    for _ in range(max(map(len, paths), default=0)):
        names = ["/".join(parts[-depth:]) for parts, depth in zip(paths, depths, strict=True)]
        counted = Counter(names)
        depths = [depth + (counted[name] > 1) for name, depth in zip(names, depths, strict=True)]
    seen: Counter = Counter()
    for place, name in enumerate(names):
        name = name[-LONGEST_NAME:] or "file"
        seen[name] += 1
        names[place] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def _clean(name: str) -> str:
    """A name without control characters, cut."""
    return "".join(letter for letter in name[:1000] if letter.isprintable()).strip()[-LONGEST_NAME:]


def _said(names: list[str]) -> str:
    shown = ", ".join(name[:30] for name in names[:MOST_NAMED])
    return f"{len(names)} file{'s' if len(names) > 1 else ''} ({shown}{', ...' if len(names) > MOST_NAMED else ''})"


def _broken(name: str, kind: str, error: Exception) -> SweepError:
    said = str(error).split("\n")[0].strip()[:60]
    return SweepError(f"{name} must be a whole {kind}, got a damaged one ({said or type(error).__name__})")
