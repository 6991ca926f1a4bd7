import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import moe, moe_matmul, presets, roofline
from bsmath.moe_matmul import (
    block_padding,
    capacity_padding,
    expert_share,
    expert_slowdown,
    mean_block_padding,
    peak_share,
    preset_answer,
    step_slowdown,
    tokens_per_matmul,
)

H100 = 989e12 / 3.35e12
DEEPSEEK = (256, 8, 7168, 2048)


@pytest.mark.parametrize(
    "model, accelerator, tokens",
    [
        ("deepseek_v3", "h200_sxm", 236.7),
        ("deepseek_v3", "h100_sxm", 362.4),
        ("deepseek_v3", "b200_sxm", 341.6),
        ("kimi_k2", "h100_sxm", 362.4),
        ("mixtral_8x7b", "h100_sxm", 325.4),
        ("qwen3_235b_a22b", "h100_sxm", 401.3),
    ],
)
def test_least_tokens_of_a_compute_bound_expert(model, accelerator, tokens):
    arch, device = presets.models()[model].architecture, presets.hardware()[accelerator]
    balance = roofline.machine_balance(device.peak_flops, device.memory_bandwidth)
    least = roofline.compute_bound_tokens(balance, arch.hidden_size, arch.expert_ffn_size)
    assert_allclose(least, tokens, atol=0.05)
    assert_allclose(peak_share(least, arch.hidden_size, arch.expert_ffn_size, balance), 1)


def test_256_tokens_of_a_deepseek_expert_have_an_intensity_of_220_55():
    assert_allclose(roofline.matmul_intensity(256, 7168, 2048), 220.55, atol=0.005)
    assert_allclose(peak_share(256, 7168, 2048, H100), 220.55 / H100, rtol=1e-4)


def test_all_three_matmuls_of_training_have_one_intensity():
    m, d, f = 256, 7168, 2048
    assert_allclose([roofline.matmul_intensity(*s) for s in ((m, f, d), (d, m, f))], roofline.matmul_intensity(m, d, f))


def test_one_sequence_gives_a_deepseek_expert_128_tokens_and_64_replicas_8192():
    assert tokens_per_matmul(1, 4096, 1, 256, 8) == 128
    assert tokens_per_matmul(1, 4096, 64, 256, 8) == 8192


def test_padding_to_capacity_costs_the_capacity_factor_if_nothing_is_dropped():
    assert_allclose(capacity_padding(160, 4096, 256, 8), 1.25)


def test_dropped_tokens_are_not_useful_work():
    capacity, dropped = moe.expert_capacity(4096, 256, 8, 1.0), moe.dropped_fraction(4096, 256, 8, 1.0)
    assert_allclose(capacity_padding(capacity, 4096, 256, 8, dropped), 1 / (1 - 0.03468390), rtol=1e-7)


def test_a_load_fills_whole_blocks():
    assert block_padding(128) == 1
    assert_allclose(block_padding(np.array([1, 129, 192])), [128, 256 / 129, 256 / 192])


def test_mean_block_padding_matches_a_simulation():
    loads = np.random.default_rng(0).binomial(4096, 8 / 256, 200_000)
    assert_allclose(mean_block_padding(4096, 256, 8), np.ceil(loads / 128).sum() * 128 / loads.sum(), rtol=5e-3)


def test_a_mean_of_exactly_one_block_still_fills_about_one_and_a_half():
    assert 1.4 < mean_block_padding(4096, 256, 8) < 1.6


def test_mean_block_padding_is_half_a_block_for_large_loads_and_nothing_for_blocks_of_one():
    assert_allclose(mean_block_padding(2**20, 64, 8), 1 + 128 / 2 / 2**17, rtol=1e-5)
    assert_allclose(mean_block_padding(4096, 256, 8, block=1), 1)


def test_an_expert_far_below_the_bound_takes_the_time_of_reading_its_weights():
    # One token each: 2 d f bytes at the bandwidth against 2 d f FLOPs at the peak is the balance.
    assert_allclose(expert_slowdown(32, *DEEPSEEK, H100), H100, rtol=1e-3)


def test_enough_tokens_cost_nothing_and_then_padding_counts_in_full():
    assert expert_slowdown(4096 * 64, *DEEPSEEK, H100) == 1
    assert_allclose(expert_slowdown(4096 * 64, *DEEPSEEK, H100, padding=1.25), 1.25)


def test_slowdown_is_the_roofline_time_of_the_padded_matmul():
    d, f, peak, bandwidth = 7168, 2048, 989e12, 3.35e12
    for padding in (1.0, 1.5, 8.0):
        rows = 128 * padding
        time = max(2 * rows * d * f / peak, 2 * (rows * d + d * f + rows * f) / bandwidth)
        ideal = 2 * 128 * d * f / peak
        assert_allclose(expert_slowdown(4096, *DEEPSEEK, H100, padding), time / ideal)


def test_padding_hardly_costs_while_weights_take_the_time():
    unpadded = expert_slowdown(512, *DEEPSEEK, H100)
    assert unpadded < expert_slowdown(512, *DEEPSEEK, H100, padding=2.0) < 1.02 * unpadded


def test_more_tokens_never_slow_the_experts():
    assert (np.diff(expert_slowdown(np.geomspace(32, 1e6, 50), *DEEPSEEK, H100)) <= 0).all()


def test_series_arrays_and_scalars_agree():
    tokens = [128.0, 4096, 1e6]
    expected = [expert_slowdown(m, *DEEPSEEK, H100) for m in tokens]
    assert_allclose(expert_slowdown(np.array(tokens), *DEEPSEEK, H100), expected)
    assert_allclose(expert_slowdown(pd.Series(tokens), *DEEPSEEK, H100), expected)


def test_a_step_slows_by_the_share_of_its_experts():
    assert step_slowdown(2.5, 0.0) == 1
    assert step_slowdown(2.5, 1.0) == 2.5
    assert step_slowdown(3.0, 0.5) == 2.0


def test_share_of_the_experts_from_hand_counted_dimensions():
    mixtral = presets.models()["mixtral_8x7b"].architecture
    experts = 32 * 2 * 3 * 4096 * 14_336
    attention = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024)
    assert_allclose(expert_share(mixtral), experts / (experts + attention + 32 * 4096 * 8 + 32_000 * 4096))
    assert expert_share(mixtral, 4096) < expert_share(mixtral)
    assert expert_share(presets.models()["llama_2_7b"].architecture) == 0


def test_answer_for_one_sequence_of_deepseek_v3_on_an_h100():
    assert preset_answer("deepseek_v3", 1, 4096, 1, 15_360 * 4096, "h100_sxm") == (
        "4,096 tokens routed together give each expert 128 on average, below the 362 from which the matmul can be "
        "compute-bound on this accelerator: it is memory-bound, at most 40% of the peak, unless a larger micro-batch "
        "or expert parallelism gathers 2.83 times as many. In a whole step each expert sees 1.97M: not too small for "
        "its gradient as far as published runs tell, which go down to 512 (Switch-C)."
    )


@pytest.mark.parametrize(
    "model, replicas, part",
    [
        ("deepseek_v3", 64, "give each expert 8,192 on average, enough for a compute-bound matmul"),
        ("mixtral_8x7b", 1, "give each expert 1,024 on average, enough for a compute-bound matmul"),
        ("olmoe_1b_7b", 1, "give each expert 512 on average, below the 520"),  # 1/(1/295.2 - 1/2048 - 1/1024)
        ("olmoe_1b_7b", 1, "each expert sees 524k"),
    ],
)
def test_answer_for_published_models(model, replicas, part):
    assert part in preset_answer(model, 1, 4096, replicas, 1024 * 4096, "h100_sxm")


def test_few_tokens_in_a_whole_step_are_said_to_be_few():
    assert "sees 16, fewer than the 512" in moe_matmul.answer(512, 512, *DEEPSEEK, H100)


def test_narrow_experts_are_memory_bound_with_any_number_of_tokens():
    assert "memory-bound with any number" in moe_matmul.answer(1e6, 1e6, 64, 8, 500, 500, H100)


def test_unknown_and_dense_models_and_accelerators_are_named():
    with pytest.raises(ValueError, match="name must be one of .*deepseek_v3.*, got 'llama_2_7b'"):
        preset_answer("llama_2_7b", 1, 4096, 1, 1e6, "h100_sxm")
    with pytest.raises(ValueError, match="accelerator must be one of .*h100_sxm.*, got 'abacus'"):
        preset_answer("deepseek_v3", 1, 4096, 1, 1e6, "abacus")
