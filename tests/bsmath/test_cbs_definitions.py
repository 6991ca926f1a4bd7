import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import cbs_definitions as cbs
from bsmath.critical import step_overhead, steps_to_target, token_overhead, tokens_to_target

KNEES = np.geomspace(1e4, 1e9, 41)

# LITERATURE of the definition: Zhang et al. 2024, arXiv 2410.21676, their fits on their own step counts; B in sequences.
ZHANG = [
    (2190.6, 745.3),
    (3239.8, 955.2),
    (5432.6, 1393.7),
    (7906.6, 1888.5),
    (11131.1, 2533.4),
]


@pytest.mark.parametrize("critical_batch_size, overhead_batch", ZHANG)
def test_the_overhead_batches_of_zhang_follow_from_their_hyperbolas(critical_batch_size, overhead_batch):
    assert cbs.overhead_batch(critical_batch_size, 256) == pytest.approx(overhead_batch, abs=0.06)


def test_their_reference_is_256_sequences_of_512():
    assert cbs.ZHANG_OPTIMAL_BATCH == 131_072


@pytest.mark.parametrize("overhead", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("optimal", [1e3, 131_072.0, 4e6])
def test_the_overhead_batch_solves_its_own_definition(overhead, optimal):
    batch = cbs.overhead_batch(KNEES, optimal, overhead)
    ideal = steps_to_target(optimal, KNEES, 5e4) * optimal / batch
    assert_allclose(steps_to_target(batch, KNEES, 5e4), (1 + overhead) * ideal)
    assert_allclose(tokens_to_target(batch, KNEES, 5e4), (1 + overhead) * tokens_to_target(optimal, KNEES, 5e4))
    assert_allclose(cbs.linear_scaling_overhead(batch, KNEES, optimal), overhead)


def test_linear_scaling_is_ideal_at_the_reference_itself():
    assert cbs.linear_scaling_overhead(131_072, 1e6, 131_072) == 0


def test_tokens_there_are_a_fifth_above_the_least_plus_what_the_reference_wastes():
    batch = cbs.overhead_batch(1e6, 131_072)
    assert token_overhead(batch, 1e6) - 1 == pytest.approx(0.2 + 1.2 * 131_072 / 1e6)


def test_from_a_vanishing_reference_the_overhead_batch_is_that_of_the_token_share():
    assert_allclose(cbs.overhead_batch(KNEES, 0), cbs.token_share_batch(KNEES, 0.2))
    assert cbs.token_share_batch(1e6, 0.2) == pytest.approx(2e5)


def test_a_tenfold_critical_batch_gives_less_than_a_tenfold_overhead_batch():
    assert cbs.overhead_batch(1e7, 131_072) < 10 * cbs.overhead_batch(1e6, 131_072)


def test_every_conversion_comes_back():
    assert_allclose(cbs.from_overhead_batch(cbs.overhead_batch(KNEES, 131_072), 131_072), KNEES)
    assert_allclose(cbs.from_token_share_batch(cbs.token_share_batch(KNEES, 0.3), 0.3), KNEES)
    assert_allclose(cbs.from_step_share_batch(cbs.step_share_batch(KNEES, 0.3), 0.3), KNEES)


def test_an_overhead_batch_below_its_floor_belongs_to_no_hyperbola():
    assert cbs.from_overhead_batch(1.2 * 131_072, 131_072) == pytest.approx(0, abs=1e-6)
    assert cbs.from_overhead_batch(131_072, 131_072) < 0


@pytest.mark.parametrize("overhead", [0.01, 0.2, 1.0, 5.0])
def test_shares_hold_at_their_batches(overhead):
    assert_allclose(token_overhead(cbs.token_share_batch(KNEES, overhead), KNEES) - 1, overhead)
    assert_allclose(step_overhead(cbs.step_share_batch(KNEES, overhead), KNEES) - 1, overhead)


def test_at_a_share_of_one_both_are_the_critical_batch():
    assert_allclose(cbs.token_share_batch(KNEES, 1), KNEES)
    assert_allclose(cbs.step_share_batch(KNEES, 1), KNEES)


# McCandlish et al. 2018, arXiv 1812.06162, eq. 2.11-2.12, at B_crit = 1e6 and S_min = 5e4.
@pytest.mark.parametrize("batch, steps, tokens", [
    (64e3, 16.625, 1.064), (250e3, 5, 1.25), (1e6, 2, 2), (4e6, 1.25, 5), (16e6, 1.0625, 17)])  # fmt: skip
def test_overheads_of_the_worked_example(batch, steps, tokens):
    assert cbs.step_share_batch(1e6, steps - 1) == pytest.approx(batch)
    assert cbs.token_share_batch(1e6, tokens - 1) == pytest.approx(batch)


def test_the_two_overheads_of_a_batch_multiply_to_one():
    batch = np.geomspace(1e2, 1e10, 33)
    assert_allclose((step_overhead(batch, 1e6) - 1) * (token_overhead(batch, 1e6) - 1), 1)
    share = batch / 1e6
    assert_allclose(cbs.step_share_batch(1e6, 1 / share), cbs.token_share_batch(1e6, share))


def test_the_ratio_of_least_tokens_to_least_steps_is_the_critical_batch():
    least_tokens, least_steps = tokens_to_target(1e-6, 1e6, 5e4), steps_to_target(1e18, 1e6, 5e4)
    assert least_tokens / least_steps == pytest.approx(1e6)


def test_a_noise_scale_leaves_more_than_an_order_of_magnitude_open():
    low, high = cbs.from_noise_scale(1e6)
    assert low == pytest.approx(1e6 / 18) and high == pytest.approx(2.5e6)


def test_what_has_no_closed_form_converts_to_nothing():
    assert {key for key, one in cbs.DEFINITIONS.items() if one.batch is None} == {"recovery", "noise"}
    assert all(
        one.status.split(":")[0].split()[0] in ("derived", "empirical", "rule") for one in cbs.DEFINITIONS.values()
    )


def test_each_conversion_gives_its_batch_at_what_it_says_happens_there():
    sizes = cbs.batches(1e6)
    assert sizes == pytest.approx({"hyperbola": 1e6, "overhead20": 357_286.4, "tokens20": 2e5})
    assert step_overhead(sizes["hyperbola"], 1e6) == token_overhead(sizes["hyperbola"], 1e6) == 2
    assert token_overhead(sizes["tokens20"], 1e6) == pytest.approx(1.2)
    assert cbs.linear_scaling_overhead(sizes["overhead20"], 1e6, 131_072) == pytest.approx(0.2)
    assert cbs.batches(1e6, 1e4)["overhead20"] == pytest.approx(1.2e4 + 2e5)


def test_conversions_grow_with_the_critical_batch_so_that_ends_of_an_interval_stay_ends():
    for one in cbs.DEFINITIONS.values():
        if one.batch is not None:
            assert (np.diff(one.batch(KNEES, 131_072)) > 0).all()
            assert one.batch(np.inf, 131_072) == np.inf


@pytest.mark.parametrize("function", [cbs.overhead_batch, cbs.from_overhead_batch])
def test_arrays_and_series_give_what_single_numbers_give(function):
    single = [function(knee, 131_072) for knee in KNEES]
    assert_allclose(function(KNEES, 131_072), single)
    assert_allclose(function(pd.Series(KNEES), 131_072), single)
