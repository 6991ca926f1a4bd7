"""Columns of loss curves by what they mean, and the layout of a tracker's export, where each run is a column."""

import re

import pandas as pd

from bsmath.sweeps import columns

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
}
"""Columns known to the sweeps that tell what a run was; meanings alike."""

_HELD_OUT = frozenset("val valid validation eval evaluation dev test heldout held".split())
_OTHER = frozenset(
    "target threshold goal final best last min max std sem scale aux auxiliary balancing balance load z router moe expert mtp "
    "weight time epoch delta diff kl distill smoothed ema perplexity ppl acc".split()
)
_TRACKED = re.compile(r"(?P<run>.+) - (?P<metric>[^-]*loss[^-]*)$", re.IGNORECASE)
_VALUE = {"wall time", "step", "value"}


def meaning(header: str) -> str | None:
    """What a header means here: a place, a loss, "run", or a setting of a run."""
    last = re.sub(r"[^a-z0-9]+", "_", re.sub(r"[\[(].*", "", header.lower()).split("/")[-1]).strip("_")
    for found, known in (("step", STEPS), ("tokens", TOKENS), ("samples", SAMPLES), ("run", RUNS)):
        if last in known:
            return found
    said = set(re.split(r"[^a-z0-9]+", header.lower()))
    if "loss" in said or last in ("nll", "cross_entropy", "lossf"):
        if said & _OTHER:
            return None
        return "validation" if said & _HELD_OUT else "training"
    return SETTINGS.get(columns.recognize(header, is_number=True).meaning)


def meanings(headers: list[str]) -> dict[str, list[str]]:
    """Headers by meaning, each in the order of the file; steps that count one by one before those that say so in the plural."""
    found: dict[str, list[str]] = {}
    for header in headers:
        if (meant := meaning(header)) is not None:
            found.setdefault(meant, []).append(header)
    last = {header: header.lower().split("/")[-1].strip(" _") for header in found.get("step", ())}
    found |= {"step": sorted(last, key=lambda header: STEPS.index(last[header]) if last[header] in STEPS else 0)}
    return found


def unfolded(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with one row for each run and step, where it has one column a run ("name - train/loss") or is a scalar of
    TensorBoard's (Wall time, Step, Value); else the table as it is."""
    headers = list(map(str, frame.columns))
    if {header.strip().lower() for header in headers} == _VALUE:
        return frame.rename(columns={header: "loss" for header in headers if header.strip().lower() == "value"})
    tracked = {header: found for header in headers if (found := _TRACKED.match(header)) and "__" not in found["metric"]}
    beside = [header for header in headers if " - " not in header and meaning(header) in PLACES]
    if not tracked or not beside:
        return frame
    parts = [
        frame[beside].assign(run=found["run"], **{found["metric"]: frame[header]}).dropna(subset=[found["metric"]])
        for header, found in tracked.items()
    ]
    return pd.concat(parts, ignore_index=True)
