"""Measured loads: hand-made groups, and simulated routers whose skew is known."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import expert_counts, moe

COUNTS = np.array([[2, 6, 4, 4], [4, 4, 4, 4], [0, 16, 0, 0]])


def routed(share: np.ndarray, tokens: int, groups: int, seed: int = 0) -> np.ndarray:
    """Loads of groups whose tokens each pick two different experts: first by `share`, then uniformly among the others."""
    generator = np.random.default_rng(seed)
    experts = len(share)
    first = generator.choice(experts, (groups, tokens), p=share)
    second = (first + generator.integers(1, experts, (groups, tokens))) % experts
    return np.stack([np.bincount(np.r_[a, b], minlength=experts) for a, b in zip(first, second, strict=True)])


def test_cv_is_that_of_the_population_in_each_group():
    assert_allclose(expert_counts.load_cv(COUNTS), [np.sqrt(2) / 4, 0, np.sqrt(3)])


def test_groups_in_any_shape_equal_each_group_alone():
    stacked = np.stack([COUNTS, COUNTS[::-1]])
    for each in (expert_counts.load_cv, expert_counts.busiest_ratio, expert_counts.starved_share):
        assert_allclose(each(stacked)[1], [each(row) for row in COUNTS[::-1]])
    assert_allclose(
        expert_counts.dropped_fraction(stacked, 2, 1.25)[0], expert_counts.dropped_fraction(COUNTS, 2, 1.25)
    )


def test_dropped_picks_are_those_beyond_the_capacity():
    # 16 picks over 4 experts: C = ceil(1.25 x 4) = 5
    assert_allclose(expert_counts.dropped_fraction(COUNTS, 2, 1.25), [1 / 16, 0, 11 / 16])
    assert_allclose(expert_counts.dropped_fraction(COUNTS, 1, 1.0), [2 / 16, 0, 12 / 16])


def test_the_capacity_is_rounded_up():
    assert expert_counts.dropped_fraction([3, 7], 1, 1.3) == 0  # 1.3 x 5 = 6.5 gives room for 7


def test_room_for_every_token_drops_nothing():
    assert (expert_counts.dropped_fraction(COUNTS, 1, 4.0) == 0).all()


def test_busiest_and_starved_are_relative_to_the_mean():
    assert_allclose(expert_counts.busiest_ratio(COUNTS), [1.5, 1, 4])
    assert_allclose(expert_counts.starved_share(COUNTS), [0, 0, 0.75])


def test_uniform_cv_takes_tokens_not_picks():
    assert expert_counts.routed_tokens(COUNTS[0], 2) == 8
    assert_allclose(expert_counts.uniform_cv(COUNTS[0], 2), moe.expert_load_cv(8, 4, 2))


def test_a_uniform_router_has_the_cv_of_sampling_noise_and_no_skew():
    counts = routed(np.full(16, 1 / 16), tokens=256, groups=4_000)
    assert_allclose((expert_counts.load_cv(counts) ** 2).mean(), moe.expert_load_cv(256, 16, 2) ** 2, rtol=0.02)
    assert_allclose(expert_counts.skew_squared(counts, 2).mean(), 0, atol=0.02 * moe.expert_load_cv(256, 16, 2) ** 2)
    assert_allclose(
        expert_counts.dropped_fraction(counts, 2, 1.25).mean(), moe.dropped_fraction(256, 16, 2, 1.25), rtol=0.05
    )


@pytest.mark.parametrize("tokens", [4, 64, 1_024])
def test_the_skew_of_a_router_is_found_at_every_size_of_the_group(tokens):
    share = 2.0 ** np.arange(8) / 255
    total = share + (1 - share) / 7  # probability that a token picks the expert first or second
    known = total.std() / total.mean()
    counts = routed(share, tokens, groups=200_000 // tokens)
    assert_allclose(expert_counts.skew(counts, 2), known, rtol=0.03)
    assert expert_counts.load_cv(counts).mean() > known


def test_less_unevenness_than_noise_is_no_skew():
    assert expert_counts.skew(np.full((3, 8), 10), 2) == 0


def test_the_summary_has_one_row_a_setting_and_size_averaged_over_groups():
    rows = [("a", 8, 4, 2, COUNTS[0]), ("a", 8, 4, 2, COUNTS[2]), ("b", 16, 4, 1, COUNTS[1])]
    table = pd.DataFrame(rows, columns=["setting", "routed_tokens", "num_experts", "top_k", "counts"])
    found = expert_counts.summary(table, (1.0, 1.25))
    assert found[["setting", "routed_tokens", "groups"]].values.tolist() == [["a", 8, 2], ["b", 16, 1]]
    assert_allclose(found["load_cv"], [(np.sqrt(2) / 4 + np.sqrt(3)) / 2, 0])
    assert_allclose(found["dropped_1.25"], [6 / 16, 0])
    assert_allclose(found["uniform_cv"], [moe.expert_load_cv(8, 4, 2), moe.expert_load_cv(16, 4, 1)])
    assert_allclose(found["busiest"], [2.75, 1])
