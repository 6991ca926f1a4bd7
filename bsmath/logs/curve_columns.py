"""What each column of a log of runs was taken for, and the same log with columns taken for something else."""

from collections.abc import Mapping

import pandas as pd

from bsmath.logs import curve_headers, run_rates
from bsmath.sweeps import Column, cells, columns

HEADERS = {
    "step": ("step", "optimizer steps done"),
    "tokens": ("tokens", "tokens trained on so far"),
    "samples": ("consumed_samples", "sequences trained on so far"),
    "training": ("train_loss", "training loss"),
    "validation": ("val_loss", "validation loss"),
    "run": ("run", "name of the run"),
    "batch_tokens": ("batch_tokens", "global batch in tokens"),
    "batch_sequences": ("batch_seqs", "global batch in sequences"),
    "batch": ("batch", "global batch in a unit that the file does not name"),
    "learning_rate": ("learning_rate", "learning rate"),
    "seed": ("seed", "the seed"),
    "seq_len": ("seq_len", "tokens per sequence"),
    "model": ("model", "group: a series of its own"),
    "num_devices": ("n_gpus", "devices of the job"),
    "step_time": ("step_time_s", "seconds per step"),
    "tokens_per_second": ("tokens_per_s", "tokens per second of the whole job"),
    "tokens_per_second_per_device": ("tokens_per_s_per_gpu", "tokens per second and device"),
    "samples_per_second": ("samples_per_s", "sequences per second of the whole job"),
    "steps_per_second": ("steps_per_s", "optimizer steps per second"),
    "clock": ("wall_time_s", "clock in seconds"),
    "grad_norm": ("grad_norm", "gradient norm"),
    "dropped": ("dropped_fraction", "share of tokens that experts dropped"),
}
"""By meaning, the header under which every later stage knows a column, and the meaning in words."""
SAMPLE = 1000
"""Rows in which first values are looked for."""


def meaning(header: str) -> str | None:
    """A key of HEADERS, or None for a column that is not used."""
    name = header.split("/")[-1].strip().lower().replace(" ", "_")
    for found, names in (
        ("grad_norm", run_rates.GRADIENTS),
        ("dropped", run_rates.DROPPED),
        ("clock", run_rates.CLOCKS),
    ):
        if name in names:
            return found
    found = curve_headers.meaning(header) or columns.recognize(header, is_number=True).meaning
    return found if found in HEADERS else None


def described(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Every column with what it was taken for, and its first values."""
    found = []
    for header in map(str, frame.columns):
        column = frame[header]
        first = column.head(SAMPLE)
        first = first[~cells.blank(first)].head(3)
        meant = meaning(header)
        unit = columns.recognize(header, is_number=True).unit if meant in run_rates.DIRECT else ""
        told = tuple(str(value)[:60] for value in first)
        found.append(
            Column(header=header, meaning=meant, unit=unit, first_values=told, note="" if meant else "not used")
        )
    return tuple(found)


def mapped(frame: pd.DataFrame, wanted: Mapping[str, str | None]) -> pd.DataFrame:
    """The columns under other headers: those of `wanted` (header -> a key of HEADERS, or None for not used), and those that would
    take the place of one of them under a header that means nothing."""
    taken = {meant for meant in wanted.values() if meant}
    names = {}
    for position, header in enumerate(map(str, frame.columns), start=1):
        if header in wanted:
            names[header] = HEADERS[wanted[header]][0] if wanted[header] else f"column {position}"
        elif meaning(header) in taken:
            names[header] = f"column {position}"
    return frame.rename(columns=names)
