"""Tokens per second of the whole job, from the column that says it most directly."""

import re
from dataclasses import replace

import numpy as np

from bsmath import flops
from bsmath.sweeps import batches, cells, columns, infer
from bsmath.sweeps.columns import Found
from bsmath.sweeps.draft import Draft
from bsmath.sweeps.words import words

KINDS = (
    "tokens_per_second",
    "tokens_per_second_per_device",
    "step_time",
    "samples_per_second",
    "samples_per_second_per_device",
    "steps_per_second",
    "flops_per_second",
    "flops_per_second_per_device",
)
"""Meanings of columns that give a rate, the most direct first."""

RESULT_UNITS = {
    "tokens/s": "tokens_per_second",
    "samples/s": "samples_per_second",
    "steps/s": "steps_per_second",
    "s per step": "step_time",
}
"""What a result whose unit the file does not name may count, and what it then means."""

RUNTIME = re.compile(r"(?i)_?runtime(?:[_ ](?:mean|s|sec))?|train(?:ing)?[_ ](?:run)?time(?:[_ ]s(?:ec(?:onds)?)?)?")
"""Headers of a run's length in seconds."""

STEPS_RUN = frozenset(
    "step global_step iter iters steps max_steps max_iters total_steps num_steps train_steps steps_run".split()
)
"""Headers of the steps that a run did."""

BY_RUNTIME = "step time by runtime"
"""Header of the time of a step that follows from these."""

LEAST_PARAMS = 1e6
"""Parameters from which a number in place of a model's name is its size."""

MISMATCH = 1.5
"""Ratio of the batch by rate and step time to that of the file from which one of them is not what it is taken for."""

LONG_STEP = 60.0
"""Time of a step from which a number without a unit is more likely in milliseconds. A convention. [s]"""

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
    nothing = np.broadcast_to(np.nan, len(batch))
    header = _chosen(draft)
    times = draft.headers("step_time")
    if header is None:
        return nothing, nothing
    values = draft.used(header, "row left out" if alone else "value ignored")
    draft.notes[header] = draft.notes.get(header, "the throughput")
    step_time = draft.numbers(times[0]) if times else nothing
    if times and header != times[0]:
        draft.notes[times[0]] = "the step time"
    meaning = draft.found[header].meaning or "tokens_per_second"
    if meaning == "step_time":
        return batch / values, values
    if meaning == "steps_per_second":
        replicas = infer.added_up(draft, batch)
        if np.max(replicas) > 1:
            draft.notes[header] = "the throughput; the steps of all replicas, added up"
            what = f"{header!r} grows with the replicas although each has its own batch"
            draft.warn(what, "taken for the sum of the replicas' steps", header)
        return batch * values / replicas, replicas / values
    if meaning.startswith("samples"):
        values = values * _tokens_per_sample(draft, batch, unit)
    if meaning.startswith("flops"):
        values = values / flops.flops_per_token(_parameters(draft, header, alone))
    factor = _devices(draft, header, values, batch, step_time)
    rate = values if np.ndim(factor) == 0 and factor == 1 else values * factor
    if unit == "tokens" or meaning.startswith("samples"):
        _compare(draft, header, rate, batch)
    return rate, step_time


def settle(draft: Draft) -> None:
    """A result without a unit becomes what it is said to count, where the file has no other result."""
    if is_optimizer(list(draft.found)):  # the objective of Optuna is a loss more often than a rate
        objectives = [header for header in draft.found if re.fullmatch(r"values?(?:_\d{1,3})?", header.lower())]
        objectives = [header for header in objectives if header not in draft.answers.get("columns", {})]
        draft.found |= {header: Found(meaning="loss") for header in objectives}
    for header in draft.headers("result")[:1]:
        if not any(found.meaning in columns.RESULTS - {"result"} for found in draft.found.values()):
            units = {unit: Found(meaning=meaning, unit=unit) for unit, meaning in RESULT_UNITS.items()}
            text = f"What does {header!r} count? The file does not say."
            draft.found[header] = units[draft.ask("result_unit", text, tuple(units), "tokens/s")]


def settle_times(draft: Draft) -> None:
    """A time whose header and cells name no unit, and that is long for one in seconds, is asked about."""
    for header in draft.headers("step_time"):
        first = next(
            (
                str(cell)
                for cell in draft.raw.frame[header].head(cells.MOST_LOOKED_AT)
                if cell == cell and str(cell).strip()
            ),
            "",
        )
        if (
            header in draft.answers.get("units", {})
            or set(words(header)) & set(columns.TIME_UNITS)
            or not first[-1:].isdigit()
        ):
            continue
        values = cells.spread(draft.numbers(header))
        usual = np.median(values[np.isfinite(values)]) if np.isfinite(values).any() else 0.0
        if usual > LONG_STEP:
            text = f"Is {header!r} in seconds or in milliseconds? It names no unit, and its median is {usual:.4g}."
            if draft.ask("time_unit", text, ("s", "ms"), "ms") == "ms":
                draft.taken(header, replace(draft.found[header], unit="ms", scale=columns.TIMES["ms"]))


def is_optimizer(headers: list[str]) -> bool:
    """Whether columns are those of Optuna's trials."""
    known = {header.lower() for header in headers}
    return "state" in known and "number" in known and any(header.startswith("params_") for header in known)


def by_runtime(draft: Draft) -> None:
    """The time of a step from a run's length over its steps, where nothing else gives a rate and the user says that it may."""
    if draft.headers(*KINDS, "steps", "tokens_to_target", "samples_to_target"):
        return
    spans = [
        header
        for header in draft.found
        if RUNTIME.fullmatch(header.strip()) and np.isfinite(draft.numbers(header)).any()
    ]
    done = [header for header in draft.found if header.split("/")[-1].strip("_ ").lower() in STEPS_RUN]
    done = [header for header in done if np.nanmax(np.append(draft.numbers(header), 1)) > 1]
    sizes = draft.headers(*sorted(columns.BATCHES))
    if not spans or not done or not sizes or len(np.unique(draft.numbers(sizes[0])[draft.numbers(sizes[0]) > 0])) < 2:
        return
    text = (
        f"May the time of a step be taken as {spans[0]!r} / {done[0]!r}? It then holds start-up, evaluation and checkpoints as well, "
        "and tokens/s come out too low."
    )
    draft.notes[spans[0]] = "the length of the run; used for a rate only where you say so"
    if draft.ask("runtime_rate", text, ("no", "yes"), "no") != "yes":
        return
    values = draft.numbers(spans[0]) / draft.numbers(done[0])
    draft.raw = replace(draft.raw, frame=draft.raw.frame.assign(**{BY_RUNTIME: values}))
    draft.found[BY_RUNTIME] = Found(meaning="step_time", unit="s")
    draft.warn(f"the time of a step is {spans[0]!r} / {done[0]!r}", "assumed; tokens/s come out too low", spans[0])


def _compare(draft: Draft, header: str, rate: np.ndarray, batch: np.ndarray) -> None:
    """Say where the rate over the steps per second is not the batch but several times it, or a part of it."""
    for steps in draft.headers("steps_per_second", "step_time")[:1]:
        times = draft.numbers(steps) if draft.found[steps].meaning == "step_time" else 1 / draft.numbers(steps)
        ratio = cells.spread(rate) * cells.spread(times) / cells.spread(batch)
        ratio = np.median(ratio[np.isfinite(ratio)]) if np.isfinite(ratio).any() else 1.0
        if not 1 / MISMATCH < ratio < MISMATCH:
            what = f"by {header!r} and {steps!r} a step has {ratio:.3g} times the batch"
            draft.warn(
                f"{what}; it may be that of one device or micro-batch", "the batch was used as it stands", header
            )


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


def _parameters(draft: Draft, header: str, alone: bool) -> np.ndarray | float:
    """N of each row: a column, or a model that is named by its size."""
    sizes = [each for each in draft.headers("model") if (np.nan_to_num(draft.numbers(each)) >= LEAST_PARAMS).all()]
    named = next(iter([*draft.headers("num_params"), *sizes]), None)
    if named is None:
        needed = "in a column such as num_params (tokens/s = FLOP/s / (6 N))"
        rule = f"have the parameters of the model beside {header[:40]!r}, {needed}"
        if alone:
            raise draft.error(rule, f"the columns {batches.listed(draft)}")
        return np.nan
    draft.notes[named] = "the parameters N: tokens/s = FLOP/s / (6 N)"
    high = "tokens/s are too high where it counts attention, by a third where it counts full recomputation"
    draft.warn(f"{header!r} was turned into tokens by 6 FLOPs per parameter", high, header)
    return draft.numbers(named)


def _devices(draft: Draft, header: str, values, batch, step_time) -> np.ndarray | float:
    """Factor from a rate to that of the whole job."""
    found = infer.devices(draft)
    if (draft.found[header].meaning or "").endswith("_per_device"):
        if found is None:
            text = "On how many devices did this run? The file gives its rate per device."
            found = float(draft.ask("num_devices", text, default="1"))
        return found
    if draft.answers.get("rate_scope") == "device" and found is not None:
        return found
    if infer.job_rate_sure(draft, header) or _whole(values, step_time, 1.0, batch):
        return 1.0
    if _whole(values, step_time, found, batch):
        draft.notes[header] = "the throughput; per device, as rate x step time x devices is the batch"
        return found
    text = f"Is {header!r} the rate of the whole job, or of one device?"
    return found if draft.ask("rate_scope", text, ("job", "device"), "job") == "device" else 1.0


def _whole(values: np.ndarray, step_time: np.ndarray, devices, batch: np.ndarray) -> bool:
    """Whether rate times step time times devices is the batch in every row, or in all that are looked at of many."""
    rate, time, size = map(cells.spread, (values, step_time, batch))
    ratio = rate * time * (cells.spread(devices) if np.ndim(devices) else devices) / size
    ratio = ratio[np.isfinite(ratio)]
    return len(ratio) > 0 and bool(np.abs(ratio - 1).max() <= ALIKE)
