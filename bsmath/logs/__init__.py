"""Measured files that are no sweep over batch size: a noise-scale log, branches of a run, loads of a router.

A file is recognized by the headers of its table. A new kind is one module with `recognizes(headers)` and
`read(frame, name)`, and one entry in READERS.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import sweeps
from bsmath.logs import branch, noise, router
from bsmath.logs.branch import BranchLog
from bsmath.logs.noise import NoiseLog
from bsmath.logs.router import RouterLog
from bsmath.sweeps import RawTable, SweepError, cells, delimited, layout, text

READERS = {"noise": noise, "branch": branch, "router": router}
"""Kinds by name; the first whose `recognizes` accepts the headers reads the file."""
IN_DOUBT = {"noise": noise.has_ratio_alone, "router": router.is_long}
"""Kinds whose columns a sweep may have too, and which of their tables are in doubt."""
NAMES = {"noise": "noise-scale log", "branch": "branch measurement", "router": "table of router loads"}
"""Kinds in words."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """One file and what was read from it."""

    kind: str
    """A key of READERS."""
    record: NoiseLog | BranchLog | RouterLog
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
    found = layout.find(delimited.head(data))
    kind = next((kind for kind, reader in READERS.items() if found and reader.recognizes(list(found.headers))), None)
    if kind is None:
        return None
    raw = delimited.read(data, name)
    if raw.frame.empty:
        raise SweepError(f"{name} must have usable rows below its header line, got none")
    if kind in IN_DOUBT and IN_DOUBT[kind](raw.frame) and _is_sweep(kind, data, name, raw):
        return None
    return Log(kind=kind, record=READERS[kind].read(_pointed(raw.frame, raw.decimal), name), comments=raw.comments)


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
