"""Curves of compared ramps: they end where the run does, lie where the formulas say, and rates follow batch and schedule."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from bsmath import ramp_curves, ramp_kinds
from bsmath.ramp_outlook import ramp_outlook
from bsmath.scenario import Scenario

USEFUL, KNEE = 5e10, 1e6
RISING = Scenario(ramp_start=1e5, ramp_end=4e6, ramp_tokens=2e10, warmup_tokens=0)
FOUND = ramp_outlook(RISING.change(ramps_compared="doubling bloom_176b adaptive"))
STAIRS = FOUND.compared[0]


def chosen(**changes):
    scenario = RISING.change(ramps_compared="", **changes)
    return scenario, ramp_outlook(scenario).chosen


@pytest.mark.parametrize("place", range(5))
def test_a_curve_ends_with_its_run_and_never_runs_back(place):
    one = FOUND.schedules[place]
    table = ramp_curves.over_tokens(one)
    assert_allclose(table.iloc[-1][["tokens", "steps"]].astype(float), [one.tokens, one.steps], rtol=1e-12)
    assert (np.diff(table["tokens"]) >= 0).all() and (np.diff(table["steps"]) >= 0).all()
    assert_allclose(table["tokens_per_step"], one.ramp.at(table["tokens"]))


def test_a_threshold_is_drawn_with_both_its_batches():
    table = ramp_curves.over_tokens(STAIRS)
    for before, after, seen in zip(STAIRS.ramp.first[:-1], STAIRS.ramp.first[1:], STAIRS.ramp.tokens[1:], strict=True):
        there = table[np.abs(table["tokens"] / seen - 1) < 2e-9]
        assert there["tokens_per_step"].tolist() == [before, after]


def test_thresholds_after_the_end_of_the_run_are_not_drawn():
    scenario = RISING.change(ramp="doubling", goal="budget", token_budget=1e9)
    assert ramp_curves.over_tokens(ramp_outlook(scenario).chosen)["tokens"].max() == 1e9


def test_several_schedules_stand_under_each_other_by_label():
    table = ramp_curves.joined(FOUND.schedules)
    assert table["schedule"].unique().tolist() == [one.label for one in FOUND.schedules]
    first = table[table["schedule"] == FOUND.chosen.label].drop(columns="schedule")
    assert first.equals(ramp_curves.over_tokens(FOUND.chosen))


def test_the_course_is_met_where_a_flat_run_has_come_to_it():
    """After E tokens of a flat run at B, dE = (1 + B/B_n) du: the last row lies at the run's end."""
    table, curve = ramp_curves.course_over_tokens(FOUND), FOUND.course.curve
    assert_allclose(table["tokens"].iloc[-1], FOUND.flat.tokens, rtol=1e-9)
    assert_allclose(table["critical_batch_size"].iloc[-1], curve.at(USEFUL))
    middle = table.iloc[120]
    useful = USEFUL * 1e-4 ** (1 - 120 / 160)
    edges = np.concatenate([[0], np.geomspace(USEFUL * 1e-5, useful, 40)])
    parts = zip(edges[:-1], edges[1:], strict=True)
    spent = sum(integrate.quad(lambda u: 1 + FOUND.flat.ramp.end / curve.at(u), *pair)[0] for pair in parts)
    assert_allclose(middle["tokens"], spent, rtol=1e-6)
    assert_allclose(middle["critical_batch_size"], curve.at(useful))


def test_the_hyperbola_has_the_product_one_and_the_frontier_gamma():
    flat, best, _ = ramp_curves.pareto(FOUND)
    for table, product in ((flat, 1), (best, FOUND.gamma)):
        assert_allclose((table["steps"] * KNEE / USEFUL - 1) * (table["tokens"] / USEFUL - 1), product)


def test_points_are_the_schedules_and_the_flat_ones_lie_on_the_hyperbola():
    flat, _, points = ramp_curves.pareto(FOUND)
    every = (*FOUND.schedules, FOUND.start)
    assert points["label"].tolist() == [one.label for one in every]
    assert points["steps"].tolist() == [one.steps for one in every]
    drawn = np.interp(FOUND.flat.tokens, flat["tokens"], flat["steps"])
    assert_allclose(drawn, FOUND.flat.steps, rtol=1e-2)


def test_seesaw_takes_the_rule_of_the_optimizer_and_others_the_scenario_s():
    rules = [
        ramp_curves.rule_of(*chosen(ramp=kind, optimizer=optimizer, rate_rule=rule))
        for kind, optimizer, rule in (
            ("seesaw", "adamw", "surge"), ("seesaw", "sgd", "usual"), ("doubling", "adamw", "surge"),
        )
    ]  # fmt: skip
    assert rules == ["square_root", "linear", "surge"]


def test_the_rate_is_the_rule_at_the_batch_times_the_schedule_over_the_run():
    scenario, one = chosen(schedule="linear", rate_rule="square_root", warmup_tokens=1e9)
    table = ramp_curves.rates(scenario, one)
    rise, left = np.minimum(table["tokens"] / 1e9, 1), (one.tokens - table["tokens"]) / (one.tokens - 1e9)
    batch = one.ramp.at(table["tokens"].to_numpy())
    expected = 3e-4 * np.sqrt(batch / 524_288) * rise * np.minimum(left, 1)
    assert_allclose(table["learning_rate"], expected, rtol=1e-9, atol=1e-18)
    assert_allclose(table["tokens_per_step"], batch)


def test_a_rate_that_does_not_follow_the_batch_is_its_schedule_alone():
    scenario, one = chosen(schedule="constant", rate_rule="constant")
    assert_allclose(ramp_curves.rates(scenario, one)["learning_rate"], 3e-4)
    assert_allclose(ramp_curves.rule_rate(scenario, one, np.array([1e3, 1e9])), 3e-4)


@pytest.mark.parametrize("optimizer, power", [("adamw", 0.5), ("sgd", 0)])
def test_where_a_schedule_falls_by_a_seesaw_s_rate_falls_by_its_root_or_not_at_all(optimizer, power):
    """Rate times sqrt(a) and batch over a with Adam, the rate unchanged with SGD (Meterez et al. 2025)."""
    scenario, one = chosen(
        ramp="seesaw", optimizer=optimizer, schedule="linear", ramp_end=1e10, goal="budget", token_budget=5e10
    )
    seen = np.linspace(0.1, 0.9, 9) * 5e10
    share = 1 - seen / 5e10
    assert_allclose(one.ramp.at(seen), 1e5 / share, rtol=2e-3)
    rate = share * ramp_curves.peak_rates(scenario, one, seen)
    first = ramp_curves.rule_rate(scenario, one, 1e5)
    assert_allclose(rate / first, share**power, rtol=2e-3)


@pytest.mark.parametrize("kind", ramp_kinds.KINDS)
def test_rates_are_finite_from_the_first_token_to_the_last(kind):
    scenario, one = chosen(ramp=kind, warmup_tokens=1e9)
    table = ramp_curves.rates(scenario, one)
    assert np.isfinite(table).all(axis=None)
    assert (table["tokens"].iloc[0], table["tokens"].iloc[-1]) == (0, one.tokens)
    assert table["learning_rate"].iloc[0] == 0 and abs(table["learning_rate"].iloc[-1]) < 1e-12
