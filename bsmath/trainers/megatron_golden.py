"""Golden values of Megatron-LM's functional tests: JSON of one object a metric, its values by iteration.

    {"lm loss": {"start_step": 1, "end_step": 50, "step_interval": 1, "values": {"1": 10.9, "2": 10.8}},
        "iteration-time": ...}

Source: tests/functional_tests of Megatron-LM. The names are those of its TensorBoard writer: `iteration-time` is in
seconds, `batch-size` is the job's in sequences. Older files hold a list from `start_step` on, a value every
`step_interval`; a value that is missing is "nan".
"""

import json
import math
import re

from bsmath.sweeps.model import RawTable, SweepError
from bsmath.trainers.fields import Progress
from bsmath.trainers.records import MOST_ROWS, Records

_SHAPE = re.compile(r'"start_step"\s{0,20}:\s{0,20}\d{1,12}\s{0,20},')
_METRICS = {
    "lm loss": "train_loss",
    "lm loss validation": "val_loss",
    "iteration-time": "step_time_s",
    "learning-rate": "learning_rate",
    "grad-norm": "grad_norm",
    "batch-size": "batch_seqs",
}


def recognizes(sample: str) -> bool:
    """Whether this is JSON with the step range and the values of a metric."""
    return (
        sample.lstrip()[:1] == "{"
        and '"step_interval"' in sample
        and '"values"' in sample
        and bool(_SHAPE.search(sample))
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row an iteration."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SweepError(f"{name} must be whole JSON, got {str(error)[:60]}") from error
    if not isinstance(tree, dict):
        raise SweepError(f"{name} must be an object of metrics, got {type(tree).__name__}")
    steps: dict[int, dict] = {}
    for metric, header in _METRICS.items():
        for step, value in _values(tree.get(metric)):
            diverged = math.isnan(value) and header.endswith("loss")
            steps.setdefault(step, {})[header] = math.inf if diverged else value
    if len(steps) > MOST_ROWS:
        raise SweepError(f"{name} must have at most {MOST_ROWS:,} steps, got {len(steps):,}")
    records = Records(name)
    for count, step in enumerate(sorted(steps), 1):
        records.add(count, step=step, **steps[step])
    unused = [str(metric)[:40] for metric in tree if metric not in _METRICS]
    if unused:
        records.say(f"metrics that say nothing of the batch: {', '.join(unused[:8])}")
    return records.table()


def _values(series) -> list[tuple[int, float]]:
    """Steps and values of one metric; what is no series has none."""
    if not isinstance(series, dict):
        return []
    values = series.get("values")
    if isinstance(values, list):
        start, interval = series.get("start_step"), series.get("step_interval")
        if type(start) is not int or type(interval) is not int:
            return []
        pairs = [(start + place * interval, value) for place, value in enumerate(values)]
    elif isinstance(values, dict):
        pairs = [(int(step), value) for step, value in values.items() if step.isdecimal() and len(step) < 13]
    else:
        return []
    return [(step, number) for step, value in pairs if 0 <= step < 1e12 and (number := _number(value)) is not None]


def _number(value) -> float | None:
    """A value; None where there is none, nan where it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
