import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import presets
from bsmath.roofline import (
    compute_bound_tokens,
    machine_balance,
    matmul_intensity,
    weight_bound_tokens,
    weight_read_excess,
    weight_read_time,
)

BALANCES = {  # FLOP/byte, BF16 dense over device memory
    "a100_40_sxm": 201,
    "a100_80_sxm": 153,
    "a100_80_pcie": 161,
    "h100_sxm": 295,
    "h100_pcie": 378,
    "h200_sxm": 206,
    "b200_sxm": 281,
    "gb200": 313,
    "b300_sxm": 281,
    "gb300": 313,
    "mi250x": 117,
    "mi300x": 247,
    "mi325x": 218,
    "mi355x": 313,
    "tpu_v4": 229,
    "tpu_v5e": 240,
    "tpu_v5p": 166,
    "tpu_v6e": 574,
    "tpu7x": 313,
    "gaudi_2": 176,
    "gaudi_3": 453,
    "l4": 403,
    "l40s": 419,
    "rtx_3090": 76,
    "rtx_4090": 164,
    "rtx_5090": 117,
}


@pytest.mark.parametrize("key, balance", BALANCES.items())
def test_machine_balance_of_the_table(key, balance):
    device = presets.hardware()[key]
    assert_allclose(machine_balance(device.peak_flops, device.memory_bandwidth), balance, atol=1)


def test_a_tpu_v5e_needs_240_tokens_per_chip():
    device = presets.hardware()["tpu_v5e"]  # the rule of https://jax-ml.github.io/scaling-book/roofline
    tokens = compute_bound_tokens(machine_balance(device.peak_flops, device.memory_bandwidth), np.inf, np.inf)
    assert_allclose(tokens, 240, atol=0.5)


def test_intensity_is_flops_over_bytes():
    m, k, n = 512, 4096, 11_008
    assert_allclose(matmul_intensity(m, k, n), 2 * m * k * n / (2 * (m * k + k * n + m * n)))


def test_intensity_of_few_tokens_is_their_number():
    assert_allclose(matmul_intensity(4, 8192, 28_672), 4, rtol=1e-3)
    assert matmul_intensity(4, np.inf, np.inf) == 4


def test_intensity_is_exactly_the_balance_at_the_least_compute_bound_tokens():
    for balance in (117, 206, 574):
        tokens = compute_bound_tokens(balance, 4096, 14_336)
        assert tokens > balance
        assert_allclose(matmul_intensity(tokens, 4096, 14_336), balance)


def test_no_number_of_tokens_is_enough_for_narrow_matrices():
    assert compute_bound_tokens(295, 256, np.inf) == np.inf
    assert compute_bound_tokens(295, 500, 500) == np.inf


def test_weights_of_7b_are_read_in_12_5_ms_on_an_h100():
    # 3 passes over 14e9 bytes at 3.35e12 bytes/s.
    assert_allclose(weight_read_time(14e9, 3.35e12), 0.0125373, rtol=1e-5)


def test_only_the_part_beyond_the_arithmetic_counts():
    assert_allclose(weight_read_excess(np.array([0, 0.004, 0.0125373, 1]), 14e9, 3.35e12), [0.0125373, 0.0085373, 0, 0], atol=1e-7)  # fmt: skip
    assert weight_read_excess(0.0, 14e9, np.inf) == 0


def test_weights_bind_below_as_many_tokens_as_the_balance_of_the_achieved_rate():
    # 3 passes of 2 bytes and 6 FLOPs per parameter: parameters cancel, and C/W is left.
    achieved, bandwidth = 989e12 * 0.5, 3.35e12
    for num_params in (1e9, 7e9):
        tokens = weight_bound_tokens(2 * num_params, bandwidth, achieved / (6 * num_params))
        assert_allclose(tokens, machine_balance(achieved, bandwidth))
        assert_allclose(
            weight_read_excess(tokens * 6 * num_params / achieved, 2 * num_params, bandwidth), 0, atol=1e-12
        )


def test_series_arrays_and_scalars_agree():
    tokens = [1.0, 100, 1e5]
    expected = [matmul_intensity(m, 4096, 4096) for m in tokens]
    assert_allclose(matmul_intensity(np.array(tokens), 4096, 4096), expected)
    assert_allclose(matmul_intensity(pd.Series(tokens), 4096, 4096), expected)
    assert_allclose(
        compute_bound_tokens(np.array([117, 574]), 900, 900), [compute_bound_tokens(b, 900, 900) for b in (117, 574)]
    )
