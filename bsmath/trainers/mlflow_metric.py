"""Reader of a metric file of MLflow's file store: `timestamp value step` a line, with the timestamp in milliseconds.

Nothing in the file says what the value is: only its name does (mlruns/<experiment>/<run>/metrics/<name>). So a value counts as a
loss where the name says loss, and else only the steps and their times are read.
Source: mlflow/store/tracking/file_store.py (_log_run_metric).
"""

import re

from bsmath.sweeps.model import RawTable, SweepError
from bsmath.trainers import fields
from bsmath.trainers.fields import Progress, lines
from bsmath.trainers.records import Records

NAMES = {
    "learning_rate": ("lr", "learning_rate", "learningrate"),
    "grad_norm": ("grad_norm", "gradient_norm", "gnorm", "total_grad_norm"),
    "step_time_s": ("step_time_s", "step_time_sec", "time_per_step_s", "seconds_per_step"),
    "tokens_per_s": ("tokens_per_sec", "tokens_per_second", "tok_per_sec", "tokens_per_s"),
    "samples_per_s": ("samples_per_sec", "samples_per_second", "train_samples_per_second"),
    "tokens": ("tokens", "tokens_seen", "num_tokens", "num_input_tokens_seen"),
}
"""Last part of a metric's name by what it is."""
_LINE = re.compile(r"(1\d{11,12}) (\S{1,40}) (-?\d{1,15})\s*")
_OTHER = re.compile(r"(?:^|[^a-z])(?:aux|balanc\w*|scale|z|router|moe|target|best|min|max)(?:[^a-z]|$)")
_HELD_OUT = re.compile(r"(?:^|[^a-z])(?:val|valid|validation|eval|evaluation|test|dev)(?:[^a-z]|$)")


def recognizes(sample: str) -> bool:
    """Whether every line is a time in milliseconds, a value and a step; two are enough."""
    lines = [line for line in sample[:100_000].split("\n") if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines  # the last may be cut off
    return len(lines) > 1 and all(map(_LINE.fullmatch, lines))


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a line."""
    header, records = _header(name), Records(name)
    records.say(_said(header, name))
    for number, line in lines(text, progress):
        found = _LINE.fullmatch(line) if line.strip() else None
        if found is not None:
            value = {header: _value(header, found[2])} if header else {}
            records.add(number, step=int(found[3]), wall_time_s=int(found[1]) / 1000, **value)
        elif line.strip():
            records.problem(number, None, "the line is no time, value and step", "line left out")
    if not len(records):
        raise SweepError(f"{name} must have lines of a time, a value and a step, got none")
    return records.table()


def _value(header: str, text: str) -> float:
    return fields.loss(text) if header.endswith("_loss") else fields.number(text)


def _header(name: str) -> str | None:
    """What the values are, by the name of the file."""
    parts = re.split(r"[\\/]", re.sub(r"\.(txt|log|csv|metric)$", "", name.lower()))
    last = re.sub(r"[^a-z0-9]+", "_", parts[-1]).strip("_")
    said = "/".join(parts[-2:])
    if re.search(r"(?:^|[^a-z])loss(?:[^a-z]|$)", parts[-1]):
        if _OTHER.search(said):
            return None
        return "val_loss" if _HELD_OUT.search(said) else "train_loss"
    last = last.removeprefix("train_") if last not in NAMES["samples_per_s"] else last
    return next((header for header, names in NAMES.items() if last in names), None)


def _said(header: str | None, name: str) -> str:
    if header is None:
        return f"The name {name[:60]} does not say what the values are; only the steps and their times are read."
    return f"The values are taken as {header} after the name of the file; the times are milliseconds."
