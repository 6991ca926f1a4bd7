"""Columns of noise-scale logs by what they mean, in the words that trainers write.

Squared norms: this project's meter, k-diffusion's `sq_norm_small_batch`, the `noise_scale/g_small_l2norm_squared` of a Composer
callback. Norms themselves: nanoGNS's `pegn` and `norm`, and loops of one's own.
"""

import re

import pandas as pd

HEADERS = {
    "small": "grad_sq_norm_small; grad_norm_sq_small; small_grad_sq_norm; g2_small; norm_small_sq; sq_norm_small; "
    "sq_norm_small_batch; small_sq_norm; g_small_l2norm_squared; micro_grad_sq_norm; local_grad_sq_norm; local_sq_norm; "
    "grad_sq_norm_micro; grad_sq_norm_local; grad_norm_small_sq; grad_norm_small_squared; avg_small_sq_norm",
    "big": "grad_sq_norm_big; grad_norm_sq_big; big_grad_sq_norm; g2_big; norm_big_sq; sq_norm_big; sq_norm_large; "
    "sq_norm_large_batch; big_sq_norm; g_big_l2norm_squared; global_grad_sq_norm; global_sq_norm; grad_sq_norm_large; "
    "grad_sq_norm_global; grad_norm_big_sq; grad_norm_big_squared",
    "small_root": "grad_norm_small; small_grad_norm; norm_small; micro_grad_norm; micro_grad_norm_mean; micro_batch_grad_norm; "
    "microbatch_grad_norm; local_grad_norm; local_norm; grad_norm_micro; grad_norm_local; pegn",
    "big_root": "grad_norm_big; big_grad_norm; norm_big; grad_norm_large; large_grad_norm; global_grad_norm; global_norm; "
    "grad_norm_global",
    "step_root": "grad_norm; gradient_norm; norm",
    "tokens_small": "tokens_small; small_tokens",
    "tokens_big": "tokens_big; big_tokens",
    "sequences_small": "b_small; batch_small; small_batch; batch_size_small; small_batch_size; sequences_small",
    "sequences_big": "b_big; batch_big; big_batch; batch_size_big; big_batch_size; sequences_big; b_large; large_batch",
    "grad_sq_norm": "grad_sq_norm; grad_sqr; grad_norm_sq; g2; true_grad_sq_norm; squared_gradients_estimate",
    "trace": "trace; tr_sigma; trace_sigma; trace_of_covariance; grad_trace; trace_estimate",
    "initial_variance": "grad_var",
    "ratio": "noise_scale; gradient_noise_scale; grad_noise_scale; gns; b_simple; simple_noise_scale; noise_scale_with_emas",
    "step": "step; iteration; iter; global_step; steps; train_step; iter_num",
    "tokens": "tokens; tokens_seen; tokens_trained; total_tokens; consumed_tokens; num_tokens; tokens_processed",
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
NORMS = (("small", "big"), ("small_root", "big_root"), ("small_root", "step_root"))
"""Pairs of norms, squared ones first: the square of a mean of norms is too small. A trainer's own grad_norm is the big one."""
BATCHES = (("tokens_small", "tokens_big"), ("sequences_small", "sequences_big"))
"""Pairs of batch sizes."""
PAIRS = tuple({*norms, *batches} for norms in NORMS for batches in BATCHES)
SOURCES = (*PAIRS, {"grad_sq_norm", "trace"}, {"grad_sq_norm", "initial_variance"}, {"ratio"})
"""Columns that a noise scale can be made from; the first that a file has are taken."""
PLACE = {"tokens": "tokens", "progress": "steps at the initial batch", "step": "steps"}
"""Columns that tell the place in the run, and what each counts."""
PARTS = {"small", "big", "small_root", "big_root", "step_root", "grad_sq_norm", "trace", "initial_variance", "ratio"}
"""Meanings that a layer group may have a column of its own for."""


def reduced(words: str) -> str:
    """Words in small letters with one underscore between them, without a unit in brackets."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"[\[(].*", "", words.lower())).strip("_")


def last(header: str) -> str:
    """What follows the name of a run in a header such as "run - train/gns"."""
    return str(header).split(" - ")[-1]


def meaning(header: str) -> str | None:
    """What a header means; a path such as train/gns counts by its last part."""
    return MEANINGS.get(reduced(last(header).split("[")[0].split("(")[0].split("/")[-1]))


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


def lacks_batches(meanings: set[str]) -> bool:
    """Whether there are two norms, named as small and big, but not of which batches."""
    return source_of(meanings) is None and any(set(norms) <= meanings for norms in NORMS[:2])
