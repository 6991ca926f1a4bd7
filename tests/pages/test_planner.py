"""The Planner page: its limits, the plans that its buttons make the scenario, bands from loaded sweeps, the worked example."""

import re

import pytest

from bsmath import planner
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from pages.ui import text
from tests.pages.test_curves import said
from tests.pages.test_smoke import opened

PAGE = "pages/planner.py"


def button(app, key: str):
    return next(one for one in app.button if one.key == key)


def metrics(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def together(app):
    app.session_state["part_plan_held_out_part"] = True
    return button(app.run(), "plan_together").click().run()


@pytest.mark.parametrize("name", ["fastest", "cheapest"])
@pytest.mark.parametrize("query", [{}, {"price_per_device_hour": "2", "other_offers": "b200_sxm 6, h100_sxm 1"}])
def test_a_button_makes_a_plan_the_scenario_and_its_time_that_of_every_page(name, query):
    app = opened(PAGE, query)
    found = planner.answers(
        Scenario(**{key: float(value) if key != "other_offers" else value for key, value in query.items()})
    )
    plan = getattr(found, name)
    button(app, f"plan_use_{name}").click().run()
    assert not app.exception
    run = outlook(app.session_state.scenario)
    assert (run.num_devices, run.tokens_per_step) == (plan.num_devices, plan.tokens_per_step)
    assert run.seconds == pytest.approx(plan.seconds)
    assert button(app, f"plan_use_{name}").disabled
    assert planner.answers(app.session_state.scenario).frontier == found.frontier


def test_the_cheapest_by_a_deadline_and_the_fastest_for_a_budget_keep_their_limits():
    query = {"price_per_device_hour": "2", "deadline_days": "1", "most_cost": "300"}
    found = planner.answers(Scenario(price_per_device_hour=2.0, deadline_days=1.0, most_cost=300.0))
    assert found.cheapest.seconds <= 86_400 and found.fastest.cost <= 300
    told = said(opened(PAGE, query))
    for plan, start in ((found.fastest, "Fastest within the cost"), (found.cheapest, "Cheapest by the deadline")):
        assert f"{start}: {text.plural(plan.num_devices, 'device')} at {text.tokens(plan.tokens_per_step)}" in told
    assert "Cheapest by the deadline: no plan." in said(opened(PAGE, query | {"deadline_days": "0.01"}))


def test_energy_and_money_are_shown_once_power_and_price_are_typed():
    assert not {"Energy", "Cost"} & metrics(opened(PAGE)).keys()
    shown = metrics(opened(PAGE, {"device_power": "700", "price_per_device_hour": "2", "deadline_days": "1"}))
    plan = planner.answers(Scenario(deadline_days=1.0)).cheapest
    assert shown["Energy"] == f"{text.count(0.7 * plan.device_hours)} kWh" and shown["Cost"] == text.count(
        2 * plan.device_hours
    )


def test_without_a_sweep_the_page_says_that_its_times_have_no_interval():
    assert "No sweep is loaded, so these times have no interval" in said(opened(PAGE))


def test_loaded_sweeps_put_an_interval_around_time_and_batch():
    app = together(opened(PAGE))
    told = said(app)
    assert not app.exception
    assert (
        "The band is the relative scatter of together\\_convergence\\_0.1M.csv (steps), together\\_throughput" in told
    )
    assert re.search(r"the run takes [\d.]+\ss to [\d.]+\ss \(90 %\)", told)
    assert "is within 5 % of the best in at least 90 % of the draws" in told
    assert "On 1\u00a0device stay 4" in told and "Fastest and cheapest: 1\u00a0device" in told


def test_goodput_is_the_same_curve_seen_otherwise():
    app = opened(PAGE)
    app.segmented_control(key="plan_seen").set_value("Goodput").run()
    assert not app.exception and "Goodput is Pollux's" in said(app)


def test_a_budget_says_what_its_batch_does_not():
    told = said(opened(PAGE, {"goal": "budget"}))
    assert "A token budget only gets faster with the batch" in told and "below B_crit" not in told


def test_a_job_that_fits_nowhere_says_so():
    told = said(opened(PAGE, {"num_params": "1e12", "most_devices": "1"}))
    assert "No plan fits." in told and "surely fits its memory" in told
