"""OLMo-core: the parts of a training script's configuration, in Python.

The batches and the run are in tokens, padding with them; schedules and intervals in optimizer steps. Source: src/examples/llm/train.py, olmo_core/optim/scheduler.py and adamw.py.
"""

from collections.abc import Mapping

from bsmath.exports import pysource, wording
from bsmath.exports.draft import Draft, Read
from bsmath.recipe import Recipe

LABEL, FILE, LANGUAGE = "OLMo-core", "olmo_core.py", "python"
KEYS = {
    "olmo_core", "rank_microbatch_size", "NumpyDataLoaderConfig", "TransformerTrainModuleConfig",
    "TransformerPipelineTrainModuleConfig", "CosWithWarmup", "LinearWithWarmup", "ConstantWithWarmup",
    "SkipStepAdamWConfig", "max_duration",
}  # fmt: skip
SCHEDULERS = {"CosWithWarmup": "cosine", "LinearWithWarmup": "linear", "WSD": "wsd", "ConstantWithWarmup": "constant"}
ADAMW = {
    "learning_rate": 1e-3, "weight_decay": 0.01, "decay": "coupled", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
}  # fmt: skip
"""What its AdamWConfig and SkipStepAdamWConfig set."""
DEFAULTS = {"clip_norm": 0.0, **ADAMW}
"""What its classes set, where the text has them: TransformerTrainModuleConfig does not clip."""
WARMUP_STEPS, FLOOR, DECAY_SHARE = 2000, 0.1, 0.1
"""The warmup, alpha_f and WSD's decay_fraction of its schedulers."""
OTHERS = ("CosWithWarmupAndLinearDecay", "InvSqrtWithWarmup", "SequentialScheduler", "ConstantScheduler")


def write(recipe: Recipe) -> str:
    """The recipe as calls; a script's other arguments stay as they are."""
    lines = [
        *_imports(recipe),
        "# The settings of a recipe alone: a script's other arguments of these classes stay as they are.",
        "data_loader = NumpyDataLoaderConfig(",
        f"    global_batch_size={recipe.padded_tokens_per_step},  # tokens of one optimizer step, all ranks",
        ")",
        "train_module = TransformerTrainModuleConfig(",
        f"    rank_microbatch_size={recipe.micro_batch_size * recipe.seq_len},  # tokens of one replica's micro-batch",
        f"    max_sequence_length={recipe.seq_len},",
        *([f"    optim={_optimizer(recipe)},"] if recipe.optimizer == "adamw" else []),
        f"    scheduler={_scheduler(recipe)},  # optimizer steps",
        *([f"    max_grad_norm={recipe.clip_norm},"] if recipe.clip_norm else []),
        ")\ntrainer = TrainerConfig(",
        f"    max_duration=Duration.tokens({wording.padded(recipe, recipe.total_tokens)}),",
        ")" + _checkpoints(recipe),
    ]
    return "\n".join([*lines, ""])


def _imports(recipe: Recipe) -> list[str]:
    names = ("AdamWConfig, " if recipe.optimizer == "adamw" else "") + _scheduler(recipe).partition("(")[0]
    lines = ["from olmo_core.data import NumpyDataLoaderConfig", f"from olmo_core.optim import {names}"]
    lines.append("from olmo_core.train import Duration, TrainerConfig")
    lines += ["from olmo_core.train.callbacks import CheckpointerCallback"] if recipe.checkpoint_tokens else []
    return [*lines, "from olmo_core.train.train_module import TransformerTrainModuleConfig", ""]


def _optimizer(recipe: Recipe) -> str:
    decay = wording.coupled_decay(recipe)
    last = "" if decay is None else f", weight_decay={decay}"
    return f"AdamWConfig(lr={recipe.learning_rate}, betas=({recipe.beta1}, {recipe.beta2}), eps={recipe.epsilon}{last})"


def _scheduler(recipe: Recipe) -> str:
    warmup, low = f"warmup_steps={recipe.steps(recipe.warmup_tokens)}", f"alpha_f={wording.floor_ratio(recipe)}"
    decay = f"decay_steps={recipe.steps(recipe.decay_tokens)}, decay_fraction=None"
    return {
        "cosine": f"CosWithWarmup({warmup}, {low})",
        "linear": f"LinearWithWarmup({warmup}, {low})",
        "wsd": f"WSD({warmup}, {decay}, decay_min_lr={recipe.min_learning_rate})",
        "constant": f"ConstantWithWarmup({warmup})",
    }[recipe.schedule]


def _checkpoints(recipe: Recipe) -> str:
    if not recipe.checkpoint_tokens:
        return ""
    interval = recipe.steps(recipe.checkpoint_tokens)
    return f'.with_callback("checkpointer", CheckpointerCallback(save_interval={interval}))  # optimizer steps'


def read(text: str, known: Mapping | None = None) -> Read:
    """The recipe of a script or of a part of one."""
    source, draft = pysource.parse(text), Draft(known, DEFAULTS)
    module, loader = _call(source, "TrainModuleConfig"), _call(source, "DataLoaderConfig")
    draft.forget(*([] if module else ["clip_norm"]))
    draft.put("clip_norm", module.get("max_grad_norm"), "max_grad_norm")
    dataset = _call(source, "DatasetConfig").get("sequence_length")
    draft.put("seq_len", _first(module.get("max_sequence_length"), dataset), "sequence length")
    _optim(draft, source)
    _batch(draft, module.get("rank_microbatch_size"), loader.get("global_batch_size"))
    _duration(draft, source)
    _read_scheduler(draft, source)
    draft.interval("checkpoint_tokens", _call(source, "CheckpointerCallback").get("save_interval"), "save_interval")
    if any(call.name == "BatchSizeSchedulerCallback" for call in source.calls):
        draft.say(
            "BatchSizeSchedulerCallback was left out: a recipe's batch stays the same, here that of the data loader. "
            "The Batch ramp page takes over the ramp."
        )
    draft.interval("eval_tokens", _call(source, "EvaluatorCallbackConfig").get("eval_interval"), "eval_interval")
    return draft.done()


def _duration(draft: Draft, source: pysource.Source) -> None:
    named = (call.keywords["max_duration"] for call in source.calls if "max_duration" in call.keywords)
    length = next(named, source.assigned.get("max_duration"))
    if isinstance(length, pysource.Call) and length.name in ("tokens", "steps") and length.arguments:
        draft.length("total_tokens", length.arguments[0], length.name, f"Duration.{length.name}")
    elif length is not None:
        draft.say("max_duration was left out: only Duration.tokens and Duration.steps are read.")


def _call(source: pysource.Source, ending: str) -> dict:
    return next((call.keywords for call in source.calls if call.name.endswith(ending)), {})


def _first(*values):
    """The first value that is a number, else the first that is said at all."""
    said = [value for value in values if value is not None]
    return next((value for value in said if isinstance(value, (int, float))), said[0] if said else None)


def _optim(draft: Draft, source: pysource.Source) -> None:
    optim = _call(source, "AdamWConfig")
    if optim:
        draft.fields["optimizer"] = "adamw"
    else:
        draft.forget(*ADAMW)
    for key, name in {"lr": "learning_rate", "eps": "epsilon", "weight_decay": "weight_decay"}.items():
        draft.put(name, optim.get(key), f"optim.{key}")
    betas = optim.get("betas")
    draft.stated |= {"beta1", "beta2"} if betas is not None else set()
    if isinstance(betas, list) and len(betas) == 2:
        draft.put("beta1", betas[0], "optim.betas")
        draft.put("beta2", betas[1], "optim.betas")


def _batch(draft: Draft, micro, total) -> None:
    micro, total = draft.number(micro, "rank_microbatch_size"), draft.number(total, "global_batch_size")
    length = draft.get("seq_len")
    if length is None:
        draft.say("The batch was left out: it counts tokens, and the length of a sequence is not known.")
        return
    if micro is not None:
        draft.put("micro_batch_size", micro / length, "rank_microbatch_size over the sequence length")
    draft.batch(None if total is None else total / length, "global_batch_size over the sequence length")


def _read_scheduler(draft: Draft, source: pysource.Source) -> None:
    for call in source.calls:
        if call.name in OTHERS:
            draft.say(f"The scheduler {call.name} was left out: it has no counterpart in a recipe.")
        if call.name in SCHEDULERS:
            draft.fields["schedule"] = SCHEDULERS[call.name]
            _lengths(draft, call.keywords)
            _default_lengths(draft, call.keywords)


def _lengths(draft: Draft, words: dict) -> None:
    if "units" in words:
        draft.stated |= {"warmup_tokens", "decay_tokens"}
        draft.say("The scheduler's lengths were left out: their unit is named in a way that is not read here.")
    else:
        warmup = _first(words.get("warmup_steps"), words.get("warmup"))
        draft.length("warmup_tokens", warmup, "steps", "scheduler warmup")
    draft.share("warmup_tokens", words.get("warmup_fraction"), "total_tokens", "scheduler warmup_fraction")
    draft.share("min_learning_rate", words.get("alpha_f"), "learning_rate", "scheduler alpha_f")
    draft.put("min_learning_rate", words.get("decay_min_lr"), "scheduler decay_min_lr")
    if draft.fields["schedule"] == "wsd":
        draft.share("decay_tokens", words.get("decay_fraction"), "total_tokens", "scheduler decay_fraction")
        if "units" not in words:
            decay = _first(words.get("decay_steps"), words.get("decay"))
            draft.length("decay_tokens", decay, "steps", "scheduler decay")
    if words.get("t_max") is not None:
        draft.say("The scheduler's t_max was left out: a recipe's rate ends with its run.")


def _default_lengths(draft: Draft, words: dict) -> None:
    shape = draft.fields["schedule"]
    with draft.assume():
        draft.length("warmup_tokens", WARMUP_STEPS, "steps", "scheduler warmup")
        if shape in ("cosine", "linear"):
            draft.share("min_learning_rate", FLOOR, "learning_rate", "scheduler alpha_f")
        if shape == "wsd":
            draft.set("min_learning_rate", 0.0)
            draft.share("decay_tokens", DECAY_SHARE, "total_tokens", "scheduler decay_fraction")


def notes(recipe: Recipe) -> tuple[str, ...]:
    """What this configuration means and leaves out."""
    said = [
        "global_batch_size and rank_microbatch_size are tokens, and max_duration too; the scheduler and save_interval "
        "are optimizer steps, which change their meaning with the batch.",
        f"The number of replicas ({recipe.data_parallel_size}) is no setting: it comes from the launcher.",
        "Evaluation belongs to callbacks with their own data and was left out, as was the way the loss is averaged.",
        "Later versions call warmup_steps and decay_steps warmup and decay.",
    ]
    if recipe.optimizer == "sgd":
        said.append("SGD, with rate, momentum and decay, was left out.")
    if recipe.schedule == "constant" and recipe.min_learning_rate:
        said.append("The last rate was left out: ConstantWithWarmup stays at the peak.")
    if not recipe.clip_norm:
        said.append("Clipping that is off was left out, with max_grad_norm.")
    return (*said, *wording.notes(recipe, LABEL))
