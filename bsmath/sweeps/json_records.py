"""One JSON object as a flat record: nested keys joined with dots, lists of a sweep's numbers kept as columns."""

import re
from collections.abc import Iterator
from functools import lru_cache

from bsmath.quantities import parse_number
from bsmath.sweeps import columns
from bsmath.sweeps.json_text import clean

MOST_LEVELS = 12
"""Levels of nesting that are flattened, and in which tables are looked for."""

MOST_COLUMNS = 500
"""Keys of one record; an object with more is no record."""

INDEX = 5
"""Keys in a row, such as 1 to 5, from which they are numbers of steps or rows and no batch sizes."""

_TUPLE = re.compile(r"\(([^()]{1,300})\)")
NAMED_BATCH = re.compile(r"(?:^|[^a-z])(?:bsz?|batch(?:[ _]?size)?)[ _=:-]{0,2}(\d{1,12})(?![\d.a-z])", re.IGNORECASE)
_BATCH_KEY = re.compile(r"(?:(?:global)?[ _-]*(?:b|bs|bsz|batch(?:[ _-]?size)?)[ _=:-]*)?(\d[\d,_]*)", re.IGNORECASE)


def flat(record: dict) -> dict | None:
    """A record with dotted keys; None where it has too many.

    Lists of one length, of which one is a batch or a result, are columns; any other list becomes a text.
    """
    found: dict = {}
    for key, value in _leaves(record, "", 0):
        found[key] = value
        if len(found) > MOST_COLUMNS:
            return None
    lists = {key: len(value) for key, value in found.items() if isinstance(value, list)}
    lengths = {length for key, length in lists.items() if meaning(key) in columns.BATCHES | columns.RESULTS}
    keep = max(lengths) if len(lengths) == 1 else 0
    texts = {key: clean(str(found[key][:20])) for key, length in lists.items() if length != keep or not keep}
    return found | texts


def _leaves(record: dict, prefix: str, level: int) -> Iterator[tuple[str, object]]:
    for key, value in record.items():
        name = prefix + clean(key)
        if isinstance(value, dict):
            if level < MOST_LEVELS:
                yield from _leaves(value, f"{name}.", level + 1)
        elif not isinstance(value, list):
            yield name, cell(value)
        elif all(map(is_scalar, value)):
            yield name, list(map(cell, value))


def is_scalar(value) -> bool:
    """Whether a value is neither an object nor a list."""
    return not isinstance(value, (dict, list))


def cell(value):
    """A scalar as a table holds it: text on one line, booleans as text."""
    if isinstance(value, str):
        return clean(value)
    return str(value) if isinstance(value, bool) else value


def scalars(value: dict) -> dict:
    """The scalars of an object."""
    return {clean(key): cell(each) for key, each in list(value.items())[:MOST_COLUMNS] if is_scalar(each)}


def beside(value: dict) -> dict:
    """The scalars of an object, and those of its objects that hold settings: nothing else, and no results."""
    found = scalars(value)
    for key, each in list(value.items())[:MOST_COLUMNS]:
        if isinstance(each, dict) and all(map(is_scalar, each.values())) and batch_keys(list(each)) is None:
            inner = {f"{clean(key)}.{name}": item for name, item in scalars(each).items()}
            if not any(meaning(name) in columns.RESULTS for name in inner):
                found |= inner
    return found


def batch_keys(keys: list[str]) -> list[float] | None:
    """The batch sizes that keys such as "8", "1,024" or "bs_8" name; None where they name something else."""
    found = [_BATCH_KEY.fullmatch(key.strip()) for key in keys]
    if not keys or not all(found):
        return None
    try:
        sizes = [parse_number(each[1].replace("_", "")) for each in found]
    except ValueError:
        return None
    if min(sizes) <= 0:
        return None
    counted = len(sizes) >= INDEX and sizes == [sizes[0] + i for i in range(len(sizes))]
    return None if counted else sizes


def named_batches(keys: list[str]) -> list[float] | None:
    """The batch sizes that stand in longer keys, as in "a100_bs8"; None where one has none."""
    found = [NAMED_BATCH.search(key[:300]) for key in keys]
    return [float(each[1]) for each in found] if keys and all(found) and all(float(each[1]) for each in found) else None


def tuple_keys(keys: list[str]) -> list[list[str]] | None:
    """The parts of keys that are tuples written as text, "('a100', 8)", all of one length; None where some is no such."""
    found = [_TUPLE.fullmatch(key.strip()) for key in keys]
    if not keys or not all(found):
        return None
    parts = [[part.strip().strip("'\"") for part in each[1].split(",") if part.strip()] for each in found]
    return parts if len({len(each) for each in parts}) == 1 and parts[0] else None


def score(headers) -> int:
    """Of a batch and a result, how many these headers name."""
    return columns.score(map(meaning, list(headers)[:MOST_COLUMNS]))


@lru_cache(maxsize=4096)
def meaning(header: str) -> str | None:
    """What a header over numbers means."""
    return columns.recognize(header, is_number=True).meaning
