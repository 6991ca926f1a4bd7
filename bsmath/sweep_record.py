"""A sweep as JSON values, whole and in columns, there and back; what comes from a file is checked like any upload."""

import math
import sys
from dataclasses import asdict, fields

import numpy as np
import pandas as pd

from bsmath.sweeps import Column, Problem, Question, Sweep, SweepError

MOST_ROWS, MOST_LETTERS = 1_000_000, 2_000
"""Rows of a table, and letters of one text; longer ones are cut."""
MOST_LISTED = 10_000
"""Columns, questions, problems or comments of a sweep; more are left out."""
KEYS = ("name", "batch_unit", "columns", "questions", "problems", "comments", "table")
UNITS = ("tokens", "sequences")
WHOLE = ("row", "seed", "left_out", "count")
"""Columns of whole numbers, as far as a table has them without a gap."""
REQUIRED = ("row", "series", "tokens_per_step", "tokens_per_second", "step_time", "steps")
OPTIONAL = (
    "num_devices", "num_params", "seq_len", "learning_rate", "micro_batch_size", "grad_accum_steps", "censored", "steps_run", "seed",
    "stopped_at", "resolution", "low", "high", "count", "left_out",
)  # fmt: skip
"""Columns of a sweep's table."""
LISTS = {"columns": Column, "questions": Question, "problems": Problem}
INFINITE = "inf"
"""What stands for an infinite number: JSON has none."""


def to_record(sweep: Sweep) -> dict:
    """A sweep as values that JSON can hold, within the limits of reading."""
    lists = {name: _cut([asdict(one) for one in getattr(sweep, name)]) for name in LISTS}
    table = {name: _values(name, sweep.table[name]) for name in sweep.table if name in REQUIRED + OPTIONAL}
    texts = {"name": sweep.name, "batch_unit": sweep.batch_unit, "comments": list(sweep.comments)}
    return _cut(texts) | lists | {"table": table}


def _cut(value):
    """Texts and lists of at most so many letters and members."""
    if isinstance(value, str):
        return value[:MOST_LETTERS]
    if isinstance(value, dict):
        return {key: _cut(each) for key, each in value.items()}
    return [_cut(each) for each in value[:MOST_LISTED]] if isinstance(value, list | tuple) else value


def _values(name: str, column: pd.Series) -> list:
    if name == "series":
        return [str(each)[:MOST_LETTERS] for each in column]
    if name == "censored":
        return column.astype(bool).tolist()
    whole = pd.api.types.is_integer_dtype(column.dtype)
    return [each if whole else _value(name, each) for each in column.tolist()]


def _value(name: str, value: float):
    """A number as it can be read again, null where there is none."""
    if name == "steps_run" and value == math.inf:
        return INFINITE
    return float(value) if _least(name) <= value <= sys.float_info.max else None


def _least(name: str) -> float:
    return 0 if name in WHOLE else 5e-324


def from_record(record, name: str) -> Sweep:
    """The sweep in a record, or a SweepError that names the file."""
    if not isinstance(record, dict) or set(record) != set(KEYS):
        raise SweepError(f"{name} must have sweeps with {', '.join(KEYS)}, got {_shown(record)}")
    if record["batch_unit"] not in UNITS:
        raise SweepError(f"{name} must have a batch_unit of {', '.join(UNITS)}, got {_shown(record['batch_unit'])}")
    lists = {key: tuple(_made(kind, one, name) for one in _list(record, key, name)) for key, kind in LISTS.items()}
    return Sweep(
        name=_text(record["name"], name) or name,
        table=_table(record["table"], name),
        batch_unit=record["batch_unit"],
        comments=tuple(_text(one, name) for one in _list(record, "comments", name)),
        **lists,
    )


def _list(record: dict, key: str, name: str) -> list:
    found = record[key]
    if not isinstance(found, list) or len(found) > MOST_LISTED:
        raise SweepError(f"{name} must have {key} as a list of at most {MOST_LISTED:,}, got {_shown(found)}")
    return found


def _made(kind: type, record, name: str):
    """A Column, Question or Problem; each is of texts, but for a row and lists of texts."""
    if not isinstance(record, dict) or set(record) != {field.name for field in fields(kind)}:
        raise SweepError(f"{name} must have {kind.__name__.lower()}s with all their fields, got {_shown(record)}")
    values = {}
    for field in fields(kind):
        value = record[field.name]
        if value is None and "None" in str(field.type):
            values[field.name] = None
        elif field.name == "row":
            values["row"] = _whole(value, name)
        elif "tuple" in str(field.type):
            values[field.name] = tuple(_text(one, name) for one in _list(record, field.name, name))
        else:
            values[field.name] = _text(value, name)
    return kind(**values)


def _text(value, name: str) -> str:
    if not isinstance(value, str) or len(value) > MOST_LETTERS:
        raise SweepError(f"{name} must have texts of at most {MOST_LETTERS:,} letters, got {_shown(value)}")
    return value


def _whole(value, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**53:
        raise SweepError(f"{name} must have whole numbers of rows, got {_shown(value)}")
    return value


def _table(columns, name: str) -> pd.DataFrame:
    if not isinstance(columns, dict) or not set(REQUIRED) <= set(columns) <= {*REQUIRED, *OPTIONAL}:
        got = (
            sorted(set(columns).symmetric_difference(REQUIRED) - set(OPTIONAL))
            if isinstance(columns, dict)
            else columns
        )
        raise SweepError(f"{name} must have a table with {', '.join(REQUIRED)} and known others, got {_shown(got)}")
    if not all(isinstance(values, list) for values in columns.values()) or len(set(map(len, columns.values()))) != 1:
        raise SweepError(f"{name} must have table columns of one length, got different ones")
    if not 1 <= len(columns["row"]) <= MOST_ROWS:
        raise SweepError(f"{name} must have a table of 1 to {MOST_ROWS:,} rows, got {len(columns['row']):,}")
    table = pd.DataFrame({header: _column(header, values, name) for header, values in columns.items()})
    _check(table, name)
    return table


def _column(header: str, values: list, name: str):
    if header == "series":
        texts = [_text(value, name) for value in values]
        if not all(texts):
            raise SweepError(f"{name} must have a series in each row, got an empty name")
        return pd.Series(pd.array(texts, dtype="str"))
    if header == "censored":
        if not all(isinstance(value, bool) for value in values):
            raise SweepError(f"{name} must have censored as true or false, got {_shown(values)}")
        return np.array(values, bool)
    if header in WHOLE and all(isinstance(value, int) for value in values):
        return np.array([_whole(value, name) for value in values], np.int64)
    return np.array([_number(header, value, name) for value in values], float)


def _number(header: str, value, name: str) -> float:
    if value is None:
        return math.nan
    if value == INFINITE and header == "steps_run":
        return math.inf
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not _least(header) <= value <= sys.float_info.max
    ):
        raise SweepError(f"{name} must have positive finite numbers in {header}, got {_shown(value)}")
    return float(value)


def _check(table: pd.DataFrame, name: str) -> None:
    """What every reader guarantees of a table."""
    if table["tokens_per_step"].isna().any():
        raise SweepError(f"{name} must have a batch in every row, got a row without")
    if "censored" in table:
        runs = table["censored"] | table["steps"].notna()
        if "learning_rate" not in table or table.loc[runs, "learning_rate"].isna().any():
            raise SweepError(f"{name} must have the learning rate of each run that is tuned, got a run without")


def _shown(value) -> str:
    """A value of a file, cut."""
    if isinstance(value, dict):
        return ", ".join(str(key)[:20] for key in list(value)[:4]) or "none"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    try:
        return repr(value)[:40]
    except ValueError:
        return "a huge number"
