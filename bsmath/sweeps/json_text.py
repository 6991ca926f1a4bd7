"""JSON of any origin -> plain values within limits: one document, or one object per line between other lines of a log.

The last of equal keys counts, as in most parsers, but it is counted. NaN and Infinity become text, as they stand in a
CSV file. Integers of many digits become floats.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from bsmath.sweeps.model import Problem, SweepError

MOST_CONTAINERS = 1_000_000
"""Objects and lists in one file; a Python object takes far more memory than its two brackets in the file."""

MOST_DIGITS = 18
"""Digits of an integer that is kept exact."""

LONGEST = 200
"""Characters of a key or a text that are kept."""

_DOCUMENT = re.compile(r'\s*(\{\s*["}]|\[\s*([\[{"\]]|(-?\d[\d.eE+-]*|null|true|false|NaN|-?Infinity)\s*[,\]]))')
_LINE = re.compile(r'^\s*\{\s*".*\}\s*,?\s*$', re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """What a file holds."""

    value: Any
    """Dicts, lists, strings, numbers, booleans and None."""
    lines: tuple[int, ...] = ()
    """Line in the file of each object, where there is one per line."""
    problems: tuple[Problem, ...] = ()
    """Repeated keys and lines that are cut off."""


def recognizes(head: str) -> bool:
    """Whether a text begins like a JSON document, or has objects on two lines of its own."""
    return _DOCUMENT.match(head) is not None or len(_LINE.findall(head)) > 1


def load(data: bytes, name: str) -> Parsed:
    """The value of a document; else a list of the objects that stand on lines of their own."""
    if data.count(b"{") + data.count(b"[") > MOST_CONTAINERS:
        raise SweepError(f"{name} must hold at most {MOST_CONTAINERS:,} JSON objects and lists, got more")
    decoder = _Decoder()
    text = data.decode()
    try:
        return Parsed(value=decoder.decode(text), problems=decoder.problems())
    except RecursionError:
        raise SweepError(f"{name} must hold JSON of a few levels, got one that is nested too deeply") from None
    except json.JSONDecodeError as error:
        parsed = _by_line(text)
        if parsed is None:
            wrong = f"an error in line {error.lineno:,} ({error.msg})"
            raise SweepError(f"{name} must hold valid JSON, or one JSON object per line, got {wrong}") from None
        return parsed


def clean(text: str) -> str:
    """A key or a text on one line, at most LONGEST characters, without half characters."""
    return " ".join(text[:LONGEST].encode("utf-8", "replace").decode().split())


def _by_line(text: str) -> Parsed | None:
    decoder, kept, lines, problems = _Decoder(), [], [], []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip().rstrip(",")
        if not line.startswith('{"'):
            continue
        try:
            kept.append(decoder.decode(line))
            lines.append(number)
        except (json.JSONDecodeError, RecursionError):
            what = "the line begins like a JSON object and is none"
            problems.append(Problem(row=number, column=None, what=what, action="line left out"))
    if not kept:
        return None
    return Parsed(value=kept, lines=tuple(lines), problems=(*problems, *decoder.problems()))


class _Decoder(json.JSONDecoder):
    """The standard decoder, which counts repeated keys."""

    def __init__(self):
        self.repeated = 0
        super().__init__(
            object_pairs_hook=self._object, parse_int=_integer, parse_constant=lambda text: text.lower()[:4]
        )

    def _object(self, pairs: list) -> dict:
        found = dict(pairs)
        self.repeated += len(pairs) - len(found)
        return found

    def problems(self) -> tuple[Problem, ...]:
        if not self.repeated:
            return ()
        what = f"{self.repeated:,} keys repeat one of the same object"
        return (Problem(row=None, column=None, what=what, action="the last value of each was used"),)


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= MOST_DIGITS else float(text)
