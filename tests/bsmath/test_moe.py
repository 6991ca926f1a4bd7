import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from bsmath import moe, roofline

SIZES = np.array([64, 512, 4096, 65_536])
# M, k, E, capacity factor, C, mean, CV, dropped exact, dropped by the normal approximation [%]: binomial tails in
# float64, confirmed by simulating tokens that each pick k distinct experts.
TABLE = [
    (4096, 1, 64, 1, 64, 64, 0.12402, 4.941226, 4.947666),
    (4096, 1, 64, 1.25, 80, 64, 0.12402, 0.127126, 0.100923),
    (4096, 2, 8, 1, 1024, 1024, 0.02706, 1.079574, 1.079669),
    (4096, 8, 256, 1, 128, 128, 0.08700, 3.468390, 3.470651),
    (4096, 8, 256, 1.25, 160, 128, 0.08700, 0.007592, 0.005158),
    (1024, 8, 256, 1.25, 40, 32, 0.17399, 0.679312, 0.587969),
    (512, 8, 256, 1.25, 20, 16, 0.24606, 2.186836, 1.988375),
    (2048, 1, 128, 1, 16, 16, 0.24902, 9.882917, 9.934521),
]
ROUTING = "routed, top_k, experts, factor, capacity, mean, cv, exact, normal"
BALANCE = {"h100": 989e12 / 3.35e12, "h200": 989e12 / 4.8e12, "b200": 2250e12 / 8e12}  # dense BF16 peak over bandwidth


@pytest.mark.parametrize(ROUTING, TABLE)
def test_dropped_share_has_every_printed_digit(routed, top_k, experts, factor, capacity, mean, cv, exact, normal):
    assert_allclose(100 * moe.dropped_fraction(routed, experts, top_k, factor), exact, rtol=0, atol=5.01e-7)


@pytest.mark.parametrize(ROUTING, TABLE)
def test_mean_cv_and_capacity_of_the_table(routed, top_k, experts, factor, capacity, mean, cv, exact, normal):
    assert moe.tokens_per_expert(routed, experts, top_k) == mean
    assert moe.expert_capacity(routed, experts, top_k, factor) == capacity
    assert_allclose(moe.expert_load_cv(routed, experts, top_k), cv, rtol=0, atol=5.01e-6)


@pytest.mark.parametrize(ROUTING, TABLE)
def test_normal_approximation_is_near_at_the_mean_and_short_in_the_tail(
    routed, top_k, experts, factor, capacity, mean, cv, exact, normal
):
    deviation = np.sqrt(moe.expert_load_variance(routed, experts, top_k))
    z = (moe.expert_capacity(routed, experts, top_k, factor) - mean) / deviation
    approximate = deviation / mean * (norm.pdf(z) - z * norm.sf(z))
    assert_allclose(100 * approximate, normal, rtol=0, atol=5.01e-7)
    dropped = moe.dropped_fraction(routed, experts, top_k, factor)
    assert dropped > approximate if factor > 1 else abs(dropped / approximate - 1) < 0.006


def test_dropped_share_at_capacity_one_is_0_4_cv_for_many_tokens():
    assert_allclose(moe.dropped_fraction(10**8, 256, 8, 1), 0.3989423 * moe.expert_load_cv(10**8, 256, 8), rtol=1e-4)


def test_dropped_share_equals_simulated_routing():
    random = np.random.default_rng(20261201)
    routed, experts, top_k = 64, 8, 2
    picks = random.random((4000, routed, experts)).argsort(axis=-1)[..., :top_k].reshape(4000, -1)
    loads = (picks[..., None] == np.arange(experts)).sum(axis=1)
    dropped = np.maximum(loads - moe.expert_capacity(routed, experts, top_k, 1.25), 0).sum() / loads.sum()
    assert_allclose(moe.dropped_fraction(routed, experts, top_k, 1.25), dropped, rtol=0.03)
    assert_allclose(moe.expert_load_variance(routed, experts, top_k), loads.var(), rtol=0.03)
    covariance = np.cov(loads.T)[~np.eye(experts, dtype=bool)].mean()
    assert_allclose(moe.expert_load_covariance(routed, experts, top_k), covariance, rtol=0.03)


@pytest.mark.parametrize("routed, top_k, experts, expected", [(64, 8, 256, 0.13108), (256, 1, 64, 0.017746)])
def test_published_idle_probability(routed, top_k, experts, expected):
    assert_allclose(moe.idle_probability(routed, experts, top_k), expected, rtol=4e-5)
    assert_allclose(moe.expected_idle_experts(routed, experts, top_k), experts * expected, rtol=4e-5)


def test_covariance_of_two_loads():
    pair = 4096 * (8 * 7 / (256 * 255) - (8 / 256) ** 2)  # both picked by one token, less the product of the means
    assert_allclose(moe.expert_load_covariance(4096, 256, 8), pair)
    assert_allclose(pair, -0.48627, rtol=1e-5)


def test_loads_sum_to_a_constant():
    total = 256 * moe.expert_load_variance(SIZES, 256, 8) + 256 * 255 * moe.expert_load_covariance(SIZES, 256, 8)
    assert_allclose(total, 0, atol=1e-9)


def test_busiest_of_256_experts_gets_about_165_tokens():
    assert_allclose(moe.max_load(4096, 256, 8), 165, atol=0.5)


@pytest.mark.parametrize("routed, experts, top_k", [(1, 256, 128), (100, 8, 8), (100, 1, 1)])
def test_no_expert_gets_more_than_every_token(routed, experts, top_k):
    assert moe.max_load(routed, experts, top_k) == routed


@pytest.mark.parametrize(
    "batch, experts, top_k, expected",
    [  # published configurations: Switch-C, OLMoE-1B-7B, DeepSeek-V3
        (2**20, 2048, 1, 512),
        (1024 * 4096, 64, 8, 524_288),
        (15_360 * 4096, 256, 8, 1_966_080),
    ],
)
def test_published_tokens_per_expert_and_step(batch, experts, top_k, expected):
    assert moe.tokens_per_expert(batch, experts, top_k) == expected


def test_one_sequence_gives_deepseek_v3_experts_128_tokens():
    assert moe.tokens_per_expert(moe.routed_tokens(1, 4096, 1), 256, 8) == 128
    assert moe.routed_tokens(2, 4096, 16) == 131_072


@pytest.mark.parametrize(
    "routed, experts, top_k, factor, expected",
    [
        (4096, 256, 8, 1.25, 160),
        (512, 256, 8, 1.0, 16),
        (1000, 100, 1, 1.1, 11),  # 1.1 * 10 is 11.000000000000002
        (100, 10, 1, 1.12, 12),  # 11.2
        (5, 64, 1, 1.0, 1),
        (4096, 64, 2, 1.0, 128),  # GShard's 2N/E
        (10**8, 8, 1, 1.1, 13_750_000),
        (10**8 + 1, 8, 1, 1.0, 12_500_001),
    ],
)
def test_capacity_rounds_up_but_not_on_float_noise(routed, experts, top_k, factor, expected):
    assert moe.expert_capacity(routed, experts, top_k, factor) == expected


def test_capacity_factor_of_experts_over_top_k_drops_nothing():
    assert (moe.expert_capacity(SIZES, 256, 8, 256 / 8) == SIZES).all()
    assert (moe.dropped_fraction(SIZES, 256, 8, 256 / 8) == 0).all()


@pytest.mark.parametrize("factor, dropped", [(1, 0), (1.25, 0), (0.5, 0.5)])
def test_routing_to_every_expert_spreads_nothing(factor, dropped):
    assert moe.dropped_fraction(100, 8, 8, factor) == dropped
    assert moe.expert_load_variance(100, 8, 8) == moe.expert_load_cv(100, 8, 8) == moe.idle_probability(100, 8, 8) == 0
    table = moe.load_distribution(100, 8, 8)
    assert table.to_dict("list") == {"load": [100], "probability": [1.0]}


def test_larger_capacity_never_drops_more():
    factors = np.linspace(0.1, 4, 79)
    dropped = moe.dropped_fraction(512, 64, 2, factors)
    assert (np.diff(dropped) <= 0).all() and dropped[0] > 0.8 and (dropped >= 0).all()


def test_more_tokens_together_are_dropped_less_and_leave_fewer_idle():
    sizes = 256 * 2 ** np.arange(8)  # multiples of E/k, so that rounding the capacity up is no advantage
    assert (np.diff(moe.dropped_fraction(sizes, 256, 8, 1.25)) < 0).all()
    assert (np.diff(moe.idle_probability(sizes, 256, 8)) < 0).all()


def test_far_tail_is_zero_and_never_negative():
    dropped = moe.dropped_fraction(np.geomspace(1, 1e8, 60).round(), 64, 8, 1.25)
    assert (dropped >= 0).all() and dropped[-1] == 0 and np.isfinite(dropped).all()


def test_a_hundred_million_tokens_are_fast_and_finite():
    start = time.perf_counter()
    dropped = moe.dropped_fraction(np.full(100, 10**8), 256, 8, 1.0)
    table = moe.load_distribution(10**8, 256, 8)
    assert time.perf_counter() - start < 0.5
    assert np.isfinite(dropped).all() and np.isfinite(table["probability"]).all()
    assert moe.idle_probability(10**8, 256, 8) == 0


@pytest.mark.parametrize(
    "cv, experts, top_k, routed",
    [  # measured CVs against the routed tokens at which noise alone gives them: Mixtral (8, 2), OLMoE (64, 8)
        (0.04, 8, 2, 1875),
        (0.18, 8, 2, 92.6),
        (0.30, 64, 8, 77.8),
        (1.35, 64, 8, 3.84),
    ],
)
def test_sampling_noise_equals_measured_structure_at_few_tokens(cv, experts, top_k, routed):
    assert_allclose(moe.min_routed_tokens_for_cv(cv, experts, top_k), routed, rtol=1e-3)


def test_routed_tokens_for_a_cv_invert_it():
    assert_allclose(moe.min_routed_tokens_for_cv(moe.expert_load_cv(SIZES, 256, 8), 256, 8), SIZES)


def test_four_times_the_tokens_halve_the_cv():
    assert_allclose(moe.expert_load_cv(4 * SIZES, 64, 8), moe.expert_load_cv(SIZES, 64, 8) / 2)


def test_swapped_experts_and_top_k_give_another_number():
    assert moe.tokens_per_expert(4096, 256, 8) != moe.tokens_per_expert(4096, 8, 256)
    assert moe.dropped_fraction(4096, 64, 2, 1) != moe.dropped_fraction(64, 4096, 2, 1)


def test_distribution_of_few_tokens_is_complete():
    table = moe.load_distribution(512, 256, 8)
    assert_allclose(table["probability"].sum(), 1, rtol=1e-5)
    mean = (table["load"] * table["probability"]).sum()
    assert_allclose(mean, 16, rtol=1e-5)
    spread = ((table["load"] - mean) ** 2 * table["probability"]).sum()
    assert_allclose(spread, moe.expert_load_variance(512, 256, 8), rtol=1e-4)


@pytest.mark.parametrize("routed", [16, 4096, 98_304, 10**8])
def test_distribution_has_at_most_200_rows_around_the_mean(routed):
    table = moe.load_distribution(routed, 64, 8)
    assert list(table) == ["load", "probability"] and 1 < len(table) <= 200
    assert table["load"].iloc[0] >= 0 and table["load"].iloc[-1] <= routed
    spacing = table["load"].diff().iloc[1]
    assert_allclose(table["probability"].sum() * spacing, 1, rtol=1e-3)
    assert_allclose(table["load"][table["probability"].idxmax()], routed / 8, atol=spacing)


@pytest.mark.parametrize(
    "device, width, hidden, tokens",
    [
        ("h200", 7168, 2048, 236.7),  # DeepSeek-V3, Kimi K2
        ("h100", 7168, 2048, 362.4),
        ("b200", 7168, 2048, 341.6),
        ("h100", 4096, 14336, 325.4),  # Mixtral 8x7B
        ("h100", 4096, 1536, 401.3),  # Qwen3-235B-A22B
    ],
)
def test_tokens_for_a_compute_bound_expert(device, width, hidden, tokens):
    assert_allclose(roofline.compute_bound_tokens(BALANCE[device], width, hidden), tokens, rtol=3e-4)


def test_intensity_of_256_tokens_in_deepseek_v3():
    assert_allclose(roofline.matmul_intensity(256, 7168, 2048), 220.55, rtol=0, atol=5.01e-3)


def test_intensity_is_flops_over_bytes():
    m, d, f = 100, 512, 2048
    assert_allclose(roofline.matmul_intensity(m, d, f), 2 * m * d * f / (2 * (m * d + d * f + m * f)))


def test_compute_bound_tokens_invert_the_intensity():
    tokens = np.array([1, 64, 300, 5000])
    intensity = roofline.matmul_intensity(tokens, 4096, 1536)
    assert_allclose(roofline.compute_bound_tokens(intensity, 4096, 1536), tokens)


def test_large_matrices_need_the_machine_balance_in_tokens():
    assert_allclose(roofline.compute_bound_tokens(206.0, np.inf, np.inf), 206)
    assert_allclose(roofline.matmul_intensity(206.0, np.inf, np.inf), 206)


def test_matrices_too_small_for_the_machine_are_never_compute_bound():
    assert roofline.compute_bound_tokens(300.0, 256, 256) == np.inf


@pytest.mark.parametrize(
    "function, args",
    [
        (moe.tokens_per_expert, (256, 8)),
        (moe.expert_load_variance, (256, 8)),
        (moe.expert_load_covariance, (256, 8)),
        (moe.expert_load_cv, (256, 8)),
        (moe.expert_capacity, (256, 8, 1.25)),
        (moe.dropped_fraction, (256, 8, 1.25)),
        (moe.idle_probability, (256, 8)),
        (moe.expected_idle_experts, (256, 8)),
        (moe.max_load, (256, 8)),
        (roofline.matmul_intensity, (7168, 2048)),
        (roofline.compute_bound_tokens, (7168, 2048)),
        (moe.min_routed_tokens_for_cv, (256, 8)),
    ],
)
def test_series_arrays_and_scalars_agree(function, args):
    expected = [function(int(size), *args) for size in SIZES]
    assert_allclose(function(SIZES, *args), expected)
    series = function(pd.Series(SIZES, index=list("abcd")), *args)
    assert list(series.index) == list("abcd")
    assert_allclose(series, expected)
