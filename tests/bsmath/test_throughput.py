import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.critical import steps_to_target
from bsmath.throughput import (
    batch_at_plateau_fraction,
    batches_within,
    fastest_batch,
    fastest_feasible_batch,
    goodput,
    half_batch,
    plateau,
    plateau_fraction,
    plateau_from_rate,
    step_time,
    time_to_target,
    tokens_per_second,
)

# The worked case of one H200: t_fixed .05 s, plateau 136,700 tokens/s, sequences of 2,048, computed by hand.
FIXED, LIMIT = 0.05, 136_700
RATES = [(1, 31_517), (8, 96_459), (16, 113_107), (32, 123_790), (48, 127_813), (64, 129_925)]
SWEEP = np.array([1, 2, 4, 8, 16, 32, 64]) * 2048.0


@pytest.mark.parametrize("sequences, rate", RATES)
def test_worked_rates(sequences, rate):
    assert_allclose(tokens_per_second(sequences * 2048, FIXED, LIMIT), rate, atol=0.5)


def test_plateau_of_the_founding_run():
    # 136,700 tokens/s at 66 % of a dense 989 TFLOP/s is 7.958e8 parameters; the sparse peak would double them.
    assert_allclose(plateau(989e12, 0.66, 6 * 7.958e8), 136_700, rtol=1e-3)
    assert_allclose(plateau(1979e12, 0.66, 6 * 7.958e8), 2 * 136_700, rtol=2e-3)


def test_plateau_of_palm():
    # 238.3k tokens/s on 6,144 TPU v4 at MFU 45.7 % by 6N with 540e9 parameters (Chowdhery et al. 2022, app. B).
    assert_allclose(plateau(275e12, 0.45697, 6 * 540e9, 6144), 238.3e3, rtol=1e-3)


def test_wall_clock_optimum():
    half = half_batch(FIXED, LIMIT)
    assert_allclose(half, 6835)
    assert_allclose(fastest_batch(half, 1e6), 82_674, rtol=1e-5)
    for batch, per_step in ((82_674, 8.5749), (98_304, 8.5930), (1e6, 14.7306), (4e6, 36.639)):
        assert_allclose(time_to_target(batch, half, 1e6, 1, LIMIT), per_step, rtol=2e-5)


def test_time_to_target_is_steps_times_step_time():
    batch = np.geomspace(1e3, 1e8, 50)
    expected = steps_to_target(batch, 1e6, 5e4) * step_time(batch, FIXED, LIMIT)
    assert_allclose(time_to_target(batch, half_batch(FIXED, LIMIT), 1e6, 5e4, LIMIT), expected)


def test_no_batch_is_faster_than_the_fastest_and_none_has_more_goodput():
    half = half_batch(FIXED, LIMIT)
    best = fastest_batch(half, 1e6)
    batch = np.geomspace(1e2, 1e8, 2001)
    assert (time_to_target(batch, half, 1e6, 1, LIMIT) >= time_to_target(best, half, 1e6, 1, LIMIT)).all()
    useful = goodput(tokens_per_second(batch, FIXED, LIMIT), batch, 1e6)
    assert (useful <= goodput(tokens_per_second(best, FIXED, LIMIT), best, 1e6)).all()


def test_padding_costs_time_and_moves_every_batch_in_real_tokens():
    rate = tokens_per_second(60_000, FIXED, LIMIT, padding_fraction=0.4)
    assert_allclose(rate, 60_000 / step_time(100_000, FIXED, LIMIT))
    half = half_batch(FIXED, LIMIT, padding_fraction=0.4)
    assert_allclose(tokens_per_second(half, FIXED, LIMIT, 0.4), 0.5 * 0.6 * LIMIT)


@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.95])
def test_plateau_fraction_and_its_batch_are_inverse(fraction):
    assert_allclose(plateau_fraction(batch_at_plateau_fraction(fraction, 6835), 6835), fraction)


def test_goodput_is_half_the_rate_at_the_critical_batch():
    assert_allclose(goodput(1000, 1e6, 1e6), 500)


def test_pollux_efficiency():
    # AdaptDL: phi 2e6, M0 5e5: efficiency (phi + M0)/(phi + M) is .83333, .625, .41667.
    batch = np.array([1e6, 2e6, 4e6])
    assert_allclose(goodput(1, batch, 2e6) / goodput(1, 5e5, 2e6), [0.83333, 0.625, 0.41667], rtol=1e-5)


def test_flat_range_ends_exactly_at_the_excess():
    half = half_batch(FIXED, LIMIT)
    best = time_to_target(fastest_batch(half, 1e6), half, 1e6, 1, LIMIT)
    for end in batches_within(0.05, half, 1e6):
        assert_allclose(time_to_target(end, half, 1e6, 1, LIMIT), 1.05 * best)


def test_flat_range_starts_at_a_floor_above_the_optimum():
    half = half_batch(FIXED, LIMIT)
    low, high = batches_within(0.05, half, 1e6, floor=200_000)
    assert low == 200_000
    assert_allclose(time_to_target(high, half, 1e6, 1, LIMIT), 1.05 * time_to_target(low, half, 1e6, 1, LIMIT))


def test_feasible_batch_is_the_best_of_all_whole_micro_batches():
    for smallest in (1_000, 7_000, 30_000, 82_674, 500_000):
        multiples = smallest * np.arange(1, 400)
        best = multiples[np.argmin(time_to_target(multiples, 6835, 1e6, 1, LIMIT))]
        assert fastest_feasible_batch(6835, 1e6, smallest) == best


def test_without_fixed_time_the_smallest_batch_is_fastest():
    assert fastest_feasible_batch(half_batch(0, LIMIT), 1e6, 98_304) == 98_304


def test_calibration_inverts_the_rate():
    assert_allclose(plateau_from_rate(98_304, tokens_per_second(98_304, FIXED, LIMIT), FIXED), LIMIT)


def test_series_arrays_and_scalars_agree():
    expected = [tokens_per_second(batch, FIXED, LIMIT) for batch in SWEEP]
    assert_allclose(tokens_per_second(SWEEP, FIXED, LIMIT), expected)
    assert_allclose(tokens_per_second(pd.Series(SWEEP), FIXED, LIMIT), expected)
