"""The measurements that ship with the project, made with its own harness (see the first lines of each file)."""

from functools import cache
from pathlib import Path

from bsmath import comparison, logs, measured, presets, sweeps
from bsmath.comparison import Value
from bsmath.logs import Log
from bsmath.measured import Measurement

FOLDER = presets.DATA / "measured"
QUANTITIES = {
    "throughput": "tokens_per_second",
    "convergence": "steps",
    "together_throughput": "tokens_per_second",
    "together_convergence": "steps",
}
"""Kinds that are sweeps over batch size, and what each has measured."""


def path(kind: str) -> Path:
    """The file of one kind of measurement: throughput, convergence, noise, branch or router; together_throughput and
    together_convergence are two sweeps of one model on one machine."""
    return next(FOLDER.glob(f"{kind}_*.csv"))


@cache
def log(kind: str) -> Log:
    """The noise-scale log, the branches or the router loads."""
    found = logs.read(path(kind).read_bytes(), path(kind).name)
    if found is None or found.kind != kind:
        raise ValueError(f"{path(kind).name} must be a {logs.NAMES[kind]}, got another file")
    return found


@cache
def sweep(kind: str) -> Measurement:
    """The throughput sweep or the convergence sweep, fitted."""
    found = sweeps.read(path(kind).read_bytes(), path(kind).name)
    return measured.measurement(found, found.series[0], QUANTITIES[kind])


@cache
def critical_values() -> list[Value]:
    """The critical batch of the small model by its three measurements."""
    return comparison.values(sweep("convergence").fit, log("noise").record, log("branch").record.branches)
