"""Lines of a log -> one table with a row a step, under the headers that every later stage knows.

A reader of one format calls `add` for each line that it understands and `setting` for each constant that the log states once
(its batch, its sequence length); lines of one step become one row, and a line that another rank prints again is dropped.
"""

import math

import numpy as np
import pandas as pd

from bsmath.sweeps.model import Problem, RawTable, SweepError

HEADERS = {
    "step": "optimizer steps done [steps]",
    "tokens": "tokens trained on so far [tokens]",
    "consumed_samples": "sequences trained on so far [sequences]",
    "train_loss": "training loss; inf where it was no number [nats/token]",
    "val_loss": "validation loss; inf where it was no number [nats/token]",
    "learning_rate": "rate at this step",
    "grad_norm": "gradient norm before clipping; never its square",
    "step_time_s": "wall-clock of one optimizer step [s]",
    "tokens_per_s": "whole job [tokens/s]",
    "tokens_per_s_per_gpu": "per device [tokens/s]",
    "samples_per_s": "whole job [sequences/s]",
    "samples_per_s_per_gpu": "per device [sequences/s]",
    "steps_per_s": "optimizer steps [1/s]",
    "wall_time_s": "clock, from any start [s]",
    "batch_tokens": "global batch [tokens]",
    "batch_seqs": "global batch [sequences]",
    "micro_batch": "what one replica forwards at once [sequences]",
    "accum": "micro-batches per replica and step",
    "replicas": "data-parallel replicas",
    "n_gpus": "devices of the job",
    "seq_len": "tokens per sequence [tokens]",
    "dropped_fraction": "share of the routed tokens that experts dropped, 0-1",
    "mfu": "model-FLOPs utilization, 0-1",
    "params": "parameters",
    "seed": "the seed",
    "model": "name of the model",
    "run": "name of the run",
    "state": "how the run ended, as the log says: finished, crashed ...",
}
"""What a row may hold, in base units."""

LOSSES = ("train_loss", "val_loss")
"""Headers under which inf means that the run had no number."""
MOST_ROWS = 5_000_000
"""Rows of one log."""


class Records:
    """The rows of one log while it is read."""

    def __init__(self, name: str):
        self.name = name
        self._rows: list[dict] = []
        self._lines: list[int] = []
        self._settings: dict[str, object] = {}
        self._restated: dict[str, object] = {}
        self._changes: list[tuple[int, str, object]] = []
        self._said: list[str] = []
        self._problems: list[Problem] = []

    def add(self, line: int, **values) -> None:
        """What one line says of one step; a value that is None or nan is left out, and an infinite one that is no loss. Headers
        are those of HEADERS."""
        row = {
            header: value
            for header, value in values.items()
            if value is not None and value == value and (value != math.inf or header in LOSSES)
        }
        last = self._rows[-1] if self._rows else {}
        if "step" in row and last.get("step") == row["step"]:
            if all(last.get(header, value) == value for header, value in row.items()):
                last.update(row)
                return
        if "step" in row and row["step"] < last.get("step", -math.inf):  # another run, or one that goes on from before
            self._changes += [(len(self._rows), header, value) for header, value in self._restated.items()]
            self._restated = {}
        self._rows.append(row)
        self._lines.append(line)

    def setting(self, line: int, header: str, value) -> None:
        """A constant of the run. The first statement counts; another one after rows counts from where the steps go back."""
        if value is None or value != value:
            return
        if header not in self._settings:
            self._settings[header] = value
            shown = f"{value:,.10g}" if isinstance(value, int | float) else str(value)[:60]
            self._said.append(f"line {line:,}: {header} {shown}")
        elif self._rows:
            self._restated[header] = value

    def say(self, sentence: str) -> None:
        """Something that the reader assumed or knows of this format; shown with the import."""
        self._said.append(sentence)

    def problem(self, line: int | None, column: str | None, what: str, action: str) -> None:
        """Something that is not as it should be."""
        self._problems.append(Problem(row=line, column=column, what=what, action=action))

    def __len__(self) -> int:
        return len(self._rows)

    def table(self) -> RawTable:
        """The rows under the union of their headers, with the settings in columns of their own."""
        if not self._rows:
            raise SweepError(f"{self.name} must have lines of steps that can be read, got none")
        if len(self._rows) > MOST_ROWS:
            raise SweepError(f"{self.name} must have at most {MOST_ROWS:,} steps, got {len(self._rows):,}")
        frame = pd.DataFrame.from_records(self._rows)
        for header, value in self._settings.items():
            stated = pd.Series(value, frame.index)
            for first, changed, other in self._changes:
                if changed == header:
                    stated = stated.where(stated.index < first, other)
            frame[header] = frame[header].fillna(stated) if header in frame else stated
        frame = frame[[header for header in HEADERS if header in frame]]
        return RawTable(
            frame=frame, rows=np.array(self._lines), comments=tuple(self._said), problems=tuple(self._problems)
        )
