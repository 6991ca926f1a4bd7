"""Measured files that are no sweep over batch size: a noise-scale log, branches of a run, loads of a router, loss curves.

A file is recognized by the headers of its table. A new kind is one module with `recognizes(headers)` and
`read(frame, name)`, and one entry in READERS.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bsmath import sweeps
from bsmath.logs import branch, curves, noise, noise_wide, router
from bsmath.logs.branch import BranchLog
from bsmath.logs.curves import LossCurves
from bsmath.logs.noise import NoiseLog
from bsmath.logs.router import RouterLog
from bsmath.sweeps import RawTable, SweepError, cells, delimited, json_lines, layout, text

READERS = {"noise": noise, "branch": branch, "router": router, "curves": curves}
"""Kinds by name; the first whose `recognizes` accepts the headers reads the file."""
IN_DOUBT = {"noise": noise.has_ratio_alone, "router": router.is_long}
"""Kinds whose columns a sweep may have too, and which of their tables are in doubt."""
NAMES = {
    "noise": "noise-scale log",
    "branch": "branch measurement",
    "router": "table of router loads",
    "curves": "file of loss curves",
}
"""Kinds in words."""
MOST_NAMED = 5
"""Rows of loss curves that could not be read, of which each is named."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """One file and what was read from it."""

    kind: str
    """A key of READERS."""
    record: NoiseLog | BranchLog | RouterLog | LossCurves
    """The measurement."""
    comments: tuple[str, ...]
    """Comment lines above the header."""


def read(data: bytes, name: str) -> Log | None:
    """The log in a file; None where its table is of no such kind (it may still be a sweep).

    Raises
    ------
    SweepError
        Where the file is no text, or is such a log without a usable row; the sentence says why.
    """
    name = name.strip()[:80] or "file"
    data = text.clean(data, name)
    table = _table(data, name)
    if table is None:
        return None
    headers, raw = table
    kind = next((kind for kind, reader in READERS.items() if reader.recognizes(headers)), None)
    if kind is None:
        return None
    raw = raw or delimited.read(data, name)
    if kind == "curves":
        return _curves(data, name, raw)
    if raw.frame.empty:
        raise SweepError(f"{name} must have usable rows below its header line, got none")
    if kind in IN_DOUBT and IN_DOUBT[kind](raw.frame) and _is_sweep(kind, data, name, raw):
        return None
    given = {"comments": raw.comments} if kind == "noise" else {}
    record = READERS[kind].read(_pointed(raw.frame, raw.decimal), name, **given)
    return Log(kind=kind, record=record, comments=raw.comments)


def _table(data: bytes, name: str) -> tuple[list[str], RawTable | None] | None:
    """The headers of a table, and the table where it had to be read for them; None where there is none."""
    head = delimited.head(data)
    if json_lines.recognizes(head):
        raw = json_lines.read(data, name)
    elif head.lstrip().startswith(("{", "[")):
        raw = json_lines.read_list(data, name)
    else:
        found = layout.find(head)
        return found and ([*found.headers, *noise_wide.constants(found.comments)], None)
    return raw and (list(raw.frame.columns), raw)


def _curves(data: bytes, name: str, raw: RawTable) -> Log | None:
    """Loss curves; None where the rows are rather results of runs, or rates of one run whose batch changes."""
    try:
        record = curves.read(_pointed(raw.frame, raw.decimal), name)
    except SweepError:
        return None
    if not record.has_curve:
        return None
    if curves.counts_results(raw.frame) or record.runs["batch"].isna().all():
        try:
            found = sweeps.read(data, name)
        except SweepError:
            found = None
        if found is not None and (found.has_steps if curves.counts_results(raw.frame) else found.has_throughput):
            return None
    said = tuple(f"Row {one.row:,}: {one.what}; {one.action}." for one in raw.problems[:MOST_NAMED])
    return Log(kind="curves", record=replace(record, problems=said + record.problems), comments=raw.comments)


def _is_sweep(kind: str, data: bytes, name: str, raw: RawTable) -> bool:
    """Whether a table in doubt is a sweep: it has a result at several batches, which do not only grow through one run."""
    try:
        found = sweeps.read(data, name).table
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
