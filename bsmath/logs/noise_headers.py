"""Columns of noise-scale logs by what they mean, in the words that trainers write."""

import re

import pandas as pd

HEADERS = {
    "small": "grad_sq_norm_small; grad_norm_sq_small; small_grad_sq_norm; g2_small; norm_small_sq",
    "big": "grad_sq_norm_big; grad_norm_sq_big; big_grad_sq_norm; g2_big; norm_big_sq",
    "tokens_small": "tokens_small; small_tokens",
    "tokens_big": "tokens_big; big_tokens",
    "sequences_small": "b_small; batch_small; small_batch; batch_size_small; small_batch_size; sequences_small",
    "sequences_big": "b_big; batch_big; big_batch; batch_size_big; big_batch_size; sequences_big",
    "grad_sq_norm": "grad_sq_norm; grad_sqr; grad_norm_sq; g2; true_grad_sq_norm",
    "trace": "trace; tr_sigma; trace_sigma; trace_of_covariance; grad_trace",
    "initial_variance": "grad_var",
    "ratio": "noise_scale; gradient_noise_scale; grad_noise_scale; gns; b_simple; simple_noise_scale",
    "step": "step; iteration; iter; global_step; steps; train_step",
    "tokens": "tokens; tokens_seen; tokens_trained; total_tokens; consumed_tokens; num_tokens",
    "progress": "progress",
    "tokens_per_step": "tokens_per_step; batch_tokens; global_batch_tokens",
    "seq_len": "seq_len; sequence_length; block_size",
    "steps_averaged": "steps_averaged",
    "group": "group; layer_group; layer; module",
    "run": "run; run_name; run_id",
    "loss": "loss; train_loss; training_loss",
}  # fmt: skip
"""Columns by meaning, in the words that a header is reduced to."""
MEANINGS = {header: meaning for meaning, headers in HEADERS.items() for header in headers.split("; ")}
SOURCES = ({"small", "big", "tokens_small", "tokens_big"}, {"small", "big", "sequences_small", "sequences_big"},
           {"grad_sq_norm", "trace"}, {"grad_sq_norm", "initial_variance"}, {"ratio"})  # fmt: skip
"""Columns that a noise scale can be made from; the first that a file has are taken."""
PLACE = {"tokens": "tokens", "progress": "steps at the initial batch", "step": "steps"}
"""Columns that tell the place in the run, and what each counts."""


def meaning(header: str) -> str | None:
    """What a header means; a path such as train/gns, or "run - train/gns", counts by its last part."""
    last = str(header).lower().split(" - ")[-1]
    last = re.sub(r"[\[(].*", "", last).split("/")[-1]  # without a unit in brackets
    return MEANINGS.get(re.sub(r"[^a-z0-9]+", "_", last).strip("_"))


def meanings(headers: list[str]) -> dict[str, str]:
    """Headers by meaning, the first of each."""
    found = {}
    for header in headers:
        if (meant := meaning(header)) is not None:
            found.setdefault(meant, header)
    return found


def others(frame: pd.DataFrame, headers: dict[str, str], source: set[str]) -> list[str]:
    """A sentence for every further column with a noise scale or a part of it."""
    also = {part: [name for name in frame if meaning(name) == part and name != headers[part]] for part in source}
    return [f"Only {headers[part]} was read, not {', '.join(also[part][:5])}." for part in also if also[part]]


def source_of(meanings: set[str]) -> set[str] | None:
    """The columns among these that a noise scale can be made from."""
    return next((source for source in SOURCES if source <= meanings), None)
