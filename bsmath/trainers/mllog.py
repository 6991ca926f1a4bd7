"""Reader of MLPerf's `:::MLLOG` lines: a JSON object of key, value, time and metadata behind a mark, anywhere in a line.

A place counts samples, tokens or steps (see `mllog_run`). `eval_accuracy` is the metric of the benchmark, which
is a loss in some and an accuracy in others. Source: mlcommons/logging (mllog) and the callbacks of submissions to MLPerf training.
"""

import json

from bsmath.sweeps.model import RawTable, SweepError
from bsmath.trainers.fields import Progress, lines
from bsmath.trainers.mllog_run import LOSS_IS_METRIC, Run
from bsmath.trainers.records import Records

MARK = ":::MLLOG"
_DECODER = json.JSONDecoder()


def recognizes(sample: str) -> bool:
    """Whether a text has two events, or one and nothing else."""
    lines = [line for line in sample.split("\n") if MARK in line]
    found = sum(_event(line) is not None for line in lines[:50])
    return found > 1 or (found == 1 and len(lines) == 1)


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a place at which a run reported something; several runs of one file are told apart by their number."""
    records, runs = Records(name), [Run()]
    for number, line in lines(text, progress):
        if MARK not in line:
            continue
        event = _event(line)
        if event is None:
            records.problem(number, None, "the object behind :::MLLOG is cut off or broken", "line left out")
            continue
        if runs[-1].stopped and event["key"] in ("cache_clear", "init_start", "run_start", "submission_benchmark"):
            runs.append(Run())
        runs[-1].take(number, event)
    runs = [run for run in runs if run.events]
    for count, run in enumerate(runs, start=1):
        _write(records, run, f"run {count}" if len(runs) > 1 else None)
    if not len(records):
        raise SweepError(f"{name} must have events of a training at some sample or step, got settings alone")
    return records.table()


def _write(records: Records, run: Run, label: str | None) -> None:
    """The rows of one run; what holds for it stands in each row where there are several runs."""
    constants, rows = run.constants(), run.rows()
    told = {header: value for header, value in (("run", label), ("state", run.state)) if value}
    if label is None:
        for line, header, value in constants:
            records.setting(line, header, value)
    else:
        told = {header: value for _, header, value in constants} | told
    complete = all("step" in row for _, row in rows)
    for line, row in rows:
        row = row if complete else {header: value for header, value in row.items() if header != "step"}
        records.add(line, **(told | row))
    _say(records, run, [row for _, row in rows])


def _event(line: str) -> dict | None:
    """The object behind the mark; None where it is none."""
    begin = line.find("{", line.find(MARK))
    try:
        event = _DECODER.raw_decode(line, begin)[0] if begin >= 0 else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("key"), str):
        return None
    metadata = event.get("metadata")
    return event | {"metadata": metadata if isinstance(metadata, dict) else {}}


def _say(records: Records, run: Run, rows: list[dict]) -> None:
    """What was assumed of one run."""
    evaluated = any(key == "eval_accuracy" for _, key, *_ in run.events)
    if evaluated and run.benchmark not in LOSS_IS_METRIC:
        records.say(f"eval_accuracy of {run.benchmark or 'this benchmark'} is not known to be a loss and is left out.")
    if run.counts_steps():
        records.say("metadata.step is no multiple of the global batch, so it counts steps.")
    if not any("learning_rate" in row for row in rows) and "opt_base_learning_rate" in run.settings:
        records.say("The learning rate is opt_base_learning_rate, the peak of its schedule.")
    if run.state is None:
        records.say("There is no run_stop: the run was cut off, or was still going on.")
