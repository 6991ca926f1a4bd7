"""Raw table -> Sweep: batch, rate, steps, series, in this order; the same for every format."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from bsmath.sweeps import batches, cells, columns, devices, mlperf_units, plausible, rates, series, targets, tuning
from bsmath.sweeps.draft import MOST_PROBLEMS, Draft
from bsmath.sweeps.model import Problem, RawTable, Sweep, SweepError, Unmapped

RESULTS = (
    "tokens_per_s, tokens_per_s_per_gpu, step_time_s, samples_per_s, steps_per_s, steps_to_target or tokens_to_target"
)
"""Result columns, as an error names them."""

MOST_REMARKED = 10_000
"""Rows of a table in which notes beside numbers and unfinished runs are looked for; longer ones are no tables of runs."""

RUN_NAMES = frozenset("name run run_name runs experiment exp_name label config trial_name".split())
"""Headers of the names of runs."""

MOST_ENDS = 10
"""Different ends of runs that are told apart."""

MOST_HEADERS = 1000
"""Headers among which a batch is looked for before the names of runs are."""

_REMARK = re.compile(
    r"(?:<[-=]|<<|←|⟵|◀|\((?:best|peak|max|fastest|winner|default|baseline)\b).*$", re.IGNORECASE | re.DOTALL
)
_UNFINISHED = r"(?i)^(?:crash\w*|fail\w*|kill\w*|running|abort\w*|prun\w*|cancel\w*|preempt\w*)$"


def assemble(raw: RawTable, name: str, answers: Mapping[str, object]) -> Sweep:
    """The sweep in a raw table, or Unmapped where it has no batch or no result."""
    raw = prepared(raw)
    draft = Draft(raw, name, answers)
    try:
        with np.errstate(all="ignore"):  # absurd cells overflow; rows that are not finite are left out below
            table, unit = _table(draft)
    except SweepError as error:
        raise Unmapped(str(error), draft.columns()) from None
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
    rates.settle_times(draft)
    mlperf_units.settle(draft)
    targets.settle(draft)
    rates.by_runtime(draft)
    batch, unit = batches.tokens_per_step(draft)
    has_rate, has_steps = bool(draft.headers(*rates.KINDS)), bool(targets.candidates(draft))
    rate, step_time = map(cells.positive, rates.tokens_per_second(draft, batch, unit, alone=not has_steps))
    header = targets.column(draft, batch, unit)
    tuned = tuning.found(draft, header, batch, unit, rate)
    stopped = None if tuned else tuning.stopped(draft, header, batch, unit, rate)
    censored = tuned.censored if tuned else np.zeros(len(batch), bool) if stopped is None else stopped[0]
    steps = cells.positive(targets.steps_to_target(draft, header, batch, unit, alone=not has_rate, censored=censored))
    steps = np.where(censored, np.nan, steps) if censored.any() else steps
    if tuned:
        steps = np.where(np.isnan(tuned.columns["learning_rate"]), np.nan, steps)
    values = {"tokens_per_step": batch, "tokens_per_second": rate, "step_time": step_time, "steps": steps}
    counted = devices.devices(draft)
    if counted is not None:
        values["num_devices"] = counted
    if unit == "tokens":
        for what, action in plausible.doubts(cells.positive(batch), rate, np.nan if counted is None else counted):
            draft.warn(what, action)
    for meaning in ("num_params", "seq_len", "learning_rate"):
        for named in draft.headers(meaning)[:1]:
            values[meaning] = draft.numbers(named)
    values |= batches.split(draft) | (tuned.columns if tuned else {})
    values |= {} if stopped is None else {"stopped_at": stopped[1]}
    values |= mlperf_units.resolution(draft, header, steps)
    usable = _usable(draft, cells.positive(batch), rate, steps, censored)
    names = series.names(draft, batch, usable, tuned.chosen if tuned else None)
    kept = slice(None) if usable.all() else usable
    measured = {name: column[kept] for name, column in values.items()}
    table = pd.DataFrame({"row": draft.raw.rows[kept], "series": names} | measured, copy=False)
    if tuned:
        tuning.name_censored(draft, header, table, unit)
    return table, unit


def _usable(draft: Draft, batch: np.ndarray, rate: np.ndarray, steps: np.ndarray, censored: np.ndarray) -> np.ndarray:
    """Rows with a batch and a result, or of a run that did not arrive; the others are named, unless a cell has been."""
    usable = ~np.isnan(batch) & ~(np.isnan(rate) & np.isnan(steps))
    if usable.any():
        usable |= ~np.isnan(batch) & censored
        lost = np.flatnonzero(~usable & ~draft.named)
        for end, rows in _ended(draft, lost).items():
            what = [f"the row has no {'result' if batch[i] > 0 else 'batch'}" for i in rows[:MOST_PROBLEMS]]
            draft.report(rows, None, what, f"row left out{end}")
        _name_unfinished(draft, usable & ~np.isnan(rate))
        return usable
    if any(question.key == "runtime_rate" for question in draft.questions) and (batch > 0).any():
        draft.warn(_instead(draft, batch), "kept without a result, until the question on their length is answered")
        return batch > 0
    result = [header for header, note in draft.notes.items() if note.startswith(("the throughput", "the steps"))]
    if not result:
        raise draft.error(f"have a result column ({RESULTS})", _instead(draft, batch))
    if np.isnan(batch).all():
        raise draft.error("have a positive batch in at least one row", "none")
    cell = draft.raw.frame[result[0]].iloc[0]
    raise draft.error(
        f"have a positive number in column {result[0][:40]!r} of at least one row with a batch",
        f"{str(cell)[:40]!r} first",
    )


def _instead(draft: Draft, batch: np.ndarray) -> str:
    """What a table without a result holds, and what to export in its place."""
    losses = [header for header in draft.headers("loss") if np.isfinite(draft.numbers(header)).any()]
    if not losses:
        return f"the columns {batches.listed(draft)}"
    sizes = len(np.unique(batch[batch > 0]))
    tried = [
        len(np.unique(draft.numbers(header)[draft.numbers(header) > 0]))
        for header in draft.headers("learning_rate")[:1]
    ]
    at = f"{sizes:,} {'batch' if sizes == 1 else 'batches'}" + "".join(
        f" and {n:,} learning rate{'s' * (n != 1)}" for n in tried
    )
    objective = (
        " (the objective of Optuna: if it is a rate, name it tokens_per_s)"
        if rates.is_optimizer(list(draft.found))
        else ""
    )
    return (
        f"runs with a final loss {losses[0][:40]!r}{objective} at {at}, which tells neither a throughput nor the steps to one loss: "
        "export the losses of each run by step, or add one of these columns"
    )


def _ended(draft: Draft, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Rows by how their runs ended, where the file says it in a word."""
    headers = draft.headers("outcome")
    if not headers or not len(rows):
        return {"": rows}
    ends = draft.raw.frame[headers[0]].iloc[rows].astype(object).fillna("").astype(str).str.strip().str[:20]
    codes, different = pd.factorize(ends)
    if len(different) > MOST_ENDS:
        return {"": rows}
    return {f"; {headers[0][:20]} {end!r}" if end else "": rows[codes == i] for i, end in enumerate(different)}


def _name_unfinished(draft: Draft, rows: np.ndarray) -> None:
    """Name the runs that have a rate although they did not end as planned."""
    for header in draft.headers("outcome")[: len(rows) <= MOST_REMARKED]:
        codes, different = pd.factorize(draft.raw.frame[header], use_na_sentinel=False)
        unfinished = pd.Series(different).astype(str).str.strip().str.match(_UNFINISHED).to_numpy(bool)[codes] & rows
        what = f"{unfinished.sum():,} of {rows.sum():,} runs did not finish, by {header!r}"
        if unfinished.any():
            draft.warn(what, "kept: a rate counts as far as the run came", header)


def prepared(raw: RawTable) -> RawTable:
    """The table as it is understood: without notes behind numbers, and with what only the names of its runs say in columns of its
    own. Of a prepared table the same."""
    return _with_named(_without_remarks(raw))


def _with_named(raw: RawTable) -> RawTable:
    """A table without a batch whose runs name theirs ("bs-64-lr3e-4") with what all the names say, in columns of its own."""
    from bsmath.logs import run_names  # the logs read tables, with this package

    headers = [str(header) for header in raw.frame.columns]
    named = [header for header in headers if header.strip().lower().replace(" ", "_") in RUN_NAMES]
    meanings = (
        {columns.recognize(header, is_number=True).meaning for header in headers[:MOST_HEADERS]} if named else set()
    )
    if not named or meanings & columns.BATCHES or not meanings & columns.RESULTS:
        return raw
    codes, different = pd.factorize(raw.frame[named[0]].astype(str))
    said = [run_names.settings(name) for name in different] if len(different) <= MOST_REMARKED else []
    if not said or not all("batch" in each for each in said) or len({each["in_tokens"] for each in said}) > 1:
        return raw
    wanted = {
        "batch_tokens" if said[0]["in_tokens"] else "batch_size": "batch",
        "seq_len": "seq_len",
        "lr": "learning_rate",
    }
    found = {
        header: np.array([each[key] for each in said])[codes]
        for header, key in wanted.items()
        if header not in headers and all(key in each for each in said) and (key == "batch" or key not in meanings)
    }
    what = f"{', '.join(found)} {'is' if len(found) == 1 else 'are'} in no column but in every name"
    problem = Problem(row=None, column=named[0], what=what, action="read from the names")
    return replace(raw, frame=raw.frame.assign(**found), problems=(*raw.problems, problem))


def _without_remarks(raw: RawTable) -> RawTable:
    """The table without notes such as "<- best" behind numbers."""
    found: dict[str, pd.Series] = {}
    for header in raw.frame.columns if len(raw.frame) <= MOST_REMARKED else ():
        column = raw.frame[header]
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        different = [cell for cell in column.unique() if isinstance(cell, str) and _REMARK.search(cell)]
        bare = {cell: _REMARK.sub("", cell).strip() for cell in different}
        numbers = {cell: text for cell, text in bare.items() if cells.is_number(text)}
        if numbers:
            found[header] = pd.Series([numbers.get(cell, cell) for cell in column], raw.frame.index, dtype=object)
    if not found:
        return raw
    said = [
        Problem(row=None, column=header, what="notes stand behind its numbers", action="notes left out")
        for header in found
    ]
    return replace(raw, frame=raw.frame.assign(**found), problems=(*raw.problems, *said))
