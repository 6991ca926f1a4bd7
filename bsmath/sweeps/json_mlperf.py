"""Reader of MLPerf's reference points: {entry: {"Benchmark", "BS", "Hyperparams", "Epochs to converge": [..]}}.

Each entry is one batch and learning rate, with one result a seed; each seed becomes a row. What the results count differs by file
under one key: `mlperf_units` settles it. The layout is that of
https://github.com/mlcommons/logging/tree/master/mlperf_logging/rcp_checker.

Results stand on the grid of the run's evaluations, so that seeds often agree to the digit and their spread says nothing. The spacing
of that grid is the greatest common divisor of an entry's different results, those far off its median aside. Where all seeds of an
entry agree, the median spacing of the other entries stands in, else the divisor of all results. It is at most the true spacing where
the first evaluation comes late, so the error that follows from it, spacing / sqrt(12), is never too large.
"""

from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd

from bsmath.quantities import parse_number
from bsmath.sweeps import delimited
from bsmath.sweeps.json_records import meaning
from bsmath.sweeps.json_text import clean
from bsmath.sweeps.mlperf_units import ENTRY, GRID, SIZE
from bsmath.sweeps.model import Problem, RawTable, SweepError

RATES = ("opt_base_learning_rate", "base_learning_rate", "opt_learning_rate", "opt_lr")
"""Hyperparameters that hold the base learning rate, beside those that any file may use."""

FAR_OFF = 3.0
"""Factor off the median of its entry from which a seed is named as a likely typing error."""

DECIMALS = 9
"""Decimals of a result that count for the grid."""


def table(value, name: str) -> RawTable | None:
    """The rows of every seed of every entry; None where this is no such file.

    Raises
    ------
    SweepError
        Where no entry has a batch and a result.
    """
    if not isinstance(value, dict) or not any(map(_result_key, value.values())):
        return None
    problems: list[Problem] = []
    entries = _alike([_entry(*each, problems) for each in enumerate(value.items(), start=1)], problems)
    if not entries:
        raise SweepError(f"{name} must have an entry with a batch and results, got none: {problems[0].what}")
    numbers = np.repeat([entry["number"] for entry in entries], [len(entry["results"]) for entry in entries])
    return RawTable(frame=_frame(entries), rows=numbers, problems=tuple(problems))


def _frame(entries: list[dict]) -> pd.DataFrame:
    """One row a seed; a setting that no entry has gets no column."""
    key = entries[0]["key"]
    columns = {header: [] for header in (ENTRY, "benchmark", "precision", SIZE, "seq_len", "learning_rate", key, GRID)}
    for entry, grid in zip(entries, _grids([entry["results"] for entry in entries]), strict=True):
        cells = entry["cells"] | {GRID: grid}
        for header, column in columns.items():
            column += entry["results"] if header == key else [cells.get(header)] * len(entry["results"])
    named = {header: column for header, column in columns.items() if any(cell is not None for cell in column)}
    return pd.DataFrame({header: delimited.typed(column) for header, column in named.items()})


def _result_key(entry) -> str | None:
    """The key of an entry's results; None where this is no entry."""
    if not isinstance(entry, dict) or SIZE not in entry:
        return None
    return next((key for key in entry if key.strip().lower().endswith("to converge")), None)


def _entry(number: int, named: tuple[str, object], problems: list[Problem]) -> dict | None:
    """Batch, settings and results of one entry; None where it has none."""
    name, entry = f"entry {clean(named[0])!r}", named[1]

    def lost(what: str) -> None:
        problems.append(Problem(row=number, column=None, what=f"{name} {what}", action="entry left out"))

    if (key := _result_key(entry)) is None:
        return lost("has no batch or no results" if isinstance(entry, dict) else "is no object")
    if (size := _number(entry[SIZE])) is None:
        return lost(f"has {clean(str(entry[SIZE]))[:40]!r} for its batch")
    cells = entry[key] if isinstance(entry[key], list) else [entry[key]]
    results = [found for cell in cells if (found := _number(cell)) is not None]
    if not results:
        return lost("has no result that is a positive number")
    _name_seeds(number, name, clean(key), cells, results, problems)
    settings = entry.get("Hyperparams") if isinstance(entry.get("Hyperparams"), dict) else {}
    texts = {
        each.lower(): clean(text) for each in ("Benchmark", "Precision") if isinstance(text := entry.get(each), str)
    }
    read = {ENTRY: clean(named[0]), SIZE: size, "learning_rate": _rate(settings), "seq_len": _length(settings)}
    return {"number": number, "key": clean(key), "results": results, "cells": texts | read}


def _name_seeds(number: int, name: str, key: str, cells: list, results: list[float], problems: list[Problem]) -> None:
    """Name the seeds without a usable result, and those far off the others."""
    if bad := [cell for cell in cells if _number(cell) is None]:
        what = (
            f"{name}: {len(bad)} of {len(cells)} results are no positive numbers, such as {clean(str(bad[0]))[:40]!r}"
        )
        problems.append(Problem(row=number, column=key, what=what, action="left out"))
    middle = float(np.median(results))
    for result in results:
        if _is_far(result, middle):
            what = f"{name}: {result:,g} is {max(result / middle, middle / result):.3g} times off its median of {middle:,g}"
            problems.append(Problem(row=number, column=key, what=what, action="kept; the median hardly notices it"))


def _alike(found: list[dict | None], problems: list[Problem]) -> list[dict]:
    """The entries of the most common benchmark and result key: others count something else."""
    entries = [entry for entry in found if entry]
    kinds = [(entry["key"], entry["cells"].get("benchmark", "")) for entry in entries]
    most = max(Counter(kinds).items(), key=lambda kind: kind[1])[0] if kinds else None
    for entry, kind in zip(entries, kinds, strict=True):
        if kind != most:
            what = f"entry {entry['cells'][ENTRY]!r} has {kind[0]!r} of {kind[1] or 'no benchmark'}, others {most[0]!r} of {most[1] or 'none'}"
            problems.append(Problem(row=entry["number"], column=None, what=what, action="entry left out"))
    return [entry for entry, kind in zip(entries, kinds, strict=True) if kind == most]


def _rate(settings: dict) -> float | None:
    """The base learning rate."""
    named = [*RATES, *(key for key in settings if meaning(clean(key)) == "learning_rate")]
    return next((rate for key in named if (rate := _number(settings.get(key))) is not None), None)


def _length(settings: dict) -> float | None:
    """Tokens per sequence, which few files have."""
    named = (key for key in settings if meaning(clean(key)) == "seq_len")
    return next((length for key in named if (length := _number(settings[key])) is not None), None)


def _number(cell) -> float | None:
    """A positive finite number, also as text; None for anything else."""
    if isinstance(cell, str):
        try:
            cell = parse_number(cell)
        except ValueError:
            return None
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return None
    return float(cell) if 0 < cell < float("inf") else None


def _is_far(result: float, middle: float) -> bool:
    return not 1 / FAR_OFF <= result / middle <= FAR_OFF


def _grids(entries: list[list[float]]) -> list[float]:
    """Spacing of the evaluations of each entry, in the unit of the results (see the module)."""
    kept = [{result for result in each if not _is_far(result, float(np.median(each)))} for each in entries]
    own = [_divisor(each) if len(each) > 1 else None for each in kept]
    known = [grid for grid in own if grid]
    other = float(np.median(known)) if known else _divisor(set().union(*kept))
    return [grid or other for grid in own]


def _divisor(results: set[float]) -> float:
    """Greatest common divisor of decimal numbers."""
    decimals = max(min(max(-Decimal(repr(each)).as_tuple().exponent, 0), DECIMALS) for each in results)
    whole = [round(each * 10**decimals) for each in results if each < 1e15]
    return float(np.gcd.reduce(np.array(whole, object))) / 10**decimals if whole else 1.0
