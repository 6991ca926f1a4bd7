"""Ramps as whole stages: what a job can run, the same steps, and a trainer's loop counted stage by stage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bsmath import ramp
from bsmath.ramp_stages import largest_change, most_stages_of, powers, simulated_steps, staged, whole_ratios

SEQ_LEN, REPLICA = 2048, 8
UNIT = SEQ_LEN * REPLICA
"""Tokens of the smallest batch that the job of these tests can run: 16,384."""
TOTAL = 5e10
ONE_WAY = {
    "linear in tokens": ramp.linear_tokens(16 * UNIT, 128 * UNIT, 1e10),
    "linear in steps": ramp.linear_steps(16 * UNIT, 128 * UNIT, 1e10),
    "falling": ramp.linear_tokens(128 * UNIT, 16 * UNIT, 1e10),
    "power of the tokens": ramp.through([1e9, 5e9, 2e10], [16 * UNIT, 64 * UNIT, 128 * UNIT]),
    "127 equal rises": ramp.rampup(UNIT, UNIT, 128 * UNIT, 1e10),
    "longer than the run": ramp.linear_tokens(16 * UNIT, 160 * UNIT, 1e11),
    "one to two": ramp.linear_tokens(UNIT, 2 * UNIT, 1e10),
    "many points": ramp.through(np.linspace(1e9, 2e10, 40), 100 * UNIT * np.linspace(0.04, 1, 40) ** 1.1),
}
each_way = pytest.mark.parametrize("rising", ONE_WAY.values(), ids=ONE_WAY.keys())


def as_ramp(stages):
    return ramp.staircase([stage.threshold_tokens for stage in stages], [stage.tokens_per_step for stage in stages])


def loop(stages, total):
    """A trainer's loop, step by step: steps, and by how much the last step of each stage overstepped."""
    consumed, steps, overstepped = 0, 0, {}
    while consumed < total:
        now = max(index for index, stage in enumerate(stages) if consumed >= stage.threshold_tokens)
        consumed += stages[now].tokens_per_step
        end = stages[now + 1].threshold_tokens if now + 1 < len(stages) else total
        overstepped[now] = consumed - end
        steps += 1
    return steps, overstepped


def test_a_staircase_of_whole_multiples_stays_as_it_is():
    # The example of Megatron-LM's --step-batch-size-schedule: 250e9 / (768 x 2048) = 158,945.8 steps.
    batches = np.array([768, 1536, 3072, 6144]) * SEQ_LEN
    stages = staged(ramp.staircase([0, 250e9, 500e9, 750e9], batches), SEQ_LEN, 256, 1e12)
    assert [stage.threshold_tokens for stage in stages] == [0, 250e9, 500e9, 750e9]
    assert [stage.global_batch_size for stage in stages] == [768, 1536, 3072, 6144]
    assert stages[0].steps == 158_946
    assert largest_change(stages) == 0


@each_way
@pytest.mark.parametrize("build", [staged, powers])
def test_batches_are_whole_multiples_and_few(rising, build):
    for most in (2, 5, 16):
        stages = build(rising, SEQ_LEN, REPLICA, TOTAL, most)
        assert len(stages) <= most
        assert all(stage.global_batch_size % REPLICA == 0 for stage in stages)
        assert all(stage.tokens_per_step == stage.global_batch_size * SEQ_LEN for stage in stages)
        assert stages[0].threshold_tokens == 0
        assert np.all(np.diff([stage.threshold_tokens for stage in stages]) > 0)


@each_way
@pytest.mark.parametrize("most", [3, 8, 16])
def test_the_staircase_takes_the_steps_of_the_ramp_within_one(rising, most):
    over = min(rising.length, TOTAL)
    stages = staged(rising, SEQ_LEN, REPLICA, TOTAL, most)
    assert abs(as_ramp(stages).steps(over) - rising.steps(over)) <= 1
    if rising.length < TOTAL:
        assert abs(as_ramp(stages).steps(TOTAL) - rising.steps(TOTAL)) <= 1
        assert 0 <= simulated_steps(stages, TOTAL) - as_ramp(stages).steps(TOTAL) < 1  # only the last step oversteps


@each_way
def test_solved_thresholds_lie_at_whole_steps(rising):
    stages = staged(rising, SEQ_LEN, REPLICA, TOTAL)
    for before, after in zip(stages, stages[1:], strict=False):
        assert after.threshold_tokens - before.threshold_tokens == before.steps * before.tokens_per_step


def test_a_linear_doubling_changes_its_batch_at_two_ln_two_minus_one():
    # Steps of B to 2 B over T: T/B ln 2 = D/B + (T - D)/(2 B), so that D/T = 2 ln 2 - 1 = 0.386, not one half.
    before, after = staged(ONE_WAY["one to two"], SEQ_LEN, REPLICA, TOTAL)
    assert (before.global_batch_size, after.global_batch_size) == (8, 16)
    assert_allclose(after.threshold_tokens / 1e10, 2 * math.log(2) - 1, atol=UNIT / 1e10)


def test_rounding_merges_equal_neighbors_and_says_its_largest_change():
    # Multiples of 512: 1000 and 1100 are 1024 (+2.4 % and -6.9 %), 1900 is 2048 (+7.8 %).
    batches = np.array([1000, 1100, 1900]) * SEQ_LEN
    stages = staged(ramp.staircase([0, 1e9, 2e9], batches), SEQ_LEN, 512, TOTAL)
    assert [(stage.threshold_tokens, stage.global_batch_size) for stage in stages] == [(0, 1024), (2e9, 2048)]
    assert_allclose([stage.change for stage in stages], [1024 / 1100 - 1, 2048 / 1900 - 1])
    assert_allclose(largest_change(stages), 2048 / 1900 - 1)


def test_an_end_that_no_job_can_run_is_rounded_and_the_ramp_keeps_its_steps():
    rising = ramp.linear_tokens(16.3 * UNIT, 99.7 * UNIT, 1e10)
    stages = staged(rising, SEQ_LEN, REPLICA, TOTAL)
    assert stages[-1].global_batch_size == 100 * REPLICA
    assert_allclose(stages[-1].change, 100 / 99.7 - 1)
    assert_allclose(stages[0].change, 16 / 16.3 - 1)
    assert abs(as_ramp(stages).steps(1e10) - rising.steps(1e10)) <= 1


def test_a_batch_below_the_smallest_is_the_smallest():
    (stage,) = staged(ramp.flat(UNIT / 10), SEQ_LEN, REPLICA, TOTAL)
    assert (stage.global_batch_size, stage.change) == (REPLICA, pytest.approx(9))


def test_a_rise_that_no_job_can_follow_is_one_batch_and_says_how_far_it_is_from_the_ramp():
    # From an eighth of the smallest batch to one of it: a flat run at 8 times the start.
    (stage,) = staged(ramp.linear_tokens(UNIT / 8, UNIT, 1e10), SEQ_LEN, REPLICA, TOTAL)
    assert (stage.global_batch_size, stage.change) == (REPLICA, 7)


def test_a_staircase_keeps_all_of_its_stages_and_another_ramp_gets_the_usual_number():
    stairs, gradual = ONE_WAY["127 equal rises"], ONE_WAY["linear in tokens"]
    assert (most_stages_of(stairs), most_stages_of(gradual)) == (128, 16)
    stages = staged(stairs, SEQ_LEN, REPLICA, TOTAL, most_stages_of(stairs))
    assert [stage.tokens_per_step for stage in stages] == list(stairs.first)
    assert [stage.threshold_tokens for stage in stages] == list(stairs.tokens)


def test_padding_leaves_the_sequences_and_takes_its_share_of_the_tokens():
    full = staged(ONE_WAY["linear in tokens"], SEQ_LEN, REPLICA, TOTAL)
    real = ramp.linear_tokens(16 * UNIT * 0.75, 128 * UNIT * 0.75, 1e10 * 0.75)
    padded = staged(real, SEQ_LEN, REPLICA, TOTAL * 0.75, padding_fraction=0.25)
    assert [stage.global_batch_size for stage in padded] == [stage.global_batch_size for stage in full]
    assert [stage.steps for stage in padded] == [stage.steps for stage in full]
    assert_allclose([stage.threshold_tokens / 0.75 for stage in padded], [stage.threshold_tokens for stage in full])


@each_way
def test_powers_double_or_halve_and_keep_the_steps(rising):
    stages = powers(rising, SEQ_LEN, REPLICA, TOTAL)
    sizes = [stage.global_batch_size for stage in stages]
    assert {max(pair) / min(pair) for pair in zip(sizes, sizes[1:], strict=False)} == {2}
    over = min(rising.length, TOTAL)
    assert abs(as_ramp(stages).steps(over) - rising.steps(over)) <= 1


def test_powers_keep_an_end_that_halves_often_enough():
    sizes = [stage.global_batch_size for stage in powers(ONE_WAY["linear in steps"], SEQ_LEN, REPLICA, TOTAL)]
    assert sizes == [128, 256, 512, 1024]
    # 12 to 100 units: log2 is 3.06, three doublings of 13 (100 / 8 is 12.5) end at 104.
    uneven = powers(ramp.linear_tokens(12 * UNIT, 100 * UNIT, 1e10), SEQ_LEN, REPLICA, TOTAL)
    assert [stage.global_batch_size // REPLICA for stage in uneven] == [13, 26, 52, 104]
    assert_allclose([uneven[0].change, uneven[-1].change], [13 / 12 - 1, 0.04])


def test_powers_keep_a_staircase_of_whole_ratios_and_no_other():
    whole = ramp.staircase([0, 1e9, 3e9], np.array([2, 6, 24]) * UNIT)
    assert powers(whole, SEQ_LEN, REPLICA, TOTAL) == staged(whole, SEQ_LEN, REPLICA, TOTAL)
    uneven = powers(ramp.staircase([0, 1e9, 3e9], np.array([2, 5, 16]) * UNIT), SEQ_LEN, REPLICA, TOTAL)
    assert [stage.global_batch_size // REPLICA for stage in uneven] == [2, 4, 8, 16]


@pytest.mark.parametrize("sizes, whole", [([2, 6, 3], True), ([2, 3], False), ([4, 6, 12], False), ([5], True)])
def test_whole_ratios_hold_up_and_down(sizes, whole):
    assert whole_ratios(sizes) is whole


def test_a_ramp_that_turns_is_followed_up_and_down():
    hump = ramp.through([1e9, 5e9, 2e10], [16 * UNIT, 128 * UNIT, 32 * UNIT])
    stages = staged(hump, SEQ_LEN, REPLICA, TOTAL)
    sizes = [stage.global_batch_size for stage in stages]
    assert sizes.index(max(sizes)) not in (0, len(sizes) - 1) and len(sizes) <= 16
    assert (sizes[0], sizes[-1]) == (16 * REPLICA, 32 * REPLICA)
    assert abs(as_ramp(stages).steps(TOTAL) - hump.steps(TOTAL)) <= 1


STAIRS = st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 12)), min_size=1, max_size=5)


def stairs(gaps, total):
    """Stages of one token a sequence at uneven thresholds."""
    thresholds = [0, *np.cumsum([gap for gap, _ in gaps])[:-1]]
    return staged(ramp.staircase(thresholds, [size for _, size in gaps]), 1, 1, total)


@given(STAIRS, st.integers(1, 9000))
def test_steps_by_stage_are_those_of_a_plain_loop(gaps, total):
    stages = stairs(gaps, total)
    steps, _ = loop(stages, total)
    assert simulated_steps(stages, total) == steps == sum(stage.steps for stage in stages)


@given(STAIRS, st.integers(1, 9000))
def test_the_oversteps_are_the_whole_difference_to_the_integral(gaps, total):
    stages = stairs(gaps, total)
    steps, over = loop(stages, total)
    if len(over) < len(stages):
        return  # a stage that was overstepped whole has no step of its own
    batches = [stage.tokens_per_step for stage in stages]
    costs = [over[i] * (1 / batches[i] - 1 / batches[i + 1]) for i in range(len(stages) - 1)]
    last = over[len(stages) - 1] / batches[-1]
    assert_allclose(steps - as_ramp(stages).steps(total), sum(costs) + last, atol=1e-9)
    assert 0 <= last < 1
    for cost, before, after in zip(costs, batches, batches[1:], strict=False):
        assert before > after or 0 <= cost < 1 - before / after


def test_a_stage_shorter_than_a_step_is_never_run():
    stages = staged(ramp.staircase([0, 95, 98], [10, 20, 40]), 1, 1, 180)
    assert [stage.steps for stage in stages] == [10, 0, 2]  # ten steps to 100, beyond 95 and 98


def test_thresholds_after_the_run_are_left_out():
    stages = staged(ramp.staircase([0, 100, 1000], [10, 20, 40]), 1, 1, 1000)
    assert [stage.global_batch_size for stage in stages] == [10, 20]
    assert simulated_steps(stages, 1000) == 10 + 45


def test_the_rate_follows_the_square_root_of_the_batch():
    stages = staged(ramp.staircase([0, 100, 1000], [10, 40, 90]), 1, 1, 5000)
    assert_allclose([stage.learning_rate_ratio for stage in stages], [1, 2, 3])


def test_a_long_run_is_counted_without_rounding_errors():
    # 1e15 tokens in steps of 768 x 2048: 635,782,877.6 steps, whatever the padding.
    for padding in (0, 0.1, 0.37):
        real = 1 - padding
        (stage,) = staged(ramp.flat(768 * SEQ_LEN * real), SEQ_LEN, REPLICA, 1e15 * real, padding_fraction=padding)
        assert stage.steps == 635_782_878
        whole = 1000 * stage.tokens_per_step
        assert simulated_steps((stage,), whole) == 1000


@pytest.mark.parametrize(
    "job, message",
    [
        ((0, 8, 1e9), "seq_len must be a whole number from 1"),
        ((2048, 0, 1e9), "replica_sequences must be a whole number from 1"),
        ((2048, 8, 0), "total_tokens must be from 1 to 1e\\+15, got 0"),
        ((2048, 8, 1e9, 0), "most_stages must be a whole number from 1 to 1000, got 0"),
        ((2048, 8, 1e9, 4, 1), "padding_fraction must be from 0 to 0.95, got 1"),
    ],
)
def test_a_job_that_cannot_be_is_refused(job, message):
    with pytest.raises(ValueError, match=message):
        staged(ramp.flat(1e6), *job)
