"""torchtitan: its job configuration in TOML.

Lengths are optimizer steps, batches sequences, the last rate a factor of the peak. A rate that falls over the last
decay_ratio of the steps is its wsd; a decay_ratio that leaves no stable part is the schedule of decay_type; 0 never
falls. Source: torchtitan/config/job_config.py and components/lr_scheduler.py.
"""

import math
import tomllib
from collections.abc import Mapping

from bsmath.exports import wording
from bsmath.exports.draft import Draft, Read
from bsmath.recipe import Recipe

LABEL, FILE, LANGUAGE = "torchtitan", "torchtitan.toml", "toml"
KEYS = {
    "local_batch_size", "min_lr_factor", "decay_ratio", "decay_type", "data_parallel_shard_degree",
    "data_parallel_replicate_degree", "tensor_parallel_degree", "lr_scheduler", "activation_checkpoint", "max_norm",
}  # fmt: skip
PLAIN = {
    ("optimizer", "lr"): "learning_rate", ("optimizer", "beta1"): "beta1", ("optimizer", "beta2"): "beta2",
    ("optimizer", "eps"): "epsilon", ("optimizer", "weight_decay"): "weight_decay", ("training",
    "batch_size"): "micro_batch_size", ("training", "local_batch_size"): "micro_batch_size", ("training", "seq_len"): "seq_len", ("training", "max_norm"): "clip_norm",
}  # fmt: skip
"""Keys that hold a field in its own unit; training.batch_size is the older name of local_batch_size."""
DEFAULTS = {
    "micro_batch_size": 8, "seq_len": 2048, "model_parallel_size": 1, "total_steps": 10_000, "learning_rate": 8e-4,
    "optimizer": "adamw", "weight_decay": 0.1, "decay": "coupled", "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8,
    "clip_norm": 1.0, "schedule": "linear", "warmup_steps": 200, "min_learning_rate": 0.0,
}  # fmt: skip
"""What config/job_config.py sets."""


def write(recipe: Recipe) -> str:
    """The recipe as tables."""
    lines = [
        "# Lengths are optimizer steps; batches are sequences.",
        *_optimizer(recipe),
        "",
        *_schedule(recipe),
        "",
        "[training]",
        f"local_batch_size = {recipe.micro_batch_size}  # sequences that one replica forwards at once",
        f"global_batch_size = {recipe.global_batch_size}  # sequences of one optimizer step, all replicas",
        f"seq_len = {recipe.seq_len}",
        f"steps = {recipe.steps(recipe.total_tokens)}",
        *([f"max_norm = {recipe.clip_norm}"] if recipe.clip_norm else []),
        "",
        "[parallelism]",
        f"data_parallel_shard_degree = {recipe.data_parallel_size}  # replicas; sharded is torchtitan's default",
    ]
    return "\n".join([*lines, *_intervals(recipe), ""])


def _optimizer(recipe: Recipe) -> list[str]:
    lines, decay = ["[optimizer]", f"lr = {recipe.learning_rate}"], wording.coupled_decay(recipe)
    if recipe.optimizer == "adamw":
        lines[1:1] = ['name = "AdamW"']
        lines += [f"beta1 = {recipe.beta1}", f"beta2 = {recipe.beta2}", f"eps = {recipe.epsilon}"]
    return lines + ([] if decay is None else [f"weight_decay = {decay}"])


def _schedule(recipe: Recipe) -> list[str]:
    lines = ["[lr_scheduler]", f"warmup_steps = {recipe.steps(recipe.warmup_tokens)}"]
    if recipe.schedule == "wsd":
        lines.append(f"decay_ratio = {wording.decay_share(recipe)}  # of the steps, at their end")
    elif recipe.schedule == "constant":
        lines.append("decay_ratio = 0.0  # never falls")
    if recipe.schedule != "constant":
        lines.append(f'decay_type = "{"cosine" if recipe.schedule == "cosine" else "linear"}"')
    return [*lines, f"min_lr_factor = {wording.floor_ratio(recipe)}  # of lr"]


def _intervals(recipe: Recipe) -> list[str]:
    lines = []
    if recipe.checkpoint_tokens:
        lines += [
            "",
            "[checkpoint]",
            f"interval = {recipe.steps(recipe.checkpoint_tokens)}  # steps, once it is enabled",
        ]
    if recipe.eval_tokens:
        lines += ["", "[validation]", f"freq = {recipe.steps(recipe.eval_tokens)}  # steps, once it is enabled"]
    return lines


def read(text: str, known: Mapping | None = None) -> Read:
    """The recipe of a TOML text."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the text must be TOML, got something that does not parse") from None
    draft = Draft(known, DEFAULTS)
    for (table, key), name in PLAIN.items():
        draft.put(name, _at(tables, table, key), f"{table}.{key}")
    draft.word("optimizer", _at(tables, "optimizer", "name"), {"adamw": "adamw"}, "optimizer.name")
    _replicas(draft, tables)
    total = _at(tables, "training", "global_batch_size")
    draft.batch(None if total == -1 else total, "training.global_batch_size")
    draft.length("total_tokens", _at(tables, "training", "steps"), "steps", "training.steps")
    _read_schedule(draft, tables)
    draft.interval("checkpoint_tokens", _at(tables, "checkpoint", "interval"), "checkpoint.interval")
    draft.interval("eval_tokens", _at(tables, "validation", "freq"), "validation.freq")
    return draft.done()


def _replicas(draft: Draft, tables: dict) -> None:
    shards, copies = (_at(tables, "parallelism", f"data_parallel_{kind}_degree") for kind in ("shard", "replicate"))
    if shards not in (None, -1):
        count = draft.number(1 if copies is None else copies, "parallelism.data_parallel_replicate_degree")
        shards = draft.number(shards, "parallelism.data_parallel_shard_degree")
        product = None if None in (count, shards) else shards * count
        draft.put("data_parallel_size", product, "the product of shard and replicate degrees")
    elif shards == -1 or copies is not None:
        draft.say(
            "The replicas were left out: data_parallel_shard_degree -1, its default, takes all devices that are left, "
            "and their number is not in the text."
        )
    degrees = [_at(tables, "parallelism", f"{kind}_parallel_degree") for kind in ("tensor", "pipeline", "context")]
    sizes = [draft.number(degree, "a parallel degree") for degree in degrees if degree is not None]
    if sizes and None not in sizes:
        draft.put("model_parallel_size", math.prod(sizes), "the product of tensor, pipeline and context degrees")
    if _at(tables, "training", "global_batch_size") in (None, -1):
        draft.fields["grad_accum_steps"] = 1
        draft.say(
            "Without training.global_batch_size torchtitan accumulates nothing: a step is one micro-batch of "
            "each replica."
        )


def _read_schedule(draft: Draft, tables: dict) -> None:
    table = "lr_scheduler"
    draft.length("warmup_tokens", _at(tables, table, "warmup_steps"), "steps", "lr_scheduler.warmup_steps")
    for key in ("min_lr_factor", "lr_min"):  # the later and the earlier name of the same factor
        draft.share("min_learning_rate", _at(tables, table, key), "learning_rate", f"lr_scheduler.{key}")
    shape, ratio = _at(tables, table, "decay_type"), _at(tables, table, "decay_ratio")
    if ratio is None:
        draft.word("schedule", shape, {"cosine": "cosine", "linear": "linear"}, "lr_scheduler.decay_type")
    else:
        draft.tail(ratio, "cosine" if shape == "cosine" else "linear", "lr_scheduler.decay_ratio")
        if shape not in (None, "linear", "cosine"):
            draft.say("lr_scheduler.decay_type was left out: a recipe does not hold the shape of a fall.")


def _at(tables: dict, table: str, key: str):
    found = tables.get(table)
    return found.get(key) if isinstance(found, dict) else None


def notes(recipe: Recipe) -> tuple[str, ...]:
    """What this configuration means and leaves out."""
    said = [
        "Steps are optimizer steps and change their meaning with the batch; local_batch_size is of one replica, "
        "global_batch_size of all.",
        "The way the loss is averaged was left out: it is no setting of torchtitan's.",
        "Saving and validation are enabled by a key whose name differs between versions (enable, enabled, "
        "enable_checkpoint).",
    ]
    if recipe.optimizer == "sgd":
        said.append("SGD and its momentum were left out.")
    if not recipe.clip_norm:
        said.append("Clipping that is off was left out: torchtitan then clips at max_norm's default of 1.")
    if recipe.schedule == "wsd":
        said.append("The fall of the wsd schedule was written as linear, which is torchtitan's default.")
    return (*said, *wording.notes(recipe, LABEL))
