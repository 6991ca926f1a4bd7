"""The scenario's change of batch: its old run, the new one, what each takes, and what it would cost to change nothing else."""

import dataclasses
from dataclasses import dataclass

import pandas as pd

from bsmath import change_checks, curves, lr, splits
from bsmath.change import SPLIT, Change, changed
from bsmath.change_case import Case, Check
from bsmath.change_settings import Rules
from bsmath.outlook import Outlook, outlook
from bsmath.recipe import FIELDS, Recipe
from bsmath.scenario import FIELDS as SCENARIO_FIELDS
from bsmath.scenario import RANGES, Scenario

SHARED = tuple(name for name in FIELDS if name in SCENARIO_FIELDS and name != "learning_rate")
"""Fields that a recipe has from the scenario as they are; its rate is that of the run's own batch."""
MOST_WAYS = 4
"""Ways to use the new devices that are compared."""


@dataclass(frozen=True, kw_only=True)
class ChangeOutlook:
    """One change of batch, worked out."""

    change: Change
    """Both runs and every setting."""
    old: Outlook
    """What the old run takes."""
    new: Outlook
    """What the new run takes."""
    checks: tuple[Check, ...]
    """What breaks without an error."""
    rates: pd.DataFrame
    """Rates at the new batch by each rule for the optimizer: rule, rate."""


def usual_rule(scenario: Scenario) -> str:
    """The rule by which the rate moves."""
    if scenario.rate_rule != "usual":
        return scenario.rate_rule
    return "saturating_sgd" if scenario.optimizer == "sgd" else "saturating_adamw"


def rules_of(scenario: Scenario) -> Rules:
    """What the new settings follow from."""
    rule = usual_rule(scenario)
    saturation = lr.RULES[rule].saturation
    return Rules(
        rate_rule=rule,
        saturation_batch=getattr(scenario, saturation) if saturation else None,
        beta_rule=scenario.beta_rule,
        noise_scale=scenario.noise_scale if scenario.noise_scale != scenario.critical_batch_size else None,
        critical_batch_size=scenario.critical_batch_size if scenario.goal == "target" else None,
    )


def recipe_of(scenario: Scenario) -> Recipe:
    """The scenario's run: its rate is the tuned one, taken from the batch where it was tuned to that of the run."""
    run = outlook(scenario)
    shared = {name: getattr(scenario, name) for name in SHARED}
    rate = float(curves.rate_by(usual_rule(scenario), scenario, run.tokens_per_step))
    lowest = scenario.min_learning_rate * rate / scenario.learning_rate
    return Recipe(**shared | {"min_learning_rate": lowest}, learning_rate=rate, total_tokens=run.tokens)


def split_of(scenario: Scenario) -> dict[str, int]:
    """What the scenario changes its batch to."""
    return {name: getattr(scenario, f"new_{name}") for name in SPLIT}


def change_outlook(scenario: Scenario) -> ChangeOutlook:
    """The change that the scenario describes.

    Raises
    ------
    ValueError
        Where a new setting is out of range; the sentence names it.
    """
    rules, old = rules_of(scenario), recipe_of(scenario)
    found = changed(old, split_of(scenario), rules)
    after = applied(scenario, found)
    runs = [outlook(each) for each in (scenario, after)]
    single = outlook(after.change(grad_accum_steps=1))
    case = Case(
        change=found,
        rules=rules,
        schedule_unit=scenario.schedule_unit,
        gradient_norm=scenario.gradient_norm,
        critical_batch_size=scenario.critical_batch_size,
        old_seconds=runs[0].seconds,
        new_seconds=runs[1].seconds,
        old_rate=runs[0].tokens_per_second,
        new_rate=runs[1].tokens_per_second,
        single_seconds=single.seconds,
        num_experts=scenario.num_experts if scenario.active_params < scenario.num_params else 1,
        top_k=scenario.top_k,
    )
    rates = curves.rule_table(scenario, found.new.tokens_per_step)
    return ChangeOutlook(change=found, old=runs[0], new=runs[1], checks=tuple(change_checks.checks(case)), rates=rates)


def applied(scenario: Scenario, found: Change) -> Scenario:
    """The scenario with the new run as its run; its rate then counts as tuned at the new batch."""
    new = found.new
    return scenario.change(
        **{name: getattr(new, name) for name in SHARED},
        **{f"new_{name}": getattr(new, name) for name in SPLIT},
        learning_rate=new.learning_rate,
        reference_tokens_per_step=new.tokens_per_step,
    )


def ways(scenario: Scenario) -> pd.DataFrame:
    """Ways to use the new replicas, with their batch, rate of the job, tokens and time to the goal, the fastest first.

    The new run as it is described; without accumulation; and those that keep the old batch as nearly as whole micro-batches of at
    most the new size allow. Columns: way, micro_batch_size, grad_accum_steps, tokens_per_step [tokens], tokens_per_second
    [tokens/s], tokens [tokens], seconds [s].
    """
    wanted = split_of(scenario)
    candidates = {"as described": wanted, "no accumulation": wanted | {"grad_accum_steps": 1}}
    for size, split in _keeping(scenario, wanted):
        candidates[f"{size:,} sequences, as near the old batch as can be"] = split
    rows, seen = [], set()
    for way, split in candidates.items():
        if tuple(split.values()) in seen:
            continue
        seen.add(tuple(split.values()))
        if split["grad_accum_steps"] > RANGES["grad_accum_steps"][1]:
            continue
        run = outlook(scenario.change(**split))
        rows.append(
            {"way": way, "micro_batch_size": split["micro_batch_size"], "grad_accum_steps": split["grad_accum_steps"]}
            | {name: getattr(run, name) for name in ("tokens_per_step", "tokens_per_second", "tokens", "seconds")}
        )
    return pd.DataFrame(rows[:MOST_WAYS]).sort_values("seconds", kind="stable", ignore_index=True)


def _keeping(scenario: Scenario, wanted: dict[str, int]) -> list[tuple[int, dict[str, int]]]:
    """Global batches nearest to the old one's tokens, each with the split of the largest micro-batch."""
    replicas, most = wanted["data_parallel_size"], wanted["micro_batch_size"]
    old = scenario.micro_batch_size * scenario.grad_accum_steps * scenario.data_parallel_size
    same = max(round(old * scenario.seq_len / wanted["seq_len"]), 1)
    near = splits.nearest(same, replicas, 1, most)
    found = []
    for size in dict.fromkeys(size for size in near if size):
        made = splits.feasible(size, replicas, 1, most)[0]
        found.append((size, wanted | dataclasses.asdict(made)))
    return found
