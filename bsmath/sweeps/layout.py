"""Where the table of a text begins, what separates its columns and which mark its decimals have."""

import csv
import re
from dataclasses import dataclass

from bsmath.sweeps import cells, marks
from bsmath.sweeps.model import Problem, Question

SEPARATORS = ("\t", ";", "|", ",")
"""Tried in this order; runs of spaces only where none of them makes columns."""

SAMPLE = 60
"""Lines that are looked at."""

MOST_COLUMNS = 5_000
"""Fields from which a line is no row of a table."""

LEAST_AGREEING = 0.5
"""Share of the lines that must have the same number of fields."""

_LOGGED = re.compile(r"[:=]\s*[\"'{\[\d.+-]|[:=]\s*(null|nan|true|false)|[{}]|^\W*$", re.IGNORECASE)
_RULE = re.compile(r"[\s|+=:─━═┼╪+-]*[-─━═][\s|+=:─━═┼╪+-]*|```.*")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How to read the rows."""

    separator: str
    """One of SEPARATORS, or "  " and " " for runs of at least so many spaces."""
    header_line: int
    """Line of the header in the file, from 1."""
    headers: tuple[str, ...]
    """Unique names; empty ones are numbered."""
    decimal: str
    """Decimal mark."""
    comments: tuple[str, ...]
    """Comment lines above the header."""
    questions: tuple[Question, ...]
    """Whether the decimal mark is in doubt."""
    problems: tuple[Problem, ...]
    """Lines above the header that are no comments."""


def split(line: str, separator: str) -> list[str]:
    """The fields of one line."""
    if separator.strip(" ") == "":
        return re.split(r"\s{2,}|\t" if len(separator) == 2 else r"\s+", line.strip())
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=separator != "\t"), [])
    except csv.Error:
        return line.split(separator)


def unique(headers: list[str]) -> tuple[str, ...]:
    """The headers with numbers where they are empty or repeated."""
    names: dict[str, None] = {}
    counts: dict[str, int] = {}
    for position, header in enumerate(headers, start=1):
        name = base = header.strip() or f"column {position}"
        while name in names:
            counts[base] = counts.get(base, 1) + 1
            name = f"{base} ({counts[base]})"
        names[name] = None
    return tuple(names)


def find(head: str, decimal: str | None = None) -> Layout | None:
    """The layout of the text that begins so, or None where no line is a header."""
    lines = [(number, line) for number, line in enumerate(head.split("\n"), start=1) if line.strip()]
    marked = []
    while lines and (lines[0][1].startswith("#") or lines[0][1].lower().startswith("sep=")):
        marked.append(lines.pop(0))
    sample = [(number, line) for number, line in lines if not line.startswith("#") and not _RULE.fullmatch(line)][
        :SAMPLE
    ]
    found = _best(sample)
    if marked and (promoted := _promoted(marked[-1], sample)):
        found = promoted
        marked.pop()
    if found is None:
        return None
    separator, header_line, headers = found
    below = [split(line, separator) for number, line in sample if number > header_line]
    decimal, questions = (decimal, ()) if decimal else marks.decimal(separator, headers, below)
    return Layout(
        separator=separator,
        header_line=header_line,
        headers=unique(headers),
        decimal=decimal,
        comments=tuple(line.lstrip("#").strip() for _, line in marked if line.startswith("#")),
        questions=questions,
        problems=tuple(_above(number) for number, _ in sample if number < header_line),
    )


def _above(line: int) -> Problem:
    return Problem(row=line, column=None, what="the line is above the header", action="line left out")


def _best(sample: list[tuple[int, str]]) -> tuple[str, int, list[str]] | None:
    """Separator, header line and header fields that the most lines agree with."""
    best, score = None, (0, 0)
    for separators in (SEPARATORS, ("  ", " ")):
        for separator in separators:
            fields = [split(line, separator) for _, line in sample]
            counts = [len(each) for each in fields if len(each) > 1]
            if not counts or max(counts) > MOST_COLUMNS:
                continue
            usual = max(set(counts), key=lambda count: (counts.count(count), count))
            header = _header(sample, fields, usual)
            if header and counts.count(usual) >= len(sample) * LEAST_AGREEING and (counts.count(usual), usual) > score:
                best, score = (separator, *header), (counts.count(usual), usual)
        if best:
            return best
    return None


def _header(sample, fields: list[list[str]], usual: int) -> tuple[int, list[str]] | None:
    """The first line that has as many fields as the rows, or one less (an unnamed index), and is not made of
    numbers."""
    for (number, _), each in zip(sample, fields, strict=True):
        if len(each) > 1 and len(each) in (usual, usual - 1):
            numbers = sum(
                cells.is_number(cell) or bool(cell.strip()) and not re.search("[a-z]", cell, re.I) for cell in each
            )
            logged = sum(
                _LOGGED.search(cell) is not None for cell in each if " - " not in cell
            )  # a tracker's "run - metric"
            if numbers > len(each) / 2 or logged > len(each) / 2:
                return None
            after = [len(other) for (line, _), other in zip(sample, fields, strict=True) if line > number]
            unnamed = len(each) == usual - 1 and after and min(after) == usual
            return number, [""] * unnamed + each
    return None


def _promoted(comment: tuple[int, str], sample) -> tuple[str, int, list[str]] | None:
    """A header behind a "#", as numpy.savetxt writes it, or one that begins with "# GPUs"."""
    if not sample:
        return None
    for separator in (*SEPARATORS, " "):
        fields, first = split(comment[1].lstrip("# "), separator), split(sample[0][1], separator)
        if len(fields) == len(first) > 1 and any(map(cells.is_number, first)) and not any(map(cells.is_number, fields)):
            return separator, comment[0], fields
    return None
