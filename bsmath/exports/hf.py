"""Hugging Face Trainer: TrainingArguments in Python; read from Python, JSON, `key: value` lines and command lines too.

Lengths are optimizer ("update") steps, the batch is sequences per device. Sequence length and number of devices are
not among the arguments; they are read from a script's own and from its launcher. Source: transformers/training_args.py,
optimization.py (schedules and their kwargs).
"""

import json
from collections.abc import Mapping

from bsmath.exports import flags, wording
from bsmath.exports.draft import Draft, Read
from bsmath.exports.hf_settings import LENGTHS, PLAIN, settings
from bsmath.exports.values import plain
from bsmath.recipe import Recipe

LABEL, FILE, LANGUAGE = "Hugging Face Trainer", "training_arguments.py", "python"
KEYS = {
    "TrainingArguments", "per_device_train_batch_size", "lr_scheduler_type", "lr_scheduler_kwargs", "adam_beta1",
    "adam_beta2", "adam_epsilon", "max_grad_norm", "num_train_epochs", "average_tokens_across_devices", "warmup_ratio",
    "save_strategy", "eval_strategy", "max_train_steps", "num_warmup_steps",
    "micro_batch_size", "sequence_len", "cutoff_len", "num_epochs",
}  # fmt: skip
DEFAULTS = {
    "micro_batch_size": 8, "grad_accum_steps": 1, "learning_rate": 5e-5, "optimizer": "adamw", "weight_decay": 0.0,
    "decay": "coupled", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "clip_norm": 1.0, "schedule": "linear",
    "warmup_steps": 0, "min_learning_rate": 0.0,
}  # fmt: skip
"""What TrainingArguments sets; average_tokens_across_devices differs between versions."""
POLYNOMIAL_END = 1e-7
"""The last rate of its polynomial schedule."""
SCHEDULES = {
    "cosine": "cosine", "cosine_with_min_lr": "cosine", "linear": "linear", "polynomial": "linear",
    "constant": "constant", "constant_with_warmup": "constant", "warmup_stable_decay": "wsd",
}  # fmt: skip
OPTIMIZERS = {
    "adamw_torch": "adamw", "adamw_torch_fused": "adamw", "adamw_apex_fused": "adamw", "adamw_hf": "adamw",
    "adamw_8bit": "adamw", "adamw_bnb_8bit": "adamw", "paged_adamw_8bit": "adamw", "paged_adamw_32bit": "adamw",
    "sgd": "sgd",
}  # fmt: skip


def write(recipe: Recipe) -> str:
    """The recipe as a TrainingArguments."""
    lines = [
        'output_dir="output",',
        f"per_device_train_batch_size={recipe.micro_batch_size},  # sequences per device",
        f"gradient_accumulation_steps={recipe.grad_accum_steps},  # micro-batches per device and step",
        f"max_steps={recipe.steps(recipe.total_tokens)},  # optimizer steps",
        f"learning_rate={recipe.learning_rate},",
        *_schedule(recipe),
        *_optimizer(recipe),
        f"max_grad_norm={recipe.clip_norm},",
        *_intervals(recipe),
    ]
    devices = f"{recipe.data_parallel_size} data-parallel processes and sequences of {recipe.seq_len} tokens"
    head = [
        "from transformers import TrainingArguments",
        "",
        f"# For {devices},",
        "# which are not among these arguments.",
    ]
    return "\n".join([*head, "training_args = TrainingArguments(", *(f"    {line}" for line in lines), ")", ""])


def _schedule(recipe: Recipe) -> list[str]:
    low, kind, more = recipe.min_learning_rate, recipe.schedule, None
    if kind == "wsd":
        kind, steps = "warmup_stable_decay", recipe.steps(recipe.decay_tokens)
        more = {"num_decay_steps": steps, "decay_type": "linear", "min_lr_ratio": wording.floor_ratio(recipe)}
    elif kind == "constant":
        kind = "constant_with_warmup"
    elif low:
        more = {"min_lr": low} if kind == "cosine" else {"lr_end": low, "power": 1.0}
        kind = "cosine_with_min_lr" if kind == "cosine" else "polynomial"
    lines = [f'lr_scheduler_type="{kind}",'] + ([f"lr_scheduler_kwargs={json.dumps(more)},"] if more else [])
    return [*lines, f"warmup_steps={recipe.steps(recipe.warmup_tokens)},  # optimizer steps"]


def _optimizer(recipe: Recipe) -> list[str]:
    lines, decay = ['optim="sgd",'], wording.coupled_decay(recipe)
    if recipe.optimizer == "adamw":
        lines = [
            'optim="adamw_torch",',
            f"adam_beta1={recipe.beta1},",
            f"adam_beta2={recipe.beta2},",
            f"adam_epsilon={recipe.epsilon},",
        ]
    return lines + ([] if decay is None else [f"weight_decay={decay},"])


def _intervals(recipe: Recipe) -> list[str]:
    lines = []
    for kind, tokens in (("save", recipe.checkpoint_tokens), ("eval", recipe.eval_tokens)):
        if tokens:
            lines += [f'{kind}_strategy="steps",', f"{kind}_steps={recipe.steps(tokens)},"]
    return lines + (["average_tokens_across_devices=True,"] if recipe.loss_average == "token" else [])


def read(text: str, known: Mapping | None = None) -> Read:
    """The recipe of arguments in any of their forms."""
    (found, said), draft = settings(text), Draft(known, DEFAULTS)
    for sentence in said:
        draft.say(sentence)
    for key, name in PLAIN.items():
        draft.put(name, found.get(key), key)
    draft.word("optimizer", found.get("optim"), OPTIMIZERS, "optim")
    for key in LENGTHS:
        draft.put("seq_len", found.get(key), key)
    draft.put("data_parallel_size", flags.world_size(flags.parse(text)), "the launcher's number of processes")
    _unset(draft, found)
    draft.batch()
    if (steps := found.get("max_steps")) not in (-1, "-1"):
        draft.length("total_tokens", steps, "steps", "max_steps")
    if "total_tokens" not in draft.fields and "num_train_epochs" in found:
        draft.say("num_train_epochs was left out: the size of the data is not in the text.")
    _read_schedule(draft, found)
    _part(draft, "checkpoint_tokens", found.get("save_steps"), "save_steps")
    _part(draft, "eval_tokens", found.get("eval_steps"), "eval_steps")
    if found.get("average_tokens_across_devices") in (True, "true", "True"):
        draft.fields["loss_average"] = "token"
    return draft.done()


def _unset(draft: Draft, found: dict) -> None:
    """Defaults that another program does not share: Axolotl has its own, and scripts without the Trainer do not clip."""
    if {"micro_batch_size", "sequence_len"} & found.keys():
        draft.forget("micro_batch_size", "grad_accum_steps", "learning_rate", "optimizer", "schedule", "warmup_tokens")
    if {"max_train_steps", "num_warmup_steps"} & found.keys():
        draft.defaults["clip_norm"] = 0.0


def _read_schedule(draft: Draft, found: dict) -> None:
    kind, more = found.get("lr_scheduler_type"), found.get("lr_scheduler_kwargs")
    draft.word("schedule", kind, SCHEDULES, "lr_scheduler_type")
    more = {**found, **more} if isinstance(more, dict) else found
    if kind == "polynomial" and plain(more.get("power", 1)) != 1:
        draft.say("The power of the polynomial schedule was left out: a recipe's is linear.")
    _warmup(draft, found)
    if kind in ("cosine", "linear"):  # both fall to 0
        draft.fields["min_learning_rate"] = 0.0
    elif kind not in (None, "warmup_stable_decay"):
        draft.forget(*([] if kind == "polynomial" else ["min_learning_rate"]))
        draft.defaults |= {"min_learning_rate": POLYNOMIAL_END} if kind == "polynomial" else {}
    for key in ("min_lr", "lr_end"):
        draft.put("min_learning_rate", more.get(key), key)
    for key in ("min_lr_rate", "min_lr_ratio"):
        draft.share("min_learning_rate", more.get(key), "learning_rate", key)
    if draft.fields.get("schedule") == "wsd":
        draft.length("decay_tokens", more.get("num_decay_steps"), "steps", "num_decay_steps")


def _warmup(draft: Draft, found: dict) -> None:
    _part(draft, "warmup_tokens", found.get("warmup_steps"), "warmup_steps")
    if not draft.fields.get("warmup_tokens"):
        draft.share("warmup_tokens", found.get("warmup_ratio"), "total_tokens", "warmup_ratio")


def _part(draft: Draft, name: str, raw, source: str) -> None:
    """Steps, or a share of the run where below 1."""
    value = draft.number(raw, source)
    if value is not None and 0 < value < 1:
        draft.share(name, value, "total_tokens", source)
    elif name == "warmup_tokens":
        draft.length(name, value, "steps", source)
    else:
        draft.interval(name, value, source)


def notes(recipe: Recipe) -> tuple[str, ...]:
    """What these arguments mean and leave out."""
    said = [
        "Steps are optimizer steps and change their meaning with the batch; per_device_train_batch_size is of "
        "one device.",
        f"The number of processes ({recipe.data_parallel_size}) and the sequence length ({recipe.seq_len}) are no "
        "arguments: "
        "they come from the launcher and the data.",
    ]
    if recipe.loss_average != "token":
        said.append(
            f"A mean of the loss per {recipe.loss_average.replace('_', '-')} was left out: no argument asks for it."
        )
    if recipe.optimizer == "sgd":
        said.append("SGD's momentum was left out: there is no argument for it.")
    if recipe.schedule == "wsd":
        said.append(
            "The wsd schedule's fall goes through lr_scheduler_kwargs; its warmup starts at min_lr_ratio, not at 0."
        )
    return (*said, *wording.notes(recipe, LABEL))
