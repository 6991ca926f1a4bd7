"""nanoGPT: a config file of Python assignments; read from `--key=value` too.

Iterations are optimizer steps and batch_size is sequences of one process. gradient_accumulation_steps is the total
over all processes: train.py divides it by their number. The one schedule is a cosine after a warmup, or none. Source:
karpathy/nanoGPT train.py.
"""

from collections.abc import Mapping

from bsmath.exports import flags, pysource, wording
from bsmath.exports.draft import Draft, Read
from bsmath.recipe import Recipe

LABEL, FILE, LANGUAGE = "nanoGPT", "nanogpt.py", "python"
KEYS = {
    "block_size", "max_iters", "lr_decay_iters", "warmup_iters", "grad_clip", "decay_lr", "eval_iters",
    "always_save_checkpoint",
}  # fmt: skip
PLAIN = {
    "batch_size": "micro_batch_size", "block_size": "seq_len", "learning_rate": "learning_rate",
    "weight_decay": "weight_decay", "beta1": "beta1", "beta2": "beta2", "grad_clip": "clip_norm",
}  # fmt: skip
"""Settings that hold a field in its own unit."""
DEFAULTS = {
    "micro_batch_size": 12, "seq_len": 1024, "total_steps": 600_000, "learning_rate": 6e-4, "optimizer": "adamw",
    "weight_decay": 0.1, "decay": "coupled", "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "clip_norm": 1.0,
    "schedule": "cosine", "warmup_steps": 2000, "min_learning_rate": 6e-5, "loss_average": "micro_batch",
}  # fmt: skip
"""What train.py sets, and PyTorch's epsilon."""
ACCUMULATED, DECAY_STEPS = 5 * 8, 600_000
"""train.py's gradient_accumulation_steps, of all processes, and lr_decay_iters."""


def write(recipe: Recipe) -> str:
    """The recipe as assignments."""
    accumulated, decay = recipe.grad_accum_steps * recipe.data_parallel_size, wording.coupled_decay(recipe)
    lines = [
        "# Iterations are optimizer steps.",
        f"batch_size = {recipe.micro_batch_size}  # sequences that one process forwards at once",
        f"gradient_accumulation_steps = {accumulated}  # total over {recipe.data_parallel_size} processes; "
        "train.py divides by them",
        f"block_size = {recipe.seq_len}",
        f"max_iters = {recipe.steps(recipe.total_tokens)}",
        f"learning_rate = {recipe.learning_rate}",
        *_schedule(recipe),
        *([] if decay is None else [f"weight_decay = {decay}"]),
        *([f"beta1 = {recipe.beta1}", f"beta2 = {recipe.beta2}"] if recipe.optimizer == "adamw" else []),
        f"grad_clip = {recipe.clip_norm}",
        *([f"eval_interval = {recipe.steps(recipe.eval_tokens)}  # checkpoints too"] if recipe.eval_tokens else []),
    ]
    return "\n".join([*lines, ""])


def _schedule(recipe: Recipe) -> list[str]:
    if recipe.schedule == "constant":
        return ["decay_lr = False  # constant, and without a warmup"]
    if recipe.schedule != "cosine":
        return [f"# train.py has no {recipe.schedule} schedule: without a change of it the rate follows a cosine"]
    return [
        "decay_lr = True",
        f"warmup_iters = {recipe.steps(recipe.warmup_tokens)}",
        f"lr_decay_iters = {recipe.steps(recipe.total_tokens)}",
        f"min_lr = {recipe.min_learning_rate}",
    ]


def read(text: str, known: Mapping | None = None) -> Read:
    """The recipe of assignments or of a command line."""
    found, draft = settings(text), Draft(known, DEFAULTS)
    for key, name in PLAIN.items():
        draft.put(name, found.get(key), key)
    draft.put("data_parallel_size", flags.world_size(flags.parse(text)), "torchrun's number of processes")
    _batch(draft, found)
    draft.length("total_tokens", found.get("max_iters"), "steps", "max_iters")
    if found.get("decay_lr") in (False, "False"):
        draft.forget("schedule", "min_learning_rate")
        draft.steps["warmup_tokens"] = 0
        draft.fields["schedule"] = "constant"
        draft.say("decay_lr = False has no warmup either.")
    else:
        _cosine(draft, found)
    draft.interval("eval_tokens", found.get("eval_interval"), "eval_interval")
    if "eval_tokens" in draft.fields and found.get("always_save_checkpoint") in (True, "True"):
        draft.fields["checkpoint_tokens"] = draft.fields["eval_tokens"]
    return draft.done()


def _batch(draft: Draft, found: dict) -> None:
    micro, source = draft.get("micro_batch_size"), "gradient_accumulation_steps x batch_size"
    if "gradient_accumulation_steps" in found:
        accumulated = draft.number(found["gradient_accumulation_steps"], "gradient_accumulation_steps")
        draft.batch(None if None in (accumulated, micro) else accumulated * micro, source)
    else:
        with draft.assume():
            draft.batch(None if micro is None else ACCUMULATED * micro, source)


def _cosine(draft: Draft, found: dict) -> None:
    if {"lr_decay_iters", "decay_lr", "min_lr"} & found.keys():
        draft.fields["schedule"] = "cosine"
    draft.length("warmup_tokens", found.get("warmup_iters"), "steps", "warmup_iters")
    draft.put("min_learning_rate", found.get("min_lr"), "min_lr")
    if {"lr_decay_iters", "max_iters"} <= found.keys() and found["lr_decay_iters"] != found["max_iters"]:
        draft.say("lr_decay_iters was left out: a recipe's rate ends with its run, max_iters.")
    elif "lr_decay_iters" not in found and found.get("max_iters") not in (None, DECAY_STEPS, str(DECAY_STEPS)):
        draft.say(
            f"Without lr_decay_iters train.py's rate falls over {DECAY_STEPS:,} iterations; a recipe's ends with its run."
        )


def settings(text: str) -> dict:
    """Settings by name."""
    words = {name.replace("-", "_"): value for name, value in flags.parse(text).items()}
    try:
        assigned = pysource.parse(text).assigned
    except ValueError:
        if not (PLAIN.keys() | KEYS) & words.keys():
            raise
        assigned = {}
    return words | assigned


def notes(recipe: Recipe) -> tuple[str, ...]:
    """What this configuration means and leaves out."""
    said = [
        "Iterations are optimizer steps and change their meaning with the batch; batch_size is of one process.",
        "gradient_accumulation_steps is the total over all processes and must be a multiple of their number, "
        f"{recipe.data_parallel_size}.",
        "Adam's epsilon is no setting, and checkpoints are written at evaluations.",
        "The loss is the mean of micro-batches, which is that of tokens where all micro-batches have as many.",
    ]
    if recipe.schedule in ("linear", "wsd"):
        said.append(
            f"The {recipe.schedule} schedule was left out, with warmup and last rate: nanoGPT has a cosine alone."
        )
    if recipe.schedule == "constant":
        said.append("A constant rate in nanoGPT has no warmup.")
    if recipe.optimizer == "sgd":
        said.append("SGD and its momentum were left out: nanoGPT has AdamW alone.")
    return (*said, *wording.notes(recipe, LABEL))
