"""The Planner page in words and tables."""

import pandas as pd
import streamlit as st

from bsmath import plan_batches, plan_check, presets
from bsmath.curves import SECONDS_PER_DAY
from bsmath.outlook import Outlook
from bsmath.plan_frontier import Plan, cost_of
from bsmath.planner import Answers
from bsmath.scenario import Scenario
from pages.charts.planner import held_out_figure
from pages.ui import loaded, shell, state, text

FIELDS = (
    ("Most devices", "most_devices", "Largest job that is planned."),
    ("Deadline [days]", "deadline_days", "Empty: none."),
    ("Price per device-hour", "price_per_device_hour", "Any currency; empty: cost is in device-hours."),
    ("Most cost", "most_cost", "In that currency, or in device-hours without a price. Empty: no limit."),
    ("Memory per device [bytes]", "device_memory", "Empty: the accelerator's. 80e9 is 80 GB."),
    ("Power per device [W]", "device_power", "With its share of the host; energy is shown once typed."),
    ("Other accelerators", "other_offers", "Each with its price: `h100_sxm 2.5, b200_sxm 6`."),
)
MOST_ROWS = 16


def limits() -> None:
    """What a plan may use."""
    with st.container(horizontal=True):
        for label, name, help in FIELDS:
            st.text_input(label, width=190, help=help, **state.typed(name))


def unit(found: Answers) -> str:
    """The unit of costs."""
    return "money" if found.in_money else "device-hours"


def chosen(scenario: Scenario, found: Answers) -> Plan | None:
    """The plan that the scenario's limits ask for: the cheapest by a deadline, else the fastest within the cost."""
    return found.cheapest if scenario.deadline_days is not None else found.fastest


def shown_plan(scenario: Scenario, found: Answers) -> Plan:
    """That plan, or the cheapest of all where no plan keeps the limits."""
    return chosen(scenario, found) or found.frontier[-1]


def place(plan: Plan, found: Answers) -> tuple[float, float]:
    """Days and cost of a plan."""
    return plan.seconds / SECONDS_PER_DAY, cost_of(plan, found.in_money)


def answer(scenario: Scenario, found: Answers) -> str:
    """The fastest and the cheapest plan within the limits."""
    if not found.plans:
        return f"**No plan fits.** {text.plain(' '.join(found.left_out))}"
    said = []
    for plan, name, limit in (
        (found.fastest, "Fastest", " within the cost" if scenario.most_cost is not None else ""),
        (found.cheapest, "Cheapest", " by the deadline" if scenario.deadline_days is not None else ""),
    ):
        said.append(f"**{name}{limit}: {_words(plan, found)}.**" if plan else f"**{name}{limit}: no plan.**")
    return " ".join(said)


def _words(plan: Plan, found: Answers) -> str:
    return (
        f"{text.plural(plan.num_devices, 'device')} at {text.tokens(plan.tokens_per_step)} per step, "
        f"{text.duration(plan.seconds)}, {_cost(plan, found)}"
    )


def _cost(plan: Plan, found: Answers) -> str:
    if found.in_money:
        return text.money(plan.cost)
    return f"{text.count(plan.device_hours)} device-hours"


def doubts(found: Answers) -> tuple[str, ...]:
    """What was left out of the comparison."""
    return tuple(text.plain(sentence) for sentence in found.left_out) if found.plans else ()


def numbers(scenario: Scenario, found: Answers) -> tuple[tuple[str, str, str], ...]:
    """Metrics of the plan that the limits ask for."""
    plan = shown_plan(scenario, found)
    split = f"{plan.micro_batch_size:,} x {plan.grad_accum_steps:,} x {plan.data_parallel_size:,} sequences"
    shown = [
        ("Devices", f"{plan.num_devices:,}", f"{_label(plan)}"),
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


def _label(plan: Plan) -> str:
    known = presets.hardware()
    return known[plan.accelerator].label if plan.accelerator in known else text.flops(float(plan.accelerator))


def points(plans, found: Answers) -> pd.DataFrame:
    """Days, cost and devices of plans."""
    return pd.DataFrame(
        {
            "days": [plan.seconds / SECONDS_PER_DAY for plan in plans],
            "cost": [cost_of(plan, found.in_money) for plan in plans],
            "num_devices": [plan.num_devices for plan in plans],
            "tokens_per_step": [plan.tokens_per_step for plan in plans],
        }
    )


def series(found: Answers) -> list[tuple[str, pd.DataFrame]]:
    """The plans of each accelerator."""
    names = dict.fromkeys(plan.accelerator for plan in found.plans)
    kept = {name: [plan for plan in found.plans if plan.accelerator == name] for name in names}
    return [(_label(plans[0]), points(plans, found)) for plans in kept.values()]


def frontier(found: Answers) -> pd.DataFrame:
    """The plans that no other beats."""
    return points(found.frontier, found)


def here(run: Outlook, found: Answers) -> tuple[float, float] | None:
    """This run's days and cost."""
    cost = run.cost if found.in_money else run.device_hours
    return None if cost is None else (run.seconds / SECONDS_PER_DAY, cost)


def table(found: Answers) -> pd.DataFrame:
    """The frontier, thinned, with the price of an hour saved against the next slower plan."""
    rows = found.frontier[:: max(len(found.frontier) // MOST_ROWS, 1)]
    price = {saving.faster: saving.cost_per_hour for saving in found.savings}
    return pd.DataFrame(
        {
            "Devices": [f"{plan.num_devices:,} x {_label(plan)}" for plan in rows],
            "Batch [tokens]": [text.count(plan.tokens_per_step) for plan in rows],
            "Micro x accumulation": [f"{plan.micro_batch_size:,} x {plan.grad_accum_steps:,}" for plan in rows],
            "Tokens": [text.count(plan.tokens) for plan in rows],
            "Time": [text.duration(plan.seconds) for plan in rows],
            "Cost": [_cost(plan, found) for plan in rows],
            "Next hour saved": [text.count(price[plan]) if plan in price else "cheapest" for plan in rows],
        }
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
    shell.chart(
        held_out_figure([(name, one.table) for name, one in checks.items()]),
        key="plan_held_out",
        alt="Predicted and measured seconds to the target loss against the batch.",
        table=example.one_out.table,
    )


def small_job(scenario: Scenario, run: Outlook) -> None:
    """How far below the critical batch a job on these devices stays, and what going up to it costs."""
    below = plan_batches.stay_below(scenario, run.num_devices) if run.num_devices <= scenario.most_devices else None
    if below is None or below.times_below <= 1:
        return
    st.markdown(
        f"**On {text.plural(run.num_devices, 'device')} stay {text.times(below.times_below)} below B_crit**: {text.tokens(below.tokens_per_step)} per "
        f"step reach the target soonest. At B_crit the run takes {text.times(below.time_at_critical)} the time, at four times B_crit "
        f"{text.times(below.time_at_four_critical)}: larger batches fill no idle devices here, they only spend tokens."
    )
