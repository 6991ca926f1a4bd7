"""One number of devices: the table over the batch, its bands, and the plan that a scenario becomes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import offers, plan_batches, planner, shipped
from bsmath.outlook import outlook
from bsmath.plan_bands import Factors, factors
from bsmath.plan_job import bands, job
from bsmath.scenario import Scenario

SCENARIO = Scenario(
    price_per_device_hour=2.0, other_offers="b200_sxm 6, h100_sxm 1", device_power=700.0, most_devices=32
)


@pytest.fixture(scope="module")
def by() -> Factors:
    return factors(shipped.sweep("together_convergence").fit, shipped.sweep("together_throughput").fit)


@pytest.mark.parametrize("place", [0, -1, 10])
def test_the_changes_to_a_plan_give_its_time_and_cost(place):
    plan = planner.answers(SCENARIO).plans[place]
    run = outlook(SCENARIO.change(**planner.changes(SCENARIO, plan)))
    assert_allclose([run.seconds, run.cost, run.tokens_per_step], [plan.seconds, plan.cost, plan.tokens_per_step])


def test_a_change_of_accelerator_offers_the_old_one_in_its_place_and_keeps_every_plan():
    found = planner.answers(SCENARIO)
    other = next(plan for plan in found.plans if plan.accelerator == "b200_sxm")
    moved = SCENARIO.change(**planner.changes(SCENARIO, other))
    assert offers.read(moved.other_offers) == {"h200_sxm": 2.0, "h100_sxm": 1.0}
    assert (moved.accelerator, moved.price_per_device_hour, moved.device_power) == ("b200_sxm", 6.0, None)
    key = {(plan.accelerator, plan.num_devices): plan.seconds for plan in found.plans}
    assert {
        (plan.accelerator, plan.num_devices): plan.seconds for plan in planner.answers(moved).plans
    } == pytest.approx(key)


def test_offers_are_written_as_they_are_read():
    given = {"h100_sxm": 2.5, "b200_sxm": None, "l4": 0.001}
    assert offers.read(offers.write(given)) == given and offers.write({}) == ""


def test_without_a_fit_a_job_is_the_table_over_its_batch(by):
    plan = planner.answers(SCENARIO).fastest
    found = job(SCENARIO, plan, Factors())
    assert found.safe is None and "low" not in found.table
    assert_allclose(found.table["seconds"].min(), plan.seconds)
    there = SCENARIO.change(**planner.changes(SCENARIO, plan))
    assert found.flat == plan_batches.flat_range(there, plan.num_devices)


def test_the_band_holds_the_best_estimate_and_narrows_the_batches_to_choose_from(by):
    plan = planner.answers(SCENARIO).fastest
    found = job(SCENARIO, plan, by)
    assert np.all(found.table["low"] < found.table["seconds"]) and np.all(found.table["seconds"] < found.table["high"])
    assert found.flat[0] <= found.safe[0] <= plan.tokens_per_step <= found.safe[1] <= found.flat[1]


def test_the_band_of_a_plan_is_that_of_its_row(by):
    plan = planner.answers(SCENARIO).fastest
    row = job(SCENARIO, plan, by).table.set_index("tokens_per_step").loc[plan.tokens_per_step]
    assert_allclose(
        bands(SCENARIO, [plan], by).loc[0, ["low", "high"]].astype(float), row[["low", "high"]].astype(float)
    )
    assert bands(SCENARIO, [plan], Factors()).columns.empty


def test_joined_factors_draw_what_each_draws(by):
    steps, rate = (factors(fit) for fit in (shipped.sweep("together_convergence").fit, None))
    assert steps.known and not rate.known and not Factors().known
    rate = factors(step_time=shipped.sweep("together_throughput").fit)
    for name, values in vars(steps.joined(rate)).items():
        assert_allclose(values, getattr(by, name))
