"""The Planner page in words and tables."""

import streamlit as st

from bsmath import plan_batches, plan_check, planner, presets
from bsmath.outlook import Outlook
from bsmath.plan_frontier import Plan, cost_of
from bsmath.planner import Answers
from bsmath.scenario import Scenario
from pages.charts.planner import held_out_figure
from pages.ui import loaded, loading, shell, state, text, tied

FIELDS = (
    ("Most devices", "most_devices", "Largest job that is planned."),
    ("Deadline [days]", "deadline_days", "Empty: none."),
    ("Price per device-hour", "price_per_device_hour", "Any currency; empty: cost is in device-hours."),
    ("Most cost", "most_cost", "In that currency, or in device-hours without a price. Empty: no limit."),
    ("Device memory [bytes]", "device_memory", "Empty: the accelerator's. 80e9 is 80 GB."),
    (
        "Device power [W]",
        "device_power",
        "Of this scenario's own accelerator, with its share of the host; energy is shown once typed.",
    ),
    ("Other accelerators", "other_offers", "Each with its price: `h100_sxm 2.5, b200_sxm 6`."),
)
FIELD_WIDTH = 160
"""Pixels: two fields stand side by side on a phone."""


def limits() -> None:
    """What a plan may use."""
    with st.container(horizontal=True):
        for label, name, help in FIELDS:
            st.text_input(label, width=FIELD_WIDTH, help=help, **tied.typed(name))


def chosen(scenario: Scenario, found: Answers) -> Plan | None:
    """The plan that the scenario's limits ask for: the cheapest by a deadline, else the fastest within the cost."""
    return found.cheapest if scenario.deadline_days is not None else found.fastest


def shown_plan(scenario: Scenario, found: Answers) -> Plan:
    """That plan, or the cheapest of all where no plan keeps the limits."""
    return chosen(scenario, found) or found.frontier[-1]


def shown_name(scenario: Scenario, found: Answers) -> str:
    """What the plan is whose numbers are shown."""
    if chosen(scenario, found) is None:
        return "No plan keeps the limits; the cheapest of all:"
    return "The cheapest by the deadline:" if scenario.deadline_days is not None else "The fastest:"


def answer(scenario: Scenario, found: Answers) -> str:
    """The fastest and the cheapest plan within the limits."""
    if not found.plans:
        return f"**No plan fits.** {text.plain(' '.join(found.left_out))}"
    if found.fastest is not None and found.fastest == found.cheapest:
        return f"**Fastest and cheapest: {words(found.fastest, found)}.**"
    said = []
    for plan, name, limit in (
        (found.fastest, "Fastest", " within the cost" if scenario.most_cost is not None else ""),
        (found.cheapest, "Cheapest", " by the deadline" if scenario.deadline_days is not None else ""),
    ):
        said.append(f"**{name}{limit}: {words(plan, found)}.**" if plan else f"**{name}{limit}: no plan.**")
    return " ".join(said)


def words(plan: Plan, found: Answers) -> str:
    """A plan in words."""
    return (
        f"{text.plural(plan.num_devices, 'device')} at {text.tokens(plan.tokens_per_step)} per step, "
        f"{text.duration(plan.seconds)}, {cost(plan, found)}"
    )


def cost(plan: Plan, found: Answers) -> str:
    """What a plan costs, with its unit."""
    if found.in_money:
        return f"cost {text.money(plan.cost)}"
    return f"{text.count(plan.device_hours)} device-hours"


def doubts(found: Answers) -> tuple[str, ...]:
    """What was left out of the comparison."""
    return tuple(text.plain(sentence) for sentence in found.left_out) if found.plans else ()


def numbers(scenario: Scenario, found: Answers) -> tuple[tuple[str, str, str], ...]:
    """Metrics of the plan that the limits ask for."""
    plan = shown_plan(scenario, found)
    split = f"{plan.micro_batch_size:,} x {plan.grad_accum_steps:,} x {plan.data_parallel_size:,} sequences"
    shown = [
        ("Devices", f"{plan.num_devices:,}", f"{label(plan)}"),
        ("Batch", text.count(plan.tokens_per_step), split),
        ("Time", text.duration(plan.seconds), f"{text.whole(plan.steps)} steps, {text.tokens(plan.tokens)}"),
        (
            "Cost" if found.in_money else "Device-hours",
            text.count(cost_of(plan, found.in_money)),
            f"goodput {text.rate(plan.goodput)}",
        ),
    ]
    if plan.energy is not None:
        shown.append(("Energy", f"{text.count(plan.energy / 3.6e6)} kWh", "at the typed power"))
    return tuple(shown)


def label(plan: Plan) -> str:
    """The accelerator of a plan."""
    known = presets.hardware()
    return known[plan.accelerator].label if plan.accelerator in known else text.flops(float(plan.accelerator))


def use(scenario: Scenario, found: Answers) -> None:
    """Buttons that make a plan the scenario."""
    offered = {"fastest": found.fastest, "cheapest": found.cheapest}
    if found.fastest == found.cheapest:
        del offered["cheapest"]
    with st.container(horizontal=True):
        for name, plan in offered.items():
            changes = {} if plan is None else planner.changes(scenario, plan)
            st.button(
                f"Use the {name}",
                key=f"plan_use_{name}",
                on_click=state.change,
                kwargs=changes,
                disabled=all(getattr(scenario, field) == value for field, value in changes.items()),
                help="Its devices and split become this scenario's, on every page; Undo takes it back.",
            )


def held_out() -> None:
    """The worked example: sweeps of one small model predict the wall-clock of batches that no fit saw."""
    example = loaded.once("held_out", plan_check, plan_check.worked_example)
    checks = {"each batch left out": example.one_out, "every other batch left out": example.every_other}
    said = "; ".join(f"{text.percent(one.median_error)} with {name}" for name, one in checks.items())
    st.markdown(
        f"**Steps times step time predict the measured wall-clock with a median error of {said}.** A GPT of 0.1M parameters on one CPU thread: its "
        "throughput and its steps to a loss were measured by the harness on one machine, the throughput about an hour after the other; each "
        "prediction comes from fits that never saw that batch. Bars are 90 % intervals of the fitted curves, without the scatter of one run."
    )
    st.button("Open this run with its two sweeps", key="plan_together", on_click=loading.together)
    shell.chart(
        held_out_figure([(name, one.table) for name, one in checks.items()]),
        key="plan_held_out",
        alt=f"Predicted and measured seconds to the target loss against the batch; the median error is {said}.",
        table=example.one_out.table,
    )


def small_job(scenario: Scenario, run: Outlook) -> None:
    """How far below the critical batch a job on these devices stays, and what going up to it costs."""
    if scenario.goal == "budget" or run.num_devices > scenario.most_devices:
        return
    below = plan_batches.stay_below(scenario, run.num_devices)
    if below is None or below.times_below <= 1:
        return
    st.markdown(
        f"**On {text.plural(run.num_devices, 'device')} stay {text.times(below.times_below)} below B_crit**: {text.tokens(below.tokens_per_step)} per "
        f"step reach the target soonest. At B_crit the run takes {text.times(below.time_at_critical)} the time, at four times B_crit "
        f"{text.times(below.time_at_four_critical)}: larger batches fill no idle devices here, they only spend tokens."
    )
