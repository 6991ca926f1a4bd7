"""Numbers of the fact sheet on ramps and published batches (its sections 1.5, 3.2, 3.11, 3.12 and 4) that no other test holds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from bsmath import batch, branching, critical, flops, lr, presets, progress, published_ramps, ramp, throughput
from bsmath.critical_laws import merrill_plateau

# First to last batch and the thresholds between, in tokens as printed; a single threshold of a gradual rise is its end.
RAMPS = {
    "gpt_3_175b": ([32e3, 3.2e6], [12e9]),
    "gopher_280b": ([3e6, 6e6], [150e9]),
    "chinchilla_70b": ([1.5e6, 3e6], [700e9]),
    "mt_nlg_530b": ([65.5e3, 3.93e6], [12e9]),
    "palm_540b": ([1.05e6, 2.10e6, 4.19e6], [52.4e9, 188.7e9]),
    "bloom_176b": ([0.39e6, 4.19e6], [20.0e9]),
    "llama_3_1_405b": ([2**22, 2**23, 2**24], [252e6, 2.87e12]),
    "deepseek_v2": ([9.4e6, 37.7e6], [225e9]),
    "deepseek_v3": ([12.6e6, 62.9e6], [469e9]),
    "moonlight_16b": ([16.8e6, 33.6e6], [200e9]),
    "minicpm_1_2b": ([2e6, 4e6], [500e9]),  # of the 1.2B model; the 2.4B one has 4M throughout
    "nemotron_4_340b": ([3.15e6, 6.29e6, 9.44e6], [200e9, 400e9]),
    "olmo_1b_warmup": ([4.19e6, 8.39e6, 16.8e6], [168e9, 503e9]),
    "minimax_01": ([16e6, 32e6, 64e6, 128e6], [69e9, 790e9, 4.7e12]),
    "glm_4_5": ([16e6, 64e6], [500e9]),
    "llama_2_7b": ([2**22], []),
    "kimi_k2": ([67e6], []),
    "olmo_3_32b": ([8.39e6], []),
}


@pytest.mark.parametrize("key", RAMPS)
def test_published_ramps_have_the_printed_batches_and_thresholds(key):
    (sizes, thresholds), found = RAMPS[key], published_ramps.ramps()[key].ramp
    gradual = len(found.tokens) != len(sizes) or found.first[0] != found.last[0]
    assert_allclose([found.first[0], found.end] if gradual else found.first, sizes, rtol=0.01)
    assert_allclose([found.length] if gradual else found.tokens[1:], thresholds, rtol=2e-3)


def test_every_published_ramp_has_its_row_here():
    assert RAMPS.keys() | {"llama_3_1_405b_252b"} == published_ramps.ramps().keys()


@pytest.mark.parametrize(
    "sequences, seq_len, tokens",
    [
        (720, 2048, 1.47e6), (1080, 2048, 2.21e6),  # Cerebras-GPT 13B
        (2304, 4096, 9.44e6), (4608, 4096, 18.9e6),  # DeepSeek LLM 7B and 67B
        (512, 2048, 1.05e6), (32, 2048, 65.5e3), (192, 2048, 0.393e6), (4096, 4096, 16.8e6), (1024, 2048, 2.10e6),
    ],
)  # fmt: skip
def test_published_sequences_are_the_published_tokens(sequences, seq_len, tokens):
    assert_allclose(batch.tokens_per_step(sequences, seq_len), tokens, rtol=4e-3)


@pytest.mark.parametrize(
    "key, rate",
    [
        ("gpt_3_175b", 6e-5), ("gopher_280b", 4e-5), ("chinchilla_70b", 1e-4), ("mt_nlg_530b", 5e-5), ("bloom_176b", 6e-5),
        ("llama_2_7b", 3e-4), ("llama_3_1_405b", 8e-5), ("deepseek_llm_67b", 3.2e-4), ("deepseek_v2", 2.4e-4),
        ("deepseek_v3", 2.2e-4), ("olmo_2_7b", 3e-4),
    ],
)  # fmt: skip
def test_published_runs_have_the_printed_peak_rate(key, rate):
    assert presets.runs()[key].fields["learning_rate"] == rate


def test_the_warmup_of_mt_nlg_is_a_billion_tokens():
    assert presets.runs()["mt_nlg_530b"].fields["warmup_tokens"] == 1e9


HOUR = 3600
H100, A100, V4 = (presets.hardware()[key].peak_flops for key in ("h100_sxm", "a100_80_sxm", "tpu_v4"))


@pytest.mark.parametrize(
    "tokens_per_second, params, peak, per_device, mfu",
    [
        (15.6e12 / (30.84e6 * HOUR), 405e9, H100, 140.5, 0.346),  # Llama 3.1, from its GPU-hours
        (14.8e12 / (2.664e6 * HOUR), 37e9, H100, 1543, 0.346),  # DeepSeek-V3, of the BF16 peak
        (65.43e3 / 2240, 530e9, A100, 29.2, 0.297),  # MT-NLG
        (1920 * 2048 / 60.1 / 2240, 530e9, A100, 29.2, 0.297),  # from its 60.1 s per step
        (238.3e3 / 6144, 540e9, V4, 38.8, 0.457),  # PaLM, without attention
    ],
)
def test_published_speeds_per_device_and_their_mfu(tokens_per_second, params, peak, per_device, mfu):
    assert_allclose(tokens_per_second, per_device, rtol=1.5e-3)
    assert_allclose(flops.mfu(tokens_per_second, flops.flops_per_token(params), peak, 1), mfu, rtol=3e-3)


@pytest.mark.parametrize(
    "sequences, replicas, seconds, rate, mfu",
    [(768, 16, 10.3, 199, 0.424), (1536, 32, 10.3, 199, 0.423), (2304, 64, 8.0, 192, 0.410)],
)
def test_nemotron_s_steps_give_its_speeds_and_within_half_a_point_its_mfu(sequences, replicas, seconds, rate, mfu):
    per_device = sequences * 4096 / seconds / (96 * replicas)
    assert_allclose(per_device, rate, rtol=2e-3)
    work = flops.flops_per_token(340e9) + flops.attention_flops_per_token(96, 96, 192, 4096)
    assert_allclose(flops.mfu(per_device, work, H100, 1), mfu, rtol=0, atol=0.005)  # attention counted whole


def test_bloom_s_hardware_flops_are_its_hfu_and_three_quarters_of_them_its_mfu():
    assert_allclose(149.8e12 / A100, 0.48, atol=5e-4)
    assert_allclose(149.8e12 / A100 * 3 / 4, presets.runs()["bloom_176b"].fields["mfu"], atol=5e-4)


def test_the_course_of_svhn_has_gamma_24_25ths_by_the_spread_of_its_root():
    """gamma = 1/(1 + Var(sqrt B_n)/E[sqrt B_n]^2) over full-batch steps s, B_n = 10 sqrt(s) (McCandlish et al. 2018, app. D)."""
    s = (np.arange(200_000) + 0.5) / 200_000
    root = np.sqrt(10 * np.sqrt(s))
    assert_allclose(1 / (1 + root.var() / root.mean() ** 2), 24 / 25, rtol=1e-5)
    useful = 10 * s**1.5 / 1.5  # du = B_n ds
    course = ramp.through(useful[[0, -1]], 10 * np.sqrt(s[[0, -1]]))
    assert_allclose(progress.gamma(course, useful[-1]), 24 / 25, rtol=1e-3)


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_the_natural_exchange_rate_has_both_overheads_one_plus_root_gamma(power):
    s = (np.arange(20_000) + 0.5) / 20_000
    noise = s**power
    least_steps, least_tokens = 1.0, noise.mean()
    followed = np.sqrt(least_tokens / least_steps * noise)
    steps, tokens = (1 + noise / followed).mean(), (noise + followed).mean()  # dS and dE of eq. D.1
    gamma = (1 + power) / (1 + power / 2) ** 2
    assert_allclose([steps, tokens / least_tokens], 1 + np.sqrt(gamma), rtol=1e-3)
    assert_allclose((steps - 1) * (tokens / least_tokens - 1), gamma, rtol=1e-3)


def test_merrill_s_rate_and_plateau():
    base = lr.square_root(2**22, 4e-4, 2**21)
    assert_allclose(base, 5.66e-4, rtol=1e-3)
    assert_allclose(lr.square_root(2**24, base, 2**22), 2 * base)  # two doublings
    assert merrill_plateau() == 4096 * 4096 == published_ramps.ramps()["olmo_1b_warmup"].ramp.end
    assert branching.PUBLISHED_TOLERANCE == 0.01


def test_the_fixed_large_batch_saves_75_percent_and_the_fixed_small_one_nothing():
    found = published_ramps.ramps()["olmo_1b_warmup"]
    steps = found.ramp.first[0] / found.ramp.first
    assert_allclose(1 - steps, [0, 0.5, 0.75])


def test_seesaw_s_quarter_cosine_as_a_ramp_saves_36_percent():
    """B_0/cos(pi x/2), held where it would be a thousand times its start."""
    x = np.linspace(0, 1, 2001)[1:]
    sizes = np.minimum(1e5 / np.maximum(np.cos(np.pi * x / 2), 1e-9), 1e8)
    saved = 1 - ramp.through(x * 1e11, sizes).steps(1e11) / 1e6
    assert_allclose(saved, 1 - 2 / np.pi, atol=1e-4)
    assert_allclose(saved, 0.36338, atol=1e-4)


def test_the_least_time_has_its_closed_form_at_the_geometric_mean():
    """T_min = S_min (sqrt(t0) + sqrt(c B_crit))^2 at sqrt(B_half B_crit), found by minimizing."""
    fixed, limit, knee = 0.05, 136_700, 1e6
    found = optimize.minimize_scalar(
        lambda log: critical.steps_to_target(np.exp(log), knee, 1) * throughput.step_time(np.exp(log), fixed, limit),
        bounds=(np.log(1e3), np.log(1e7)), method="bounded",
    )  # fmt: skip
    assert_allclose(np.exp(found.x), 82_674, rtol=1e-3)
    assert_allclose(found.fun, (np.sqrt(fixed) + np.sqrt(knee / limit)) ** 2, rtol=1e-9)
    assert_allclose(found.fun, 8.5749, rtol=1e-5)
