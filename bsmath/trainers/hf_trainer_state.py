"""Reader of trainer_state.json, in which Hugging Face's Trainer keeps the history of a run and what it was.

The records stand in log_history. `train_batch_size` is that of one device (transformers, `TrainerState`), so it is no batch of
the run: that follows from the last record, where the run was finished.
"""

import re

from bsmath.sweeps import json_text
from bsmath.sweeps.model import RawTable, SweepError
from bsmath.trainers import hf_records
from bsmath.trainers.fields import Progress
from bsmath.trainers.records import Records

_HISTORY = re.compile(r'"log_history"\s*:\s*\[')


def recognizes(sample: str) -> bool:
    """Whether a text begins like a JSON object and has a history of the Trainer's."""
    return sample.lstrip().startswith("{") and _HISTORY.search(sample) is not None and '"global_step"' in sample


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a step (two where a step was logged twice with different values)."""
    state = json_text.load(text.encode("utf-8", "replace"), name).value
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise SweepError(f"{name} must hold one object with a list log_history, got none")
    logged = [(number, record) for number, record in enumerate(history, start=1) if isinstance(record, dict)]
    records = Records(name)
    _settings(records, state)
    evaluated, others = hf_records.evaluation([record for _, record in logged])
    hf_records.say_left_out(records, evaluated, others)
    micro = hf_records.whole_number(state.get("train_batch_size"))
    steps = hf_records.whole_number(state.get("max_steps"))
    for number, record in logged:
        _add(records, number, record, evaluated)
        if "train_runtime" in record:
            hf_records.totals(records, number, record, steps or hf_records.whole_number(record.get("step")), micro)
    return records.table()


def _add(records: Records, number: int, record: dict, evaluated: str | None) -> None:
    found = hf_records.row(record, evaluated)
    if not found:
        return
    step = hf_records.whole_number(record.get("step"))
    if step is None:
        got = str(record.get("step"))[:40]
        records.problem(number, "step", f"the step must be a whole number, got {got}", "record left out")
        return
    records.add(number, step=step, **found)


def _settings(records: Records, state: dict) -> None:
    """Constants beside the history."""
    micro = hf_records.whole_number(state.get("train_batch_size"))
    if micro:
        records.setting(1, "micro_batch", micro)
        records.say("train_batch_size is the batch of one device, before accumulation: not the batch of the run.")
    done, planned = (hf_records.whole_number(state.get(key)) for key in ("global_step", "max_steps"))
    if done is not None and planned:
        records.setting(1, "state", "finished" if done >= planned else f"stopped at {done:,} of {planned:,} steps")
