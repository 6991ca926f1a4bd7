"""Whole files that are hostile from the first byte. Each takes a random generator and a good file, which it may use."""

import gzip
import json
import pickle
import struct
import zipfile
import zlib
from random import Random

from tests.fuzz.material import zipped

SOURCE = b'import torch\nfrom dataclasses import dataclass\n\n@dataclass\nclass Config:\n    batch_size: int = 8 * 64  # batch size, in sequences\n    lr, beta = 0.0036, (0.9, 0.95)\n\ndef get_lr(it):\n    return {"a": [1, 2, 3]}[it]  # step: 1 loss: 2.0\n'  # fmt: skip
HTML = b"<!DOCTYPE html><html><head><title>404</title></head><body><table><tr><th>batch</th><th>tok/s</th></tr><tr><td>8</td><td>1,000</td></tr></table></body></html>"  # fmt: skip


def random_bytes(rng: Random, data: bytes) -> bytes:
    return rng.randbytes(rng.choice([1, 2, 10, 1000, 20_000]))


def random_ascii(rng: Random, data: bytes) -> bytes:
    return bytes(
        rng.choices(b"\n\n,,;\t|:={}[]\"'#% .-+0123456789eEabcdxyzBatchStepLoss", k=rng.choice([1, 10, 300, 5000]))
    )


def tiny(rng: Random, data: bytes) -> bytes:
    return bytes(rng.choices(b'{}[]",:1-.eNnaIPK\x03\x04\x1f\x8b\x80\x00\n \xff\xfe', k=rng.randint(0, 6)))


def pickled(rng: Random, data: bytes) -> bytes:
    return pickle.dumps({"batch": [8, 16], "text": data[:50]}, protocol=rng.randint(0, 5))


def behind_source(rng: Random, data: bytes) -> bytes:
    return SOURCE * rng.choice([1, 3, 30]) + rng.choice([b"", b"=" * 100 + b"\n"]) + data


def html(rng: Random, data: bytes) -> bytes:
    return rng.choice(
        [HTML, HTML + data, HTML.replace(b"><", b">\n<"), b"<pre>" + data + b"</pre>", b"<?xml version='1.0'?><a/>"]
    )


def repeated(rng: Random, data: bytes) -> bytes:
    return data * rng.randint(2, 5)


def deep_json(rng: Random, data: bytes) -> bytes:
    deep, opening = (
        rng.choice([50, 900, 1100, 5000, 100_000]),
        rng.choice([b"[", b'{"a":', b'[{"batch":', b'{"log_history":[']),
    )
    closing = {b"[": b"]", b'{"a': b"}"}.get(opening[:4], b"}]" if opening.startswith(b"[{") else b"]}")
    return opening * deep + rng.choice([b"1" + closing * deep, b"", b"1"])


def huge_json_numbers(rng: Random, data: bytes) -> bytes:
    digits = rng.choice([20, 400, 4300, 4301, 100_000])
    one = rng.choice(
        [b"9" * digits, b"1e" + b"9" * min(digits, 400), b"-" + b"1" * digits, b"0." + b"0" * digits + b"1"]
    )
    row = b'{"batch_tokens": %s, "step": %s, "loss": 2.5, "step_time_s": 1}' % (one, one)
    return rng.choice(
        [
            b"[" + row + b"," + row + b"]",
            row + b"\n" + row,
            b'{"log_history": [%s], "train_batch_size": %s}' % (row, one),
        ]
    )


def json_of_anything(rng: Random, data: bytes) -> bytes:
    return json.dumps(_value(rng, 4)).encode()


def _value(rng: Random, deep: int):
    if not deep or rng.random() < 0.2:
        return rng.choice([1, 8, -1, 0.5, 1e300, "nan", "8", "x", "", True, None, float("nan"), 2**70, "1,5", []])
    keys = "log_history step loss batch_size batch results BS config data columns index values train_loss epoch start_step step_interval lr".split()
    if rng.random() < 0.5:
        return [_value(rng, deep - 1) for _ in range(rng.randint(0, 4))]
    return {rng.choice([*keys, "('a', 8)", "1", "", "a.b"]): _value(rng, deep - 1) for _ in range(rng.randint(0, 4))}


def many_columns(rng: Random, data: bytes) -> bytes:
    count, mark = rng.choice([300, 2000, 10_000]), rng.choice([b",", b"\t", b";", b"|"])
    headers = [rng.choice([b"x%d", b"loss", b"batch", b"run%d - train/loss", b"b%d lr0.1 - loss"]) for _ in range(3)]
    head = mark.join(each % place if b"%" in each else each for place in range(count) for each in [headers[place % 3]])
    rows = [mark.join(b"%d" % (place + row) for place in range(count)) for row in range(rng.choice([1, 3]))]
    return b"\n".join([rng.choice([head, b"step,batch_tokens,tokens_per_s," + head]), *rows])


def long_line(rng: Random, data: bytes) -> bytes:
    size = rng.choice([100_000] * 30 + [1_000_000])
    unit = rng.choice([b"a", b"1", b"1,", b'"', b'""', b'",', b"{", b"{}", b"[1,", b"| ", b"a=1 ", b"loss: 1.0 | ", b"step: 1 ", b" ", b"\t", b"-", b"#", b"1 ", b"1.", b"'a': 1, ", b"{'loss': ", b'{"loss": 1, ', b":::MLLOG ", b"iteration ", b"[step=1/", b"=", b"%|", b"1e", b"[batch=", b"x:", b"\\", b"(", b"<br/>", b"lr=[", b"- ", b"step=1, ", b"[2026-01-01 ", b"/", b"_", b"0000", b"k: v | "])  # fmt: skip
    line = unit * (size // len(unit))
    start = data.find(b"\n", rng.randrange(len(data) + 1)) + 1
    return rng.choice([line, data[:start] + line + b"\n" + data[start:], data + line, data.removesuffix(b"\n") + line])


def many_lines(rng: Random, data: bytes) -> bytes:
    line = rng.choice(data.split(b"\n"))[:200] + b"\n"
    return data[:2000] + rng.choice([line, b"\n", b"a\n", b",\n", b"1,2\n", b"{}\n", b"|\n", b"#\n"]) * rng.choice(
        [1000, 10_000]
    )


def zip_bomb(rng: Random, data: bytes) -> bytes:
    zeros = rng.choice([b"\0", b"1,2\n"]) * rng.choice([500_000, 3_000_000])
    return rng.choice(
        [gzip.compress(zeros, mtime=0), zipped({f"{place}.csv": zeros for place in range(rng.choice([1, 3]))})]
    )


def nested_zip(rng: Random, data: bytes) -> bytes:
    for name in ("a.zip", "b.csv", "c.zip"):
        data = zipped({name: data}) if rng.random() < 0.7 else gzip.compress(data, mtime=0)
    return data


def overlapping_zip(rng: Random, data: bytes) -> bytes:
    """A directory in which one file stands many times."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packed.compress(data) + packed.flush()
    fields = (20, 0, 8, 0, 33, zlib.crc32(data), len(body), len(data), 5, 0)
    whole = b"PK\x03\x04" + struct.pack("<5H3L2H", *fields) + b"a.csv" + body
    entries = [
        b"PK\x01\x02" + struct.pack("<6H3L5H2L", 20, *fields, 0, 0, 0, 0, 0) + b"%d.csv" % (place % 10)
        for place in range(rng.choice([2, 150, 1000, 30_000]))
    ]
    directory = b"".join(entries)
    end = struct.pack("<4H2LH", 0, 0, len(entries) % 65536, len(entries) % 65536, len(directory), len(whole), 0)
    return whole + directory + b"PK\x05\x06" + end


def odd_zip(rng: Random, data: bytes) -> bytes:
    names = ["../../a.csv", "/etc/b.csv", "C:\\c.csv", "", "/", "__MACOSX/._a.csv", ".hidden", "a/", "x\x1b[31m\n.csv", "n" * 5000, "a.csv", "é.csv", "[Content_Types].xml", "mimetype", "data.pkl", "x.npy", "y.pt"]  # fmt: skip
    methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    return zipped({name: data for name in rng.sample(names, rng.randint(0, 8))}, rng.choice(methods))


def many_members(rng: Random, data: bytes) -> bytes:
    return gzip.compress(data[:20], mtime=0) * rng.choice([2, 1000, 25_000]) + rng.choice([b"", b"\0" * 100, b"x"])


CHANGES = (
    random_bytes, random_ascii, tiny, pickled, behind_source, html, repeated, deep_json, huge_json_numbers, json_of_anything, many_columns,
    long_line, many_lines, zip_bomb, nested_zip, overlapping_zip, odd_zip, many_members,
)  # fmt: skip
