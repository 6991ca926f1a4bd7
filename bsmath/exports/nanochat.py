"""nanochat: flags of scripts/base_train.py.

total-batch-size is tokens (padding with them) of all devices, device-batch-size sequences of one; lengths are
optimizer steps, the fall at the end and the last rate shares. Rates are set by group of parameters, and the script
multiplies them by sqrt(total batch / 2^19) and scales the decay, so neither is written. Source: karpathy/nanochat
scripts/base_train.py.
"""

from collections.abc import Mapping

from bsmath.exports import flags, wording
from bsmath.exports.draft import Draft, Read
from bsmath.recipe import Recipe

LABEL, FILE, LANGUAGE = "nanochat", "nanochat.sh", "bash"
KEYS = {
    "--device-batch-size", "--total-batch-size", "--num-iterations", "--embedding-lr", "--unembedding-lr",
    "--matrix-lr", "--scalar-lr", "--warmdown-ratio", "--final-lr-frac", "--max-seq-len", "--target-param-data-ratio",
    "base_train",
}  # fmt: skip
DEFAULTS = {"micro_batch_size": 32, "seq_len": 2048, "warmup_steps": 40}
"""What scripts/base_train.py sets; the earlier version, whose warmup is --warmup-ratio, falls in a way of its own."""
WARMDOWN, FINAL = 0.65, 0.05
"""Its --warmdown-ratio and --final-lr-frac."""
RATES = ("embedding-lr", "unembedding-lr", "matrix-lr", "scalar-lr")


def write(recipe: Recipe) -> str:
    """The recipe as flags."""
    lines = [
        f"max-seq-len={recipe.seq_len}",
        f"device-batch-size={recipe.micro_batch_size}  # sequences that one device forwards at once",
        f"total-batch-size={recipe.padded_tokens_per_step}  # tokens of one optimizer step, all devices",
        f"num-iterations={recipe.steps(recipe.total_tokens)}  # optimizer steps",
        f"warmup-steps={recipe.steps(recipe.warmup_tokens)}",
        *_fall(recipe),
        *([f"eval-every={recipe.steps(recipe.eval_tokens)}"] if recipe.eval_tokens else []),
        *([f"save-every={recipe.steps(recipe.checkpoint_tokens)}"] if recipe.checkpoint_tokens else []),
    ]
    head = [
        "# Learning rates and weight decay are left out: they are set by group of parameters and scaled by the script.",
        "NANOCHAT_ARGS=(",
    ]
    return "\n".join([*head, *(f"    --{line}" for line in lines), ")", ""])


def _fall(recipe: Recipe) -> list[str]:
    if recipe.schedule == "cosine":
        return []
    warmup = min(recipe.steps(recipe.warmup_tokens) / recipe.steps(recipe.total_tokens), 1.0)
    share = {"constant": 0.0, "linear": 1 - warmup, "wsd": wording.decay_share(recipe)}[recipe.schedule]
    return [
        f"warmdown-ratio={share}  # of the steps, at their end",
        f"final-lr-frac={wording.floor_ratio(recipe)}  # of the peak rate",
    ]


def read(text: str, known: Mapping | None = None) -> Read:
    """The recipe of flags."""
    found, draft = flags.parse(text), Draft(known, DEFAULTS)
    draft.put("seq_len", found.get("max-seq-len"), "--max-seq-len")
    draft.put("micro_batch_size", found.get("device-batch-size"), "--device-batch-size")
    draft.put("data_parallel_size", flags.world_size(found), "torchrun's number of processes")
    _batch(draft, found)
    for flag, name in {"num-iterations": "total_tokens", "warmup-steps": "warmup_tokens"}.items():
        if found.get(flag) != "-1":
            draft.length(name, found.get(flag), "steps", f"--{flag}")
    draft.share("warmup_tokens", found.get("warmup-ratio"), "total_tokens", "--warmup-ratio")
    draft.tail(found.get("warmdown-ratio"), "linear", "--warmdown-ratio")
    draft.share("min_learning_rate", found.get("final-lr-frac"), "learning_rate", "--final-lr-frac")
    if "warmup-ratio" not in found:
        _fall_by_default(draft, found)
    draft.interval("eval_tokens", found.get("eval-every"), "--eval-every")
    draft.interval("checkpoint_tokens", found.get("save-every"), "--save-every")
    if any(flag in found for flag in RATES):
        draft.say("The learning rates were left out: a recipe has one rate, nanochat one for each group of parameters.")
    if "weight-decay" in found:
        draft.say("--weight-decay was left out: it is that of Muon, and the script scales it.")
    return draft.done()


def _fall_by_default(draft: Draft, found: dict) -> None:
    with draft.assume():
        if "warmdown-ratio" not in found:
            draft.tail(WARMDOWN, "linear", "--warmdown-ratio")
        draft.share("min_learning_rate", FINAL, "learning_rate", "--final-lr-frac")


def _batch(draft: Draft, found: dict) -> None:
    tokens, length = found.get("total-batch-size"), draft.get("seq_len")
    if tokens == "-1":
        draft.say("--total-batch-size -1 was left out: the script computes the batch.")
        tokens = None
    count = draft.number(tokens, "--total-batch-size")
    draft.batch(
        None if count is None or length is None else count / length, "--total-batch-size over the sequence length"
    )


def notes(recipe: Recipe) -> tuple[str, ...]:
    """What these flags mean and leave out."""
    said = [
        "total-batch-size is tokens of all devices, device-batch-size sequences of one; iterations are optimizer "
        "steps.",
        "Learning rate, weight decay, betas, epsilon and clipping were left out: nanochat trains matrices with "
        "Muon and the rest with AdamW, "
        "with a rate for each group (--matrix-lr, --embedding-lr, --unembedding-lr, --scalar-lr).",
        "The script multiplies its rates by the square root of total-batch-size over 524,288 itself: do not "
        "scale them by hand as well.",
        "The way the loss is averaged is no flag: it is the mean of micro-batches.",
    ]
    if recipe.schedule == "cosine":
        said.append(
            "The cosine schedule was left out, with its last rate: nanochat's rate is constant and then falls linearly."
        )
    return (*said, *(note for note in wording.notes(recipe, LABEL) if not note.startswith("Weight decay")))
