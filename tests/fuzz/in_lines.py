"""Changes of a text's lines, columns and numbers. Each takes a random generator and the bytes."""

import re
from random import Random

SEPARATORS = (b",", b";", b"\t", b"|", b" ", b":", b", ", b" | ", b"\xc2\xa0")
NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
STRANGE = """nan NaN inf -inf Infinity -0 -0.0 1e400 -1e400 1e-400 5e-324 4.9e-324 1.7976931348623157e308 1e308 1e-308 0 00 007 1e 1e+ .5 5. +5
    - -- . .. , 1,5 1.234,5 1,234,567 1'234 1_000 1.2.3 0x10 1/2 ½ 2^20 4k 4K 1.5M 3B 12ms 50% $5 1.2.2020 12:30:01 2020-01-01T00:00:00Z True
    false null None N/A n/a #N/A OOM - * ? =1+1 @x {} [] {"a":1} [1,2] 99999999999999999999 -9223372036854775809 18446744073709551616 1j ١٢٣
    １２ ∞ −5 1e5e5 1e99999999999 0b1 1d5 ٫ \\ \\n ' `""".split()
HEADERS = """batch batch_size batch_tokens batch_seqs gbs seq_len step steps epoch loss train/loss val_loss lr grad_norm tokens tokens_per_s
    step_time_ms tok/s/gpu samples/s n_gpus run seed model expert count layer g2_small g2_big grad_var grad_sqr Step Value router drop time
    Wall\xa0time steps_to_target target_loss __index__ Unnamed:0 row series index nan 1 1.5""".split()


def lines_shuffled(rng: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def lines_removed(rng: Random, data: bytes) -> bytes:
    keep = rng.random()
    return b"\n".join(line for line in data.split(b"\n") if rng.random() < keep)


def lines_repeated(rng: Random, data: bytes) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") for _ in range(rng.choice([1, 1, 2, 5])))


def lines_joined(rng: Random, data: bytes) -> bytes:
    return re.sub(rb"\n", lambda found: rng.choice([b"\n", b"\n", b"", b" "]), data)


def lines_indented(rng: Random, data: bytes) -> bytes:
    return re.sub(
        rb"(?m)^",
        lambda _: rng.choice([b"", b"    ", b"\t", b"> ", b"[rank0]: ", b"0: ", b"2026-01-01 00:00:00 INFO "]),
        data,
    )


def separators_swapped(rng: Random, data: bytes) -> bytes:
    old, new = rng.sample(SEPARATORS, 2)
    return data.replace(old, new)


def separators_mixed(rng: Random, data: bytes) -> bytes:
    return re.sub(rb"[,;\t|]", lambda found: rng.choice([found[0], found[0], *SEPARATORS]), data)


def _in_cells(data: bytes, change) -> bytes:
    """`change` on the cells of every line that has the separator of the first line with one."""
    counts = {each: data.count(each) for each in (b",", b";", b"\t", b"|")}
    mark = max(counts, key=counts.get)
    return b"\n".join(mark.join(change(line.split(mark))) if mark in line else line for line in data.split(b"\n"))


def columns_shuffled(rng: Random, data: bytes) -> bytes:
    seed = rng.random()
    return _in_cells(data, lambda cells: Random(seed).sample(cells, len(cells)))


def columns_repeated(rng: Random, data: bytes) -> bytes:
    which, times = rng.randrange(4), rng.choice([1, 1, 3, 50])
    return _in_cells(data, lambda cells: cells + cells[which : which + 1] * times)


def columns_removed(rng: Random, data: bytes) -> bytes:
    which = rng.randrange(6)
    return _in_cells(data, lambda cells: cells[:which] + cells[which + 1 :])


def columns_emptied(rng: Random, data: bytes) -> bytes:
    which, empty = rng.randrange(6), rng.choice([b"", b" ", b"nan", b"-", b'""'])
    rows = iter(range(len(data) + 1))
    return _in_cells(data, lambda cells: cells if not next(rows) else [*cells[:which], empty, *cells[which + 1 :]])


def rows_ragged(rng: Random, data: bytes) -> bytes:
    return _in_cells(
        data, lambda cells: rng.choice([cells, cells, cells[:-1], [*cells, b"1"], cells[:1], [*cells, b"", b""]])
    )


def headers_renamed(rng: Random, data: bytes) -> bytes:
    first = iter([True])
    return _in_cells(data, lambda cells: [word(rng, cell) for cell in cells] if next(first, False) else cells)


def word(rng: Random, cell: bytes) -> bytes:
    return rng.choice(HEADERS).encode() if rng.random() < 0.5 else cell


def cells_strange(rng: Random, data: bytes) -> bytes:
    share = rng.choice([0.02, 0.2, 1])
    return _in_cells(
        data, lambda cells: [rng.choice(STRANGE).encode() if rng.random() < share else cell for cell in cells]
    )


def numbers_strange(rng: Random, data: bytes) -> bytes:
    share, one = rng.choice([0.02, 0.2, 1]), rng.choice(STRANGE).encode()
    return NUMBER.sub(lambda found: one if rng.random() < share else found[0], data)


def numbers_scaled(rng: Random, data: bytes) -> bytes:
    tail = rng.choice([b"e300", b"e-320", b"0" * 30, b"9" * 999, b"ms", b"%", b"K", b"GiB", b"z", b".", b"e", b"e5"])
    share = rng.choice([0.02, 0.3]) if len(tail) > 100 else rng.choice([0.1, 1])
    return NUMBER.sub(lambda found: found[0] + tail if rng.random() < share else found[0], data)


def numbers_negative(rng: Random, data: bytes) -> bytes:
    return NUMBER.sub(lambda found: b"-" + found[0] if rng.random() < 0.3 else found[0], data)


def numbers_all_one(rng: Random, data: bytes) -> bytes:
    one = rng.choice([b"0", b"1", b"8", b"1e308", b"-1"])
    return NUMBER.sub(lambda found: one, data)


def decimal_commas(rng: Random, data: bytes) -> bytes:
    changed = data.replace(b",", b";") if rng.random() < 0.7 else data
    return re.sub(rb"(\d)\.(\d)", rb"\1,\2", changed)


def thousands(rng: Random, data: bytes) -> bytes:
    mark = rng.choice([",", ".", " ", "'", "_", "\u202f"])
    return NUMBER.sub(
        lambda found: f"{float(found[0]):,.3f}".replace(",", mark).encode() if len(found[0]) < 300 else found[0], data
    )


def quotes_unbalanced(rng: Random, data: bytes) -> bytes:
    share, mark = rng.choice([0.01, 0.3]), rng.choice([b'"', b"'", b'""', b"\\"])
    return re.sub(rb"[,:{\n]", lambda found: found[0] + mark if rng.random() < share else found[0], data)


def all_quoted(rng: Random, data: bytes) -> bytes:
    mark = rng.choice([b'"', b"'"])
    return _in_cells(data, lambda cells: [mark + cell + mark for cell in cells])


def keys_repeated(rng: Random, data: bytes) -> bytes:
    return re.sub(
        rb'("[\w /]+"\s*:\s*[^,{}\[\]]+),', lambda found: found[0] + found[0] * rng.choice([0, 0, 1, 3]), data
    )


def brackets_changed(rng: Random, data: bytes) -> bytes:
    return re.sub(
        rb"[{}\[\]()]", lambda found: bytes([rng.choice(b"{}[]() ")]) if rng.random() < 0.1 else found[0], data
    )


def comments(rng: Random, data: bytes) -> bytes:
    return re.sub(
        rb"\n", lambda found: rng.choice([b"\n", b"\n", b"\n# c\n", b"\n// x\n", b"\n\n", b"\n---\n", b"\n...\n"]), data
    )


def as_markdown(rng: Random, data: bytes) -> bytes:
    lines = [b"| " + line.replace(b",", b" | ") + b" |" for line in data.split(b"\n")]
    lines.insert(rng.randint(0, 2), b"|---|" * rng.randint(1, 9))
    return b"\n".join(lines)


CHANGES = (
    lines_shuffled, lines_removed, lines_repeated, lines_joined, lines_indented, separators_swapped, separators_mixed, columns_shuffled,
    columns_repeated, columns_removed, columns_emptied, rows_ragged, headers_renamed, cells_strange, numbers_strange, numbers_scaled,
    numbers_negative, numbers_all_one, decimal_commas, thousands, quotes_unbalanced, all_quoted, keys_repeated, brackets_changed, comments,
    as_markdown,
)  # fmt: skip
