"""Optimizer steps to the target loss; the step numbers of a training log are none."""

import re

import numpy as np
import pandas as pd

from bsmath.sweeps.columns import Found
from bsmath.sweeps.draft import Draft

LOG_ROWS = 5
"""Rows at one batch that, always rising, are the log of one run and not repeats."""

SECOND_CHOICE = ("adjusted", "corrected", "fitted", "predicted", "smoothed")
"""Words of columns that were changed after they were measured."""

EPOCHS = re.compile(
    r"(?i)(?:num[_\s-]?)?epochs?[_\s-]*(?:to|until|till|needed|required)\b.*|(?:num[_\s-]?)?epochs?_(?:to|until)_.*"
)
"""Headers of a result in epochs."""


def settle(draft: Draft) -> None:
    """A result in epochs becomes one in samples, by the samples of an epoch, where the file has no other steps to a target."""
    corrected = draft.answers.get("columns", {})
    headers = [header for header in draft.found if EPOCHS.fullmatch(header.strip()) and header not in corrected]
    if not headers or candidates(draft):
        return
    text = "How many samples has one epoch? S_min depends on it, B_crit does not (1 leaves S_min without meaning)."
    samples = float(draft.ask("samples_per_epoch", text, default="1"))
    draft.found[headers[0]] = Found(meaning="samples_to_target", unit="epochs", scale=samples)


def column(draft: Draft, batch: np.ndarray, unit: str) -> str | None:
    """The column that holds the result; a question where several may."""
    usable = [header for header in candidates(draft) if _is_result(draft, header, batch, unit)]
    if "steps_column" in draft.answers:
        return draft.answers["steps_column"]
    if len(usable) > 1:
        text = "Which column holds the result, the steps to the target?"
        return draft.ask("steps_column", text, tuple(usable), usable[0])
    return usable[0] if usable else None


def steps_to_target(
    draft: Draft, header: str | None, batch: np.ndarray, unit: str, alone: bool, censored: np.ndarray | None = None
) -> np.ndarray:
    """Steps of each row, nan where there are none.

    Parameters
    ----------
    draft : Draft
        The import.
    header : str or None
        The column of the result.
    batch : ndarray
        Batch in `unit`.
    unit : str
        "tokens" or "sequences".
    alone : bool
        Whether the steps are the only result, so that a row without them is lost.
    censored : ndarray, optional
        Rows whose run did not arrive: their cells are understood, and no problem.
    """
    if header is None:
        return np.broadcast_to(np.nan, len(batch))
    values = draft.used(header, "row left out" if alone else "value ignored", "the steps to the target", known=censored)
    return values / per_step(draft, header, batch, unit)


def candidates(draft: Draft) -> list[str]:
    """Columns that may hold the result, measured ones before those that were adjusted, steps before tokens."""
    headers = draft.headers("steps") or draft.headers("tokens_to_target") or draft.headers("samples_to_target")
    return sorted(headers, key=lambda header: any(word in header.lower() for word in SECOND_CHOICE))


def per_step(draft: Draft, header: str, batch: np.ndarray, unit: str) -> np.ndarray | float:
    """What one step adds to a column: 1, the tokens or the samples of a batch."""
    meaning = draft.found[header].meaning
    if meaning == "tokens_to_target":
        return batch
    if meaning != "samples_to_target":
        return 1.0
    sequences = draft.headers("batch_sequences", "batch")
    lengths = draft.headers("seq_len")
    if unit == "sequences":
        return batch
    if lengths or "seq_len" in draft.answers:
        return batch / (draft.answers.get("seq_len") or draft.numbers(lengths[0]))
    return draft.numbers(sequences[0]) if sequences else np.full(len(batch), np.nan)


def _is_result(draft: Draft, header: str, batch: np.ndarray, unit: str) -> bool:
    """Whether a column is a result per run. One that says "to target" is; a bare one must look like it."""
    if draft.found[header].meaning == "tokens_to_target" and unit == "sequences":
        draft.notes[header] = "not used as long as the batch is not known in tokens"
        return False
    if " to " in f" {header.lower().replace('_', ' ').replace('-', ' ')} " or "to" in header.lower().split("_"):
        return True
    frame = pd.DataFrame({"batch": batch, "value": draft.numbers(header)}).dropna()
    groups = frame.groupby("batch")["value"]
    if draft.headers("step_index") or groups.ngroups < 2 and len(frame) > 1:
        draft.notes[header] = "not used: a count in a log of one batch, not steps to a target"
        return False
    if groups.ngroups > 1 and frame["value"].nunique() == 1:
        draft.notes[header] = "not used: the same in every row, so the length of the runs and no result"
        return False
    rising = groups.agg(lambda values: len(values) >= LOG_ROWS and bool((values.diff().iloc[1:] > 0).all()))
    if rising.any():
        draft.notes[header] = "not used: it rises row by row at one batch, as in the log of a run"
        return False
    return True
