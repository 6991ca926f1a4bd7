"""Measured sweeps over batch size, read from the files that people have.

`read` finds the format by content, the columns by their names and the units by headers and identities, and says what
it took for what, what it could not use and what the file leaves open. A new format is one module with
`recognizes(head)` and `read(data, name)` that returns a RawTable, and one entry in READERS; everything after that is
shared.
"""

import re
from collections.abc import Callable, Mapping

import pandas as pd

from bsmath import checks, tuned
from bsmath.sweeps import cells, delimited, harness, json_lines, json_table, markdown, parquet, text
from bsmath.sweeps.assemble import assemble
from bsmath.sweeps.draft import UNITS, checked
from bsmath.sweeps.meanings import MEANINGS
from bsmath.sweeps.model import ALL_ROWS, Column, Problem, Question, RawTable, Sweep, SweepError, Unmapped, runs
from bsmath.sweeps.text import MAX_BYTES

__all__ = [
    "ALL_ROWS", "MAX_BYTES", "UNITS", "MEANINGS", "QUANTITIES", "READERS", "TEMPLATE", "Column", "Problem", "Question", "RawTable", "Sweep",
    "SweepError", "Unmapped", "aggregate", "at_best_rates", "best_rates", "of_table", "read", "reader", "short", "table",
]  # fmt: skip

READERS = {
    "printed benchmark lines": harness,
    "Markdown table": markdown,
    "JSON lines": json_lines,
    "JSON": json_table,
    "table": delimited,
}
"""Formats by name; the first whose `recognizes` accepts the beginning of a file reads it."""

TEMPLATE = """\
# synthetic example rows: replace them. One line per run; leave a cell empty where nothing was measured.
# Instead of batch_tokens: batch_seqs and seq_len, or micro_batch, accum, replicas and seq_len.
run,batch_tokens,n_gpus,step_time_s,tokens_per_s,steps_to_target,target_loss
example,262144,8,1.05,249661,240735,3.2
example,524288,8,1.85,283399,145367,3.2
"""
"""A CSV to fill in."""

QUANTITIES = ("tokens_per_second", "steps")
"""What a sweep can be a sweep of."""


def read(
    data: bytes, name: str, answers: Mapping[str, object] | None = None, progress: Callable | None = None
) -> Sweep:
    """The sweep in a file.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        Its name, for messages.
    answers : mapping, optional
        Corrections and answers to the questions of an earlier reading: columns (header -> meaning, or None to ignore
        it), batch_unit, batch_scope, seq_len [tokens; 1 counts in samples], num_devices, rate_scope, throughput_column,
        steps_column, series_columns, decimal, tuning, units (header -> a key of UNITS).
    progress : callable, optional
        Gets the share that was read, from 0 to 1, and may raise to stop.

    Raises
    ------
    SweepError
        Where there is nothing to read; the sentence says why.
    """
    name = short(name)
    return of_table(table(data, name, (answers or {}).get("decimal"), progress), name, answers)


def table(data: bytes, name: str, decimal: str | None = None, progress: Callable | None = None) -> RawTable:
    """The rows of a file as they stand there, in whichever format.

    Raises
    ------
    SweepError
        Where there are none.
    """
    if parquet.recognizes(data):
        return parquet.read(data, name, progress)
    data = text.clean(data, name)
    head = delimited.head(data)
    found = reader(head)
    if found is None:
        raise SweepError(f"{name} must hold a table with a header line, or benchmark lines, got {_kind(head)}")
    return found.read(data, name, decimal, **({"progress": progress} if found is delimited else {}))


def reader(head: str):
    """The module that reads a text which begins so; None where no format is recognized."""
    return next((each for each in READERS.values() if each.recognizes(head)), None)


def of_table(raw: RawTable, name: str, answers: Mapping[str, object] | None = None) -> Sweep:
    """The sweep in rows that were read; `answers` as for `read`."""
    if raw.frame.empty:
        raise SweepError(f"{name} must have usable rows below its header line, got none")
    return assemble(raw, name, checked(answers, list(raw.frame.columns)))


def short(name: str) -> str:
    """A file's name as messages have it: without what cannot be shown, and not too long."""
    return "".join(filter(str.isprintable, name)).strip()[:80] or "file"


def aggregate(sweep: Sweep | pd.DataFrame, series: str, quantity: str) -> pd.DataFrame:
    """One row per batch of one series: tokens_per_step, median, low and high over the repeats, count.

    A row may itself sum up several measurements: it then has their median, and low, high and count of its own. Steps of a sweep over
    batch and rate are those at the best rate of each batch (see `best_rates`).

    Parameters
    ----------
    sweep : Sweep or DataFrame
        A sweep or its table.
    series : str
        Name of the series.
    quantity : str
        "tokens_per_second" [tokens/s] or "steps".
    """
    checks.one_of("quantity", quantity, QUANTITIES)
    table = sweep.table if isinstance(sweep, Sweep) else sweep
    checks.one_of("series", series, list(table["series"].unique()))
    if quantity == "steps" and (best := best_rates(table, series)) is not None:
        return at_best_rates(best)
    rows = table.loc[table["series"] == series].dropna(subset=quantity)
    middle = rows[quantity]
    own = {name: rows[name].fillna(middle) if name in rows else middle for name in ("low", "high")}
    counted = rows["count"].fillna(1) if "count" in rows else 1
    batches = rows.assign(**own, count=counted).groupby("tokens_per_step", sort=True)
    found = batches.agg(median=(quantity, "median"), low=("low", "min"), high=("high", "max"), count=("count", "sum"))
    found = found[found["median"] < float("inf")]  # a median of absurd values overflows
    return found.astype({"count": int}).reset_index()


def best_rates(sweep: Sweep | pd.DataFrame, series: str) -> pd.DataFrame | None:
    """The best learning rate of each batch of one series (see `bsmath.tuned`); None where it is not taken."""
    tried = runs(sweep.table if isinstance(sweep, Sweep) else sweep)
    return None if tried is None else tuned.best_rates(tried[tried["series"] == series])


def at_best_rates(best: pd.DataFrame) -> pd.DataFrame:
    """Best rates as points of a sweep, like those of `aggregate`; a batch without steps is left out."""
    found = best.dropna(subset="steps").rename(columns={"steps": "median"})
    return found[["tokens_per_step", "median", "low", "high", "count"]].reset_index(drop=True)


def _kind(head: str) -> str:
    first = head.lstrip()
    if first[:1] in ("{", "["):
        return "JSON or a log"
    numbers = [cells.is_number(cell) for cell in re.split(r"[\s,;|]+", first.split("\n")[0].strip())]
    return "numbers without a header line" if all(numbers) else "text without columns"
