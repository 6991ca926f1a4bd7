"""One number of devices of one accelerator: time to the goal over the batch, and how much of it the data leave open.

What `plan_batches` finds at the scenario's own values, with the bands of `plan_bands` where a fit says how sure these are. Derived.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import plan_bands, plan_batches, planner
from bsmath.plan_bands import Factors
from bsmath.plan_frontier import Plan
from bsmath.scenario import Scenario


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """Time to the goal over the batch, on the devices of a plan."""

    table: pd.DataFrame
    """One row a feasible batch, ascending, as `plan_batches.over_batch` has it; where a fit is given also low and high, between which
    90 % of the draws of seconds lie."""
    flat: tuple[float, float]
    """Smallest and largest feasible batch within 5 % of the least time. [real tokens]"""
    safe: tuple[float, float] | None
    """The same in at least 90 % of the draws; None without a fit, or where no batch is."""


def job(scenario: Scenario, plan: Plan, by: Factors) -> Job:
    """The devices of one of the scenario's plans."""
    there = scenario.change(**planner.changes(scenario, plan))
    table, safe = plan_batches.over_batch(there, plan.num_devices), None
    if by.known:
        sizes = table["tokens_per_step"].to_numpy()
        seconds = plan_bands.seconds_by_draw(there, table["fixed_time"], table["plateau"], sizes, by)
        table = table.join(plan_bands.band(seconds)[["low", "high"]])
        sure = plan_bands.safe_range(sizes, seconds)
        safe = (float(sure.min()), float(sure.max())) if len(sure) else None
    return Job(table=table, flat=plan_batches.flat_range(there, plan.num_devices), safe=safe)


def bands(scenario: Scenario, plans: Sequence[Plan], by: Factors) -> pd.DataFrame:
    """Between which low and high 90 % of the draws of each plan's seconds lie; no columns where nothing is drawn."""
    if not by.known:
        return pd.DataFrame(index=range(len(plans)))
    fixed, plateau, sizes = np.array([(one.fixed_time, one.plateau, one.tokens_per_step) for one in plans]).T
    return plan_bands.seconds_band(scenario, fixed, plateau, sizes, by)[["low", "high"]]
