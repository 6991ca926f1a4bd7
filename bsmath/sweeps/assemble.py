"""Raw table -> Sweep: batch, rate, steps, series, in this order; the same for every format."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bsmath.sweeps import batches, infer, rates, series, targets
from bsmath.sweeps.draft import MOST_PROBLEMS, Draft
from bsmath.sweeps.model import RawTable, Sweep

RESULTS = (
    "tokens_per_s, tokens_per_s_per_gpu, step_time_s, samples_per_s, steps_per_s, steps_to_target or tokens_to_target"
)
"""Result columns, as an error names them."""


def assemble(raw: RawTable, name: str, answers: Mapping[str, object]) -> Sweep:
    """The sweep in a raw table, or a SweepError where it has no batch or no result."""
    draft = Draft(raw, name, answers)
    with np.errstate(all="ignore"):  # absurd cells overflow; rows that are not finite are left out below
        table, unit = _table(draft)
    return Sweep(
        name=name,
        table=table,
        batch_unit=unit,
        columns=draft.columns(),
        questions=tuple(draft.questions),
        problems=draft.all_problems(),
        comments=raw.comments,
    )


def _table(draft: Draft) -> tuple[pd.DataFrame, str]:
    batch, unit = batches.tokens_per_step(draft)
    has_rate, has_steps = bool(draft.headers(*rates.KINDS)), bool(targets.candidates(draft))
    rate, step_time = map(_positive, rates.tokens_per_second(draft, batch, unit, alone=not has_steps))
    steps = _positive(targets.steps_to_target(draft, batch, unit, alone=not has_rate))
    columns = {"tokens_per_step": batch, "tokens_per_second": rate, "step_time": step_time, "steps": steps}
    devices = infer.devices(draft)
    if devices is not None:
        columns["num_devices"] = devices
    for meaning in ("num_params", "seq_len"):
        for header in draft.headers(meaning)[:1]:
            columns[meaning] = draft.numbers(header)
    usable = _usable(draft, _positive(batch), rate, steps)
    named = {"row": draft.raw.rows[usable], "series": series.names(draft, batch, usable)}
    return pd.DataFrame(named | {name: values[usable] for name, values in columns.items()}), unit


def _positive(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _usable(draft: Draft, batch: np.ndarray, rate: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Rows with a batch and a result; the others are named, unless one of their cells has been."""
    usable = ~np.isnan(batch) & ~(np.isnan(rate) & np.isnan(steps))
    if usable.any():
        lost = np.flatnonzero(~usable & ~draft.named)
        what = [f"the row has no {'result' if batch[i] > 0 else 'batch'}" for i in lost[:MOST_PROBLEMS]]
        draft.report(lost, None, what, "row left out")
        return usable
    result = [header for header, note in draft.notes.items() if note.startswith(("the throughput", "the steps"))]
    if not result:
        raise draft.error(f"have a result column ({RESULTS})", f"the columns {batches.listed(draft)}")
    if np.isnan(batch).all():
        raise draft.error("have a positive batch in at least one row", "none")
    cell = draft.raw.frame[result[0]].iloc[0]
    raise draft.error(
        f"have a positive number in column {result[0][:40]!r} of at least one row with a batch",
        f"{str(cell)[:40]!r} first",
    )
