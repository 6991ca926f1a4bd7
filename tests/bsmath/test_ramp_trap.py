"""The trap of steps: what comes too early, by an amount that follows from the extra steps of the ramp alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import ramp
from bsmath.ramp_outlook import ramp_outlook
from bsmath.ramp_trap import in_steps, trap
from bsmath.scenario import Scenario

START, END, OVER = 1e5, 1e6, 1e10
RISING = Scenario(ramp_start=START, ramp_end=END, ramp_tokens=OVER, warmup_tokens=2e9)
EXTRA = OVER / (END - START) * np.log(END / START) - OVER / END
"""Steps that the ramp takes beyond those of its end, from the closed form of a ramp linear in tokens."""


def trapped(scenario: Scenario):
    one = ramp_outlook(scenario.change(ramps_compared="")).chosen
    return one, trap(scenario, one)


def test_a_ramp_linear_in_tokens_becomes_one_linear_in_steps_over_fewer_tokens():
    """n steps stand for n B1 tokens: T/B1 steps from B0 to B1 are (B0 + B1)/2 T/B1 tokens."""
    stepped, shorter = in_steps(ramp.linear_tokens(START, END, OVER), END), OVER * (START + END) / 2 / END
    assert_allclose(stepped.length, shorter, rtol=1e-3)
    seen = np.linspace(shorter / 50, 1.2 * shorter, 50)
    assert_allclose(stepped.at(seen), ramp.linear_steps(START, END, shorter).at(seen), rtol=5e-3)


def test_a_stage_written_in_steps_lasts_as_much_shorter_as_its_batch_is_smaller():
    stepped = in_steps(ramp.staircase([0, 1e9, 3e9, 4e9], [1e5, 2e5, 5e5, 1e6]), 1e6)
    assert_allclose(np.diff(stepped.tokens), [1e9 * 0.1, 2e9 * 0.2, 1e9 * 0.5])
    assert stepped.first.tolist() == [1e5, 2e5, 5e5, 1e6]


def test_the_steps_of_a_ramp_written_in_steps_are_those_that_were_written():
    stepped = in_steps(ramp.staircase([0, 1e9, 3e9, 4e9], [1e5, 2e5, 5e5, 1e6]), 1e6)
    assert_allclose(stepped.steps(stepped.tokens), [0, 1000, 3000, 4000])


def test_a_flat_batch_is_not_trapped():
    assert in_steps(ramp.flat(3e5), 3e5).length == 0
    one, found = trapped(RISING.change(ramp="flat"))
    assert_allclose([found.rate_ends, found.warmup_ends, found.ramp_ends], [one.tokens, 2e9, 0])
    assert_allclose(found.rates["in_steps"], found.rates["meant"])
    assert_allclose(found.batches["in_steps"], found.batches["meant"])


@pytest.mark.parametrize("goal", ["target", "budget"])
def test_the_schedule_ends_early_by_the_extra_steps_of_the_ramp_at_its_final_batch(goal):
    one, found = trapped(RISING.change(goal=goal))
    assert_allclose(one.tokens - found.rate_ends, EXTRA * END, rtol=1e-9)
    assert_allclose(found.horizon_steps, one.steps - EXTRA, rtol=1e-9)


def test_the_warmup_ends_where_a_march_of_whole_steps_has_taken_its_steps():
    steps, seen = round(2e9 / END), 0.0
    for _ in range(steps):
        seen += START + (END - START) * seen / OVER
    assert_allclose(trapped(RISING)[1].warmup_ends, seen, rtol=1e-3)
    assert seen < 2e9 / 4


def test_the_ramp_itself_ends_early():
    assert_allclose(trapped(RISING)[1].ramp_ends, OVER * (START + END) / 2 / END, rtol=1e-3)


def test_a_run_that_ends_before_its_ramp_does_is_no_longer_than_itself():
    one, found = trapped(RISING.change(goal="budget", token_budget=2e9))
    assert found.ramp_ends == one.tokens == 2e9  # in steps too it would take longer
    assert found.rate_ends < 2e9 / 8


def test_a_rate_counted_in_steps_is_the_meant_one_of_a_later_moment():
    scenario = RISING.change(schedule="linear", warmup_tokens=0, optimizer="sgd", critical_growth="constant")
    one, found = trapped(scenario)
    share = found.rates["in_steps"] / found.rates["meant"].where(found.rates["meant"] > 0)
    left = 1 - one.ramp.steps(found.rates["tokens"].to_numpy()) * END / one.tokens
    expected = np.clip(left, 0, None) / (1 - found.rates["tokens"] / one.tokens)
    assert_allclose(share[:-1], expected[:-1], atol=1e-9)
    assert (share[1:-1] < 1).all()


def test_after_its_end_the_rate_is_the_lowest():
    one, found = trapped(RISING.change(min_learning_rate=3e-5, rate_rule="constant"))
    late = found.rates["tokens"] > found.rate_ends
    assert late.sum() > 5 and late.iloc[-1]
    assert_allclose(found.rates["in_steps"][late], 3e-5)


def test_a_constant_schedule_without_a_warmup_is_not_trapped():
    found = trapped(RISING.change(schedule="constant", warmup_tokens=0))[1]
    assert_allclose(found.rates["in_steps"], found.rates["meant"])


def test_batches_are_drawn_as_they_are_at_rising_tokens():
    one, found = trapped(RISING.change(ramp="doubling"))
    assert (np.diff(found.batches["tokens"]) >= 0).all() and found.batches["tokens"].max() <= one.tokens
    assert_allclose(found.batches["meant"], one.ramp.at(found.batches["tokens"]))
    assert (found.batches["in_steps"] >= found.batches["meant"]).all()
