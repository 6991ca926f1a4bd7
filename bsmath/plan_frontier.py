"""Plans of a run, and which of them are worth a look: those that no other beats in both time and cost.

Costs are money where every plan that is compared has a price, else device-hours. Device-hours of different accelerators are
not worth the same, so prices should be typed where several are compared. Exact comparisons (derived).
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from bsmath.plan_search import TIED


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One way to run to the goal."""

    accelerator: str
    """A name of data/hardware.toml, or the scenario's typed peak."""
    num_devices: int
    """Replicas times devices per replica."""
    data_parallel_size: int
    """Replicas."""
    micro_batch_size: int
    """What one replica forwards at once; it surely fits. [sequences]"""
    grad_accum_steps: int
    """Micro-batches per replica and step."""
    global_batch_size: int
    """[sequences]"""
    tokens_per_step: float
    """B. [real tokens]"""
    fixed_time: float
    """Fixed part of the step time at this micro-batch, as `step_costs.effective` has it. [s]"""
    plateau: float
    """Rate that accumulation approaches at this micro-batch. [padded tokens/s]"""
    step_time: float
    """[s]"""
    tokens_per_second: float
    """Whole job. [real tokens/s]"""
    steps: float
    """Optimizer steps to the goal."""
    tokens: float
    """Tokens to the goal. [real tokens]"""
    seconds: float
    """Wall-clock to the goal. [s]"""
    device_hours: float
    """Devices times hours."""
    goodput: float
    """Rate times statistical efficiency. [tokens/s]"""
    cost: float | None
    """Device-hours times their price; None without a price."""
    energy: float | None
    """Devices times their typed power times seconds; None without it. [J]"""


@dataclass(frozen=True, kw_only=True)
class Saving:
    """What it takes to be done sooner: two neighbors of a frontier."""

    slower: Plan
    """The cheaper one."""
    faster: Plan
    """The dearer one."""
    seconds: float
    """Time saved. [s]"""
    cost: float
    """What that costs, in money or device-hours as in `frontier`."""

    @property
    def cost_per_hour(self) -> float:
        """Cost of one hour saved."""
        return self.cost / (self.seconds / 3600)


def in_money(plans: Iterable[Plan]) -> bool:
    """Whether every plan has a price, so that costs compare as money; else they compare as device-hours."""
    costs = [plan.cost for plan in plans]
    return bool(costs) and None not in costs


def frontier(plans: Iterable[Plan]) -> tuple[Plan, ...]:
    """The plans that no other beats in both time and cost, fastest and dearest first."""
    plans = tuple(plans)
    money = in_money(plans)
    kept, least = [], float("inf")
    for plan in sorted(
        plans, key=lambda one: (float(f"{one.seconds:.9g}"), cost_of(one, money))
    ):  # equal but for noise
        if cost_of(plan, money) < least * (1 - TIED):
            kept.append(plan)
            least = cost_of(plan, money)
    return tuple(kept)


def cheapest(plans: Iterable[Plan], deadline: float | None = None) -> Plan | None:
    """The plan of least cost that takes at most `deadline` [s], of equals the fastest; None where there is none."""
    kept = [plan for plan in frontier(plans) if deadline is None or plan.seconds <= deadline]
    return kept[-1] if kept else None


def fastest(plans: Iterable[Plan], most_cost: float | None = None) -> Plan | None:
    """The plan of least time that costs at most `most_cost`, in money or device-hours as in `frontier`; None without one."""
    plans = tuple(plans)
    money = in_money(plans)
    return next((one for one in frontier(plans) if most_cost is None or cost_of(one, money) <= most_cost), None)


def marginal(frontier: Iterable[Plan], money: bool | None = None) -> tuple[Saving, ...]:
    """What each step along a frontier costs, from its slow and cheap end.

    Parameters
    ----------
    frontier : iterable of Plan
        Fastest first.
    money : bool, optional
        Whether the frontier compared money; by default whether all of its plans have a price.
    """
    slow_first = tuple(frontier)[::-1]
    money = in_money(slow_first) if money is None else money
    return tuple(
        Saving(
            slower=slow,
            faster=fast,
            seconds=slow.seconds - fast.seconds,
            cost=cost_of(fast, money) - cost_of(slow, money),
        )
        for slow, fast in itertools.pairwise(slow_first)
    )


def cost_of(plan: Plan, money: bool) -> float:
    """The cost of a plan in money, or in device-hours."""
    return plan.cost if money else plan.device_hours
