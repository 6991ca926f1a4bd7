"""Ramps compared: the hyperbola where nothing moves, wall-clock step by step, what ramping can be worth at most."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import critical, published_ramps, ramp, ramp_kinds
from bsmath.outlook import outlook
from bsmath.ramp_outlook import ramp_outlook, seconds, useful_tokens
from bsmath.scenario import Scenario

USEFUL, KNEE = 5e10, 1e6
RISING = Scenario(micro_batch_size=1, ramp_start=1e5, ramp_end=4e6, ramp_tokens=2e10)
BUDGET = RISING.change(goal="budget", token_budget=3e10)
EVERY = " ".join(ramp_kinds.KINDS)


def test_the_goal_in_useful_tokens_is_e_min_or_what_a_flat_run_makes_of_the_budget():
    assert useful_tokens(RISING) == USEFUL
    assert_allclose(useful_tokens(BUDGET), 3e10 / (1 + 4e6 / KNEE))


@pytest.mark.parametrize("growth", ["constant", "zhang_data", "step_law"])
def test_flat_batches_lie_on_the_hyperbola_of_the_scenario_whatever_the_growth(growth):
    found = ramp_outlook(RISING.change(critical_growth=growth))
    for one, size in ((found.flat, 4e6), (found.start, 1e5)):
        assert_allclose(one.steps, critical.steps_to_target(size, KNEE, 5e4), rtol=1e-9)
        assert_allclose(one.tokens, critical.tokens_to_target(size, KNEE, 5e4), rtol=1e-9)


def test_every_schedule_reaches_the_same_target():
    found = ramp_outlook(RISING.change(ramps_compared=EVERY))
    assert len(found.schedules) == len(ramp_kinds.KINDS)
    assert [one.progress.useful_tokens for one in (*found.schedules, found.start)] == [USEFUL] * 11


def test_every_schedule_spends_the_same_budget_and_gets_as_far_as_its_waste_leaves_it():
    found = ramp_outlook(BUDGET.change(ramps_compared=EVERY))
    assert {one.tokens for one in (*found.schedules, found.start)} == {3e10}
    assert_allclose(found.flat.progress.useful_tokens, useful_tokens(BUDGET), rtol=1e-5)
    assert_allclose(found.start.progress.useful_tokens / 3e10, 1 - found.start.progress.waste)
    assert found.start.progress.waste < found.chosen.progress.waste < found.flat.progress.waste


@pytest.mark.parametrize("goal", ["target", "budget"])
@pytest.mark.parametrize("padding", [0, 0.3])
def test_a_flat_batch_of_the_run_takes_the_time_that_the_overview_says(goal, padding):
    scenario = Scenario(goal=goal, padding_fraction=padding, data_parallel_size=8, micro_batch_time=0.01)
    run, found = outlook(scenario), ramp_outlook(scenario.change(ramp="flat"))
    assert_allclose(found.chosen.seconds, run.seconds, rtol=1e-9)
    assert_allclose([found.chosen.steps, found.chosen.tokens], [run.steps, run.tokens], rtol=1e-9)


def test_the_time_of_a_ramp_is_that_of_its_steps_one_by_one():
    scenario, run = RISING.change(goal="budget", token_budget=2e9), outlook(RISING)
    one, seen, spent = ramp_outlook(scenario).chosen, 0.0, 0.0
    while seen < one.tokens:
        size = min(one.ramp.at(seen), one.tokens - seen)
        seen, spent = seen + size, spent + run.fixed_time + size / run.padded_plateau
    assert_allclose(one.seconds, spent, rtol=1e-3)


def test_where_the_step_time_is_linear_only_steps_and_tokens_count():
    run = outlook(RISING)
    for one in ramp_outlook(RISING.change(ramps_compared=EVERY)).schedules:
        assert_allclose(one.seconds, run.fixed_time * one.steps + one.tokens / run.padded_plateau, rtol=1e-9)


def test_padding_costs_time_and_neither_steps_nor_tokens():
    one, padded = (ramp_outlook(RISING.change(padding_fraction=share, fixed_time=0)).chosen for share in (0, 0.5))
    assert (padded.steps, padded.tokens) == (one.steps, one.tokens)
    assert_allclose(padded.seconds, 2 * one.seconds, rtol=1e-9)


def test_a_threshold_beside_an_edge_of_the_sum_by_rounding_alone_leaves_a_finite_time():
    threshold = 5e10 * 5 / 240
    assert threshold != np.linspace(0, 5e10, 241)[5]  # but within rounding
    steep = ramp.staircase([0, threshold], [1e4, 2e4])
    run = outlook(RISING)
    expected = run.fixed_time * steep.steps(5e10) + 5e10 / run.padded_plateau
    assert_allclose(seconds(RISING, steep, 5e10), expected, rtol=1e-9)


def test_more_than_one_device_that_is_all_fixed_cost_makes_time_proportional_to_steps():
    found = ramp_outlook(RISING.change(fixed_time=100, data_parallel_size=1024))
    assert_allclose(found.chosen.seconds / found.flat.seconds, found.chosen.steps / found.flat.steps, rtol=1e-2)


@pytest.mark.parametrize("kind", ["linear_tokens", "staircase", "doubling", "law", "seesaw"])
def test_under_a_constant_critical_batch_no_ramp_beats_the_flat_batch_with_as_many_tokens(kind):
    found = ramp_outlook(RISING.change(critical_growth="constant", ramp=kind, ramp_factor=3))
    assert_allclose([found.gamma, found.best_gain], [1, 0], atol=1e-9)
    assert found.gain < 1e-3


def test_a_flat_ramp_gains_nothing_on_itself():
    found = ramp_outlook(RISING.change(ramp="flat"))
    assert_allclose(found.gain, 0, atol=1e-9)
    assert_allclose(found.equal_token_steps, found.flat.steps, rtol=1e-9)


def test_the_flat_batch_with_as_many_tokens_has_that_many_steps():
    found = ramp_outlook(RISING)
    size = KNEE * (found.chosen.tokens / USEFUL - 1)
    assert_allclose(found.equal_token_steps, critical.steps_to_target(size, KNEE, 5e4), rtol=1e-9)
    assert_allclose(found.gain, 1 - found.chosen.steps / found.equal_token_steps)


@pytest.mark.parametrize("kind", [kind for kind in ramp_kinds.KINDS if kind != "stages"])
@pytest.mark.parametrize("growth", ["zhang_data", "step_law"])
def test_no_ramp_gains_more_than_the_best_of_all(kind, growth):
    found = ramp_outlook(RISING.change(ramp=kind, critical_growth=growth))
    assert found.gain <= found.best_gain + 1e-3


def test_the_square_root_rule_without_an_end_is_the_best_of_all():
    found = ramp_outlook(Scenario(ramp="adaptive", ramp_start=1, ramp_end=1e10, critical_growth="step_law"))
    assert found.gain > 0.03
    assert_allclose(found.gain, found.best_gain, rtol=1e-2)
    overhead = found.chosen.tokens / USEFUL - 1
    assert_allclose(overhead, np.sqrt(found.gamma), rtol=1e-3)  # both overheads are 1 + sqrt(gamma), eq. D.3


@pytest.mark.parametrize("growth, power", [("step_law", 0.571), ("zhang_data", 0.47), ("schaipp", 0.566)])
def test_gamma_of_a_power_of_the_useful_tokens_is_its_closed_form(growth, power):
    """With a flat first ten-thousandth; without, 4 (1 - q)/(2 - q)^2 for B_n ~ u^q."""

    def integral(rest: float) -> float:  # of u^(rest - 1) from there to 1, and of the flat part
        return 1e-4**rest + (1 - 1e-4**rest) / rest

    found = ramp_outlook(RISING.change(critical_growth=growth))
    assert_allclose(found.gamma, integral(1 - power / 2) ** 2 / integral(1 - power), rtol=1e-6)
    assert_allclose(found.gamma, 4 * (1 - power) / (2 - power) ** 2, rtol=0.011)


def test_compared_ramps_leave_out_the_chosen_and_the_flat_one_and_name_what_is_no_ramp():
    found = ramp_outlook(RISING.change(ramps_compared="flat linear_tokens nothing doubling palm_540b other"))
    assert [one.name for one in found.schedules] == ["linear_tokens", "flat", "doubling", "palm_540b"]
    assert found.unknown == ("nothing", "other")


def test_a_published_ramp_keeps_its_own_batches_and_takes_the_goal_of_the_scenario():
    (one,) = ramp_outlook(RISING.change(ramps_compared="bloom_176b")).compared
    known = published_ramps.ramps()["bloom_176b"]
    assert one.ramp is known.ramp and one.label == known.label
    assert one.progress.useful_tokens == USEFUL and one.rises == 9_765_625 * 2048


def test_a_rise_that_the_run_does_not_live_to_see_ends_with_the_run():
    assert ramp_outlook(BUDGET.change(token_budget=1e9)).chosen.rises == 1e9


def test_the_smallest_step_is_one_sequence_on_every_replica_in_real_tokens():
    scenario = RISING.change(data_parallel_size=64, padding_fraction=0.25)
    assert ramp_outlook(scenario).smallest_step == 64 * 2048 * 0.75
