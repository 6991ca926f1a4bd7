"""FLOPs from dimensions: the closed forms they must equal, and what each kind of recomputation adds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import presets
from bsmath.architecture import Architecture, matmul_params
from bsmath.exact_flops import (
    RECOMPUTE,
    ModelFlops,
    exact_flops_per_token,
    hardware_flops_per_token,
    recompute_factor,
)
from bsmath.flops import hfu, megatron_flops_per_step, mfu

ARCHITECTURES = {key: model.architecture for key, model in presets.models().items() if model.architecture is not None}
GPT_3 = {"num_layers": 96, "hidden_size": 12_288, "vocab_size": 50_257}


@pytest.mark.parametrize("recompute, full", [("none", False), ("full", True)])
def test_gpt_3_has_the_flops_of_megatrons_formula(recompute, full):
    exact = exact_flops_per_token(ARCHITECTURES["gpt_3_175b"], 2048)
    expected = megatron_flops_per_step(1, **GPT_3, seq_len=2048, full_recompute=full)
    assert_allclose(hardware_flops_per_token(exact, recompute), expected)


def test_gpt_3_needs_1_0764e12_flops_a_token_and_1_4340e12_with_full_recomputation():
    exact = exact_flops_per_token(ARCHITECTURES["gpt_3_175b"], 2048)
    assert_allclose(exact.total, 1.0764e12, rtol=5e-5)
    assert_allclose(hardware_flops_per_token(exact, "full"), 1.4340e12, rtol=1e-4)


def test_palm_spends_on_attention_what_its_paper_counts():
    assert_allclose(exact_flops_per_token(ARCHITECTURES["palm_540b"], 2048).attention, 3.5635e10, rtol=1e-5)


def test_llama_3_1_8b_can_be_counted_by_hand():
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336
    exact = exact_flops_per_token(ARCHITECTURES["llama_3_1_8b"], 8192)
    assert exact == ModelFlops(linear=6 * 32 * layer, attention=12 * 32 * 4096 * 8192, logits=6 * 4096 * 128_256)


def test_mixtral_counts_two_of_its_eight_experts():
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 8 * 4096 + 2 * 3 * 4096 * 14_336
    assert exact_flops_per_token(ARCHITECTURES["mixtral_8x7b"], 4096).linear == 6 * 32 * layer


def test_deepseek_v3_counts_keys_of_192_and_values_of_128():
    assert exact_flops_per_token(ARCHITECTURES["deepseek_v3"], 4096).attention == 6 * 61 * 128 * (192 + 128) * 4096


@pytest.mark.parametrize("key", ARCHITECTURES)
def test_without_attention_the_total_is_6n(key):
    arch = ARCHITECTURES[key]
    assert exact_flops_per_token(arch, 0).total == 6 * matmul_params(arch)


@pytest.mark.parametrize("key", ARCHITECTURES)
def test_recomputation_costs_more_the_more_of_it_there_is_and_never_over_a_third(key):
    exact = exact_flops_per_token(ARCHITECTURES[key], 4096)
    factors = [recompute_factor(exact, recompute) for recompute in ("none", "selective", "full")]
    assert factors[0] == 1
    assert factors == sorted(set(factors))
    assert factors[-1] < 4 / 3


def test_full_recomputation_without_logits_costs_a_third():
    assert_allclose(recompute_factor(ModelFlops(linear=6e9, attention=1e9, logits=0), "full"), 4 / 3)


def test_palm_recomputed_only_a_part():
    # Reported HFU 57.8 % and MFU 46.2 % (Chowdhery et al. 2022, app. B): 1.25, below full recomputation's 1.33.
    published = 57.8 / 46.2
    assert_allclose(published, 1.25, atol=0.005)
    exact = exact_flops_per_token(ARCHITECTURES["palm_540b"], 2048)
    assert recompute_factor(exact, "selective") < published < recompute_factor(exact, "full")


def test_selective_recomputation_repeats_the_forward_pass_of_the_scores():
    exact = exact_flops_per_token(ARCHITECTURES["gpt_3_175b"], 2048)
    forward = 4 * 96 * 12_288 * 2048  # 2 h T for the scores and 2 h T for the values, in each layer
    assert_allclose(hardware_flops_per_token(exact, "selective") - exact.total, forward)


def test_hfu_is_mfu_times_executed_over_model_flops():
    exact = exact_flops_per_token(ARCHITECTURES["llama_3_1_8b"], 8192)
    for recompute in RECOMPUTE:
        job = 989e12, 64
        executed = hfu(5e5, hardware_flops_per_token(exact, recompute), *job)
        assert_allclose(executed, mfu(5e5, exact.total, *job) * recompute_factor(exact, recompute))


def test_causal_counting_halves_attention_and_nothing_else():
    arch = ARCHITECTURES["llama_3_1_8b"]
    whole, half = exact_flops_per_token(arch, 8192), exact_flops_per_token(arch, 8192, causal=True)
    assert half == ModelFlops(linear=whole.linear, attention=whole.attention / 2, logits=whole.logits)


def test_grouped_keys_and_tied_embeddings_change_no_attention_and_no_logits():
    dims = {"num_layers": 2, "hidden_size": 64, "num_heads": 4, "vocab_size": 100, "ffn_size": 256}
    plain = exact_flops_per_token(Architecture(**dims), 128)
    shared = exact_flops_per_token(Architecture(**dims, num_kv_heads=1, tied_embeddings=True), 128)
    assert (shared.attention, shared.logits) == (plain.attention, plain.logits)
    assert plain.linear - shared.linear == 6 * 2 * 2 * 64 * 3 * 16


def test_arrays_of_lengths_and_scalars_agree():
    arch, lengths = ARCHITECTURES["llama_3_1_8b"], np.array([1024, 8192, 131_072])
    for recompute in RECOMPUTE:
        expected = [hardware_flops_per_token(exact_flops_per_token(arch, n), recompute) for n in lengths]
        assert_allclose(hardware_flops_per_token(exact_flops_per_token(arch, lengths), recompute), expected)
