"""The fields of a scenario from the configuration of a trainer: the run that is to be changed.

What the text does not say is the trainer's own default; what has none stays as it was. Both are said.
"""

from collections.abc import Mapping

from bsmath import exports
from bsmath.outlook import outlook
from bsmath.recipe import FIELDS as RECIPE_FIELDS
from bsmath.scenario import FIELDS, Scenario

SAMPLES = {"megatron": "--train-samples"}
"""Words by which a configuration counts its schedule in samples rather than steps."""
NAMES = {
    "data_parallel_size": "replicas", "model_parallel_size": "devices per replica",
    "micro_batch_size": "sequences per micro-batch", "grad_accum_steps": "accumulation steps",
    "seq_len": "sequence length", "learning_rate": "learning rate", "total_tokens": "run length",
    "schedule": "schedule", "warmup_tokens": "warmup", "decay_tokens": "fall at the end",
    "min_learning_rate": "last rate", "optimizer": "optimizer", "weight_decay": "weight decay", "beta1": "beta1",
    "beta2": "beta2", "epsilon": "epsilon", "clip_norm": "clipping", "loss_average": "loss averaged by",
    "checkpoint_tokens": "checkpoints every", "eval_tokens": "evaluations every",
}  # fmt: skip
"""What a sentence calls the fields of a recipe that a change of batch reads, those that matter most first."""


def scenario_of(scenario: Scenario, pasted: str) -> tuple[Scenario, list[str]]:
    """The scenario with the run of a configuration, and sentences on what was taken and what could not be.

    A rate in the configuration counts as tuned at its batch. A length of the run makes the goal a token budget. A setting
    that is not in it is the trainer's default, and one without a default is that of the scenario.

    Raises
    ------
    ValueError
        Where the text is of no known trainer, or its values contradict each other; the sentence says why.
    """
    known = {name: getattr(scenario, name) for name in RECIPE_FIELDS if name in FIELDS}
    kind, read = exports.read_any(pasted, known)
    found = read.defaults | read.fields
    changes = {name: value for name, value in found.items() if name in FIELDS}
    if found.get("schedule", "wsd") != "wsd":
        changes["decay_tokens"] = 0.0
    if "total_tokens" in found:
        changes |= {"token_budget": found["total_tokens"], "goal": "budget"}
    counted = kind in SAMPLES and SAMPLES[kind] in pasted
    new = scenario.change(**changes, schedule_unit="tokens" if counted else "steps")
    if "learning_rate" in found:
        new = new.change(reference_tokens_per_step=outlook(new).tokens_per_step)
    label = exports.EXPORTS[kind].label
    said = [f"Read as {label}: {', '.join(name.replace('_', ' ') for name in read.fields)}.", *read.said]
    return new, said + _rest(new, read, label)


def _rest(new: Scenario, read: exports.Read, label: str) -> list[str]:
    """One sentence on the defaults, and one on the fields that are neither in the text nor a default."""
    run = outlook(new)
    values = {name: getattr(new, name) for name in NAMES if name in FIELDS} | {"total_tokens": run.tokens}
    kept = {name: values[name] for name in NAMES if name not in read.fields | read.defaults and _matters(name, values)}
    said = []
    if assumed := _listed(read.defaults, run.tokens_per_step):
        said.append(f"Not in the text, so {label}'s defaults: {assumed}.")
    if kept:
        listed = _listed(kept, run.tokens_per_step)
        said.append(f"Neither in the text nor a default of {label}, so kept as they were: {listed}.")
    return said


def _matters(name: str, values: Mapping) -> bool:
    """Whether a field that was kept changes anything: an unknown interval and a fall that is not there do not."""
    if name == "decay_tokens":
        return values["schedule"] == "wsd"
    if name == "min_learning_rate":
        return values["schedule"] != "constant"
    return name not in ("model_parallel_size", "checkpoint_tokens", "eval_tokens") or values[name] > 1


def _listed(fields: Mapping, tokens_per_step: float) -> str:
    """Names and values; lengths in steps of the run."""
    return ", ".join(f"{NAMES[name]} {_value(name, fields[name], tokens_per_step)}" for name in NAMES if name in fields)


def _value(name: str, value, tokens_per_step: float) -> str:
    if name.endswith("_tokens"):
        steps = round(value / tokens_per_step)
        return "1 step" if steps == 1 else f"{steps:,} steps"
    if name == "clip_norm" and value == 0:
        return "off"
    if isinstance(value, str):
        return value.replace("_", "-")
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
