"""Reader of JSON lines: one object a line, as trainers append them to a log. Nested keys are joined with "/".

A line that is no object is left out and named, as is a last line that was cut off with its run. NaN and Infinity become
text, as they stand in a CSV file. Lines that hold lists of results go to the reader of JSON, which unfolds them.
"""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from bsmath.sweeps import columns, delimited, json_text, layout
from bsmath.sweeps.json_records import MOST_COLUMNS, MOST_LEVELS, cell, is_scalar, meaning
from bsmath.sweeps.json_table import MOST_CELLS
from bsmath.sweeps.json_text import MOST_CONTAINERS, MOST_DIGITS, clean
from bsmath.sweeps.model import Problem, RawTable, SweepError

LOOKED_AT = 50
"""Lines from which the format is recognized."""

LEAST_OBJECTS = 0.5
"""Share of those lines that must hold an object."""

BROKEN = "the line is no JSON object"
CUT = "the last line is cut off: the run was stopped, or is still being written"

_CONSTANTS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
_DECODER = json.JSONDecoder(
    parse_constant=_CONSTANTS.__getitem__,
    parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else float(digits),
)


def recognizes(head: str) -> bool:
    """Whether the first line is an object and so are most of the first lines; a document of one object is not meant."""
    if not head.lstrip().startswith("{"):
        return False
    lines = [line for line in head.split("\n") if line.strip()][:LOOKED_AT]
    found = [_objects(line) for line in lines]
    if len(lines) < 2 or not found[0]:
        return False
    kept = [record for records in found if records for record in records]
    return sum(map(bool, found)) > LEAST_OBJECTS * len(lines) and not any(map(_has_results_in_lists, kept))


def read(data: bytes, name: str, decimal: str | None = None) -> RawTable:
    """One row an object, under the union of all keys."""
    if data.count(b"{") + data.count(b"[") > MOST_CONTAINERS:
        raise SweepError(f"{name} must hold at most {MOST_CONTAINERS:,} JSON objects and lists, got more")
    records, rows, problems = [], [], []
    lines = data.decode().split("\n")
    last = max((number for number, line in enumerate(lines, start=1) if line.strip()), default=0)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = _objects(line)
        if found:
            records += [dict(_leaves(record, "", 0)) for record in found]
            rows += [number] * len(found)
        else:
            what = CUT if number == last and line.lstrip().startswith("{") else BROKEN
            problems.append(Problem(row=number, column=None, what=what, action="line left out"))
    return RawTable(
        frame=_frame(records, name), rows=np.array(rows, int), decimal=decimal or ".", problems=tuple(problems)
    )


def read_list(data: bytes, name: str) -> RawTable | None:
    """One row a record of a document that is a list of objects, or the log_history of Hugging Face's trainer_state.json;
    None for any other."""
    try:
        value = json_text.load(data, name).value
    except SweepError:
        return None
    value = value.get("log_history") if isinstance(value, dict) else value
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        return None
    if any(map(_has_results_in_lists, value[:LOOKED_AT])):
        return None
    records = [dict(_leaves(each, "", 0)) for each in value]
    return RawTable(frame=_frame(records, name), rows=np.arange(len(records)) + 1)


def _frame(records: list[dict], name: str) -> pd.DataFrame:
    headers = list(dict.fromkeys(key for record in records for key in record))
    if len(headers) > MOST_COLUMNS or len(headers) * len(records) > MOST_CELLS:
        got = f"{len(records):,} with {len(headers):,} different keys"
        raise SweepError(f"{name} must hold records with a few keys each, got {got}")
    cells = (delimited.typed([record.get(key) for record in records]) for key in headers)
    return pd.DataFrame(dict(zip(layout.unique(headers), cells, strict=True)))


def _objects(line: str) -> list[dict]:
    """The objects of one line (two where a line feed was lost); none where anything else is in it."""
    found, position, line = [], 0, line.strip().rstrip(",")
    while position < len(line):
        try:
            value, position = _DECODER.raw_decode(line, position)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        found.append(value)
        position += len(line[position:]) - len(line[position:].lstrip())
    return found


def _leaves(record: dict, prefix: str, level: int) -> Iterator[tuple[str, object]]:
    for key, value in record.items():
        name = prefix + clean(key)
        if isinstance(value, dict):
            if level < MOST_LEVELS:
                yield from _leaves(value, f"{name}/", level + 1)
        else:
            yield name, cell(value) if is_scalar(value) else clean(str(value[:20]))


def _has_results_in_lists(record: dict) -> bool:
    lists = {key: value for key, value in record.items() if isinstance(value, list)}
    unfolds = any(isinstance(each, dict) for value in lists.values() for each in value)
    named = any(meaning(clean(key)) in columns.BATCHES | columns.RESULTS for key in lists)
    inner = (value for value in record.values() if isinstance(value, dict))
    return unfolds or named or any(map(_has_results_in_lists, inner))
