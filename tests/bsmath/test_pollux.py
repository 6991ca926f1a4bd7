import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import pollux
from bsmath import throughput as step
from bsmath.pollux import adascale_gain, efficiency, goodput, grad_time, iteration_time, sync_time, throughput

PHI, REFERENCE = 2e6, 5e5
BATCHES = np.array([1e6, 2e6, 4e6])


def test_published_efficiencies():
    assert_allclose(efficiency(BATCHES, PHI, REFERENCE), [0.83333, 0.625, 0.41667], rtol=1e-5)


def test_published_gains():
    assert_allclose(adascale_gain(BATCHES, PHI, REFERENCE), [1.66667, 2.5, 3.33333], rtol=1e-5)


def test_efficiency_is_the_gain_over_the_growth_of_the_batch():
    gain = adascale_gain(BATCHES, PHI, REFERENCE)
    assert_allclose(efficiency(BATCHES, PHI, REFERENCE), gain * REFERENCE / BATCHES)


def test_the_gain_is_linear_where_noise_rules_and_ends_at_its_limit():
    assert_allclose(adascale_gain(8 * REFERENCE, 1e15, REFERENCE), 8, rtol=1e-6)
    assert_allclose(adascale_gain(1e15, PHI, REFERENCE), 1 + PHI / REFERENCE, rtol=1e-6)
    assert adascale_gain(REFERENCE, PHI, REFERENCE) == efficiency(REFERENCE, PHI, REFERENCE) == 1


@pytest.mark.parametrize("exponent, seconds", [(1, 0.135536), (2, 0.117254), (10, 0.115536)])
def test_published_iteration_times(exponent, seconds):
    assert_allclose(iteration_time(0.115536, 0.02, exponent), seconds, atol=5e-7)


def test_iteration_time_is_between_the_longer_part_and_the_sum():
    gamma = np.linspace(1, 10, 50)
    seconds = iteration_time(0.1, 0.08, gamma)
    assert (np.diff(seconds) < 0).all()
    assert (seconds <= 0.18 + 1e-12).all() and (seconds > 0.1).all()


def test_accumulation_adds_micro_batches_that_do_not_wait_for_the_network():
    assert_allclose(iteration_time(0.1, 0.08, 1, grad_accum_steps=4), 3 * 0.1 + 0.18)
    assert_allclose(throughput(4096, 8, 0.48, grad_accum_steps=4), 8 * 4096 * 4 / 0.48)


def test_synchronization_starts_at_the_second_device_and_grows_from_the_third():
    assert_allclose(sync_time(np.array([1, 2, 3, 8]), 0.02, 0.001), [0, 0.02, 0.021, 0.026])
    assert sync_time(1, 0.02, 0.001) == 0


def test_goodput_is_that_of_the_throughput_page_up_to_the_reference_batch():
    rate = step.tokens_per_second(BATCHES, 0.05, 136_700)
    ratio = goodput(rate, BATCHES, PHI, REFERENCE) / step.goodput(rate, BATCHES, PHI)
    assert_allclose(ratio, 1 + REFERENCE / PHI)


def test_goodput_is_greatest_at_the_batch_that_is_fastest_to_the_target():
    # With one device T_iter is t0 + c B, and the best batch sqrt(phi t0/c) = 82,674 tokens (B_half 6,835, phi 1e6).
    fixed, limit = 0.05, 136_700
    best = step.fastest_batch(step.half_batch(fixed, limit), 1e6)
    batch = np.append(best, np.geomspace(1e3, 1e7, 4001))
    seconds = iteration_time(grad_time(batch, fixed, 1 / limit), sync_time(1, 0.02, 0.001), 1)
    useful = goodput(throughput(batch, 1, seconds), batch, 1e6, 1e3)
    assert np.argmax(useful) == 0
    assert_allclose(best, 82_674, rtol=1e-5)


def test_series_arrays_and_scalars_agree():
    expected = [pollux.efficiency(batch, PHI, REFERENCE) for batch in BATCHES]
    assert_allclose(efficiency(pd.Series(BATCHES), PHI, REFERENCE), expected)
    times = [iteration_time(0.1, sync_time(k, 0.02, 0.001), 2.5) for k in (1, 2, 9)]
    assert_allclose(iteration_time(0.1, sync_time(np.array([1, 2, 9]), 0.02, 0.001), 2.5), times)
