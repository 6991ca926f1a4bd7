"""Time over the batch on the devices of a plan: what is nearly as good, how sure it is, and goodput as the same seen otherwise."""

import dataclasses

import streamlit as st

from bsmath import plan_bands, plan_job
from bsmath.measured import Measurement
from bsmath.numerals import unit_of_time
from bsmath.outlook import Outlook
from bsmath.plan_bands import Factors
from bsmath.plan_frontier import Plan
from bsmath.plan_job import Job
from bsmath.scenario import Scenario
from pages.charts.planner import goodput_figure, job_figure
from pages.ui import overlay, shell, text

SEEN = ("Time", "Goodput")
"""Two ways to draw the same."""


def section(scenario: Scenario, run: Outlook, plan: Plan, by: Factors) -> None:
    """The chart of one plan's devices and what it says."""
    found = plan_job.job(scenario, plan, by)
    st.subheader(f"Every batch on {text.plural(plan.num_devices, 'device')}", anchor=False)
    shell.paragraphs(flat(found, plan), sure(scenario, found, plan, by))
    seen = st.segmented_control("Draw", SEEN, default=SEEN[0], required=True, key="plan_seen")
    here = run if run.num_devices == plan.num_devices and scenario.accelerator == plan.accelerator else None
    shown = (
        found.table,
        found.safe or found.flat,
        dataclasses.asdict(plan),
        None if here is None else shell.run_point(here),
        ((scenario.critical_batch_size, "B_crit"),),
        shell.batch_axis(scenario),
    )
    shell.chart(
        job_figure(*shown, unit_of_time(plan.seconds)) if seen == SEEN[0] else goodput_figure(*shown),
        key=f"plan_job_{seen}",
        alt=f"{seen} against the batch on {text.plural(plan.num_devices, 'device')}: {text.span(*found.flat, text.tokens)} per step are "
        "within 5 % of the fastest.",
        table=found.table,
    )
    st.caption(
        "Goodput is Pollux's: the rate times the share of tokens that still teach, 1/(1 + B/B_crit). E_min over it is the time to the target, so both "
        "curves turn at the same batch, and on equal devices the fastest batch is the cheapest. Pollux counts efficiency against a starting "
        "batch M_0, which scales the curve by 1 + M_0/B_crit and moves nothing."
        if scenario.goal == "target"
        else "A token budget only gets faster with the batch, and its loss worse: goodput, the rate times the share of tokens that still teach, "
        "says how fast it gets to a loss."
    )
    shell.view_switches()


def drawn() -> tuple[Factors, str]:
    """How sure the loaded sweeps are of the scenario's numbers, and whose scatter that is or what is missing."""
    by, used, said = Factors(), [], []
    for quantity, argument in (("steps", "hyperbola"), ("tokens_per_second", "step_time")):
        for one in overlay.measurements(quantity)[:1]:
            own = overlay.beside(one, "plan_draws", lambda one=one, argument=argument: _factors(one, argument))
            if isinstance(own, Factors):
                by = by.joined(own)
                used.append(f"{one.label} ({'steps' if quantity == 'steps' else 'tok/s'})")
            else:
                said.append(f"{text.plain(one.label)} leaves no interval: {text.plain(own)}")
    if used:
        said.append(f"The band is the relative scatter of {text.listed(used)} around this scenario's values.")
    elif not said:
        said.append(
            "No sweep is loaded, so these times have no interval: with one of steps or of tok/s (Upload) its uncertainty is carried through "
            "to here."
        )
    return by, " ".join(said)


def _factors(one: Measurement, argument: str) -> Factors | str:
    if one.fit is None or one.fit.line.exact:
        return one.verdict
    try:
        return plan_bands.factors(**{argument: one.fit})
    except ValueError as error:
        return f"{error}."


def flat(found: Job, plan: Plan) -> str:
    """The batches nearly as good as the best at the scenario's own values."""
    low, high = found.flat
    if low == high:
        return f"**On {text.plural(plan.num_devices, 'device')} only {text.tokens(low)} per step come within 5 % of the least time.**"
    return f"**On {text.plural(plan.num_devices, 'device')}, B from {text.span(low, high, text.tokens)} is within 5 % of the least time**: choose there by what divides well."


def sure(scenario: Scenario, found: Job, plan: Plan, by: Factors) -> str:
    """How sure the time of the plan is, and which batches are good whatever the truth is."""
    if not by.known:
        return ""
    low, high = plan_job.bands(scenario, [plan], by).loc[0]
    said = f"At {text.tokens(plan.tokens_per_step)} the run takes {text.span(low, high, text.duration)} (90 %). "
    if found.safe is None:
        return (
            said
            + "**No batch is within 5 % of the best in 90 % of the draws: the data leave B_crit too open to choose one.**"
        )
    return (
        said
        + f"**B from {text.span(*found.safe, text.tokens)} is within 5 % of the best in at least 90 % of the draws.**"
    )
