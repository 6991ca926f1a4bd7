"""Numbers as trainers print them: `5,762`, `25.62%`, `138.60ms`, `1.05M`, `48.87GiB(51.44%)`, `4.2M`, `nan`, `N/A`."""

import math
import re
from collections.abc import Callable, Iterator

Progress = Callable[[float], object] | None
"""Gets the share that was read, from 0 to 1, and may raise to stop."""
REPORTED = 2**14
"""Lines after which progress is told."""

_NUMBER = re.compile(r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SUFFIX = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


def number(text: str) -> float:
    """The number that a text begins with, its unit aside; nan where it begins with none. `1.05M` is 1.05e6, `3ms` is 3."""
    text = text.strip()
    found = _NUMBER.match(text)
    if found is None:
        return math.nan
    value = float(found[0].replace(",", ""))
    rest = text[found.end() :]
    return value * _SUFFIX.get(rest.lower(), 1.0) if len(rest) == 1 else value


def lines(text: str, progress: Progress = None) -> Iterator[tuple[int, str]]:
    """The lines of a log with their numbers, from 1."""
    found = text.split("\n")
    if progress is None:
        yield from enumerate(found, start=1)
        return
    for number, line in enumerate(found, start=1):
        if number % REPORTED == 0:
            progress(number / len(found))
        yield number, line


def loss(text: str) -> float:
    """A loss; inf where the run printed one that is no number, as a run that diverged does."""
    value = number(text)
    return math.inf if math.isnan(value) else value
