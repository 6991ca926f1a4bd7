"""The plans of a scenario side by side: a chart of cost against time and a table of those that no other beats."""

import pandas as pd
import streamlit as st

from bsmath import plan_job
from bsmath.flops import SECONDS_PER_DAY
from bsmath.numerals import unit_of_time
from bsmath.outlook import Outlook
from bsmath.plan_bands import Factors
from bsmath.plan_frontier import cost_of
from bsmath.planner import Answers
from bsmath.scenario import Scenario
from pages.charts.planner import frontier_figure
from pages.ui import plan, shell, text

MOST_ROWS = 16


def section(scenario: Scenario, run: Outlook, found: Answers, by: Factors) -> None:
    """Cost against time of every plan, and those that no other beats in a table; nothing where there is one plan alone."""
    if len(found.plans) == 1:
        return
    best, size = plan.shown_plan(scenario, found), unit_of_time(found.frontier[0].seconds)
    deadline = None if scenario.deadline_days is None else scenario.deadline_days * SECONDS_PER_DAY
    names = dict.fromkeys(one.accelerator for one in found.plans)
    kept = {name: [one for one in found.plans if one.accelerator == name] for name in names}
    series = [(plan.label(plans[0]), points(scenario, plans, found, by)) for plans in kept.values()]
    own = run.cost if found.in_money else run.device_hours
    shell.chart(
        frontier_figure(
            series,
            points(scenario, found.frontier, found, by),
            (best.seconds, cost_of(best, found.in_money)),
            None if own is None else (run.seconds, own),
            "money" if found.in_money else "device-hours",
            size,
            deadline,
            scenario.most_cost,
        ),
        key="plan_frontier",
        alt=f"Cost against time to the goal, one point for each number of devices, from {plan.words(found.frontier[0], found)} to "
        f"{plan.words(found.frontier[-1], found)}; the line joins the plans that no other beats.",
        table=points(scenario, found.plans, found, by),
    )
    st.table(table(found), hide_index=True)


def points(scenario: Scenario, plans, found: Answers, by: Factors) -> pd.DataFrame:
    """Time, cost and devices of plans, with the interval of the time where it is known."""
    table = pd.DataFrame(
        {
            "seconds": [one.seconds for one in plans],
            "cost": [cost_of(one, found.in_money) for one in plans],
            "num_devices": [one.num_devices for one in plans],
            "tokens_per_step": [one.tokens_per_step for one in plans],
        }
    )
    return table.join(plan_job.bands(scenario, plans, by))


def table(found: Answers) -> pd.DataFrame:
    """The frontier, thinned, with the price of an hour saved against the next slower plan."""
    rows = found.frontier[:: max(len(found.frontier) // MOST_ROWS, 1)]
    price = {saving.faster: saving.cost_per_hour for saving in found.savings}
    return pd.DataFrame(
        {
            "Devices": [f"{one.num_devices:,} x {plan.label(one)}" for one in rows],
            "Batch [tokens]": [text.count(one.tokens_per_step) for one in rows],
            "Micro x accumulation": [f"{one.micro_batch_size:,} x {one.grad_accum_steps:,}" for one in rows],
            "Tokens": [text.count(one.tokens) for one in rows],
            "Time": [text.duration(one.seconds) for one in rows],
            "Cost" if found.in_money else "Device-hours": [text.count(cost_of(one, found.in_money)) for one in rows],
            "Next hour saved": [text.count(price[one]) if one in price else "cheapest" for one in rows],
        }
    )
