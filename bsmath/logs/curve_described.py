"""What a logged run was: its batch, rate, seed and lengths, by its columns, else by its name, else by the file's."""

import re

import numpy as np
import pandas as pd

from bsmath.logs import run_names
from bsmath.sweeps import cells

LARGEST = 1e15
"""No place, batch or loss is larger."""
RAMP = 0.02
"""Relative change of the tokens per step from which the batch of a run changes."""
MOST_PLACES = 10_000
"""Places of a long run between which its tokens per step are taken."""


class Cells:
    """The number columns of a log, each read once."""

    def __init__(self, frame: pd.DataFrame, headers: dict[str, list[str]]):
        self.frame, self.headers = frame, headers
        self._numbers: dict[str, np.ndarray] = {}

    def numbers(self, header: str) -> np.ndarray:
        """A column as floats, nan where it is no number or too large."""
        if header not in self._numbers:
            found = cells.numbers(self.frame[header], cells.COUNTS)
            if max(np.fmax.reduce(found, initial=0), -np.fmin.reduce(found, initial=0)) >= LARGEST:  # nan aside
                found = np.where((found > -LARGEST) & (found < LARGEST), found, np.nan)
            self._numbers[header] = found
        return self._numbers[header]

    def of(self, meaning: str, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Some rows of the first column of a meaning; empty where there is none."""
        return self.numbers(self.headers[meaning][0])[rows] if self.headers.get(meaning) else np.empty(0)

    def first(self, meaning: str, rows: np.ndarray | slice) -> str:
        """The first of these cells as text; empty where there is no such column."""
        return str(self.frame[self.headers[meaning][0]].iloc[rows].iloc[0]) if self.headers.get(meaning) else ""


def described(logged: Cells, rows: np.ndarray | slice, name: str) -> tuple[dict, str]:
    """What the run in these rows was, and a sentence on what is wrong."""
    label = logged.first("run", rows) or run_names.bare(name)
    named = run_names.settings(name) | run_names.settings(label)
    batch, unit = named.get("batch", np.nan), "tokens" if named.get("in_tokens") else ""
    for kind in ("batch", "batch_sequences", "batch_tokens"):
        size = _constant(logged.of(kind, rows))
        batch, unit = (size, kind[6:]) if size > 0 else (batch, unit)
    per_step, changes = _slope(logged, rows, "tokens")
    sequences, ramps = _slope(logged, rows, "samples")
    if not batch > 0 and sequences > 0:
        batch, unit = sequences, "sequences"
    rate, problem = _rate(logged.of("learning_rate", rows), named)
    if not batch > 0 and not per_step > 0:
        batch, unit, said = _product(logged, rows, named)
        problem = problem or said
    if changes or ramps:
        batch, per_step, problem = np.nan, np.nan, "its batch changes during the run, so it is no point of a sweep."
    found = {
        "label": label[:80],
        "batch": batch,
        "batch_in": unit,
        "tokens_per_step": per_step,
        "learning_rate": rate,
        "seed": _seed(logged.first("seed", rows), named.get("seed", np.nan)),
        "seq_len": _first(_constant(logged.of("seq_len", rows)), named.get("seq_len", np.nan)),
        "num_devices": named.get("num_devices", np.nan),
        "model": logged.first("model", rows),
    }
    return found, problem


def _product(logged: Cells, rows: np.ndarray | slice, named: dict) -> tuple[float, str, str]:
    """Micro-batch x accumulation x replicas, by columns or by the name; with its unit and the sentence that says so."""
    parts = {
        name: _first(_constant(logged.of(name, rows)), named.get(name, np.nan))
        for name in ("micro_batch", "accum", "replicas")
    }
    if not parts["micro_batch"] > 0 or not parts["replicas"] > 0:
        return np.nan, "", ""
    accum = parts["accum"] if parts["accum"] > 0 else 1.0
    batch = parts["micro_batch"] * accum * parts["replicas"]
    product = f"{parts['micro_batch']:g} (micro-batch) x {accum:g} (accumulation) x {parts['replicas']:g} (replicas)"
    return batch, "sequences", f"its batch was taken for {product} = {batch:g} sequences."


def _first(value: float, other: float) -> float:
    """The first of two numbers that is one."""
    return other if np.isnan(value) else value


def _seed(first: str, named: float) -> float:
    """The first value of a column of seeds, else the name's; a seed that is a word counts by its digits."""
    if not first:
        return named
    digits = re.sub(r"[^0-9]", "", first.split(".")[0])
    return float(digits[:15]) if digits else np.nan


def _constant(values: np.ndarray) -> float:
    """The median of a column that hardly changes; nan for one that does."""
    values = values if len(values) and values.min() > 0 else values[values > 0]
    if not len(values) or (largest := values.max()) > (least := values.min()) * (1 + RAMP):
        return np.nan
    return float(least if least == largest else np.median(values))


def _slope(logged: Cells, rows: np.ndarray | slice, counted: str) -> tuple[float, bool]:
    """Tokens or samples per step, and whether they change during the run."""
    step, count = logged.of("step", rows), logged.of(counted, rows)
    if not len(step) or not len(count):
        return np.nan, False
    known = np.flatnonzero(~(np.isnan(step) | np.isnan(count)))
    known = cells.spread(known, MOST_PLACES)
    steps, counts = np.diff(step[known]), np.diff(count[known])
    usable = steps > 0
    each = counts[usable] / steps[usable]
    if len(each) < 2 or not (each >= 1).all():
        return np.nan, False
    if each.min() == each.max():
        return float(each[0]), False
    low, middle, high = np.quantile(each, [0.1, 0.5, 0.9])
    return float(middle), bool(high > low * (1 + RAMP))


def _rate(logged: np.ndarray, named: dict) -> tuple[float, str]:
    """The peak rate of a run: of a column that is constant, of the name, or the largest of a schedule."""
    logged = logged[logged > 0]
    peak = float(f"{logged.max():.9g}") if len(logged) else np.nan
    said = named.get("learning_rate", np.nan)
    if said > 0 and peak > 0 and abs(said / peak - 1) > RAMP:
        if np.isnan(_constant(logged)):
            return said, f"its name says the rate {said:g}, the largest that it logged is {peak:g}; the name is taken."
        return peak, f"its name says the rate {said:g}, its column {peak:g}; the column is taken."
    return (said if said > 0 else peak), ""
