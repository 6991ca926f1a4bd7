"""Measured files that are no sweep over batch size: a noise-scale log, branches of a run, loads of a router, loss curves.

A file is recognized by the headers of its table. A new kind is one module with `recognizes(headers)` and
`read(frame, name)`, and one entry in READERS.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bsmath import sweeps, trainers
from bsmath.logs import branch, curve_columns, curves, noise, noise_wide, rate_table, router
from bsmath.logs.branch import BranchLog
from bsmath.logs.curves import LossCurves
from bsmath.logs.noise import NoiseLog
from bsmath.logs.router import RouterLog
from bsmath.rate_grid import RateGrid
from bsmath.sweeps import RawTable, Sweep, SweepError, cells, delimited, json_lines, layout, parquet, text

READERS = {"noise": noise, "branch": branch, "router": router, "curves": curves, "grid": rate_table}
"""Kinds by name; the first whose `recognizes` accepts the headers reads the file."""
IN_DOUBT = {"noise": noise.has_ratio_alone, "router": router.is_long}
"""Kinds whose columns a sweep may have too, and which of their tables are in doubt."""
NAMES = {
    "noise": "noise-scale log",
    "branch": "branch measurement",
    "router": "table of router loads",
    "curves": "log of runs",
    "grid": "grid of learning rates and batches",
}
"""Kinds in words."""
MOST_NAMED = 5
"""Rows of loss curves that could not be read, of which each is named."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """One file and what was read from it."""

    kind: str
    """A key of READERS."""
    record: NoiseLog | BranchLog | RouterLog | LossCurves | RateGrid
    """The measurement."""
    comments: tuple[str, ...]
    """Comment lines above the header."""


def read(data: bytes, name: str, progress: Callable | None = None) -> Log | None:
    """The log in a file; None where its table is of no such kind (it may still be a sweep).

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        Its name, for messages and for what it says of the run.
    progress : callable, optional
        Gets the share that was read, from 0 to 1, and may raise to stop.

    Raises
    ------
    SweepError
        Where the file is no text, or is such a log without a usable row; the sentence says why.
    """
    return read_rows(data, name, progress)[0]


def read_rows(data: bytes, name: str, progress: Callable | None = None) -> tuple[Log | None, RawTable | None]:
    """The same, and the rows where they had to be read for it and are those that `sweeps.table` would give."""
    name = sweeps.short(name)
    if parquet.recognizes(data):
        raw = parquet.read(data, name, progress)
        return of_table(raw, name), raw
    data = text.clean(data, name)
    trainer, data = trainers.find(data)
    if trainer is not None:
        return _printed(trainers.read(data, name, trainer, progress), name, trainer), None
    head = delimited.head(data)
    if json_lines.recognizes(head):
        raw = json_lines.read(data, name)
        return of_table(raw, name), raw
    if head.lstrip().startswith(("{", "[")):
        raw = json_lines.read_list(data, name)
        return raw and of_table(raw, name, lambda: sweeps.read(data, name)), None
    found = layout.find(head)
    if found is None or _kind([*found.headers, *noise_wide.constants(found.comments)]) is None:
        return None, None
    raw = delimited.read(data, name, progress=progress)
    return of_table(raw, name), raw if sweeps.reader(head) is delimited else None


def runs_of(data: bytes, name: str, columns: Mapping[str, str | None]) -> LossCurves:
    """The runs in a table some of whose columns the user maps (header -> a key of `curve_columns.HEADERS`, None for not used).

    Raises
    ------
    SweepError
        Where the table then has no step beside a loss or a rate.
    """
    name = sweeps.short(name)
    listed = json_lines.read_list(data, name) if data.lstrip().startswith((b"[", b"{")) else None
    raw = listed or sweeps.table(data, name)
    frame = curve_columns.mapped(raw.frame, columns)
    record = curves.read(_pointed(frame, raw.decimal), name)
    told = [
        replace(column, meaning=columns.get(column.header, column.meaning))
        for column in curve_columns.described(raw.frame)
    ]
    return replace(record, columns=tuple(told))


def of_table(raw: RawTable, name: str, as_sweep: Callable[[], Sweep] | None = None) -> Log | None:
    """The log in rows that were read; None where they are of no such kind. `as_sweep` reads the same rows as a sweep, where that
    takes more than `sweeps.of_table`."""
    kind = _kind([*raw.frame.columns, *noise_wide.constants(raw.comments)])
    if kind is None:
        return None
    as_sweep = as_sweep or (lambda: sweeps.of_table(raw, name))
    if kind == "grid" or kind == "curves" and rate_table.is_of_ends(raw, name, lengths=False):
        return _results(raw, name, as_sweep)
    if kind == "curves":
        return _curves(raw, name, as_sweep) or _results(raw, name, as_sweep)
    if raw.frame.empty:
        raise SweepError(f"{name} must have usable rows below its header line, got none")
    if kind in IN_DOUBT and IN_DOUBT[kind](raw.frame) and _is_sweep(kind, raw, as_sweep):
        return None
    given = {"comments": raw.comments} if kind == "noise" else {}
    record = READERS[kind].read(_pointed(raw.frame, raw.decimal), name, **given)
    return Log(kind=kind, record=record, comments=raw.comments)


def _kind(headers: list[str]) -> str | None:
    return next((kind for kind, reader in READERS.items() if reader.recognizes(headers)), None)


def _printed(raw: RawTable, name: str, trainer: str) -> Log:
    """The log that a trainer printed: one or more runs, whatever it tells of them."""
    record = curves.read(raw.frame, name)
    said = (f"Read as a log of {trainer}.", *raw.comments, *_said(raw))
    return Log(kind="curves", record=replace(record, problems=(*said, *record.problems)), comments=())


def _said(raw: RawTable) -> tuple[str, ...]:
    """What was wrong with single rows, in sentences."""
    return tuple(f"Row {one.row:,}: {one.what}; {one.action}." for one in raw.problems[:MOST_NAMED] if one.row)


def _curves(raw: RawTable, name: str, as_sweep: Callable[[], Sweep]) -> Log | None:
    """Loss curves; None where the rows are rather results of runs, or rates of one run whose batch changes."""
    try:
        record = curves.read(_pointed(raw.frame, raw.decimal), name)
    except SweepError:
        return None
    if not record.has_curve and (record.losses or not record.has_rate):
        return None
    if curves.counts_results(raw.frame) or record.runs["batch"].isna().all():
        try:
            found = as_sweep()
        except SweepError:
            found = None
        if found is not None and (found.has_steps if curves.counts_results(raw.frame) else found.has_throughput):
            return None
    told = {"problems": _said(raw) + record.problems, "columns": curve_columns.described(raw.frame)}
    return Log(kind="curves", record=replace(record, **told), comments=raw.comments)


def _results(raw: RawTable, name: str, as_sweep: Callable[[], Sweep]) -> Log | None:
    """Final losses over batch and learning rate, in a table that is no sweep; None where they tell no best rates."""
    if not rate_table.has_columns(list(raw.frame.columns)):
        return None
    if not rate_table.is_of_ends(raw, name, lengths=True):
        try:
            as_sweep()
            return None
        except SweepError:
            pass
    record = rate_table.read(raw, name)
    return record and Log(kind="grid", record=record, comments=raw.comments)


def _is_sweep(kind: str, raw: RawTable, as_sweep: Callable[[], Sweep]) -> bool:
    """Whether a table in doubt is a sweep: it has a result at several batches, which do not only grow through one run."""
    try:
        found = as_sweep().table
    except SweepError:
        return False
    if found["tokens_per_step"].nunique() < 2:
        return False
    if kind == "router":
        return bool(found["tokens_per_second"].notna().any())
    rows = np.flatnonzero(np.isin(raw.rows, found["row"]))
    return not noise.is_ramp(_pointed(raw.frame.iloc[rows], raw.decimal), found["tokens_per_step"].to_numpy())


def _pointed(frame: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """The table with numbers for the cells that text beside them kept from being read in this decimal notation."""
    if decimal == ".":
        return frame
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    found = {name: cells.numbers(frame[name], cells.COUNTS, decimal=decimal) for name in texts}
    return frame.assign(**{name: frame[name].astype(object).where(np.isnan(one), one) for name, one in found.items()})
