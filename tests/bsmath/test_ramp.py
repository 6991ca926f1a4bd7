"""Ramps: steps against published arithmetic and numerical integrals, there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate

from bsmath import ramp

SEQ = 2048
RAMPS = {
    "flat": ramp.flat(1e5),
    "linear in tokens": ramp.linear_tokens(1e4, 1e6, 1e9),
    "falling": ramp.linear_tokens(1e6, 1e4, 1e9),
    "linear in steps": ramp.linear_steps(1e4, 1e6, 1e9),
    "staircase": ramp.staircase([0, 1e8, 5e8], [1e4, 5e4, 1e6]),
    "doubling": ramp.doubling(1e4, 1e6, 1e9),
    "rampup": ramp.rampup(1e4, 5e4, 1.01e6, 1e9),
    "power": ramp.through(np.geomspace(1e6, 1e11, 7), np.geomspace(1e4, 1e7, 7) ** 0.9),
    "proportional to tokens": ramp.through([1e6, 1e9], [1e4, 1e7]),
}


@pytest.mark.parametrize(
    "found, steps",
    [
        (ramp.linear_tokens(32e3, 3.2e6, 12e9), 17_443.8),  # GPT-3, as if linear in tokens over 12B
        (ramp.flat(3.2e6), 3_750),
        (ramp.linear_tokens(3072 * 4096, 15360 * 4096, 469e9), 14_997),  # DeepSeek-V3
        (ramp.linear_steps(3072 * 4096, 15360 * 4096, 469e9), 12_424),
        (ramp.rampup(192 * SEQ, 16 * SEQ, 2048 * SEQ, 9_765_625 * SEQ), 12_657),  # BLOOM
    ],
)
def test_steps_of_published_ramps(found, steps):
    assert_allclose(found.steps(found.length or 12e9), steps, rtol=5e-5)


def test_a_ramp_linear_in_steps_takes_the_mean_batch():
    assert_allclose(ramp.linear_steps(1e4, 1e6, 1e9).steps(1e9), 1e9 / ((1e4 + 1e6) / 2))


@pytest.mark.parametrize("name", RAMPS)
def test_steps_are_the_integral_of_tokens_over_batch(name):
    found = RAMPS[name]
    edges = np.unique(np.concatenate([np.geomspace(1e5, 1e12, 200), found.tokens[1:]]))
    inside = edges[(edges >= 1e5) & (edges <= 1e12)]
    total = sum(
        integrate.quad(lambda log: np.exp(log) / found.at(np.exp(log)), np.log(low), np.log(high))[0]
        for low, high in zip(inside[:-1] * (1 + 1e-12), inside[1:] * (1 - 1e-12), strict=True)
    )
    assert_allclose(found.steps(1e12) - found.steps(1e5), total, rtol=1e-7)


@pytest.mark.parametrize("name", RAMPS)
def test_tokens_after_undoes_steps(name):
    tokens = np.geomspace(1e3, 1e13, 60)
    assert_allclose(RAMPS[name].tokens_after(RAMPS[name].steps(tokens)), tokens, rtol=1e-9)


@pytest.mark.parametrize("name", RAMPS)
def test_a_vector_of_tokens_is_its_elements(name):
    tokens = np.array([0.0, 1e8, 5e8, 2e9])
    assert_allclose(RAMPS[name].at(tokens), [RAMPS[name].at(one) for one in tokens])
    assert_allclose(RAMPS[name].steps(tokens), [RAMPS[name].steps(one) for one in tokens])


def test_the_batch_is_the_new_one_at_a_threshold_and_stays_at_the_end():
    found = ramp.staircase([0, 1e8, 5e8], [1e4, 5e4, 1e6])
    assert [found.at(seen) for seen in (0, 1e8 - 1, 1e8, 5e8, 1e12)] == [1e4, 1e4, 5e4, 1e6, 1e6]
    assert (found.length, found.end, found.smallest, found.largest) == (5e8, 1e6, 1e4, 1e6)


def test_the_rate_of_growth_of_a_step_ramp_is_the_same_in_every_step():
    found = ramp.linear_steps(1e4, 1e6, 1e9)
    sizes = found.at(found.tokens_after(np.linspace(0, found.steps(1e9), 11)))
    assert_allclose(np.diff(sizes), (1e6 - 1e4) / 10, rtol=1e-6)


def test_rampup_gives_every_batch_but_the_last_an_equal_share():
    found = ramp.rampup(192 * SEQ, 16 * SEQ, 2048 * SEQ, 9_765_625 * SEQ)
    assert len(found.tokens) == 117 and found.end == 2048 * SEQ
    assert_allclose(np.diff(found.tokens), 9_765_625 * SEQ / 116)
    assert_allclose(np.diff(found.first), 16 * SEQ)


def test_doubling_doubles_and_ends_where_asked():
    found = ramp.doubling(1e4, 1e5, 3e9)
    assert_allclose(found.first, [1e4, 2e4, 4e4, 8e4, 1e5])
    assert found.length == 3e9


@pytest.mark.parametrize("make", [ramp.linear_tokens, ramp.linear_steps, ramp.doubling])
def test_a_ramp_without_length_or_rise_is_flat(make):
    assert make(1e4, 1e6, 0).steps(1e9) == 1e3
    assert_allclose(make(1e6, 1e6, 1e9).steps(1e9), 1e3)


def test_a_power_ramp_must_begin_above_zero():
    with pytest.raises(ValueError, match="tokens must begin above 0, got 0.0"):
        ramp.through([0, 1], [1, 2])


@given(st.floats(1e3, 1e7), st.floats(1e3, 1e7), st.floats(1e8, 1e12))
def test_a_schedule_s_integral_is_the_sum_of_its_whole_steps_within_one(start, end, over):
    """Every step takes the tokens between two whole numbers of steps; what is left at the end is less than one step."""
    found = ramp.linear_tokens(start, end, over)
    total = 1.5 * over
    whole = int(found.steps(total))
    count = min(whole, 20_000)
    edges = found.tokens_after(np.arange(count + 1))
    taken = np.diff(edges)
    assert np.all(taken >= min(start, end) * (1 - 1e-9)) and np.all(taken <= max(start, end) * (1 + 1e-9))
    assert_allclose(taken.sum(), found.tokens_after(count), rtol=1e-9)
    assert 0 <= total - found.tokens_after(whole) <= max(start, end) * (1 + 1e-6)


@given(st.floats(1e3, 1e6), st.floats(1, 1000), st.floats(1e9, 1e12))
def test_linear_in_steps_is_faster_than_linear_in_tokens_and_slower_than_the_end(start, ratio, over):
    tokens, steps = ramp.linear_tokens(start, start * ratio, over), ramp.linear_steps(start, start * ratio, over)
    assert over / (start * ratio) <= steps.steps(over) * (1 + 1e-9)
    assert steps.steps(over) <= tokens.steps(over) * (1 + 1e-9) <= over / start * (1 + 1e-6)
