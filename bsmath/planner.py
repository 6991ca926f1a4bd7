"""How long and how much a run takes to its goal on each number of devices, and which of these plans are worth a look.

    seconds = steps * step_time        device_hours = num_devices * seconds / 3600        cost = device_hours * price
    goal target: E_min / goodput, so at equal devices the plan of greatest goodput is the fastest and the cheapest

Each plan is the fastest split that `plan_search` finds on its devices, and its time is that of `outlook` for this split.
Derived from the scenario's step time and hyperbola. Assumed of other accelerators: the scenario's MFU, fixed times, overlap
and typed network; theirs are the peak, memory, memory bandwidth and link. A typed memory or power is that of the scenario's
own accelerator alone. Queues, failures and checkpoints are not counted.
"""

from dataclasses import dataclass

from bsmath import offers, plan_search, presets
from bsmath.flops import SECONDS_PER_DAY
from bsmath.plan_frontier import Plan, Saving, cheapest, fastest, frontier, in_money, marginal
from bsmath.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The plans of a scenario, and what they answer."""

    plans: tuple[Plan, ...]
    """The fastest split for each accelerator and number of devices."""
    left_out: tuple[str, ...]
    """Sentences: accelerators without a plan, and why."""
    in_money: bool
    """Whether costs are money; else they are device-hours."""
    frontier: tuple[Plan, ...]
    """The plans that no other beats in both time and cost, fastest first."""
    savings: tuple[Saving, ...]
    """What each step along the frontier costs, from its slow end."""
    cheapest: Plan | None
    """The least cost by the scenario's deadline; None where no plan meets it."""
    fastest: Plan | None
    """The least time at no more than the scenario's most cost; None where no plan is so cheap."""


def answers(scenario: Scenario) -> Answers:
    """Search the scenario's accelerator and those offered beside it.

    An offer without a price is left out where the scenario's accelerator has one, so that all costs are money.
    """
    found, left_out = [], []
    candidates, refused = _candidates(scenario)
    for candidate in candidates:
        on_this = _plans_on(candidate)
        found += on_this
        if not on_this:
            left_out.append(_nothing(candidate))
    deadline = None if scenario.deadline_days is None else scenario.deadline_days * SECONDS_PER_DAY
    money, edge = in_money(found), frontier(found)
    return Answers(
        plans=tuple(found),
        left_out=tuple(dict.fromkeys(left_out + refused)),
        in_money=money,
        frontier=edge,
        savings=marginal(edge, money),
        cheapest=cheapest(found, deadline),
        fastest=fastest(found, scenario.most_cost),
    )


def plans(scenario: Scenario) -> tuple[Plan, ...]:
    """The fastest split for each accelerator and number of devices; empty where nothing fits."""
    return answers(scenario).plans


def changes(scenario: Scenario, plan: Plan) -> dict:
    """The fields that turn the scenario into one of its plans: the split, and with another accelerator its price as offered.

    The accelerator that is left is offered in its place, so that the plans stay the same; a typed peak cannot be.
    """
    found = {name: getattr(plan, name) for name in ("data_parallel_size", "micro_batch_size", "grad_accum_steps")}
    if plan.accelerator == scenario.accelerator:
        return found
    offered = offers.read(scenario.other_offers)
    price = offered.pop(plan.accelerator)
    if scenario.device is not None:
        offered[scenario.accelerator] = scenario.price_per_device_hour
    return found | _other(plan.accelerator, price) | {"other_offers": offers.write(offered)}


def _other(accelerator: str, price: float | None) -> dict:
    """The fields of another accelerator: what was typed of the scenario's own does not hold for it."""
    return {
        "accelerator": accelerator,
        "price_per_device_hour": price,
        "device_memory": None,
        "device_power": None,
    }


def _candidates(scenario: Scenario) -> tuple[list[Scenario], list[str]]:
    """The scenario on each accelerator to plan with, and sentences about offers that cannot be compared."""
    candidates, refused = [scenario], []
    for name, price in offers.read(scenario.other_offers).items():
        device = presets.hardware()[name]
        if name == scenario.accelerator:
            refused.append(f"{device.label} is the scenario's own accelerator: its price is the scenario's.")
        elif scenario.precision == "fp8" and device.peak_flops_fp8 is None:
            refused.append(f"{device.label} has no FP8 peak, so it is left out.")
        elif price is None and scenario.price_per_device_hour is not None:
            refused.append(f"{device.label} has no price to compare, so it is left out.")
        else:
            candidates.append(scenario.change(**_other(name, price)))
    return candidates, refused


def _nothing(scenario: Scenario) -> str:
    label = "the typed accelerator" if scenario.device is None else scenario.device.label
    if scenario.model_parallel_size > scenario.most_devices:
        return f"One replica takes {scenario.model_parallel_size:,} devices, more than the {scenario.most_devices:,} allowed."
    return f"No plan on {label}: no split over up to {scenario.most_devices:,} devices surely fits its memory."


def _plans_on(scenario: Scenario) -> list[Plan]:
    price, power = scenario.price_per_device_hour, scenario.device_power
    splits = plan_search.fastest_splits(scenario, scenario.most_devices)
    rows = zip(*(values.tolist() for values in splits.values()), strict=True)
    return [
        Plan(
            accelerator=scenario.accelerator,
            cost=None if price is None else price * row["device_hours"],
            energy=None if power is None else power * row["device_hours"] * 3600,
            **row,
        )
        for row in (dict(zip(splits, values, strict=True)) for values in rows)
    ]
