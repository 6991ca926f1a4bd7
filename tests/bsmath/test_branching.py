"""The branched critical batch: the definition on hand-made losses, the pairing of seeds, what the errors leave open."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import branching

B = 256  # tokens per step of the run


def table(losses: dict[int, list[float]], step: int = 500) -> pd.DataFrame:
    """Losses of each factor over seeds."""
    rows = [
        {
            "checkpoint_step": step,
            "checkpoint_tokens": step * B,
            "batch_factor": factor,
            "tokens_per_step": factor * B,
            "seed": seed,
            "loss": loss,
        }
        for factor, each in losses.items()
        for seed, loss in enumerate(each)
    ]
    return pd.DataFrame(rows)


def excesses(*excess: float, factors=(1, 2, 4, 8, 16)) -> pd.DataFrame:
    """Two seeds, 0.5 nats apart, with the same excess at each factor."""
    return table({factor: [2.0 + each, 2.5 + each] for factor, each in zip(factors, (0.0, *excess), strict=False)})


@pytest.mark.parametrize(
    "excess, low, high",
    [
        ((-0.02, 0.01, 0.05, 0.2), 4, 8),
        ((0.0, 0.02, 0.029, 0.031), 8, 16),
        ((0.05, 0.01, 0.0, 0.0), 1, 2),  # a larger batch that is fine again does not count: all smaller ones must be
        ((0.01, 0.05, 0.01, 0.2), 2, 4),
    ],
)
def test_the_critical_batch_lies_between_the_last_of_an_unbroken_row_and_the_next(excess, low, high):
    (found,) = branching.branches(excesses(*excess), 0.03)
    assert (found.low, found.high) == (low * B, high * B)
    assert_allclose(found.critical_batch_size, B * np.sqrt(low * high))


def test_an_excess_at_the_tolerance_has_recovered():
    (found,) = branching.branches(table({1: [2.0], 2: [2.25]}), 0.25)
    assert found.low == 2 * B


def test_no_batch_that_fails_gives_a_lower_bound_alone():
    (found,) = branching.branches(excesses(0.0, 0.0, 0.01), 0.03)
    assert (found.low, found.high) == (8 * B, np.inf) and np.isnan(found.critical_batch_size)
    assert "at least that" in found.verdict and "2,048 tokens" in found.verdict


def test_a_first_larger_batch_that_fails_leaves_the_lower_end_open_in_words():
    (found,) = branching.branches(excesses(0.1, 0.2), 0.03)
    assert (found.low, found.high) == (B, 2 * B) and "may be lower still" in found.verdict


def test_a_larger_tolerance_never_gives_a_smaller_batch():
    rows = excesses(0.01, 0.03, 0.02, 0.2)
    lows = [branching.branches(rows, tolerance)[0].low for tolerance in (0.005, 0.015, 0.035, 0.3)]
    assert lows == [B, 2 * B, 8 * B, 16 * B]


def test_the_error_is_that_of_the_paired_differences_not_of_the_losses():
    (found,) = branching.branches(table({1: [2.0, 2.6, 2.3], 2: [2.01, 2.63, 2.35]}), 0.03)
    assert_allclose(found.excess, [0, 0.03])
    assert_allclose(found.error, [0, 2 * 0.02 / np.sqrt(3)])  # differences 0.01, 0.03, 0.05
    assert found.seeds.tolist() == [3, 3]


def test_a_seed_without_its_unchanged_branch_is_no_pair():
    rows = table({1: [2.0, 2.6], 2: [2.01, 2.63]})
    rows = pd.concat([rows, rows.tail(1).assign(seed=7, loss=9.0)])
    (found,) = branching.branches(rows, 0.03)
    assert_allclose(found.excess, [0, 0.02])
    assert found.seeds.tolist() == [2, 2]


def test_a_single_seed_says_nothing_on_how_sure_it_is():
    (found,) = branching.branches(table({1: [2.0], 2: [2.01], 4: [2.1]}), 0.03)
    assert np.isnan(found.error[1:]).all() and found.low == 2 * B
    assert found.sure == (B, np.inf) and "single seed" in found.verdict


def test_one_factor_with_a_single_seed_leaves_the_others_their_errors():
    (found,) = branching.branches(table({1: [2.0, 2.1], 2: [2.0, 2.1], 4: [2.5, 2.6], 8: [2.9]}), 0.03)
    assert np.isnan(found.error).tolist() == [False, False, False, True] and found.seeds.tolist() == [2, 2, 2, 1]
    assert found.sure == (2 * B, 4 * B) and "single seed" not in found.verdict


def test_the_bracket_widens_by_what_the_errors_cannot_exclude():
    noisy = {1: [2.0, 2.0], 2: [2.0, 2.0], 4: [2.0, 2.05], 8: [2.03, 2.07], 16: [2.5, 2.5]}
    (found,) = branching.branches(table(noisy), 0.03)
    assert (found.low, found.high) == (4 * B, 8 * B)
    assert found.sure == (2 * B, 16 * B) and "512 to 4,096 cannot be excluded" in found.verdict


def test_clear_excesses_say_so():
    (found,) = branching.branches(excesses(0.0, 0.1), 0.03)
    assert found.sure == (found.low, found.high) and "more than two standard errors" in found.verdict


def test_a_diverged_branch_has_not_recovered():
    (found,) = branching.branches(table({1: [2.0, 2.1], 2: [2.0, 2.1], 4: [np.inf, 2.1]}), 0.03)
    assert found.excess[-1] == np.inf and found.sure == (2 * B, 4 * B)


def test_checkpoints_come_in_order_and_each_is_compared_with_its_own():
    late, early = table({1: [1.5], 2: [1.6]}, 1_000), table({1: [3.0], 2: [3.01]}, 250)
    found = branching.branches(pd.concat([late, early]), 0.03)
    assert [one.label for one in found] == ["step 250, 64,000 tokens", "step 1,000, 256,000 tokens"]
    assert_allclose([one.excess[1] for one in found], [0.01, 0.1])


@pytest.mark.parametrize("losses", [{1: [2.0]}, {2: [2.0], 4: [2.0]}])
def test_a_checkpoint_without_a_pair_gives_no_record(losses):
    assert branching.branches(table(losses), 0.03) == ()


def test_runs_of_one_file_are_told_apart():
    rows = table({1: [2.0], 2: [2.01]})
    found = branching.branches(pd.concat([rows.assign(run="a"), rows.assign(run="b", loss=[1.0, 2.0])]), 0.03)
    assert [one.label for one in found] == ["a, step 500, 128,000 tokens", "b, step 500, 128,000 tokens"]
    assert_allclose([one.excess[1] for one in found], [0.01, 1.0])
