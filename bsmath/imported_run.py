"""The fields of a scenario from the configuration of a trainer: the run that is to be changed."""

from bsmath import exports
from bsmath.outlook import outlook
from bsmath.recipe import FIELDS as RECIPE_FIELDS
from bsmath.scenario import FIELDS, Scenario

SAMPLES = {"megatron": "--train-samples"}
"""Words by which a configuration counts its schedule in samples rather than steps."""


def scenario_of(scenario: Scenario, pasted: str) -> tuple[Scenario, list[str]]:
    """The scenario with the run of a configuration, and sentences on what was taken and what could not be.

    A rate in the configuration counts as tuned at its batch. A length of the run makes the goal a token budget.

    Raises
    ------
    ValueError
        Where the text is of no known trainer, or its values contradict each other; the sentence says why.
    """
    known = {name: getattr(scenario, name) for name in RECIPE_FIELDS if name in FIELDS}
    kind, read = exports.read_any(pasted, known)
    found = dict(read.fields)
    changes = {name: value for name, value in found.items() if name in FIELDS}
    if "total_tokens" in found:
        changes |= {"token_budget": found["total_tokens"], "goal": "budget"}
    counted = kind in SAMPLES and SAMPLES[kind] in pasted
    new = scenario.change(**changes, schedule_unit="tokens" if counted else "steps")
    if "learning_rate" in found:
        new = new.change(reference_tokens_per_step=outlook(new).tokens_per_step)
    label = exports.EXPORTS[kind].label
    said = [f"Read as {label}: {', '.join(name.replace('_', ' ') for name in found)}.", *read.said]
    return new, said
