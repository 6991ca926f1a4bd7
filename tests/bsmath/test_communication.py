import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.communication import (
    SPEC_SHARE,
    ZERO3_TRAFFIC,
    bytes_sent,
    compute_bound_tokens,
    ring_all_reduce_time,
    ring_gather_time,
)

GRADIENTS = 14e9  # a 7B model in BF16
NVLINK, FABRIC = 450e9, 50e9


@pytest.mark.parametrize(
    "num_devices, bandwidth, seconds", [(8, NVLINK, 0.05444), (64, FABRIC, 0.55125), (1024, FABRIC, 0.55945)]
)
def test_all_reduce_of_a_7b_model(num_devices, bandwidth, seconds):
    assert_allclose(ring_all_reduce_time(GRADIENTS, num_devices, bandwidth), seconds, atol=5e-6)


def test_compute_bound_threshold_of_an_h100_at_half_its_peak():
    achieved = 989e12 * 0.5
    assert_allclose(compute_bound_tokens(8, achieved, NVLINK), 961.5, atol=0.05)
    assert_allclose(compute_bound_tokens(1e9, achieved, FABRIC), 9_890)


@pytest.mark.parametrize("num_params", [1e9, 7e9, 4e11])
@pytest.mark.parametrize("num_devices", [2, 8, 1024])
def test_at_the_threshold_backward_takes_as_long_as_the_all_reduce_whatever_the_size(num_params, num_devices):
    tokens = compute_bound_tokens(num_devices, 5e14, FABRIC)
    backward = 4 * num_params * tokens / 5e14
    assert_allclose(backward, ring_all_reduce_time(2 * num_params, num_devices, FABRIC))


def test_one_device_exchanges_nothing():
    assert ring_all_reduce_time(GRADIENTS, 1, FABRIC, 1e-5) == 0
    assert ring_gather_time(GRADIENTS, 1, FABRIC, 1e-5) == 0
    assert compute_bound_tokens(1, 5e14, FABRIC) == 0
    assert bytes_sent(GRADIENTS, 1, 3, 8) == 0


def test_an_all_reduce_is_a_reduce_scatter_and_a_gather():
    half = ring_gather_time(GRADIENTS, 8, NVLINK, 2e-6)
    assert_allclose(half, 7 / 8 * GRADIENTS / NVLINK + 7 * 2e-6)
    assert_allclose(ring_all_reduce_time(GRADIENTS, 8, NVLINK, 2e-6), 2 * half)


def test_a_large_ring_approaches_twice_the_bytes_over_the_bandwidth():
    assert_allclose(ring_all_reduce_time(GRADIENTS, 1e9, FABRIC), 2 * GRADIENTS / FABRIC)


def test_latency_alone_grows_without_limit_with_the_ring():
    seconds = ring_all_reduce_time(0, np.array([2, 8, 1024]), FABRIC, 1e-5)
    assert_allclose(seconds, [2e-5, 14e-5, 2046e-5])


def test_bandwidth_to_expect_lengthens_the_exchange_by_a_quarter():
    printed = ring_all_reduce_time(GRADIENTS, 8, NVLINK)
    assert_allclose(ring_all_reduce_time(GRADIENTS, 8, SPEC_SHARE * NVLINK), 1.25 * printed)


@pytest.mark.parametrize("zero_stage", [0, 1, 2])
def test_the_first_zero_stages_send_one_all_reduce_at_any_accumulation(zero_stage):
    for steps in (1, 8):
        sent = bytes_sent(GRADIENTS, 64, zero_stage, steps)
        assert_allclose(sent / FABRIC, ring_all_reduce_time(GRADIENTS, 64, FABRIC))


def test_stage_3_sends_half_as_much_again_and_gathers_in_every_micro_batch():
    assert_allclose(bytes_sent(GRADIENTS, 64, 3), ZERO3_TRAFFIC * bytes_sent(GRADIENTS, 64, 0))
    # One reduce-scatter and 2 gathers in each of 4 micro-batches: 9 half all-reduces.
    assert_allclose(bytes_sent(GRADIENTS, 64, 3, 4), 9 * 63 / 64 * GRADIENTS)


def test_series_arrays_and_scalars_agree():
    devices = [1, 2, 8, 64]
    expected = [ring_all_reduce_time(GRADIENTS, n, FABRIC, 1e-6) for n in devices]
    assert_allclose(ring_all_reduce_time(GRADIENTS, np.array(devices), FABRIC, 1e-6), expected)
    assert_allclose(ring_all_reduce_time(GRADIENTS, pd.Series(devices), FABRIC, 1e-6), expected)
    stages = np.array([0, 1, 2, 3])
    assert_allclose(bytes_sent(1.0, 2, stages, 2), [bytes_sent(1.0, 2, stage, 2) for stage in stages])
