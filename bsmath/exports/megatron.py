"""Megatron-LM: flags of its argument parser, as a bash array.

Samples are sequences and iterations are optimizer steps. Lengths are written in samples, which keep their meaning
when the batch changes; both are read. For a batch that stays the same the flags before and after the change from
--rampup-batch-size to --step-batch-size-schedule (April 2026) are the same. Source: megatron/training/arguments.py
and config/training_config.py.
"""

import math
from collections.abc import Mapping

from bsmath.exports import flags, wording
from bsmath.exports.draft import Draft, Read
from bsmath.recipe import Recipe

LABEL, FILE, LANGUAGE = "Megatron-LM", "megatron.sh", "bash"
KEYS = {
    "--micro-batch-size", "--global-batch-size", "--seq-length", "--train-samples", "--train-iters", "--lr-decay-style",
    "--adam-beta1", "--lr-warmup-samples", "--lr-warmup-iters", "--lr-decay-samples", "--lr-decay-iters", "--clip-grad",
    "--calculate-per-token-loss",
}  # fmt: skip
SCHEDULES = {"cosine": "cosine", "linear": "linear", "wsd": "wsd", "constant": "constant"}
PLAIN = {
    "micro-batch-size": "micro_batch_size", "seq-length": "seq_len", "lr": "learning_rate",
    "min-lr": "min_learning_rate", "weight-decay": "weight_decay", "adam-beta1": "beta1", "adam-beta2": "beta2",
    "adam-eps": "epsilon", "clip-grad": "clip_norm",
}  # fmt: skip
"""Flags that hold a field in its own unit."""
DEFAULTS = {
    "grad_accum_steps": 1, "model_parallel_size": 1, "optimizer": "adamw", "weight_decay": 0.01, "decay": "coupled",
    "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "clip_norm": 1.0, "schedule": "linear", "warmup_steps": 0,
    "min_learning_rate": 0.0, "loss_average": "micro_batch",
}  # fmt: skip
"""What its parser sets (core/optimizer/optimizer_config.py, training/config/training_config.py); without a global batch,
nothing is accumulated."""
PARALLEL = ("tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size")


def write(recipe: Recipe) -> str:
    """The recipe as flags."""
    head = [
        "# Samples are sequences of --seq-length tokens, of the whole job; intervals are optimizer steps.",
        "MEGATRON_ARGS=(",
    ]
    return "\n".join([*head, *(f"    --{line}" for line in _lines(recipe)), ")", ""])


def _lines(recipe: Recipe) -> list[str]:
    lines = [
        f"micro-batch-size {recipe.micro_batch_size}  # sequences that one replica forwards at once",
        f"global-batch-size {recipe.global_batch_size}  # sequences of one optimizer step, all replicas",
        f"seq-length {recipe.seq_len}",
        f"train-samples {wording.samples(recipe, recipe.total_tokens)}",
        f"lr {recipe.learning_rate}",
        f"min-lr {recipe.min_learning_rate}",
        f"lr-decay-style {'WSD' if recipe.schedule == 'wsd' else recipe.schedule}",
        f"lr-warmup-samples {wording.samples(recipe, recipe.warmup_tokens)}",
        f"lr-decay-samples {wording.samples(recipe, recipe.total_tokens)}",
    ]
    if recipe.schedule == "wsd":
        lines += [f"lr-wsd-decay-samples {wording.samples(recipe, recipe.decay_tokens)}", "lr-wsd-decay-style linear"]
    return lines + _optimizer(recipe) + _rest(recipe)


def _optimizer(recipe: Recipe) -> list[str]:
    if recipe.optimizer == "sgd":
        lines = ["optimizer sgd", f"sgd-momentum {recipe.beta1}"]
    else:
        lines = [
            "optimizer adam",
            f"adam-beta1 {recipe.beta1}",
            f"adam-beta2 {recipe.beta2}",
            f"adam-eps {recipe.epsilon}",
        ]
    decay = wording.coupled_decay(recipe)
    return lines + ([] if decay is None else [f"weight-decay {decay}"]) + [f"clip-grad {recipe.clip_norm}"]


def _rest(recipe: Recipe) -> list[str]:
    lines = [] if not recipe.checkpoint_tokens else [f"save-interval {recipe.steps(recipe.checkpoint_tokens)}  # steps"]
    lines += [] if not recipe.eval_tokens else [f"eval-interval {recipe.steps(recipe.eval_tokens)}  # steps"]
    return lines + (["calculate-per-token-loss"] if recipe.loss_average == "token" else [])


def read(text: str, known: Mapping | None = None) -> Read:
    """The recipe of flags."""
    found, draft = flags.parse(text), Draft(known, DEFAULTS)
    for flag, name in PLAIN.items():
        draft.put(name, found.get(flag), f"--{flag}")
    draft.word("optimizer", found.get("optimizer"), {"adam": "adamw", "sgd": "sgd"}, "--optimizer")
    if draft.fields.get("optimizer") == "sgd":
        draft.put("beta1", found.get("sgd-momentum"), "--sgd-momentum")
    if "calculate-per-token-loss" in found:
        draft.fields["loss_average"] = "token"
    _parallel(draft, found)
    said = ("global-batch-size", "step-batch-size-schedule")  # either says more than one micro-batch per replica
    draft.forget(*(["grad_accum_steps"] if any(flag in found for flag in said) else []))
    draft.batch(found.get("global-batch-size"), "--global-batch-size")
    _schedule(draft, found)
    for flag, name in {"save-interval": "checkpoint_tokens", "eval-interval": "eval_tokens"}.items():
        draft.interval(name, found.get(flag), f"--{flag}")
    for flag in ("rampup-batch-size", "step-batch-size-schedule"):
        if flag in found:
            draft.say(
                f"--{flag} was left out: a recipe's batch stays the same. The Batch ramp page takes over the ramp."
            )
    return draft.done()


def _parallel(draft: Draft, found: dict) -> None:
    if any(flag in found for flag in PARALLEL):
        sizes = [draft.number(found.get(flag, "1"), f"--{flag}") for flag in PARALLEL]
        draft.put("model_parallel_size", None if None in sizes else math.prod(sizes), "the model parallel size")
    world, per_replica = flags.world_size(found), draft.get("model_parallel_size") or 1
    if world and world % per_replica == 0:
        draft.put("data_parallel_size", world // per_replica, "torchrun's number of processes")
    elif world:
        draft.say(f"torchrun's {world} processes are no multiple of the {per_replica} devices of a replica.")


def _schedule(draft: Draft, found: dict) -> None:
    draft.word("schedule", found.get("lr-decay-style"), SCHEDULES, "--lr-decay-style")
    _length(draft, found, "total_tokens", "train")
    if found.get("lr-warmup-fraction") is not None:
        draft.share("warmup_tokens", found["lr-warmup-fraction"], "total_tokens", "--lr-warmup-fraction")
    else:
        _length(draft, found, "warmup_tokens", "lr-warmup")
    if draft.fields.get("schedule") == "wsd":
        _length(draft, found, "decay_tokens", "lr-wsd-decay")
    for unit in ("samples", "iters"):
        decay, train = found.get(f"lr-decay-{unit}"), found.get(f"train-{unit}")
        if decay and train and decay != train:
            draft.say(f"--lr-decay-{unit} was left out: a recipe's rate ends with its run, --train-{unit}.")


def _length(draft: Draft, found: dict, name: str, stem: str) -> None:
    """A length in samples or in iterations; a zero of the one is the default beside the other."""
    for suffix, unit in (("samples", "samples"), ("iters", "steps")):
        other = found.get(f"{stem}-{'iters' if suffix == 'samples' else 'samples'}")
        raw = found.get(f"{stem}-{suffix}")
        if raw is not None and not (raw == "0" and other is not None):
            draft.length(name, raw, unit, f"--{stem}-{suffix}")


def notes(recipe: Recipe) -> tuple[str, ...]:
    """What these flags mean and leave out."""
    said = [
        "Samples are sequences; --micro-batch-size is of one replica, --global-batch-size of the whole job; save "
        "and eval intervals are steps.",
        "The number of replicas is no flag: it is the number of processes over the devices of a replica.",
        "The flags are the same before and after April 2026; only a batch that ramps is written differently "
        "(--rampup-batch-size, then --step-batch-size-schedule).",
    ]
    if recipe.schedule == "wsd":
        said.append("The fall of the wsd schedule was written as linear; Megatron's default is exponential.")
    if recipe.loss_average == "sequence":
        said.append(
            "A mean per sequence was left out: without --calculate-per-token-loss the mean is that of micro-batches."
        )
    return (*said, *wording.notes(recipe, LABEL))
