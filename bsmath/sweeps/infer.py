"""What a file does not say but implies: tokens per sequence, what a batch counts and whose it is.

The identities: tokens/s * step time = tokens per step; tokens/s / (samples/s) = tokens per sample. An implied value
counts only where it is the same in every row, within SPREAD.
"""

import numpy as np
import pandas as pd

from bsmath.sweeps.devices import devices, replicas
from bsmath.sweeps.draft import Draft

SPREAD = 0.03
"""Relative range within which a ratio counts as constant: rounding of printed times."""

UNEVEN = "as it is no multiple of the replicas in every row"
"""Why a batch is taken for one per replica."""

LEAST_SEQ_LEN = 8
"""Smallest ratio of tokens to batch that is taken for a sequence length."""

SCALING = 0.3
"""Exponent of steps/s against devices at one batch from which that batch must be global: a batch per device would not
get faster with more devices."""


def batch_replicas(draft: Draft, header: str, values: np.ndarray, accum: np.ndarray | None) -> np.ndarray | float:
    """Factor from a bare batch to the global one: 1, or replicas and accumulation where it is counted per replica."""
    found = replicas(draft)
    answer = draft.answers.get("batch_scope")
    if answer == "replica" and found is None:
        draft.warn(f"{header!r} counts per replica, and the replicas are not known", "taken as one replica", header)
    per_replica = (1.0 if found is None else found) * (1.0 if accum is None else accum)
    if answer is None and (draft.found[header].scope == "job" or not np.nanmax(np.append(per_replica, 1)) > 1):
        return 1.0
    scope, why = (answer, "as answered") if answer else _implied_scope(draft, values, per_replica)
    if scope is None:
        text = f"Is {header!r} the batch of the whole job, or of one replica?"
        likely, why = ("global", "as no column says otherwise") if _splits(values, per_replica) else ("replica", UNEVEN)
        scope = draft.ask("batch_scope", text, ("global", "replica"), likely)
    draft.notes[header] = f"the batch; {'of the whole job' if scope == 'global' else 'per replica'}, {why}"
    draft.per_replica = scope == "replica"
    return 1.0 if scope == "global" else per_replica


def _splits(values: np.ndarray, replicas: np.ndarray | float) -> bool:
    """Whether every batch can be split evenly over its replicas; one that is counted per replica need not."""
    rest = (values % replicas)[np.isfinite(values)]
    return not (rest > 0).any()


def _implied_scope(draft: Draft, values: np.ndarray, per_replica: np.ndarray) -> tuple[str | None, str]:
    """Global or per replica, where only one of them fits the rates."""
    rates = [header for header in draft.headers("tokens_per_second") if job_rate_sure(draft, header)]
    times, known = draft.headers("step_time"), seq_len_known(draft)
    if rates and times:
        tokens = draft.numbers(rates[0]) * draft.numbers(times[0])
        ratios = [constant(tokens / (values * factor * (1 if known is None else known))) for factor in (1, per_replica)]
        fits = [ratio is not None and (known is None or ratio == 1) for ratio in ratios]
        if fits[0] != fits[1]:
            return ("global" if fits[0] else "replica"), "as rate x step time says"
    if scales_with_devices(draft, values, per_replica):
        if not _splits(values, per_replica):
            return "replica", UNEVEN
        return "global", "as steps get faster with more devices at the same batch"
    return None, ""


def added_up(draft: Draft, batch: np.ndarray) -> np.ndarray | float:
    """Replicas whose steps a rate of steps adds up: those of a batch per replica at which it grows with the replicas."""
    found = replicas(draft)
    if not draft.per_replica or found is None:
        return 1.0
    return found if scales_with_devices(draft, batch / found, found) else 1.0


def scales_with_devices(draft: Draft, values: np.ndarray, found: np.ndarray) -> bool:
    """Whether steps get faster with the devices at one batch, other things being equal."""
    rate = _steps_per_second(draft)
    if rate is None:
        return False
    texts = draft.headers("model", "hardware", "precision", "text")
    frame = pd.DataFrame({"batch": values, "x": np.log(found), "y": np.log(rate)})
    named = draft.raw.frame[texts].astype(object).fillna("").astype(str)
    frame["key"] = named.agg("|".join, axis=1).to_numpy() if texts else ""
    frame = frame[np.isfinite(frame["x"]) & np.isfinite(frame["y"]) & np.isfinite(frame["batch"])]
    centered = frame[["x", "y"]] - frame.groupby(["key", "batch"])[["x", "y"]].transform("mean")
    return bool(
        (centered["x"] ** 2).sum() > 0 and (centered["x"] * centered["y"]).sum() / (centered["x"] ** 2).sum() > SCALING
    )


def _steps_per_second(draft: Draft) -> np.ndarray | None:
    if headers := draft.headers("steps_per_second"):
        return draft.numbers(headers[0])
    headers = draft.headers("step_time")
    return 1 / draft.numbers(headers[0]) if headers else None


def constant(ratio: np.ndarray) -> float | None:
    """The roundest whole number in the range of a ratio that is constant within SPREAD, else None."""
    ratio = ratio[np.isfinite(ratio)]
    if not len(ratio) or ratio.max() - ratio.min() > SPREAD * np.median(ratio) or np.median(ratio) > 2**40:
        return None
    low, high = ratio.min(), ratio.max()
    for power in range(40, -1, -1):
        if np.floor(high / 2**power) * 2**power >= low and np.floor(high / 2**power) > 0:
            return float(np.floor(high / 2**power) * 2**power)
    return float(round(np.median(ratio)))


def tokens_in_batch(draft: Draft, values: np.ndarray) -> float | None:
    """Tokens per unit of the batch: 1, or a sequence length; None where the rows do not tell."""
    rates = [header for header in draft.headers("tokens_per_second") if job_rate_sure(draft, header)]
    times = draft.headers("step_time")
    if not rates or not times:
        return None
    ratio = constant(draft.numbers(rates[0]) * draft.numbers(times[0]) / values)
    return ratio if ratio is not None and (ratio == 1 or ratio >= LEAST_SEQ_LEN) else None


def job_rate_sure(draft: Draft, header: str) -> bool:
    """Whether a rate without a scope can only be that of the whole job."""
    found = devices(draft)
    alone = found is None or np.nanmax(np.append(found, 1)) <= 1
    said = draft.found[header].scope == "job" or draft.answers.get("rate_scope") == "job"
    return alone or said or bool(draft.headers("tokens_per_second_per_device"))


def seq_len_known(draft: Draft) -> np.ndarray | float | None:
    """Tokens per sequence by answer or column."""
    if "seq_len" in draft.answers:
        return float(draft.answers["seq_len"])
    headers = draft.headers("seq_len")
    return draft.used(headers[0], "row left out", "tokens per sequence") if headers else None


def seq_len(draft: Draft, sequences: np.ndarray) -> np.ndarray | float | None:
    """Tokens per sequence; a question where nothing implies it."""
    known = seq_len_known(draft)
    if known is not None:
        return known
    implied = tokens_in_batch(draft, sequences)
    samples = draft.headers("samples_per_second")
    tokens = draft.headers("tokens_per_second")
    if implied is None and samples and tokens:
        implied = constant(draft.numbers(tokens[0]) / draft.numbers(samples[0]))
    if implied is not None and implied >= LEAST_SEQ_LEN:
        used = tokens[0]
        draft.notes[used] = f"tokens per second; with the step times it implies {implied:,.0f} tokens per sequence"
        return implied
    text = (
        "How many tokens has one sequence? The file counts its batch in sequences or samples (1 keeps its own count)."
    )
    answer = draft.ask("seq_len", text)
    return None if answer is None else float(answer)
