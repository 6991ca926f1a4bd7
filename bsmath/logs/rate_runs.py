"""Batch and learning rate of each row in a table of final losses, as the sweeps read them: from a batch in tokens, sequences times
their length, micro-batch times accumulation times replicas, "64k", or the names of the runs."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bsmath import sweeps
from bsmath.logs import run_names
from bsmath.sweeps import RawTable, SweepError, cells, columns
from bsmath.sweeps.assemble import RUN_NAMES, prepared

SIZES = columns.BATCHES | set(
    "grad_accum_steps data_parallel_size num_devices num_nodes model_parallel_size seq_len learning_rate".split()
)
"""Meanings of the columns from which a batch and a rate are read."""
RATE = "total_tokens_per_s"
"""Header of a constant throughput beside them: without a result the sweeps read no batch."""
QUESTIONS = ("batch_unit", "batch_scope", "num_devices")
"""Questions of the sweeps whose defaults are taken here; that for the length of a sequence is asked where the grid is shown."""
LARGEST = 1e15
"""No batch is larger."""
CROSSED, MOST_LENGTHS = 0.8, 20
"""Share of the pairs of batch and rate that must have several lengths for these to be no result, and most different lengths."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """The rows that have a batch and a rate."""

    table: pd.DataFrame
    """tokens_per_step [`unit`] and learning_rate."""
    frame: pd.DataFrame
    """All columns of the same rows, as the file has them."""
    unit: str
    """"tokens" or "sequences"."""
    decimal: str
    """Decimal mark of text cells."""
    problems: tuple[str, ...]
    """What was left out or assumed, in sentences."""

    def numbers(self, header: str) -> np.ndarray:
        """A column as numbers, nan where a cell is none."""
        scale = columns.recognize(header, is_number=True).scale
        return cells.numbers(self.frame[header], cells.COUNTS, scale, self.decimal)

    def meaning(self, header: str) -> str | None:
        """What a column means to the sweeps."""
        some = self.frame[header].head(1000)
        some = some[~cells.blank(some)]
        is_number = len(some) > 0 and np.isfinite(cells.numbers(some, cells.COUNTS)).mean() > 0.5
        return columns.recognize(header, is_number=bool(is_number)).meaning

    def lengths(self, headers: list[str]) -> dict[str, pd.Series]:
        """Columns of steps or tokens that are lengths which the runs were given: at most batches and rates, whatever their seed, there
        are several. Steps become tokens where these have fewer values."""
        batch, rate = self.table["tokens_per_step"], self.table["learning_rate"]
        seeds = [self.frame[name].astype(str) for name in map(str, self.frame.columns) if self.meaning(name) == "seed"]
        found = {}
        for header in headers:
            length = pd.Series(self.numbers(header), index=self.frame.index)
            tokens = (length * batch).map(lambda value: float(f"{value:.3g}"))
            if tokens.nunique() < length.nunique():
                header, length = self.unit, tokens
            several = length.groupby([batch, rate, *seeds]).nunique() > 1
            if several.mean() >= CROSSED and length.nunique() <= MOST_LENGTHS:
                found[header] = length
        return found


def is_name(header: str) -> bool:
    """Whether a column holds the names of runs."""
    return str(header).strip().lower().replace(" ", "_") in RUN_NAMES


def read(raw: RawTable, name: str) -> Runs | None:
    """The rows with a batch and a rate; None where there are none."""
    frame = prepared(raw).frame.reset_index(drop=True)
    if not len(frame):
        return None
    kept = [header for header in map(str, frame.columns) if is_name(header) or _meaning(header) in SIZES]
    pseudo = frame[kept].assign(**{RATE: 1.0})
    try:
        sweep = sweeps.of_table(replace(raw, frame=pseudo, rows=np.arange(len(frame)), questions=(), problems=()), name)
    except SweepError:
        return None
    table = sweep.table.reindex(columns=["row", "tokens_per_step", "learning_rate"])
    if table["learning_rate"].isna().all():
        table["learning_rate"] = _named_rates(frame.iloc[table["row"]])
    batch, rate = table["tokens_per_step"], table["learning_rate"]
    table = table[(batch > 0) & (batch < LARGEST) & (rate > 0) & (rate < np.inf)]
    if table.empty:
        return None
    rate = table["learning_rate"].map(lambda value: float(f"{value:.9g}"))  # 0.00030000000000000003 is 0.0003
    return Runs(
        table=table.assign(learning_rate=rate)[["tokens_per_step", "learning_rate"]].reset_index(drop=True),
        frame=frame.iloc[table["row"]].reset_index(drop=True),
        unit=sweep.batch_unit,
        decimal=raw.decimal,
        problems=_said(sweep, len(frame) - len(table), len(frame), kept),
    )


def _meaning(header: str) -> str | None:
    return columns.recognize(header, is_number=True).meaning


def _named_rates(frame: pd.DataFrame) -> np.ndarray:
    """The rates in the names of the runs."""
    for header in filter(is_name, map(str, frame.columns)):
        codes, different = pd.factorize(frame[header].astype(str))
        rates = [run_names.settings(one).get("learning_rate", np.nan) for one in different]
        if np.isfinite(rates).any():
            return np.array(rates)[codes]
    return np.full(len(frame), np.nan)


def _said(sweep: sweeps.Sweep, lost: int, rows: int, kept: list[str]) -> tuple[str, ...]:
    """What was left out, and what the sweeps assumed of the batch, in sentences."""
    said = [f"{lost} of {rows} rows have no positive batch and rate and are left out."] if lost else []
    asked = [one for one in sweep.questions if one.key in QUESTIONS and one.default is not None]
    said += [f"Assumed: {one.default} ({one.text})" for one in asked]
    doubts = [one for one in sweep.problems if one.row is None and one.column in kept]
    said += [f"{one.what[:1].upper()}{one.what[1:]}; {one.action}." for one in doubts]
    return tuple(said)
