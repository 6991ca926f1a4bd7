"""Tokens per second of the whole job, from the column that says it most directly."""

import numpy as np

from bsmath.sweeps import infer
from bsmath.sweeps.draft import Draft

KINDS = (
    "tokens_per_second",
    "tokens_per_second_per_device",
    "step_time",
    "samples_per_second",
    "samples_per_second_per_device",
    "steps_per_second",
)
"""Meanings of columns that give a rate, the most direct first."""

ALIKE = 0.03
"""Relative difference within which rate times step time is the batch."""


def tokens_per_second(draft: Draft, batch: np.ndarray, unit: str, alone: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rate [tokens/s] and step time [s] of each row; nan where there is none.

    Parameters
    ----------
    draft : Draft
        The import.
    batch : ndarray
        Batch in `unit`.
    unit : str
        "tokens" or "sequences".
    alone : bool
        Whether the rate is the only result, so that a row without it is lost.
    """
    nothing = np.full(len(batch), np.nan)
    header = _chosen(draft)
    times = draft.headers("step_time")
    if header is None:
        return nothing, nothing
    values = draft.used(header, "row left out" if alone else "value ignored")
    draft.notes[header] = draft.notes.get(header, "the throughput")
    step_time = draft.numbers(times[0]) if times else nothing
    if times and header != times[0]:
        draft.notes[times[0]] = "the step time"
    meaning = draft.found[header].meaning
    if meaning == "step_time":
        return batch / values, values
    if meaning == "steps_per_second":
        return batch * values, 1 / values
    if meaning.startswith("samples"):
        values = values * _tokens_per_sample(draft, batch, unit)
    return values * _devices(draft, header, values, batch, step_time), step_time


def _chosen(draft: Draft) -> str | None:
    """The column of the rate; a question where several say the same of different things."""
    candidates = [header for header in draft.headers(*KINDS) if np.isfinite(draft.numbers(header)).any()]
    if "throughput_column" in draft.answers:
        return draft.answers["throughput_column"]
    if not candidates:
        return next(iter(draft.headers(*KINDS)), None)
    same = draft.headers(draft.found[candidates[0]].meaning)
    same = tuple(header for header in same if header in candidates)
    if len(same) > 1:
        return draft.ask("throughput_column", "Which column is the throughput?", same, same[0])
    return same[0]


def _tokens_per_sample(draft: Draft, batch: np.ndarray, unit: str) -> np.ndarray | float:
    if unit == "sequences":
        return 1.0
    known = infer.seq_len_known(draft)
    if known is not None:
        return known
    sequences = draft.headers("batch_sequences")
    return batch / draft.numbers(sequences[0]) if sequences else infer.seq_len(draft, batch) or np.nan


def _devices(draft: Draft, header: str, values, batch, step_time) -> np.ndarray | float:
    """Factor from a rate to that of the whole job."""
    found = infer.devices(draft)
    if draft.found[header].meaning.endswith("_per_device"):
        if found is None:
            text = "On how many devices did this run? The file gives its rate per device."
            found = float(draft.ask("num_devices", text, default="1"))
        return found
    if draft.answers.get("rate_scope") == "device" and found is not None:
        return found
    if infer.job_rate_sure(draft, header) or _whole(values * step_time, batch):
        return 1.0
    if _whole(values * step_time * found, batch):
        draft.notes[header] = "the throughput; per device, as rate x step time x devices is the batch"
        return found
    text = f"Is {header!r} the rate of the whole job, or of one device?"
    return found if draft.ask("rate_scope", text, ("job", "device"), "job") == "device" else 1.0


def _whole(product: np.ndarray, batch: np.ndarray) -> bool:
    ratio = product / batch
    ratio = ratio[np.isfinite(ratio)]
    return len(ratio) > 0 and bool(np.abs(ratio - 1).max() <= ALIKE)
