"""Changes of a file's bytes and of its encoding. Each takes a random generator and the bytes."""

import codecs
import gzip
import re
from random import Random

from tests.fuzz.material import zipped

SPECIAL = "µßéñ€œ–“”ü½°²™\u00a0\u2009\u202f\u3000\ufeff−×日本🙂"
IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0\x00\x10JFIF", b"GIF89a", b"BM", b"RIFF\x00\x00\x00\x00WEBP")
ANSI = (b"\x1b[31m", b"\x1b[0m", b"\x1b[38;2;180;60;0m", b"\x1b[2K", b"\x1b]0;title\x07", b"\x1b", b"\x1b[")


def places(rng: Random, data: bytes, most: int = 20) -> list[int]:
    """Some places in the data, the last first."""
    return sorted((rng.randrange(len(data) + 1) for _ in range(rng.randint(1, most))), reverse=True)


def truncated(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def beheaded(rng: Random, data: bytes) -> bytes:
    return data[rng.randrange(len(data) + 1) :]


def flipped(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for place in places(rng, data):
        if place < len(data):
            changed[place] ^= 1 << rng.randrange(8)
    return bytes(changed)


def inserted(rng: Random, data: bytes) -> bytes:
    for place in places(rng, data):
        data = data[:place] + rng.randbytes(rng.randint(1, 4)) + data[place:]
    return data


def printable_inserted(rng: Random, data: bytes) -> bytes:
    for place in places(rng, data):
        data = data[:place] + bytes(rng.choices(b"\"'{}[](),;:|=#%-+.eE0 \t\n", k=rng.randint(1, 3))) + data[place:]
    return data


def deleted(rng: Random, data: bytes) -> bytes:
    for place in places(rng, data):
        data = data[:place] + data[place + rng.randint(1, 5) :]
    return data


def block_repeated(rng: Random, data: bytes) -> bytes:
    start, end = sorted(places(rng, data, 2) + places(rng, data, 2))[:2]
    return data[:end] + data[start:end] * rng.randint(1, 3) + data[end:]


def utf16_marked(rng: Random, data: bytes) -> bytes:
    encoding, mark = rng.choice([("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)])
    return mark + text(data).encode(encoding)


def utf16_unmarked(rng: Random, data: bytes) -> bytes:
    return text(data).encode(rng.choice(["utf-16-le", "utf-16-be"]))


def utf16_odd(rng: Random, data: bytes) -> bytes:
    changed = utf16_marked(rng, data)
    return changed[: rng.randrange(len(changed)) | 1]


def utf32(rng: Random, data: bytes) -> bytes:
    return text(data).encode(rng.choice(["utf-32", "utf-32-le", "utf-32-be"]))


def utf8_marked(rng: Random, data: bytes) -> bytes:
    return codecs.BOM_UTF8 * rng.randint(1, 2) + data


def one_byte_encoding(rng: Random, data: bytes) -> bytes:
    return (
        with_special(rng, data)
        .decode(errors="replace")
        .encode(rng.choice(["latin-1", "cp1252", "cp437", "koi8-r"]), "replace")
    )


def with_special(rng: Random, data: bytes) -> bytes:
    for place in places(rng, data):
        data = data[:place] + rng.choice(SPECIAL).encode() + data[place:]
    return data


def surrogates(rng: Random, data: bytes) -> bytes:
    for place in places(rng, data, 4):
        data = (
            data[:place]
            + rng.choice([b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\\ud800"])
            + data[place:]
        )
    return data


def crlf(rng: Random, data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def lone_cr(rng: Random, data: bytes) -> bytes:
    return data.replace(b"\n", rng.choice([b"\r", b"\r\r\n", b"\n\r"]))


def other_line_ends(rng: Random, data: bytes) -> bytes:
    return data.replace(
        b"\n", rng.choice([b"\x0b", b"\x0c", b"\x1c", b"\x1e", b"\xc2\x85", b"\xe2\x80\xa8", b"\n\n\n"])
    )


def nul_bytes(rng: Random, data: bytes) -> bytes:
    for place in places(rng, data, 5):
        data = data[:place] + b"\0" * rng.randint(1, 3) + data[place:]
    return data


def nul_tail(rng: Random, data: bytes) -> bytes:
    return data + b"\0" * rng.randint(1, 5000)


def ansi(rng: Random, data: bytes) -> bytes:
    for place in places(rng, data):
        data = data[:place] + rng.choice(ANSI) + data[place:]
    return data


def progress_bars(rng: Random, data: bytes) -> bytes:
    bar = "\r {}%|{}| 3/10 [00:01<00:02, 2.5it/s]".format(rng.randint(0, 100), "█" * rng.randint(0, 20)).encode()
    return re.sub(rb"\n", lambda found: bar + found[0] if rng.random() < 0.3 else found[0], data)


def behind_image(rng: Random, data: bytes) -> bytes:
    return rng.choice(IMAGES) + data


def packed(rng: Random, data: bytes) -> bytes:
    return gzip.compress(data, mtime=0) if rng.random() < 0.5 else zipped({"a/b.csv": data, "c.log": data[:1000]})


def packed_and_broken(rng: Random, data: bytes) -> bytes:
    return rng.choice([truncated, flipped, deleted, inserted])(rng, packed(rng, data))


def text(data: bytes) -> str:
    return data.decode(errors="replace")


CHANGES = (
    truncated, beheaded, flipped, inserted, printable_inserted, deleted, block_repeated, utf16_marked, utf16_unmarked, utf16_odd, utf32,
    utf8_marked, one_byte_encoding, with_special, surrogates, crlf, lone_cr, other_line_ends, nul_bytes, nul_tail, ansi, progress_bars,
    behind_image, packed, packed_and_broken,
)  # fmt: skip
