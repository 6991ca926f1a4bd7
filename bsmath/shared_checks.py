"""What the text of a link may hold: every name and number must be one that a sweep could have; else a SweepError says why not."""

import math
import unicodedata
from dataclasses import dataclass

import pandas as pd

from bsmath.sweeps import SweepError

VERSION = 1
"""The version that new texts carry."""
MOST_SWEEPS, MOST_ROWS, MOST_LETTERS = 8, 400, 80
"""Sweeps and rows of one text, and letters of a name."""

VALUES = ("tokens_per_second", "steps", "stopped_at")
"""Columns of which each row has one, unless its run did not arrive."""
COLUMNS = (
    "tokens_per_step", *VALUES, "low", "high", "count", "resolution", "num_devices", "num_params", "seq_len", "learning_rate",
    "micro_batch_size", "grad_accum_steps", "censored", "steps_run", "seed",
)  # fmt: skip
"""Columns of a table that a text may hold; `series` and `row` follow from their order."""
RANGE = (1e-12, 1e18)
"""Smallest and largest number; no batch, rate, step count or setting of a training run lies beyond."""
WHOLE = {"count": (1, 1e9), "seed": (0, 1e9), "censored": (0, 1)}
"""Columns of whole numbers, and their ranges."""
DIVERGED = "inf"
"""What stands for the steps that a diverged run was given."""
KINDS = ("medians", "runs", "best rates")
"""What a row is: the median of a batch, a run, or the median at the best learning rate of a batch."""
UNITS = ("tokens", "sequences")
SOURCES = ("table", "base rates", "logs")
"""Where the sweep was read: a table, one with learning rates that the trainer multiplies by the batch, or the logs of runs."""
KEYS = {"name", "unit", "kind", "source", "series", "columns"}
"""Keys of one sweep."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Written:
    """One sweep as a text holds it."""

    name: str
    """What it is called."""
    unit: str
    """One of UNITS: what its batches count."""
    kind: str
    """One of KINDS."""
    source: str
    """One of SOURCES."""
    table: pd.DataFrame
    """series, and some of COLUMNS."""


def sweeps(found) -> list[Written]:
    """The sweeps in the JSON of a text, or a SweepError."""
    if not isinstance(found, list) or len(found) != 2 or not isinstance(found[1], list):
        raise wrong("hold a version and a list of sweeps", found)
    if isinstance(found[0], bool) or found[0] != VERSION:
        raise wrong(f"have version {VERSION}", found[0])
    if not 1 <= len(found[1]) <= MOST_SWEEPS:
        raise wrong(f"hold 1 to {MOST_SWEEPS} sweeps", len(found[1]))
    read = [_sweep(record) for record in found[1]]
    if (rows := sum(len(one.table) for one in read)) > MOST_ROWS:
        raise wrong(f"have at most {MOST_ROWS} rows", rows)
    _different("sweeps", [one.name for one in read])
    return read


def plain(name: str) -> str:
    """A name without control characters and other invisible ones, cut to its first letters."""
    letters = (" " if letter.isspace() else letter for letter in name)
    kept = "".join(letter for letter in letters if unicodedata.category(letter)[0] != "C")
    return kept.strip()[:MOST_LETTERS].strip()


def wrong(rule: str, got=None, said: str = "") -> SweepError:
    """The one sentence about a text that cannot be used: a rule, and the value, or what is said of it."""
    return SweepError(f"shared data must {rule}, got {said or _shown(got)}")


def _shown(got) -> str:
    try:
        return repr(got)[:40]
    except ValueError:  # an integer of thousands of digits
        return "a huge number"


def _sweep(record) -> Written:
    if not isinstance(record, dict) or record.keys() != KEYS:
        raise wrong(f"have sweeps with {', '.join(sorted(KEYS))}", record)
    for key, known in (("unit", UNITS), ("kind", KINDS), ("source", SOURCES)):
        if not isinstance(record[key], str) or record[key] not in known:
            raise wrong(f"have a {key} of {', '.join(known)}", record[key])
    table = _table(_series(record["series"]), record["columns"])
    return Written(
        name=_name(record["name"]), unit=record["unit"], kind=record["kind"], source=record["source"], table=table
    )


def _name(value) -> str:
    if not isinstance(value, str) or not plain(value):
        raise wrong("have names with letters", value)
    return plain(value)


def _series(record) -> list[str]:
    """The series of each row."""
    if not isinstance(record, list) or not record or not all(isinstance(one, list) and len(one) == 2 for one in record):
        raise wrong("have series as pairs of name and rows", record)
    counts = [_whole("rows", rows, 1, MOST_ROWS) for _, rows in record]
    names = [_name(name) for name, _ in record]
    _different("series", names)
    if sum(counts) > MOST_ROWS:
        raise wrong(f"have at most {MOST_ROWS} rows", sum(counts))
    return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]


def _different(what: str, names: list[str]) -> None:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise wrong(f"have {what} of different names", said=f"{twice[:30]!r} twice")


def _table(series: list[str], columns) -> pd.DataFrame:
    if not isinstance(columns, dict) or "tokens_per_step" not in columns or not columns.keys() <= set(COLUMNS):
        got = sorted(set(columns) - set(COLUMNS))[:1] or list(columns)[:3] if isinstance(columns, dict) else columns
        raise wrong("have the column tokens_per_step and others of a sweep", got)
    found = {"series": pd.Series(series, dtype="str")}
    for name, values in columns.items():
        values = values if isinstance(values, list) else [values] * len(series)
        if len(values) != len(series):
            raise wrong(f"have {len(series)} values of {name}", len(values))
        found[name] = [_value(name, value) for value in values]
    table = pd.DataFrame(found)
    _consistent(table)
    return table


def _value(name: str, value) -> float:
    if value is None:
        return math.nan
    if name == "steps_run" and value == DIVERGED:
        return math.inf
    if name in WHOLE:
        return float(_whole(name, value, *WHOLE[name]))
    if isinstance(value, bool) or not isinstance(value, int | float) or not RANGE[0] <= value <= RANGE[1]:
        raise wrong(f"have {name} from {RANGE[0]:g} to {RANGE[1]:g}", value)
    return float(value)


def _whole(name: str, value, low: float, high: float) -> int:
    good = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    if not good or value != int(value):
        raise wrong(f"have {name} as whole numbers from {low:g} to {high:g}", value)
    return int(value)


def _consistent(table: pd.DataFrame) -> None:
    """Every row has a batch and one value, between its low and its high; a run to a target at several rates has its rate."""
    none = pd.Series(math.nan, table.index)
    column = {name: table.get(name, none) for name in COLUMNS}
    if column["tokens_per_step"].isna().any():
        raise wrong("have a batch in every row", said="a row without")
    lost = column["censored"].fillna(0) > 0
    kinds = sum(column[name].notna().astype(int) for name in VALUES) + lost
    if (kinds != 1).any():
        raise wrong(
            "have a rate, steps or a run that did not arrive in each row", said=f"row {int((kinds != 1).argmax()) + 1}"
        )
    value = column["tokens_per_second"].fillna(column["steps"])
    if (column["low"] > value).any() or (column["high"] < value).any():
        raise wrong("have medians between low and high", said="one outside")
    if "censored" in table and (column["learning_rate"].isna() & (lost | column["steps"].notna())).any():
        raise wrong("have the learning rate of each run", said="a run without")
