"""FLOP formulas: published runs to the last digit given, the founding question, limits and inverses."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.flops import (
    active_params,
    active_params_with_attention,
    attention_flops_per_token,
    attention_share,
    flops_per_token,
    hfu,
    megatron_flops_per_step,
    mfu,
    mfu_headroom,
    tokens_per_second,
    training_days,
)

PALM = {"num_layers": 118, "num_heads": 48, "head_dim": 256, "seq_len": 2048}  # Chowdhery et al. 2022, table 1
GPT_3 = {"num_layers": 96, "hidden_size": 12_288, "seq_len": 2048, "vocab_size": 51_200}
MT_NLG = {"num_layers": 105, "hidden_size": 20_480, "seq_len": 2048, "vocab_size": 51_200}
FOUNDING = 136_700, 0.66, 989e12, 1  # tokens/s, MFU, dense BF16 peak of one H200, devices


def test_founding_question_implies_0_8b_parameters():
    assert_allclose(active_params(136_700, 0.66, 989e12, 1), 7.958e8, rtol=1e-4)
    assert_allclose(active_params(136_700, 0.66, 989.4e12, 1), 7.962e8, rtol=1e-4)


def test_sparse_peak_would_double_the_parameters():
    assert_allclose(active_params(136_700, 0.66, 1979e12, 1), 1.592e9, rtol=1e-3)


def test_founding_question_implies_fewer_parameters_if_its_mfu_counts_attention():
    attention = attention_flops_per_token(num_layers=24, num_heads=12, head_dim=128, seq_len=2048)
    assert_allclose(active_params_with_attention(*FOUNDING, attention), 6.448e8, rtol=1e-4)


@pytest.mark.parametrize("seq_len, seconds", [(1024, 0.3596), (2048, 0.7191), (4096, 1.4382)])
def test_step_of_the_founding_run_takes_as_long_as_its_sequences(seq_len, seconds):
    _, utilization, peak, devices = FOUNDING
    rate = tokens_per_second(utilization, flops_per_token(active_params(*FOUNDING)), peak, devices)
    assert_allclose(48 * seq_len / rate, seconds, atol=5e-5)


def test_founding_run_could_be_1_22_times_faster_at_most():
    assert_allclose(mfu_headroom(0.66, 794.5 / 989), 1.22, atol=0.005)


def test_palm_spends_36_gigaflop_a_token_on_attention():
    attention = attention_flops_per_token(**PALM)
    assert_allclose(attention, 3.5635e10, rtol=1e-5)
    assert_allclose(flops_per_token(540.35e9) + attention, 3.27773e12, rtol=2e-6)


@pytest.mark.parametrize(
    "rate, work, peak, devices, expected, atol",
    [
        (238.3e3, 3.27773e12, 275e12, 6144, 0.46229, 1e-5),  # PaLM 540B, Chowdhery et al. 2022, app. B
        (238.3e3, flops_per_token(540e9), 275e12, 6144, 0.45697, 1e-5),  # without attention
        (1920 * 2048 / 60.1, flops_per_token(530e9), 312e12, 2240, 0.29772, 3e-5),  # MT-NLG 530B
        (1920 * 2048 / 60.1, megatron_flops_per_step(1, **MT_NLG), 312e12, 2240, 0.30239, 1e-5),
        (10_475, flops_per_token(6.6589e9) + attention_flops_per_token(32, 32, 128, 2048), 989.5e12, 1, 0.457, 5e-4),
    ],  # the last is llm-foundry's MPT-7B on 128 H100, per device
)
def test_published_mfu(rate, work, peak, devices, expected, atol):
    assert_allclose(mfu(rate, work, peak, devices), expected, rtol=0, atol=atol)


def test_gpt_3_needs_1_05e12_flops_a_token_and_more_by_the_fuller_counts():
    assert_allclose(flops_per_token(175e9), 1.05e12)
    assert_allclose(megatron_flops_per_step(1, **GPT_3), 1.0764e12, rtol=5e-5)
    assert_allclose(megatron_flops_per_step(1, **GPT_3, full_recompute=True), 1.4340e12, rtol=5e-5)


def test_gpt_3_trains_34_days():
    # Narayanan et al. 2021, section 5.1: 300 billion tokens on 1,024 A100 at 140 TFLOP/s each.
    assert_allclose(training_days(300e9, 175e9, 1024, 140e12), 33.91, atol=0.005)


def test_without_recomputation_the_same_hardware_rate_trains_in_three_quarters_of_the_time():
    days = training_days(300e9, 175e9, 1024, 140e12)
    assert_allclose(training_days(300e9, 175e9, 1024, 140e12, full_recompute=False), 0.75 * days)


def test_training_days_are_tokens_over_the_rate_at_that_utilization():
    rate = tokens_per_second(0.4, flops_per_token(7e9), 312e12, 64)
    assert_allclose(training_days(1e12, 7e9, 64, 0.4 * 312e12, full_recompute=False), 1e12 / rate / 86_400)


def test_megatron_counts_6n_attention_and_logits():
    layers, hidden, seq_len, vocab = GPT_3.values()
    attention = attention_flops_per_token(layers, 96, 128, seq_len)
    parts = flops_per_token(12 * layers * hidden**2) + attention + flops_per_token(hidden * vocab)
    assert_allclose(megatron_flops_per_step(1, **GPT_3), parts)


def test_megatrons_recomputation_adds_a_third_of_all_but_the_logits():
    plain, full = (megatron_flops_per_step(4e6, **GPT_3, full_recompute=again) for again in (False, True))
    logits = 4e6 * 6 * 12_288 * 51_200
    assert_allclose(full, plain + (plain - logits) / 3)


def test_megatrons_flops_are_proportional_to_the_batch():
    assert_allclose(megatron_flops_per_step(1920 * 2048, **MT_NLG), 1920 * 2048 * megatron_flops_per_step(1, **MT_NLG))


def test_causal_attention_counts_half():
    assert_allclose(attention_flops_per_token(**PALM, causal=True), attention_flops_per_token(**PALM) / 2)


def test_attention_with_narrower_values_counts_both_widths():
    shape = {"num_layers": 61, "num_heads": 128, "head_dim": 192, "seq_len": 4096}  # DeepSeek-V3
    assert_allclose(attention_flops_per_token(**shape, value_head_dim=128), 6 * 61 * 128 * (192 + 128) * 4096)
    assert_allclose(attention_flops_per_token(**shape, value_head_dim=192), attention_flops_per_token(**shape))


@pytest.mark.parametrize("seq_len, width", [(2048, 4096), (8192, 8192), (32_768, 4096)])
def test_attention_share_is_an_eighth_of_sequence_over_width(seq_len, width):
    # Scaling book: T/(8 D) of the matmul FLOPs, with F = 4 D and a gated MLP: 4 D^2 + 12 D^2 a layer.
    attention = attention_flops_per_token(32, width // 128, 128, seq_len)
    assert_allclose(attention_share(attention, 32 * 16 * width**2), seq_len / (8 * width))


def test_mfu_and_parameters_invert_each_other():
    assert_allclose(mfu(5e4, flops_per_token(active_params(5e4, 0.4, 312e12, 8)), 312e12, 8), 0.4)


def test_mfu_and_rate_invert_each_other():
    assert_allclose(mfu(tokens_per_second(0.4, 4.2e10, 312e12, 8), 4.2e10, 312e12, 8), 0.4)


def test_parameters_with_and_without_attention_agree_when_attention_is_free():
    assert_allclose(active_params_with_attention(*FOUNDING, 0), active_params(*FOUNDING))


def test_parameters_with_attention_give_back_the_mfu():
    attention = attention_flops_per_token(24, 12, 128, 2048)
    work = flops_per_token(active_params_with_attention(*FOUNDING, attention)) + attention
    assert_allclose(mfu(136_700, work, 989e12, 1), 0.66)


def test_attention_that_exceeds_the_mfu_leaves_no_parameters():
    assert active_params_with_attention(*FOUNDING, attention_flops_per_token(24, 12, 128, 131_072)) < 0


def test_hfu_exceeds_mfu_by_the_work_done_twice():
    # Full recomputation without logits: 8N executed for 6N counted.
    assert_allclose(hfu(5e4, 8 * 7e9, 312e12, 16) / mfu(5e4, 6 * 7e9, 312e12, 16), 4 / 3)


def test_series_arrays_and_scalars_agree():
    lengths = np.array([1024.0, 2048.0, 8192.0])
    expected = [attention_flops_per_token(96, 96, 128, length) for length in lengths]
    assert_allclose(attention_flops_per_token(96, 96, 128, lengths), expected)
    assert_allclose(attention_flops_per_token(96, 96, 128, pd.Series(lengths)), expected)
    assert_allclose(tokens_per_second(0.4, np.array(expected), 312e12, 8), [0.4 * 8 * 312e12 / e for e in expected])
    steps = megatron_flops_per_step(lengths, 96, 12_288, lengths, 51_200)
    assert_allclose(steps, [megatron_flops_per_step(length, 96, 12_288, length, 51_200) for length in lengths])


@pytest.mark.parametrize(
    "params, layers, width, rate, peak, published",
    [  # https://github.com/mosaicml/llm-foundry/tree/main/scripts/train/benchmarking, sequences of 2,048, tokens/s of one device
        (6_658_859_008, 32, 4096, 10_643, 989e12, 0.464),
        (6_658_859_008, 32, 4096, 4_641, 312e12, 0.642),
        (6_658_859_008, 32, 4096, 9_670, 989e12, 0.422),
        (1_315_950_592, 24, 2048, 45_455, 989e12, 0.418),
    ],
)
def test_mfu_of_llm_foundry_counts_attention_in_full(params, layers, width, rate, peak, published):
    attention = attention_flops_per_token(layers, 1, width, 2048)
    assert_allclose(mfu(rate, 6 * params + attention, peak, 1), published, atol=8e-4)
    assert mfu(rate, 6 * params, peak, 1) < published - 0.01
