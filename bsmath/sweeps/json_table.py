"""Reader of JSON: the table in a document or in JSON lines that names a batch and a result; of several the longest."""

from dataclasses import replace

import numpy as np
import pandas as pd

from bsmath.sweeps import delimited, json_gavel, json_mlperf, json_shapes, json_text, layout
from bsmath.sweeps.json_shapes import Table, block_rows
from bsmath.sweeps.model import Problem, RawTable, SweepError

MOST_CELLS = 10_000_000
"""Rows times columns of a table."""

WANTED = "measurements over batch size, such as a list of objects with a batch and a rate or a step time"
"""What is needed, for messages."""

COMMENTS = ("comment", "comments", "_comment", "note", "notes", "description")
"""Keys of the document whose text is about the file."""

recognizes = json_text.recognizes


def read(data: bytes, name: str, decimal: str | None = None) -> RawTable:
    """The table of a document or of JSON lines."""
    parsed = json_text.load(data, name)
    value, comments = _without_comments(parsed.value)
    if log := _log(value):
        raise SweepError(f"{name} must hold {WANTED}, got {log}")
    if (points := json_mlperf.table(value, name)) is not None:
        return replace(points, comments=comments, problems=(*parsed.problems, *points.problems))
    problems = list(parsed.problems)
    if gavel := json_gavel.rows(value):
        best = Table(blocks=gavel[0])
        problems += _left_out(gavel[1])
    else:
        best = max(json_shapes.tables(value), key=lambda table: (table.score, table.rows), default=None)
    if best is None or best.score == 0 or best.score == 1 and _settings(value):
        raise SweepError(f"{name} must hold {WANTED}, got {_settings(value) or _kind(value)}")
    frame, rows = _frame(best, name)
    if len(parsed.lines) == len(best.blocks) > 1:
        rows = np.array(parsed.lines)[rows - 1]
    return RawTable(frame=frame, rows=rows, comments=comments, decimal=decimal or ".", problems=tuple(problems))


def _frame(table: Table, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows of all blocks, and the number of the block of each; of the row where there is one block."""
    lengths = np.array([block_rows(block) for block in table.blocks])
    headers = list(table.headers)
    if lengths.sum() * len(headers) > MOST_CELLS:
        got = f"{lengths.sum():,} with {len(headers):,} different keys"
        raise SweepError(f"{name} must hold records with a few keys each, got {got}")
    columns = []
    for header in headers:
        cells: list = []
        for block, length in zip(table.blocks, lengths, strict=True):
            value = block.get(header)
            cells += value if isinstance(value, list) else [value] * length
        columns.append(delimited.typed(cells))
    frame = pd.DataFrame(dict(zip(layout.unique(headers), columns, strict=True)))
    number = np.repeat(np.arange(len(lengths)), lengths) if len(lengths) > 1 else np.arange(lengths.sum())
    return frame, number + 1


def _left_out(pairs: int) -> list[Problem]:
    if not pairs:
        return []
    what = f"{pairs:,} rates are of two jobs that share a device"
    return [Problem(row=None, column=None, what=what, action="left out; only jobs that run alone are a sweep")]


def _without_comments(value) -> tuple[object, tuple[str, ...]]:
    """The document without the texts that are about it, and these."""
    if not isinstance(value, dict):
        return value, ()
    about = {key: each for key, each in value.items() if key.lower() in COMMENTS and isinstance(each, str)}
    rest = {key: each for key, each in value.items() if key not in about}
    return rest, tuple(json_text.clean(each) for each in about.values())


def _log(value) -> str:
    """What a known file of one run is; empty where it is none."""
    if not isinstance(value, dict):
        return ""
    if "log_history" in value:
        return "the trainer_state.json of Hugging Face, the log of one run"
    if value and all(isinstance(each, dict) and {"values", "start_step"} <= set(each) for each in value.values()):
        return "golden values of a Megatron test, the log of one run"
    if {"_runtime", "_step"} <= set(value):
        return "a W&B summary, the last values of one run"
    return ""


def _settings(value) -> str:
    """What a known file of settings is; empty where it is none."""
    if not isinstance(value, dict):
        return ""
    if "architectures" in value or "model_type" in value:
        return "the configuration of a model, in which nothing was measured"
    if "zero_optimization" in value or "train_micro_batch_size_per_gpu" in value:
        return "a configuration of DeepSpeed, in which nothing was measured"
    return ""


def _kind(value) -> str:
    if isinstance(value, list) and value:
        records = [each for each in value if isinstance(each, dict)]
        return f"a list of {len(value):,} {'objects' + _keys(records[0]) if records else 'values'}"
    if isinstance(value, dict) and value:
        return f"an object{_keys(value)}"
    return "empty JSON" if value in ([], {}) else "a single JSON value"


def _keys(record: dict, most: int = 8) -> str:
    keys = [json_text.clean(key)[:40] for key in record]
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return f" with the keys {', '.join(keys[:most])}{more}"
