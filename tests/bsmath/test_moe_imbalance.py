import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import betabinom

from bsmath import moe, moe_imbalance, moe_polya

# Concentration, load CV, dropped share [%] for M = 4096, 8 of 256 experts, capacity factor 1.25: the sum over all loads
PUBLISHED = [(1, 1.0000, 28.70), (10, 0.3276, 4.874), (50, 0.1664, 0.6377), (1000, 0.0937, 0.0164)]
LAST_DIGIT = {28.70: 5.1e-3, 4.874: 5.1e-4, 0.6377: 5.1e-5, 0.0164: 5.1e-5}
SIZES = np.geomspace(1, 1e8, 60).round()
# One curve takes about 1 ms of a 2 GHz core: four capacity factors x 60 sizes at 256 experts were 2 to 4 ms together.


def summed_dropped_fraction(picks, capacity, experts, skew):
    a = moe_imbalance.concentration_of_skew(skew, experts)
    load = np.arange(capacity + 1, picks + 1)
    probability = np.exp(moe_polya.log_probability(load, picks, a, a * (experts - 1)))
    return ((load - capacity) * probability).sum() * experts / picks


@pytest.mark.parametrize("concentration, cv, dropped", PUBLISHED)
def test_published_spread_and_drops_of_dirichlet_multinomial_loads(concentration, cv, dropped):
    skew = moe_imbalance.skew_of_concentration(concentration, 256)
    assert_allclose(moe_imbalance.expert_load_cv(4096, 256, 8, skew), cv, rtol=0, atol=5.1e-5)
    share = 100 * moe_imbalance.dropped_fraction(4096, 256, 8, 1.25, skew)
    assert_allclose(share, dropped, rtol=0, atol=LAST_DIGIT[dropped])


@pytest.mark.parametrize("concentration", [0.5, 1, 10, 1000])
def test_variance_is_the_textbook_one_of_a_beta_binomial(concentration):
    picks, q = 4096 * 8, 1 / 256
    factor = (picks + concentration * 256) / (1 + concentration * 256)
    skew = moe_imbalance.skew_of_concentration(concentration, 256)
    assert_allclose(moe_imbalance.expert_load_variance(4096, 256, 8, skew), picks * q * (1 - q) * factor)
    assert_allclose(betabinom.var(picks, concentration, concentration * 255), picks * q * (1 - q) * factor)
    assert_allclose(moe_imbalance.concentration_of_skew(skew, 256), concentration)


@pytest.mark.parametrize("picks, a, b", [(1, 0.3, 0.3), (7, 1, 7), (300, 30, 0.2), (5000, 1e4, 1e6)])
def test_probability_of_a_load_is_that_of_scipy(picks, a, b):
    load = np.arange(picks + 1)
    ours = moe_polya.log_probability(load, picks, a, b)
    assert_allclose(ours, betabinom.logpmf(load, picks, a, b), rtol=1e-9, atol=1e-9)
    assert_allclose(np.exp(ours).sum(), 1, rtol=1e-10)


@pytest.mark.parametrize("experts", [2, 3, 8, 64, 256])
@pytest.mark.parametrize("skew", [0.02, 0.1, 0.2, 0.3, 0.5, 0.9, 1.35])
def test_each_route_is_within_1e_6_of_the_plain_sum(experts, skew):
    if skew**2 >= experts - 1:
        return
    for picks in (10, 1000, 3000, 32_768, 200_000):
        for factor in (0.5, 0.8, 1, 1.1, 1.25, 2):
            capacity = min(int(moe.expert_capacity(picks, experts, 1, factor)), picks)
            dropped = moe_imbalance.dropped_fraction(picks, experts, 1, factor, skew)
            assert_allclose(dropped, summed_dropped_fraction(picks, capacity, experts, skew), rtol=0, atol=1e-6)


def test_two_equally_likely_experts_with_uniform_shares_have_a_closed_form():
    for picks in (40, 400, 40_000, 4_000_000):  # all loads 0..n are equally likely: sum of j/(n + 1), j up to n - C
        capacity = 0.6 * picks
        exact = (picks - capacity) * (picks - capacity + 1) / (2 * (picks + 1))
        assert_allclose(moe_polya.overflow(picks, capacity, 1, 1), exact, rtol=1e-7)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    routed=st.sampled_from([1, 3, 50, 700, 20_000]),
    experts=st.sampled_from([4, 16, 64]),
    skew=st.floats(0.05, 1.4),
    factor=st.sampled_from([0.7, 1.0, 1.25, 2.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_drops_and_spread_of_simulated_routers_agree_within_their_error(routed, experts, skew, factor, seed):
    random = np.random.default_rng(seed)
    a = moe_imbalance.concentration_of_skew(skew, experts)
    shares = random.dirichlet(np.full(experts, a), size=2000)
    loads = random.multinomial(2 * routed, shares)
    dropped = np.maximum(loads - moe.expert_capacity(routed, experts, 2, factor), 0).sum(axis=1) / (2 * routed)
    expected = moe_imbalance.dropped_fraction(routed, experts, 2, factor, skew)
    assert abs(dropped.mean() - expected) <= 5 * dropped.std() / np.sqrt(2000) + 1e-6
    idle = (loads == 0).sum(axis=1)
    expected_idle = moe_imbalance.expected_idle_experts(routed, experts, 2, skew)
    assert abs(idle.mean() - expected_idle) <= 5 * idle.std() / np.sqrt(2000) + 1e-3
    squares = ((loads - loads.mean()) ** 2).mean(axis=1)
    variance = moe_imbalance.expert_load_variance(routed, experts, 2, skew)
    assert abs(squares.mean() - variance) <= 5 * squares.std() / np.sqrt(2000) + 1e-9


@pytest.mark.parametrize("routed", [1, 64, 4096, 10**6, 10**8])
@pytest.mark.parametrize("skew", [0, 1e-7])
def test_without_skew_the_loads_are_those_of_independent_picks(routed, skew):
    picks = 8 * routed
    for factor in (1, 1.25):
        even = moe.dropped_fraction(picks, 256, 1, factor)
        assert_allclose(moe_imbalance.dropped_fraction(routed, 256, 8, factor, skew), even, rtol=1e-5, atol=1e-6)
    assert_allclose(
        moe_imbalance.idle_probability(routed, 256, 8, skew), moe.idle_probability(picks, 256, 1), rtol=1e-5
    )
    assert_allclose(moe_imbalance.expert_load_cv(routed, 256, 8, skew), moe.expert_load_cv(picks, 256, 1), rtol=1e-6)


@pytest.mark.parametrize("experts, top_k, ratio", [(256, 8, 1.03), (8, 2, 1.17), (64, 8, 1.125), (64, 1, 1)])
def test_ignoring_that_picks_are_distinct_overstates_noise_by_the_stated_factor(experts, top_k, ratio):
    independent = moe_imbalance.expert_load_variance(4096, experts, top_k, 0)
    assert_allclose(independent / moe.expert_load_variance(4096, experts, top_k), ratio, rtol=3e-3)
    dropped = moe_imbalance.dropped_fraction(4096, experts, top_k, 1, 0) / moe.dropped_fraction(4096, experts, top_k, 1)
    assert_allclose(dropped, np.sqrt(ratio), rtol=3e-3)


@pytest.mark.parametrize("skew", [0.05, 0.3, 1.35])
def test_more_tokens_approach_the_limit_and_never_pass_it(skew):
    sizes = 256 * 2 ** np.arange(20)  # multiples of E/k, so that rounding the capacity up is no advantage
    dropped = moe_imbalance.dropped_fraction(sizes, 256, 8, 1.25, skew)
    limit = moe_imbalance.dropped_limit(256, 1.25, skew)
    assert (np.diff(dropped) <= 1e-7).all() and (dropped >= limit - 1e-7).all()
    assert_allclose(dropped[-1], limit, rtol=1e-4, atol=1e-7)
    cv = moe_imbalance.expert_load_cv(sizes, 256, 8, skew)
    assert (cv > skew).all() and (np.diff(cv) < 0).all()
    assert_allclose(cv[-1], skew, rtol=1e-3)


@pytest.mark.parametrize("factor, limit", [(0.5, 0.5), (1, 0), (1.25, 0)])
def test_limit_without_skew_is_what_lies_beyond_the_mean(factor, limit):
    assert_allclose(moe_imbalance.dropped_limit(256, factor, 0), limit, atol=1e-4)


def test_room_for_every_pick_drops_nothing():
    assert (moe_imbalance.dropped_fraction(SIZES, 64, 1, 64, np.array([[0.1], [1], [3]])) == 0).all()
    assert moe_imbalance.dropped_limit(64, 64, 1.0) == 0
    assert (moe_imbalance.zipf_dropped_fraction(SIZES, 64, 1, 64, 1.0) == 0).all()


def test_one_token_with_one_pick_is_never_dropped_and_leaves_the_others_idle():
    assert moe_imbalance.dropped_fraction(1, 64, 1, 1.0, 0.5) == 0
    assert_allclose(moe_imbalance.expected_idle_experts(1, 64, 1, 0.5), 63)


@pytest.mark.parametrize("routed", [64, 4096, 10**6])
def test_larger_capacity_never_drops_more_and_a_larger_skew_never_less(routed):
    skews = np.linspace(0.02, 2, 60)[:, None]
    dropped = moe_imbalance.dropped_fraction(routed, 64, 2, np.linspace(0.3, 4, 50), skews)
    assert (np.diff(dropped, axis=1) <= 1e-6).all() and (np.diff(dropped, axis=0) >= -1e-6).all()


@pytest.mark.parametrize("skew", [0, 1e-3, 0.05, 0.3, 1.35, 5])
def test_one_to_a_hundred_million_tokens_stay_finite(skew):
    factors = np.array([1, 1.25, 1.5, 2])[:, None]
    dropped = moe_imbalance.dropped_fraction(SIZES, 256, 8, factors, skew)
    assert dropped.shape == (4, 60) and ((dropped >= 0) & (dropped < 1)).all()
    idle = moe_imbalance.idle_probability(SIZES, 256, 8, skew)
    assert ((idle >= 0) & (idle < 1)).all() and (np.diff(idle) <= 0).all()


def test_arrays_and_scalars_agree():
    dropped = moe_imbalance.dropped_fraction(SIZES, 256, 8, 1.25, 0.3)
    assert_allclose(dropped, [moe_imbalance.dropped_fraction(size, 256, 8, 1.25, 0.3) for size in SIZES], rtol=1e-12)
    assert np.ndim(moe_imbalance.dropped_fraction(4096, 256, 8, 1.25, 0.3)) == 0
    zipf = moe_imbalance.zipf_dropped_fraction(SIZES, 64, 2, 1.25, 0.5)
    assert_allclose(zipf, [moe_imbalance.zipf_dropped_fraction(size, 64, 2, 1.25, 0.5) for size in SIZES], rtol=1e-12)


@pytest.mark.parametrize("routed", [16, 4096, 10**8])
def test_distribution_has_at_most_200_rows_and_is_nearly_complete(routed):
    table = moe_imbalance.load_distribution(routed, 64, 8, 0.3)
    assert list(table) == ["load", "probability"] and 1 < len(table) <= 200
    assert_allclose(table["probability"].sum() * table["load"].diff().iloc[1], 1, rtol=2e-3)


@pytest.mark.parametrize(
    "exponent, factor, dropped, digit",
    [
        (0.5, 1, 20.80, 5.1e-3),
        (0.5, 1.25, 14.99, 5.1e-3),
        (0.5, 2, 6.569, 5.1e-4),
        (1, 1, 46.72, 5.1e-3),
        (1, 1.25, 42.21, 5.1e-3),
        (1, 2, 32.90, 5.1e-3),
        (0.2, 1.25, 2.455, 5.1e-4),
    ],
)
def test_published_drops_of_zipf_shares(exponent, factor, dropped, digit):
    limit = 100 * moe_imbalance.zipf_dropped_limit(64, factor, exponent)
    assert_allclose(limit, dropped, rtol=0, atol=digit)
    assert_allclose(100 * moe_imbalance.zipf_dropped_fraction(10**8, 64, 8, factor, exponent), limit, rtol=1e-4)


def test_even_zipf_shares_are_independent_picks_without_skew():
    assert moe_imbalance.zipf_skew(64, 0) == pytest.approx(0, abs=1e-12)
    even = moe.dropped_fraction(SIZES, 64, 1, 1.25)
    assert_allclose(moe_imbalance.zipf_dropped_fraction(SIZES, 64, 1, 1.25, 0), even, rtol=1e-6, atol=1e-12)


def test_zipf_skew_of_two_experts_is_half_their_difference_over_the_mean():
    assert_allclose(moe_imbalance.zipf_shares(2, 1), [2 / 3, 1 / 3])
    assert_allclose(moe_imbalance.zipf_skew(2, 1), 1 / 3)


def test_simulated_zipf_routing_agrees():
    random = np.random.default_rng(20261203)
    loads = random.multinomial(500, moe_imbalance.zipf_shares(16, 0.5), size=4000)
    dropped = np.maximum(loads - moe.expert_capacity(250, 16, 2, 1.25), 0).sum(axis=1) / 500
    expected = moe_imbalance.zipf_dropped_fraction(250, 16, 2, 1.25, 0.5)
    assert abs(dropped.mean() - expected) <= 5 * dropped.std() / np.sqrt(4000)


@pytest.mark.parametrize("exponent", [0.2, 1.0, 3.0])
def test_the_exponent_of_a_zipf_law_is_found_by_its_skew(exponent):
    assert_allclose(moe_imbalance.zipf_exponent(64, moe_imbalance.zipf_skew(64, exponent)), exponent)
    assert moe_imbalance.zipf_exponent(64, 0) == 0
