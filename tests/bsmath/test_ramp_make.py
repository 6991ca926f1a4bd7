"""Ramps of a scenario: their ends, the closed forms of the simple ones, the rules of those that follow a course."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import progress, ramp, ramp_kinds, ramp_make
from bsmath.critical_course import course
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

ENDS = Scenario(ramp_start=1e5, ramp_end=4e6, ramp_tokens=2e10)
USEFUL = 5e10
SHAPES = [kind for kind in ramp_kinds.KINDS if kind not in ("flat", "stages")]
FOLLOWERS = ["law", "law_doubling", "adaptive"]


def made(kind: str, scenario: Scenario = ENDS) -> ramp.Ramp:
    return ramp_make.make(kind, scenario, course(scenario, USEFUL))


def test_a_ramp_without_typed_ends_rises_threefold_doubling_to_the_batch_of_the_run():
    scenario = Scenario()
    assert ramp_make.ends(scenario) == (outlook(scenario).tokens_per_step / 8, outlook(scenario).tokens_per_step)
    assert len(made("doubling", scenario).tokens) == 4


def test_typed_ends_are_the_ends():
    assert ramp_make.ends(ENDS) == (1e5, 4e6)
    assert ramp_make.ends(Scenario(ramp_end=4e6)) == (5e5, 4e6)


def test_the_ends_of_typed_stages_are_the_first_and_the_last_in_real_tokens():
    scenario = Scenario(ramp="stages", ramp_stages="0:100 1B:300 2B:200", seq_len=1000, padding_fraction=0.1)
    assert_allclose(ramp_make.ends(scenario), (90_000, 180_000))
    assert_allclose(made("stages", scenario).first, [90_000, 270_000, 180_000])
    assert made("stages", scenario).tokens.tolist() == [0, 1e9, 2e9]


def test_stages_that_are_only_compared_keep_the_typed_ends_of_the_ramp():
    scenario = ENDS.change(ramp_stages="0:100 1B:300")
    assert ramp_make.ends(scenario) == (1e5, 4e6) and made("stages", scenario).end == 300 * scenario.seq_len


def test_without_typed_stages_there_is_nothing_but_the_end():
    assert made("stages").steps(4e9) == 1000


@pytest.mark.parametrize("kind", ramp_kinds.KINDS)
def test_every_kind_stays_between_the_ends_and_never_falls(kind):
    one = made(kind)
    sizes = one.at(np.linspace(0, 3 * one.length + 1e9, 4001))
    assert sizes.min() >= 1e5 * (1 - 1e-12) and sizes.max() <= 4e6 * (1 + 1e-12)
    assert (np.diff(sizes) >= -1e-6).all()


@pytest.mark.parametrize("kind", ramp_kinds.KINDS)
def test_equal_ends_leave_nothing_to_ramp(kind):
    one = made(kind, ENDS.change(ramp_start=4e6))
    assert one.smallest == one.largest == 4e6


@pytest.mark.parametrize("kind", ["flat", "doubling", *FOLLOWERS])
def test_a_ramp_that_can_only_rise_is_flat_at_its_end_where_it_starts_above(kind):
    one = made(kind, Scenario(ramp_start=4e6, ramp_end=2e4, critical_growth="zhang_data"))
    assert one.smallest == one.largest == 2e4


@pytest.mark.parametrize("kind", ["linear_tokens", "linear_steps", "doubling"])
def test_simple_kinds_are_those_of_the_ramp_module(kind):
    seen = np.linspace(0, 3e10, 101)
    assert_allclose(made(kind).at(seen), getattr(ramp, kind)(1e5, 4e6, 2e10).at(seen))


@pytest.mark.parametrize("levels", [2, 3, 40])
def test_a_staircase_has_its_levels_at_equal_distances_up_and_along(levels):
    one = made("staircase", ENDS.change(ramp_levels=levels))
    assert_allclose(one.first, np.linspace(1e5, 4e6, levels))
    assert_allclose(one.tokens, np.arange(levels) * 2e10 / (levels - 1))


@pytest.mark.parametrize("factor", [0.5, 1, 2])
def test_the_kind_in_proportion_is_its_factor_times_the_critical_batch_after_as_many_useful_tokens(factor):
    scenario = ENDS.change(ramp_start=1, ramp_end=1e10, ramp_factor=factor)
    bcrit, one = course(scenario, USEFUL).curve, made("law", scenario)
    useful = np.geomspace(1e8, USEFUL, 7)
    assert_allclose(one.at((1 + factor) * useful), factor * bcrit.at(useful), rtol=2e-3)  # dE = (1 + factor) du


def test_rules_that_follow_rise_beyond_the_run_s_batch_where_no_end_is_typed():
    open_end = Scenario(critical_growth="zhang_data")
    for kind in FOLLOWERS:
        assert made(kind, open_end).end > 5 * outlook(open_end).tokens_per_step
    assert made("linear_tokens", open_end).end == outlook(open_end).tokens_per_step


def test_under_a_constant_critical_batch_the_rules_that_follow_are_flat_at_it():
    scenario = Scenario(critical_growth="constant", ramp_start=1e4, ramp_factor=2)
    assert made("law", scenario).at([0.0, 1e10]).tolist() == pytest.approx([2e6, 2e6])
    assert made("adaptive", scenario).at([0.0, 1e10]).tolist() == pytest.approx([2e6, 2e6])
    assert made("law_doubling", scenario).at(0.0) == 1e4 * 2**7  # the last doubling that 2 B_crit allows


SEESAW = Scenario(ramp_start=1e5, ramp_end=8e5, goal="budget", schedule="linear", token_budget=5e10)


@pytest.mark.parametrize("ratio", [2, 8, 64])
def test_seesaw_of_a_linear_fall_saves_half_of_the_steps_less_what_the_end_holds_back(ratio):
    """Its steps over those of the flat start are the mean of max(1 - x, 1/ratio): (1 + 1/ratio^2)/2."""
    one = made("seesaw", SEESAW.change(ramp_end=1e5 * ratio))
    assert_allclose(one.steps(5e10) / (5e10 / 1e5), (1 + ratio**-2) / 2, rtol=1e-3)


def test_seesaw_s_batch_is_its_start_over_the_schedule_and_leaves_the_warmup_alone():
    one = made("seesaw", SEESAW.change(schedule="cosine", warmup_tokens=2e10))
    assert_allclose(one.at(np.array([0, 2.5e10])), [1e5, 2e5], rtol=1e-3)
    assert one.at(5e10) == one.end == 8e5


def test_seesaw_rises_over_the_decay_of_a_wsd_schedule_alone():
    one = made("seesaw", SEESAW.change(schedule="wsd", decay_tokens=1e10))
    assert one.at(3.9e10) == 1e5
    assert_allclose(one.at(4.5e10), 2e5, rtol=2e-2)


def test_seesaw_of_a_constant_schedule_has_nothing_to_do():
    assert made("seesaw", SEESAW.change(schedule="constant")).largest == 1e5


def test_seesaw_stops_where_the_rate_would_have_stopped():
    one = made("seesaw", SEESAW.change(min_learning_rate=SEESAW.learning_rate / 4))
    assert_allclose(one.end, 4e5)


def test_the_run_that_seesaw_turns_is_a_flat_one_at_its_start():
    scenario = ENDS.change(critical_growth="constant", critical_batch_size=1e6, min_steps=5e4)
    assert_allclose(ramp_make.seesaw_tokens(scenario, course(scenario, USEFUL), 1e5), USEFUL * 1.1, rtol=1e-9)
    assert ramp_make.seesaw_tokens(SEESAW, course(SEESAW, USEFUL), 1e5) == 5e10


def test_the_schedule_of_a_run_has_no_longer_decay_than_the_run_and_no_floor_above_its_peak():
    found = ramp_make.schedule_of(Scenario(decay_tokens=5e9, learning_rate=1e-4, min_learning_rate=1e-5), 1e9)
    assert found["decay_tokens"] == found["total_tokens"] == 1e9
    assert_allclose(found["floor"], 0.1)
    assert ramp_make.schedule_of(Scenario(learning_rate=1e-5, min_learning_rate=1e-4), 1e9)["floor"] == 1


def test_doubling_by_the_law_is_that_of_progress_between_the_ends():
    expected = progress.doubling(course(ENDS, USEFUL).curve, USEFUL, 1, 1e5, 4e6)
    assert_allclose(made("law_doubling").tokens, expected.tokens)
    assert_allclose(made("law_doubling").first, expected.first)
