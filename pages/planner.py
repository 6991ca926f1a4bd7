"""Planner: time and cost to the goal over batch and devices, the plans that no other beats, and pinned scenarios side by side."""

import streamlit as st

from bsmath import planner
from pages.ui import pins, plan, plan_frontier, plan_job, shell, state

scenario = state.scenario()
run = shell.frame(scenario, "pages/planner.py")
found = planner.answers(scenario)

st.markdown(plan.answer(scenario, found))
plan.limits()
shell.paragraphs(*plan.doubts(found))
if found.plans:
    shown, (by, scatter) = plan.shown_plan(scenario, found), plan_job.drawn()
    st.caption(plan.shown_name(scenario, found))
    shell.metrics(*plan.numbers(scenario, found))
    plan.use(scenario, found)
    plan_frontier.section(scenario, run, found, by)
    st.caption(scatter)
    plan_job.section(scenario, run, shown, by)
    plan.small_job(scenario, run)
pins.section(scenario, run)
shell.folded("Does this hold? A worked example with measured runs", "plan_held_out_part", plan.held_out)

shell.formula(
    r"T = S_{min}\left(1 + \frac{B_{crit}}{B}\right)\left(t_{fixed} + \frac{B}{R}\right)",
    r"\text{cost} = \text{devices} \cdot T \cdot \text{price}",
    r"B_{best} = \sqrt{B_{crit}\, t_{fixed}\, R}",
    source="Derived from the step time and the hyperbola (Throughput and Critical batch pages). Every split is whole and surely fits the memory. "
    "Other accelerators are assumed to reach this scenario's MFU with its fixed time. Queues, failures and checkpoints are not counted.",
)
