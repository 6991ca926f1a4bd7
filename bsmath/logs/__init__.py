"""Measured files that are no sweep over batch size: a noise-scale log, branches of a run, loads of a router.

A file is recognized by the headers of its table. A new kind is one module with `recognizes(headers)` and
`read(frame, name)`, and one entry in READERS.
"""

from dataclasses import dataclass

from bsmath.logs import branch, noise, router
from bsmath.logs.branch import BranchLog
from bsmath.logs.noise import NoiseLog
from bsmath.logs.router import RouterLog
from bsmath.sweeps import SweepError, delimited, layout, text

READERS = {"noise": noise, "branch": branch, "router": router}
"""Kinds by name; the first whose `recognizes` accepts the headers reads the file."""
NAMES = {"noise": "noise-scale log", "branch": "branch measurement", "router": "router loads"}
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
    return Log(kind=kind, record=READERS[kind].read(raw.frame, name), comments=raw.comments)
