"""Raw table -> Sweep: batch, rate, steps, series, in this order; the same for every format."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bsmath.sweeps import batches, devices, mlperf_units, rates, series, targets, tuning
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
    rates.settle(draft)
    mlperf_units.settle(draft)
    batch, unit = batches.tokens_per_step(draft)
    has_rate, has_steps = bool(draft.headers(*rates.KINDS)), bool(targets.candidates(draft))
    rate, step_time = map(_positive, rates.tokens_per_second(draft, batch, unit, alone=not has_steps))
    header = targets.column(draft, batch, unit)
    tuned = tuning.found(draft, header, batch, unit, rate)
    stopped = None if tuned else tuning.stopped(draft, header, batch, unit, rate)
    censored = tuned.censored if tuned else np.zeros(len(batch), bool) if stopped is None else stopped[0]
    steps = _positive(targets.steps_to_target(draft, header, batch, unit, alone=not has_rate, censored=censored))
    steps = np.where(censored, np.nan, steps)
    if tuned:
        steps = np.where(np.isnan(tuned.columns["learning_rate"]), np.nan, steps)
    columns = {"tokens_per_step": batch, "tokens_per_second": rate, "step_time": step_time, "steps": steps}
    counted = devices.devices(draft)
    if counted is not None:
        columns["num_devices"] = counted
    for meaning in ("num_params", "seq_len", "learning_rate"):
        for named in draft.headers(meaning)[:1]:
            columns[meaning] = draft.numbers(named)
    columns |= batches.split(draft) | (tuned.columns if tuned else {})
    columns |= {} if stopped is None else {"stopped_at": stopped[1]}
    columns |= mlperf_units.resolution(draft, header, steps)
    usable = _usable(draft, _positive(batch), rate, steps, censored)
    names = series.names(draft, batch, usable, tuned.chosen if tuned else None)
    table = {"row": draft.raw.rows[usable], "series": names} | {
        name: values[usable] for name, values in columns.items()
    }
    table = pd.DataFrame(table)
    if tuned:
        tuning.name_censored(draft, header, table, unit)
    return table, unit


def _positive(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _usable(draft: Draft, batch: np.ndarray, rate: np.ndarray, steps: np.ndarray, censored: np.ndarray) -> np.ndarray:
    """Rows with a batch and a result, or of a run that did not arrive; the others are named, unless a cell has been."""
    usable = ~np.isnan(batch) & ~(np.isnan(rate) & np.isnan(steps))
    if usable.any():
        usable |= ~np.isnan(batch) & censored
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
