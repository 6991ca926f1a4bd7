"""Memory of a training step: published numbers, what fits, what a smaller micro-batch frees."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bsmath.memory import (
    HIDDEN_BYTES,
    activation_bytes_per_layer,
    expert_buffer_bytes,
    gradient_bytes_total,
    logit_bytes,
    optimizer_bytes,
    score_bytes,
    state_bytes,
    weight_bytes,
)
from bsmath.memory_plan import estimate, freed, largest_micro_batch, largest_seq_len

GIB = 2**30
GPT_3 = {"micro_tokens": 2048, "hidden_size": 12_288, "num_heads": 96, "seq_len": 2048}
LLAMA_8B = {"hidden_size": 4096, "num_heads": 32}

# The founding question: 0.796B parameters, 48 sequences of 2,048 tokens, an H200 of 141e9 bytes.
FOUNDING = {
    "num_params": 0.796e9,
    "num_layers": 24,
    "hidden_size": 1536,
    "num_heads": 16,
    "vocab_size": 50_257,
    "gated_mlp": False,
    "seq_len": 2048,
    "data_parallel_size": 1,
    "model_parallel_size": 1,
    "zero_stage": 0,
    "recompute": "selective",
    "gradient_bytes": 2,
}
MEMORY = 141e9
NOISE = 1 + 2e-12
JOBS = st.fixed_dictionaries(
    {
        "num_params": st.floats(1e6, 1e11),
        "num_layers": st.integers(1, 120),
        "hidden_size": st.integers(64, 16_384),
        "num_heads": st.integers(1, 128),
        "vocab_size": st.integers(1, 300_000),
        "gated_mlp": st.booleans(),
        "seq_len": st.integers(16, 2**20),
        "data_parallel_size": st.integers(1, 4096),
        "model_parallel_size": st.integers(1, 64),
        "zero_stage": st.integers(0, 3),
        "recompute": st.sampled_from(["none", "selective", "full"]),
        "gradient_bytes": st.sampled_from([2, 4]),
    }
)


@pytest.mark.parametrize("stage, gigabytes", [(0, 120), (1, 31.406), (2, 16.641), (3, 1.875)])
def test_zero_paper_example_of_7_5_billion_parameters_on_64_ranks(stage, gigabytes):
    assert_allclose(state_bytes(7.5e9, stage, 64), gigabytes * 1e9, atol=0.5e6)


@pytest.mark.parametrize("gradient_bytes, gibibytes", [(2, 119.7), (4, 134.6)])
def test_eight_billion_parameters_hold_16_bytes_each_or_18_with_fp32_gradients(gradient_bytes, gibibytes):
    assert_allclose(state_bytes(8.03e9, 0, 1, gradient_bytes), gibibytes * GIB, rtol=5e-4)


@pytest.mark.parametrize("stage, shared", [(0, ()), (1, ("o",)), (2, ("o", "g")), (3, ("o", "g", "w"))])
def test_each_zero_stage_shares_out_one_part_more(stage, shared):
    expected = {"w": 2e9, "g": 4e9, "o": 12e9} | {part: {"w": 2e9, "g": 4e9, "o": 12e9}[part] / 8 for part in shared}
    assert weight_bytes(1e9, stage, 8) == expected["w"]
    assert gradient_bytes_total(1e9, stage, 8, 4) == expected["g"]
    assert optimizer_bytes(1e9, stage, 8) == expected["o"]
    assert_allclose(state_bytes(1e9, stage, 8, 4), sum(expected.values()))


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_a_single_replica_gains_nothing_from_zero(stage):
    assert state_bytes(1e9, stage, 1) == 16e9


@pytest.mark.parametrize("recompute, total", [("none", 275.41e9), ("selective", 82.14e9), ("full", 4.832e9)])
def test_activations_of_gpt_3_over_96_layers(recompute, total):
    assert_allclose(96 * activation_bytes_per_layer(**GPT_3, recompute=recompute), total, rtol=1e-4)


def test_one_layer_of_gpt_3_keeps_34_and_80_bytes_per_value():
    layer = activation_bytes_per_layer(**GPT_3, recompute="none")
    assert_allclose(layer, 2.868904e9, rtol=1e-6)
    assert_allclose(layer / (2048 * 12_288), 34 + 80)


@pytest.mark.parametrize("sequence_parallel, expected", [(False, 5.788e8), (True, 3.586e8)])
def test_one_layer_of_gpt_3_over_eight_devices(sequence_parallel, expected):
    parallel = {"tensor_parallel_size": 8, "sequence_parallel": sequence_parallel}
    assert_allclose(activation_bytes_per_layer(**GPT_3, recompute="none", **parallel), expected, rtol=2e-4)


@pytest.mark.parametrize("heads, hidden, share", [(96, 12_288, 0.702), (128, 20_480, 0.653)])
def test_share_of_activations_that_selective_recomputation_removes(heads, hidden, share):
    kept = [activation_bytes_per_layer(2048, hidden, heads, 2048, kind) for kind in ("none", "selective")]
    assert_allclose(1 - kept[1] / kept[0], share, atol=5e-4)


def test_full_recomputation_keeps_every_layers_input_on_every_device_without_sequence_parallelism():
    assert activation_bytes_per_layer(**GPT_3, recompute="full", tensor_parallel_size=8) == 2 * 2048 * 12_288
    split = {"tensor_parallel_size": 8, "sequence_parallel": True}
    assert activation_bytes_per_layer(**GPT_3, recompute="full", **split) == 2 * 2048 * 12_288 / 8


@pytest.mark.parametrize("recompute, gibibytes", [("selective", 34.0), ("full", 2.0)])
def test_activations_of_an_8b_model_at_8192_tokens(recompute, gibibytes):
    layer = activation_bytes_per_layer(8192, **LLAMA_8B, seq_len=8192, recompute=recompute)
    assert_allclose(32 * layer, gibibytes * GIB)


@pytest.mark.parametrize("precision", [1, 2, 4])
def test_precision_scales_all_but_the_dropout_masks(precision):
    layer = activation_bytes_per_layer(**GPT_3, recompute="none", precision_bytes=precision)
    assert_allclose(layer / (2048 * 12_288), 16 * precision + 2 + (2 * precision + 1) * 96 * 2048 / 12_288)


def test_measured_copies_of_the_hidden_state_in_gated_models_are_between_low_and_high():
    # 24 to 48 copies of two bytes, 28 for Llama-3.1-8B, which is 56 bytes and not 34.
    assert HIDDEN_BYTES[True] == (2 * 24, 2 * 48)
    assert HIDDEN_BYTES[False][0] < HIDDEN_BYTES[True][0] < 2 * 28 < HIDDEN_BYTES[True][1]


@pytest.mark.parametrize("tokens, each, gibibytes", [(32_768, 4, 15.656), (8192, 4, 3.914), (8192, 6, 5.871)])
def test_logits_of_llama_3(tokens, each, gibibytes):
    assert_allclose(logit_bytes(tokens, 128_256, each), gibibytes * GIB, rtol=2e-4)


def test_a_unit_of_capacity_costs_top_k_hidden_states_in_and_out():
    # Switch's capacity CF M k/E, times E experts, a vector of two bytes into and out of each slot.
    tokens, hidden, experts, top_k = 4096, 1024, 64, 8
    slots = experts * (1.25 * tokens * top_k / experts)
    assert expert_buffer_bytes(tokens, hidden, top_k, 1.25) == slots * hidden * 2 * 2


def test_the_founding_run_takes_136_to_166_gigabytes():
    run = estimate(micro_batch_size=48, **FOUNDING)
    assert_allclose([run.low, run.high], [136e9, 166e9], rtol=3e-3)
    assert_allclose(run.states, 16 * 0.796e9)
    assert run.logits == (0, 6 * 48 * 2048 * 50_257)


def test_forty_sequences_surely_fit_the_founding_device_and_49_may():
    # By hand: (141 - 12.736) GB over 2.567 GB of activations a sequence, with or without 0.618 GB of logits.
    assert largest_micro_batch(MEMORY, **FOUNDING) == (40, 49)


def test_parts_of_an_estimate_are_those_of_the_formulas():
    job = {**FOUNDING, "recompute": "none", "model_parallel_size": 8, "zero_stage": 2, "data_parallel_size": 4}
    run = estimate(micro_batch_size=3, **job)
    split = {"tensor_parallel_size": 8, "sequence_parallel": True}
    layer = activation_bytes_per_layer(3 * 2048, 1536, 16, 2048, "none", **split)
    assert_allclose(run.activations, 24 * layer)
    assert_allclose(run.scores, 24 * score_bytes(3 * 2048, 16, 2048) / 8)
    assert_allclose(run.states, state_bytes(0.796e9 / 8, 2, 4))


def test_full_recomputation_holds_one_whole_layer_beside_the_inputs():
    run = estimate(micro_batch_size=1, **{**FOUNDING, "recompute": "full", "gated_mlp": True})
    assert_allclose(np.array(run.activations) / (2048 * 1536), [2 * 24 + 48, 2 * 24 + 96])


def test_recomputing_more_never_takes_more_memory():
    low, high = zip(*(_ends(recompute) for recompute in ("full", "selective", "none")), strict=True)
    assert list(low) == sorted(set(low))
    assert list(high) == sorted(set(high))


def _ends(recompute):
    run = estimate(micro_batch_size=4, **{**FOUNDING, "recompute": recompute})
    return run.low, run.high


@given(job=JOBS, memory=st.floats(1e9, 1e13))
def test_the_largest_micro_batch_fits_and_one_more_does_not(job, memory):
    sure, maybe = largest_micro_batch(memory, **job)
    assert 0 <= sure <= maybe
    for size, end in ((sure, "high"), (maybe, "low")):
        assert size == 0 or getattr(estimate(micro_batch_size=size, **job), end) <= memory * NOISE
        assert getattr(estimate(micro_batch_size=size + 1, **job), end) > memory


@given(job=JOBS, micro=st.integers(1, 500))
def test_memory_that_a_micro_batch_fills_exactly_holds_it(job, micro):
    run = estimate(micro_batch_size=micro, **job)
    assert largest_micro_batch(run.high, **job)[0] == micro
    assert largest_micro_batch(run.low, **job)[1] == micro
    assert largest_seq_len(run.high, micro_batch_size=micro, **job)[0] == job["seq_len"]


@given(job=JOBS, micro=st.integers(1, 64), memory=st.floats(1e9, 1e13))
def test_the_longest_sequence_fits_and_one_token_more_does_not(job, micro, memory):
    lengths = largest_seq_len(memory, micro_batch_size=micro, **job)
    for length, end in zip(lengths, ("high", "low"), strict=True):
        here = estimate(**{**job, "seq_len": length}, micro_batch_size=micro)
        more = estimate(**{**job, "seq_len": length + 1}, micro_batch_size=micro)
        assert length == 0 or getattr(here, end) <= memory * NOISE
        assert getattr(more, end) > memory


def test_nothing_fits_where_the_states_do_not():
    assert largest_micro_batch(12e9, **FOUNDING) == (0, 0)
    assert largest_seq_len(12e9, micro_batch_size=1, **FOUNDING) == (0, 0)


def test_half_the_founding_micro_batch_frees_62_gigabytes_and_doubles_the_context():
    buys = freed(MEMORY, 24, micro_batch_size=48, **FOUNDING)
    assert_allclose(buys.memory, [61.606e9, 76.427e9], rtol=1e-5)
    assert buys.same_memory_seq_len == 4096
    assert buys.seq_len == (3437, 4263)
    assert buys.largest_micro_batch == (40, 49)
    assert buys.capacity_factor is None


def test_freed_memory_buys_expert_capacity():
    # 61.6 GB over 24 layers x 4 bytes x 8 experts x 24 x 2,048 tokens x 1,536 = 57.98 GB for each unit.
    buys = freed(MEMORY, 24, 8, micro_batch_size=48, **FOUNDING)
    assert_allclose(buys.capacity_factor, [61.606 / 57.98, 76.427 / 57.98], rtol=1e-4)


def test_devices_of_a_replica_share_the_expert_buffers_and_full_recomputation_keeps_those_of_one_layer():
    plain = freed(MEMORY, 24, 8, micro_batch_size=48, **FOUNDING)
    shared = freed(MEMORY, 24, 8, micro_batch_size=48, **{**FOUNDING, "model_parallel_size": 8})
    assert_allclose(shared.capacity_factor, plain.capacity_factor)
    again = freed(MEMORY, 24, 8, micro_batch_size=48, **{**FOUNDING, "recompute": "full"})
    unit = expert_buffer_bytes(24 * 2048, 1536, 8)
    assert_allclose(again.capacity_factor, np.array(again.memory) / unit)


@given(job=JOBS, old_micro=st.integers(1, 64), new_micro=st.integers(1, 64))
def test_traded_context_fits_wherever_the_old_run_did(job, old_micro, new_micro):
    old = estimate(micro_batch_size=old_micro, **job)
    length = freed(1e12, new_micro, micro_batch_size=old_micro, **job).same_memory_seq_len
    traded = estimate(**{**job, "seq_len": length}, micro_batch_size=new_micro)
    assert traded.low <= old.low * NOISE
    assert traded.high <= old.high * NOISE
    as_many_tokens = old_micro * job["seq_len"] // new_micro
    if job["recompute"] != "none":
        assert length == as_many_tokens
    else:
        square = math.floor(math.sqrt(old_micro / new_micro) * job["seq_len"])
        assert min(square, as_many_tokens) <= length <= max(square, as_many_tokens)


@given(job=JOBS, micro=st.integers(2, 64))
def test_a_smaller_micro_batch_frees_memory_and_a_larger_one_takes_as_much(job, micro):
    smaller = freed(1e12, micro - 1, micro_batch_size=micro, **job).memory
    larger = freed(1e12, micro, micro_batch_size=micro - 1, **job).memory
    assert min(smaller) > 0
    assert larger == tuple(-each for each in smaller)


def test_arrays_series_and_scalars_agree():
    tokens = np.array([2048.0, 4096.0, 65_536.0])
    for kind in ("none", "selective", "full"):
        expected = [activation_bytes_per_layer(each, 4096, 32, 2048, kind) for each in tokens]
        assert_allclose(activation_bytes_per_layer(tokens, 4096, 32, 2048, kind), expected)
        assert_allclose(activation_bytes_per_layer(pd.Series(tokens), 4096, 32, 2048, kind), expected)
    ranks = np.array([1, 8, 64])
    assert_allclose(state_bytes(7.5e9, 2, ranks), [state_bytes(7.5e9, 2, each) for each in ranks])
