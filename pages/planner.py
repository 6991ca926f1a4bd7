"""Planner: time and cost to the goal over batch and devices, the plans that no other beats, and pinned scenarios side by side."""

import streamlit as st

from bsmath import planner
from pages.charts.planner import frontier_figure
from pages.ui import pins, plan, shell, state

scenario = state.scenario()
run = shell.frame(scenario, "pages/planner.py")
found = planner.answers(scenario)

st.markdown(plan.answer(scenario, found))
plan.limits()
shell.paragraphs(*plan.doubts(found))
if found.plans:
    shell.metrics(*plan.numbers(scenario, found))
    shell.chart(
        frontier_figure(
            plan.series(found),
            plan.frontier(found),
            plan.place(plan.shown_plan(scenario, found), found),
            plan.here(run, found),
            plan.unit(found),
            scenario.deadline_days,
            scenario.most_cost,
        ),
        key="plan_frontier",
        alt="Cost against days to the goal, one point for each number of devices; the line joins the plans that no other beats.",
        table=plan.points(found.plans, found),
    )
    st.table(plan.table(found), hide_index=True)
    plan.small_job(scenario, run)
pins.section(scenario, run)
shell.folded("Does this hold? A worked example with measured runs", "plan_held_out_part", plan.held_out)

shell.formula(
    r"T = S_{min}\left(1 + \frac{B_{crit}}{B}\right)\left(t_{fixed} + \frac{B}{R}\right)",
    r"\text{cost} = \text{devices} \cdot T \cdot \text{price}",
    source="Derived from the step time and the hyperbola (Throughput and Critical batch pages). Every split is whole and surely fits the memory. "
    "Other accelerators are assumed to reach this scenario's MFU with its fixed time. Queues, failures and checkpoints are not counted.",
)
