"""DeepSpeed: its JSON configuration.

Batches are samples (sequences): train_batch_size is micro-batch x accumulation x data-parallel processes. Lengths are
optimizer steps of its schedulers. JSON has no comments, so all that must be said is in the notes. Source:
docs/_pages/config-json.md, runtime/lr_schedules.py.
"""

import json
from collections.abc import Mapping

from bsmath.exports import wording
from bsmath.exports.draft import Draft, Read
from bsmath.recipe import Recipe

LABEL, FILE, LANGUAGE = "DeepSpeed", "deepspeed.json", "json"
KEYS = {
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_clipping", "zero_optimization", "steps_per_print",
    "WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "total_num_steps", "warmup_num_steps",
}  # fmt: skip
PLAIN = {
    "train_micro_batch_size_per_gpu": "micro_batch_size", "gradient_accumulation_steps": "grad_accum_steps",
    "gradient_clipping": "clip_norm",
}  # fmt: skip
ADAM = {
    "learning_rate": 1e-3, "weight_decay": 0.0, "decay": "coupled", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
}  # fmt: skip
"""What its Adam (ops/adam/fused_adam.py) sets."""
DEFAULTS = {"grad_accum_steps": 1, **ADAM}
"""Its own defaults: accumulation where no train_batch_size is given, the rest for Adam and AdamW alone. Its documentation
and its code disagree on the clipping."""
WARMUP_STEPS, WARMUP_MAX, COSINE_FLOOR = 1000, 1e-3, 1e-4
"""The warmup, the peak and the last rate over the peak that its schedulers set."""
SCHEDULES = {"warmuplr": "constant", "warmupdecaylr": "linear", "warmupcosinelr": "cosine"}


def write(recipe: Recipe) -> str:
    """The recipe as JSON."""
    config = {
        "train_batch_size": recipe.global_batch_size,
        "train_micro_batch_size_per_gpu": recipe.micro_batch_size,
        "gradient_accumulation_steps": recipe.grad_accum_steps,
        "gradient_clipping": recipe.clip_norm,
        "optimizer": _optimizer(recipe),
    }
    if recipe.schedule != "wsd":
        config["scheduler"] = _scheduler(recipe)
    return json.dumps(config, indent=2) + "\n"


def _optimizer(recipe: Recipe) -> dict:
    params, decay = {"lr": recipe.learning_rate}, wording.coupled_decay(recipe)
    if recipe.optimizer == "adamw":
        params |= {"betas": [recipe.beta1, recipe.beta2], "eps": recipe.epsilon}
    else:
        params |= {"momentum": recipe.beta1}
    if decay is not None:
        params["weight_decay"] = decay
    return {"type": "AdamW" if recipe.optimizer == "adamw" else "SGD", "params": params}


def _scheduler(recipe: Recipe) -> dict:
    warmup, total = (
        {"warmup_num_steps": recipe.steps(recipe.warmup_tokens), "warmup_type": "linear"},
        recipe.steps(recipe.total_tokens),
    )
    if recipe.schedule == "constant":
        return {"type": "WarmupLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": recipe.learning_rate, **warmup}}
    if recipe.schedule == "linear":
        rates = {"warmup_min_lr": recipe.min_learning_rate, "warmup_max_lr": recipe.learning_rate}
        return {"type": "WarmupDecayLR", "params": {"total_num_steps": total, **rates, **warmup}}
    ratios = {"warmup_min_ratio": 0, "cos_min_ratio": wording.floor_ratio(recipe)}
    return {"type": "WarmupCosineLR", "params": {"total_num_steps": total, **ratios, **warmup}}


def read(text: str, known: Mapping | None = None) -> Read:
    """The recipe of a JSON text."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise ValueError("the text must be a JSON object, got something else")
    draft = Draft(known, DEFAULTS)
    draft.forget(*(["grad_accum_steps"] if "train_batch_size" in config else []))
    for key, name in PLAIN.items():
        draft.put(name, config.get(key), key)
    _read_optimizer(draft, *_part(config, "optimizer"))
    draft.batch(config.get("train_batch_size"), "train_batch_size")
    _read_scheduler(draft, *_part(config, "scheduler"))
    return draft.done()


def _part(config: dict, key: str) -> tuple:
    part = config.get(key) if isinstance(config.get(key), dict) else {}
    params = part.get("params")
    return part.get("type"), params if isinstance(params, dict) else {}


def _read_optimizer(draft: Draft, kind, params: dict) -> None:
    coupled_l2 = isinstance(kind, str) and kind.lower() == "adam" and params.get("adam_w_mode") is False
    words = {"adamw": "adamw", "sgd": "sgd"} if coupled_l2 else {"adam": "adamw", "adamw": "adamw", "sgd": "sgd"}
    draft.word("optimizer", kind, words, "optimizer.type")
    if draft.fields.get("optimizer") != "adamw" or params.get("torch_adam"):
        draft.forget(*ADAM)
    for key, name in {
        "lr": "learning_rate",
        "eps": "epsilon",
        "weight_decay": "weight_decay",
        "momentum": "beta1",
    }.items():
        draft.put(name, params.get(key), f"optimizer.params.{key}")
    betas = params.get("betas")
    draft.stated |= {"beta1", "beta2"} if betas is not None else set()
    if isinstance(betas, list) and len(betas) == 2:
        draft.put("beta1", betas[0], "optimizer.params.betas")
        draft.put("beta2", betas[1], "optimizer.params.betas")
    elif betas is not None:
        draft.say("optimizer.params.betas was left out: it is no list of two numbers.")


def _read_scheduler(draft: Draft, kind, params: dict) -> None:
    draft.word("schedule", kind, SCHEDULES, "scheduler.type")
    draft.length("total_tokens", params.get("total_num_steps"), "steps", "scheduler.params.total_num_steps")
    draft.length("warmup_tokens", params.get("warmup_num_steps"), "steps", "scheduler.params.warmup_num_steps")
    _default_lengths(draft, params)
    if draft.fields.get("schedule") == "cosine":
        draft.share("min_learning_rate", params.get("cos_min_ratio"), "learning_rate", "scheduler.params.cos_min_ratio")
    elif draft.fields.get("schedule") in ("linear", "constant"):
        draft.put("learning_rate", params.get("warmup_max_lr"), "scheduler.params.warmup_max_lr")
    if draft.fields.get("schedule") == "linear":
        draft.put("min_learning_rate", params.get("warmup_min_lr"), "scheduler.params.warmup_min_lr")
    if kind in ("WarmupLR", "WarmupDecayLR", "WarmupCosineLR") and params.get("warmup_type") != "linear":
        draft.say("The warmup is logarithmic, DeepSpeed's default; a recipe's is linear.")


def _default_lengths(draft: Draft, params: dict) -> None:
    shape = draft.fields.get("schedule")
    if shape in ("linear", "constant") and "warmup_max_lr" not in params and "learning_rate" in draft.fields:
        draft.say(f"Without warmup_max_lr the scheduler's own rate is {WARMUP_MAX}, whatever the optimizer's lr.")
    with draft.assume():
        if shape:
            draft.length("warmup_tokens", WARMUP_STEPS, "steps", "warmup_num_steps")
        if shape == "cosine" and "cos_min_ratio" not in params:
            draft.share("min_learning_rate", COSINE_FLOOR, "learning_rate", "cos_min_ratio")
        if shape == "linear":
            draft.set("min_learning_rate", 0.0)
        if shape in ("linear", "constant"):
            draft.set("learning_rate", WARMUP_MAX)


def notes(recipe: Recipe) -> tuple[str, ...]:
    """What this configuration means and leaves out."""
    said = [
        "Batches are sequences: train_batch_size is of the whole job, the product of micro-batch, accumulation "
        "and data-parallel processes "
        f"({recipe.data_parallel_size} of them). Scheduler lengths are optimizer steps and change their meaning "
        "with the batch.",
        "Sequence length, intervals of saving and evaluation and the way the loss is averaged were left out: "
        "they belong to the script.",
    ]
    if recipe.schedule == "wsd":
        said.append("The wsd schedule was left out, with warmup and length of the run: DeepSpeed has none.")
    if recipe.schedule == "constant":
        said.append("The length of the run and the last rate were left out: WarmupLR has neither.")
    if recipe.schedule == "linear" and recipe.min_learning_rate:
        said.append("WarmupDecayLR falls to warmup_min_lr, and so its warmup starts there as well, not at 0.")
    if recipe.schedule != "wsd" and recipe.steps(recipe.warmup_tokens) < 2:
        said.append("DeepSpeed's warmup takes at least two steps.")
    return (*said, *wording.notes(recipe, LABEL))
