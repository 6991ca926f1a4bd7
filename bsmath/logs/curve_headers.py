"""Columns of loss curves by what they mean, and tables in which each run is a column: a tracker's export ("name - train/loss") and
losses by batch ("loss_b16", "loss_b32")."""

import re

import numpy as np
import pandas as pd

from bsmath.logs import run_names
from bsmath.sweeps import cells, columns

STEPS = (
    "step; iter; iteration; it; update; global_step; step_num; iter_num; train_step; optimizer_step; opt_step; num_updates; "
    "steps; iters; iterations; updates; total_step_count"
).split("; ")
TOKENS = (
    "tokens; tokens_seen; tokens_trained; tokens_processed; total_tokens; total_tokens_processed; consumed_tokens; "
    "num_tokens; n_tokens; train_tokens; num_input_tokens_seen"
).split("; ")
SAMPLES = (
    "consumed_samples; samples_seen; samples; num_samples; sequences_seen; sequences; consumed_train_samples".split(
        "; "
    )
)
RUNS = "run; run_name; run_id; name; experiment; exp; exp_name; trial_name; run_number".split("; ")
PLACES = ("step", "tokens", "samples")
"""Meanings of columns that tell the place in a run."""
LOSSES = {"validation": "validation loss", "training": "training loss"}
"""Meanings of columns that hold a loss, in words; the first that a file has is taken."""
SETTINGS = {
    "batch_tokens": "batch_tokens",
    "batch_sequences": "batch_sequences",
    "batch": "batch",
    "learning_rate": "learning_rate",
    "seed": "seed",
    "seq_len": "seq_len",
    "model": "model",
    "tokens_per_second": "tokens_per_second",
    "micro_batch_size": "micro_batch",
    "grad_accum_steps": "accum",
    "data_parallel_size": "replicas",
    "num_devices": "num_devices",
}
"""Columns known to the sweeps that tell what a run was; meanings alike."""

MOST_RUNS = 500
"""Columns of runs side by side that are taken apart; nobody draws more in one chart."""

MOST_CELLS = 20_000
"""Such columns times all columns up to which they are taken apart."""

_HELD_OUT = frozenset("val valid validation eval evaluation dev test heldout held".split())
_OTHER = frozenset(
    "target threshold goal final best last min max std sem scale aux auxiliary balancing balance load z router moe expert mtp "
    "weight time epoch delta diff kl distill smoothed ema perplexity ppl acc".split()
)
_BETWEEN = " - "
_VALUE = {"wall time", "step", "value"}
SCALAR = "loss (Value)"
"""Header of the values of a scalar of TensorBoard's, which is a loss unless the file's name says another tag."""
LARGEST_LOSS = 100.0
"""Median from which numbers in columns that only name a batch are no losses."""
MOST_COLUMNS = 1000
"""Columns among which losses by batch are looked for."""
_BARE_BATCH = re.compile(r"[\W_]*(?P<size>\d{1,12})(?P<suffix>ki|mi|k|m)?[\W_]*", re.IGNORECASE)


def meaning(header: str) -> str | None:
    """What a header means here: a place, a loss, "run", or a setting of a run."""
    return _meaning(header, by_epoch=False)


def _meaning(header: str, by_epoch: bool) -> str | None:
    """The same; `by_epoch` also where the loss is the mean of an epoch."""
    last = re.sub(r"[^a-z0-9]+", "_", re.sub(r"[\[(].*", "", header.lower()).split("/")[-1]).strip("_")
    for found, known in (("step", STEPS), ("tokens", TOKENS), ("samples", SAMPLES), ("run", RUNS)):
        if last in known:
            return found
    said = set(re.split(r"[^a-z0-9]+", header.lower()))
    if "loss" in said or last in ("nll", "cross_entropy", "lossf"):
        if said & (_OTHER - {"epoch"} if by_epoch else _OTHER):
            return None
        return "validation" if said & _HELD_OUT else "training"
    return SETTINGS.get(columns.recognize(header, is_number=True).meaning)


def meanings(headers: list[str]) -> dict[str, list[str]]:
    """Headers by meaning, each in the order of the file; steps that count one by one before those that say so in the plural, and the
    means of epochs only of a kind of loss that is not logged otherwise."""
    found: dict[str, list[str]] = {}
    for header in headers:
        if (meant := meaning(header)) is not None:
            found.setdefault(meant, []).append(header)
    last = {header: header.lower().split("/")[-1].strip(" _") for header in found.get("step", ())}
    found |= {"step": sorted(last, key=lambda header: STEPS.index(last[header]) if last[header] in STEPS else 0)}
    for header in [header for header in headers if "epoch" in header.lower()]:
        kind = _meaning(header, by_epoch=True)
        single = [name for name in found.get(kind, ()) if meaning(name)]
        if (
            kind in LOSSES
            and meaning(header) is None
            and (not single or kind == "validation" and single[0].endswith("_step"))
        ):
            found[kind] = [header, *found.get(kind, ())]  # Lightning numbers a "val_loss_step" by its batches
    return found


def unfolded(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with one row for each run and step, where it has one column a run (a tracker's "name - train/loss", or "loss_b16") or
    is a scalar of TensorBoard's (Wall time, Step, Value); else the table as it is."""
    headers = list(map(str, frame.columns))
    if {header.strip().lower() for header in headers} == _VALUE:
        names = {"value": SCALAR, "wall time": "wall_time_s", "step": "step"}
        return frame.rename(columns={header: names[header.strip().lower()] for header in headers})
    spread = any(map(_is_spread, headers))
    kept = [header for header in headers if not (spread and _is_spread(header))]
    runs = tracked(kept) or by_batch(kept, frame)
    if len(runs) > MOST_RUNS or len(runs) * len(kept) > MOST_CELLS:
        return frame
    named = {header for metrics in runs.values() for header in metrics}
    beside = [header for header in kept if header not in named and _BETWEEN not in header]
    has_step = any("step" == meaning(metric) for metrics in runs.values() for metric in metrics.values())
    if not runs or not has_step and not any(meaning(header) in PLACES for header in beside):
        return frame[kept] if spread else frame
    if has_step:  # each run logs its own steps; the chart's axis may be anything
        beside = [header for header in beside if meaning(header) != "step"]
    parts = []
    for run, metrics in runs.items():
        own = frame[list(metrics)].rename(columns=metrics)
        filled = own.drop(columns=[name for name in own if meaning(name) in PLACES]).notna().any(axis=1)
        shared = frame.loc[filled, [header for header in beside if header not in own]]
        parts.append(pd.concat([shared, own.loc[filled]], axis=1).assign(run=run))
    return pd.concat(parts, ignore_index=True)


def tracked(headers: list[str]) -> dict[str, dict[str, str]]:
    """Headers and metrics by run in the export of a tracker's chart ("name - train/loss"; a grouped chart writes "Group: name"); of
    one metric twice the first. Split at the last " - ", as names have hyphens too."""
    runs: dict[str, dict[str, str]] = {}
    for header in headers:
        run, between, metric = header.rpartition(_BETWEEN)
        if between and run.strip() and metric.strip() and metric not in runs.get(run, {}).values():
            runs.setdefault(run, {})[header] = metric
    logged = {metric for metrics in runs.values() for metric in metrics.values()}
    if not any(meaning(metric) in (*LOSSES, "tokens_per_second") for metric in logged):
        return {}
    return {run.removeprefix("Group: ").strip(): metrics for run, metrics in runs.items()}


def by_batch(headers: list[str], frame: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Headers and metrics by run where several columns name a batch each, such as "loss_b16" and "loss_b32"; of one metric twice the
    first; empty where they hold something else than losses."""
    runs: dict[str, dict[str, str]] = {}
    for header in headers if len(headers) <= MOST_COLUMNS else ():
        said, rest = run_names.split(header)
        rest = re.sub(r"[|_\-\s().=:,]*\|[|_\-\s().=:,]*", " ", rest).strip(" _-/.")
        if "batch" not in said and meaning(header) in LOSSES:
            label, rest = _numbered(header)
        elif "batch" in said and meaning(rest or "loss") in LOSSES:
            label = re.sub(r"(?i)[\W_]*(?:train\w*|val\w*|eval\w*|test)?[\W_]*loss[\W_]*", " ", header).strip()
        else:
            continue
        metric = rest or "loss"
        if label and metric not in runs.get(label, {}).values() and (rest or _small(frame[header])):
            runs.setdefault(label, {})[header] = metric
    return runs if len(runs) > 1 and len({label.lower() for label in runs}) == len(runs) else {}


def _numbered(header: str) -> tuple[str, str]:
    """A run and its loss in "loss_16" or "val_loss_256k"; nothing where no plausible batch stands behind the loss."""
    rest, word, tail = re.sub(r"(?i)loss(?!.*loss)", "\n", header).partition("\n")
    found = _BARE_BATCH.fullmatch(tail) if word else None
    if not found or int(found["size"]) < 4 or not (found["suffix"] or int(found["size"]) % 2 == 0):
        return "", ""
    return f"b{found['size']}{found['suffix'] or ''}", f"{rest}loss"


def _small(column: pd.Series) -> bool:
    """Whether the numbers of a column can be losses; an empty one can."""
    values = cells.numbers(column.head(1000), {})
    values = values[np.isfinite(values)]
    return not len(values) or float(np.median(np.abs(values))) < LARGEST_LOSS


def _is_spread(header: str) -> bool:
    """Whether a column is the range around another of a tracker's chart."""
    return header.rstrip().endswith(("__MIN", "__MAX"))
