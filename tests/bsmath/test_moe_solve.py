import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bsmath import moe, moe_imbalance, moe_solve


def dropped_fraction(routed, experts, top_k, factor, skew):
    if skew == 0:
        return moe.dropped_fraction(routed, experts, top_k, factor)
    return moe_imbalance.dropped_fraction(routed, experts, top_k, factor, skew)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    wanted=st.floats(1e-5, 0.5),
    routed=st.integers(1, 10**6),
    routing=st.sampled_from([(256, 8), (64, 1), (8, 2)]),
    skew=st.sampled_from([0, 0.05, 0.3, 1.0]),
)
def test_least_capacity_is_enough_and_one_token_less_is_not(wanted, routed, routing, skew):
    capacity = moe_solve.least_capacity(wanted, routed, *routing, skew)
    mean = moe.tokens_per_expert(routed, *routing)
    assert capacity == round(capacity) and capacity >= 1
    assert dropped_fraction(routed, *routing, capacity / mean, skew) <= wanted
    assert capacity == 1 or dropped_fraction(routed, *routing, (capacity - 1) / mean, skew) > wanted


def test_least_capacity_factor_reproduces_a_worked_drop_rate():
    # M = 4096, 8 of 256: 0.007592 % are dropped at C = 160, factor 1.25
    assert moe_solve.least_capacity(0.00007593, 4096, 256, 8) == 160
    assert moe_solve.least_capacity(0.00007591, 4096, 256, 8) == 161
    factor = moe_solve.least_capacity_factor(0.00007593, 4096, 256, 8)
    assert factor == 1.25 and moe.expert_capacity(4096, 256, 8, factor) == 160


def test_a_skewed_router_needs_a_larger_capacity():
    factors = moe_solve.least_capacity_factor(0.01, 65_536, 64, 8, np.array([0, 0.1, 0.3, 1, 2]))
    assert (np.diff(factors) > 0).all() and factors[0] < 1.05 and factors[-1] > 4


def test_nothing_dropped_under_uniform_routing_takes_no_more_than_room_for_every_token():
    assert moe_solve.least_capacity(0, 10, 8, 2) == 10
    assert moe_solve.least_capacity(0, 1, 64, 1) == 1


def test_tokens_for_a_cv_invert_the_cv():
    sizes = np.array([64, 4096, 65_536])
    for skew in (0.1, 0.7):
        cv = moe_imbalance.expert_load_cv(sizes, 64, 8, skew)
        assert_allclose(moe_solve.min_routed_tokens_for_cv(cv, 64, 8, skew), sizes)


def test_tokens_for_a_cv_without_skew_are_those_of_uniform_routing():
    cv = np.array([0.04, 0.3, 1.35])
    assert_allclose(moe_solve.min_routed_tokens_for_cv(cv, 64, 8), moe.min_routed_tokens_for_cv(cv, 64, 8))


def test_no_number_of_tokens_gives_a_cv_up_to_the_skew():
    assert moe_solve.min_routed_tokens_for_cv(0.3, 64, 8, 0.3) == np.inf
    assert list(moe_solve.min_routed_tokens_for_cv(0.2, 64, 8, np.array([0.1, 0.3])) < np.inf) == [True, False]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    wanted=st.floats(0.001, 0.3),
    routing=st.sampled_from([(256, 8), (64, 1), (8, 2)]),
    factor=st.sampled_from([1.0, 1.25, 1.5]),
    skew=st.sampled_from([0, 0.05, 0.3]),
)
def test_from_the_found_size_on_the_wanted_rate_holds(wanted, routing, factor, skew):
    routed = moe_solve.min_routed_tokens_for_dropped(wanted, *routing, factor, skew)
    if routed == np.inf:
        assert moe_imbalance.dropped_limit(routing[0], factor, skew) >= wanted - 1e-6
        return
    larger = np.unique((routed * np.geomspace(1, 1e4, 200)).round())
    assert (dropped_fraction(larger, *routing, factor, skew) <= wanted + 1e-6).all()
    assert moe_solve.unrounded_dropped_fraction(routed, *routing, factor, skew) <= wanted
    assert routed == 1 or moe_solve.unrounded_dropped_fraction(routed - 1, *routing, factor, skew) > wanted


@pytest.mark.parametrize("skew", [0, 0.2, 1.0])
def test_unrounded_drops_never_rise_with_the_tokens_and_bound_the_rounded_ones(skew):
    sizes = np.unique(np.geomspace(1, 1e7, 400).round())
    for factor in (0.9, 1, 1.1, 1.25):
        unrounded = moe_solve.unrounded_dropped_fraction(sizes, 64, 2, factor, skew)
        assert (np.diff(unrounded) <= 2e-7).all()
        assert (dropped_fraction(sizes, 64, 2, factor, skew) <= unrounded + 1e-9).all()


def test_tokens_for_a_drop_rate_at_factor_one_follow_the_square_law():
    # dropped = 0.3989 CV for many tokens, so M = (1 - p)/p (0.3989/dropped)^2
    expected = (256 / 8 - 1) * (0.39894 / 0.001) ** 2
    assert_allclose(moe_solve.min_routed_tokens_for_dropped(0.001, 256, 8, 1.0), expected, rtol=1e-3)


@pytest.mark.parametrize("skew, factor, wanted", [(0.3, 1.25, 0.01), (1.0, 2.0, 0.05), (0, 0.9, 0.05), (0, 1.0, 0)])
def test_a_rate_below_the_limit_is_out_of_reach(skew, factor, wanted):
    assert moe_solve.min_routed_tokens_for_dropped(wanted, 64, 8, factor, skew) == np.inf


def test_room_for_every_token_needs_one():
    assert moe_solve.min_routed_tokens_for_dropped(0.0, 64, 8, 8.0) == 1


def test_arrays_and_scalars_agree():
    wanted, skew = np.array([0.2, 0.05, 0.01]), np.array([[0], [0.1], [0.5]])
    routed = moe_solve.min_routed_tokens_for_dropped(wanted, 64, 8, 1.25, skew)
    capacity = moe_solve.least_capacity(wanted, 4096, 64, 8, skew)
    for row in range(3):
        for column in range(3):
            one = wanted[column], 64, 8, 1.25, skew[row, 0]
            assert routed[row, column] == moe_solve.min_routed_tokens_for_dropped(*one)
            assert capacity[row, column] == moe_solve.least_capacity(wanted[column], 4096, 64, 8, skew[row, 0])
