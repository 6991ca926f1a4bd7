import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bsmath import moe, moe_imbalance, moe_sequences

SIZES = np.geomspace(1, 1e8, 60).round()


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    sequences=st.sampled_from([8, 32, 128]),
    seq_len=st.sampled_from([32, 256, 1024]),
    experts=st.sampled_from([8, 32]),
    correlation=st.floats(0.001, 0.1),
    factor=st.sampled_from([1.0, 1.25, 1.5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_sequences_with_shares_of_their_own_agree(sequences, seq_len, experts, correlation, factor, seed):
    random = np.random.default_rng(seed)
    concentration = (1 / correlation - 1) / experts  # two tokens of a Dirichlet-multinomial sequence: rho = 1/(a E + 1)
    shares = random.dirichlet(np.full(experts, concentration), size=(1000, sequences))
    loads = random.multinomial(seq_len, shares).sum(axis=1)
    routed = sequences * seq_len
    variances = ((loads - routed / experts) ** 2).mean(axis=1)
    variance = moe_sequences.expert_load_variance(routed, experts, 1, seq_len, correlation)
    assert abs(variances.mean() - variance) <= 5 * variances.std() / np.sqrt(1000)
    dropped = np.maximum(loads - moe.expert_capacity(routed, experts, 1, factor), 0).sum(axis=1) / routed
    expected = moe_sequences.dropped_fraction(routed, experts, 1, factor, seq_len, correlation)
    assert abs(dropped.mean() - expected) <= 5 * dropped.std() / np.sqrt(1000) + 0.003


@pytest.mark.parametrize("correlation", [0.001, 0.03, 0.3])
def test_one_sequence_is_a_router_with_the_skew_of_that_sequence(correlation):
    skew = moe_imbalance.skew_of_concentration((1 / correlation - 1) / 16, 16)
    expected = moe_imbalance.dropped_fraction(4096, 16, 1, 1.25, skew)
    assert_allclose(moe_sequences.dropped_fraction(4096, 16, 1, 1.25, 4096, correlation), expected)


def test_routing_to_every_expert_drops_what_lies_beyond_capacity():
    assert_allclose(moe_sequences.dropped_fraction(4096, 8, 8, np.array([0.5, 1]), 4096, 0.1), [0.5, 0], atol=1e-6)


def test_independent_tokens_are_the_uniform_case():
    for factor in (0.8, 1, 1.25):
        plain = moe.dropped_fraction(SIZES, 64, 8, factor)
        assert_allclose(moe_sequences.dropped_fraction(SIZES, 64, 8, factor, 4096, 0), plain, rtol=0, atol=1e-6)
    assert_allclose(moe_sequences.expert_load_cv(SIZES, 64, 8, 4096, 0), moe.expert_load_cv(SIZES, 64, 8))


def test_a_sequence_that_picks_as_one_counts_as_one_token():
    assert moe_sequences.effective_tokens(40_960, 4096, 1) == 10
    assert_allclose(moe_sequences.expert_load_cv(40_960, 64, 8, 4096, 1), moe.expert_load_cv(10, 64, 8))


@pytest.mark.parametrize("correlation, effect", [(0.0, 1), (0.01, 41.95), (0.1, 410.5)])
def test_worked_design_effects_of_a_sequence_of_4096_tokens(correlation, effect):
    assert_allclose(moe_sequences.design_effect(65_536, 4096, correlation), effect)


def test_part_of_a_sequence_has_only_its_own_tokens_in_common():
    assert_allclose(moe_sequences.design_effect(100, 4096, 0.01), 1.99)
    assert moe_sequences.design_effect(1, 4096, 0.5) == 1


def test_variance_and_cv_are_one_spread():
    variance = moe_sequences.expert_load_variance(SIZES, 64, 8, 4096, 0.02)
    cv = moe_sequences.expert_load_cv(SIZES, 64, 8, 4096, 0.02)
    assert_allclose(np.sqrt(variance) / moe.tokens_per_expert(SIZES, 64, 8), cv)


def test_more_correlation_drops_more_and_larger_capacity_less():
    dropped = moe_sequences.dropped_fraction(
        65_536, 64, 8, np.linspace(1, 3, 30), 4096, np.linspace(0, 0.3, 40)[:, None]
    )
    assert (np.diff(dropped, axis=0) >= -1e-12).all() and (np.diff(dropped, axis=1) <= 1e-12).all()


def test_room_for_every_token_drops_nothing():
    assert (moe_sequences.dropped_fraction(SIZES, 64, 8, 8, 4096, 0.1) == 0).all()


def test_one_to_a_hundred_million_tokens_stay_finite_and_equal_the_scalars():
    dropped = moe_sequences.dropped_fraction(SIZES, 64, 8, 1.25, 4096, 0.02)
    assert np.isfinite(dropped).all() and (dropped >= 0).all()
    assert_allclose(dropped, [moe_sequences.dropped_fraction(size, 64, 8, 1.25, 4096, 0.02) for size in SIZES])
