"""What read() accepts around and inside a config.json, what it says it assumed, and that it only ever raises ValueError.

The dimensions of published files are in test_hf_examples.py.
"""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsmath import hf_config
from bsmath.architecture import Architecture

DENSE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
}
MOE = {**DENSE, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT = {"kv_lora_rank": 16, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4, "v_head_dim": 8}
UNKNOWN = {**DENSE, "model_type": "brand_new", "hidden_act": "silu"}


def read(config, **changes) -> hf_config.Config:
    return hf_config.read(json.dumps({**config, **changes}))


def without(config, *keys) -> dict:
    return {key: value for key, value in config.items() if key not in keys}


def test_a_plain_file_is_read_without_notes():
    assert read(DENSE) == hf_config.Config(
        architecture=Architecture(
            num_layers=6, hidden_size=64, num_heads=4, num_kv_heads=2, ffn_size=256, vocab_size=100
        ),
        label="LlamaForCausalLM (llama)",
        max_position_embeddings=2048,
        notes=(),
    )


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.encode(),
        lambda text: "\ufeff" + text,
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: f"```json\n{text}\n```\n",
        lambda text: f"```\n{text}```",
        lambda text: f"[{text}]",
        lambda text: f"\n\n  {text}  \n",
        lambda text: text.replace("64", '"64"').replace("100", '"100.0"').replace("false", '"False"'),
        lambda text: text.replace("64", "64.0").replace("256", "[256, 256, 256, 256, 256, 256]"),
    ],
)
def test_wrappings_and_numbers_as_text_change_nothing(wrap):
    assert hf_config.read(wrap(json.dumps(DENSE))) == read(DENSE)


@pytest.mark.parametrize(
    "missing, config, note",
    [
        (
            "tie_word_embeddings",
            DENSE,
            "tie_word_embeddings is not in the file: taken as false, the default of model type",
        ),
        ("tie_word_embeddings", UNKNOWN, "taken as true, the default of transformers' base class"),
        ("num_key_value_heads", DENSE, "num_key_value_heads is not in the file: taken as many as attention heads"),
        ("num_key_value_heads", {**DENSE, "model_type": "mistral"}, "num_key_value_heads .* taken as 8"),
        ("head_dim", {**DENSE, "model_type": "qwen3"}, "head_dim is not in the file: taken as 128, .* qwen3"),
        ("intermediate_size", {**DENSE, "model_type": "gpt2"}, "MLP's width is not in the file: taken as 4 times"),
        ("model_type", DENSE, "model_type missing is not known here"),
        ("hidden_act", UNKNOWN, r"taken as gated, from its activation \(not named\)"),
        ("none", {**UNKNOWN, "hidden_act": "relu2"}, r"taken as plain, from its activation \(relu2\)"),
        ("none", {**DENSE, "sliding_window": 1024}, "sliding window of 1,024 tokens is not used"),
        ("none", {**DENSE, "num_nextn_predict_layers": 1}, "multi-token prediction"),
        ("none", {**DENSE, "quantization_config": {"quant_method": "gptq"}}, "dimensions are those of the unquantized"),
        ("none", {**DENSE, "vision_config": {"hidden_size": 9}}, "vision_config is not counted"),
        ("none", {**MOE, "shared_expert_intermediate_size": 70}, "Shared experts 70 wide are counted as 2 of 32"),
    ],
)
def test_what_was_filled_in_or_left_out_is_said(missing, config, note):
    if config.get("model_type") == "mistral":
        config = {**config, "num_attention_heads": 8}
    notes = read(without(config, missing)).notes
    assert re.search(note, " ".join(notes))


def test_windows_that_are_switched_off_or_unreadable_are_no_matter():
    for changes in ({"use_sliding_window": False, "sliding_window": 512}, {"sliding_window": "wide"}):
        assert read(DENSE, **changes).notes == ()


@pytest.mark.parametrize(
    "changes, dense_layers",
    [
        ({}, 0),
        ({"first_k_dense_replace": 1}, 1),
        ({"first_k_dense_replace": 1, "moe_layer_freq": 2}, 4),  # layers 2 and 4 of 0..5 are routed
        ({"moe_layer_freq": [0, 1, 1, 1, 1, 1]}, 1),
        ({"decoder_sparse_step": 2}, 3),
        ({"decoder_sparse_step": 2, "mlp_only_layers": [1, 2]}, 4),
        ({"interleave_moe_layer_step": 3}, 4),
        ({"moe_layers": [1, 3, 5]}, 3),
        ({"moe_layer_start_index": 1, "moe_layer_end_index": -1, "moe_layer_interval": 1}, 1),
        ({"moe_layer_start_index": 1, "moe_layer_end_index": 4}, 2),
    ],
)
def test_dense_layers_of_a_mixture_are_counted_by_every_scheme(changes, dense_layers):
    assert read(MOE, **changes).architecture.num_dense_layers == dense_layers


@pytest.mark.parametrize("changes", [{"num_experts": 0}, {"num_experts": 1}, {"num_experts": None}])
def test_one_expert_or_none_is_a_dense_model(changes):
    assert read(MOE, **changes).architecture.num_experts is None


def test_experts_without_a_width_of_their_own_take_the_mlps():
    assert read(without(MOE, "moe_intermediate_size")).architecture.expert_ffn_size == 256


def test_latent_attention_adds_both_parts_of_a_key():
    architecture = read(DENSE, **LATENT, head_dim=4, q_lora_rank=None).architecture
    assert (architecture.head_dim, architecture.rope_head_dim, architecture.value_head_dim) == (16, 4, 8)
    assert (architecture.q_lora_rank, architecture.num_kv_heads) == (None, 4)


def test_biases_are_read_from_whichever_key_states_them():
    assert read(DENSE, attention_bias=True).architecture.qkv_bias
    assert read(DENSE, model_type="qwen2").architecture.qkv_bias
    assert read(DENSE, attention_bias=True, mlp_bias=True).architecture.biases
    assert not read(DENSE, model_type="starcoder2", use_bias=False).architecture.biases
    assert not read(UNKNOWN, use_bias=True, no_bias=True).architecture.biases


def test_a_nested_language_model_is_read_and_its_embeddings_follow_the_outer_file():
    outer = {"model_type": "some_vision", "tie_word_embeddings": True, "vision_config": {"hidden_size": 9}}
    config = read(outer, text_config=without(DENSE, "tie_word_embeddings"))
    assert config.architecture == Architecture(**{**vars(read(DENSE).architecture), "tied_embeddings": True})


@pytest.mark.parametrize("depth", ["text_config", "llm_config", "thinker_config"])
def test_every_name_of_the_language_part_is_followed(depth):
    assert read({depth: {"text_config": DENSE}}).architecture == read(DENSE).architecture


@pytest.mark.parametrize(
    "config, message",
    [
        ({}, r"config.json must name hidden_size \(or n_embd, n_embed, d_model\), got no such key"),
        (without(DENSE, "vocab_size"), r"config.json must name vocab_size \(or padded_vocab_size\), got no such key"),
        (without(DENSE, "intermediate_size"), "config.json must name intermediate_size"),
        ({**DENSE, "kv_lora_rank": 16}, "config.json must name qk_rope_head_dim, got no such key"),
        (without(MOE, "num_experts_per_tok"), "config.json must name num_experts_per_tok"),
        ({**DENSE, "hidden_size": "wide"}, "hidden_size must be a whole number from 1 to 1,073,741,824, got 'wide'"),
        ({**DENSE, "hidden_size": -64}, "hidden_size must be a whole number from 1 .* got -64"),
        ({**DENSE, "hidden_size": 64.5}, "hidden_size must be a whole number from 1 .* got 64.5"),
        ({**DENSE, "hidden_size": True}, "hidden_size must be a whole number from 1 .* got True"),
        ({**DENSE, "hidden_size": [64, 32]}, r"hidden_size must be a whole number from 1 .* got \[64, 32\]"),
        ({**DENSE, "hidden_size": 10**400}, "hidden_size must be a whole number from 1 .* got 1000"),
        ({**DENSE, "vocab_size": float("nan")}, "vocab_size must be a whole number from 1 .* got nan"),
        ({**DENSE, "vocab_size": float("inf")}, "vocab_size must be a whole number from 1 .* got inf"),
        ({**DENSE, "num_hidden_layers": 10**6}, "num_hidden_layers must be a whole number from 1 to 10,000"),
        ({**DENSE, "tie_word_embeddings": 1}, "tie_word_embeddings must be true or false, got 1"),
        ({**DENSE, "num_attention_heads": 5}, r"config.json: num_heads must divide hidden_size \(64\), got 5"),
        ({**DENSE, "num_key_value_heads": 3}, r"config.json: num_kv_heads must divide num_heads \(4\), got 3"),
        ({**MOE, "num_experts_per_tok": 9}, "config.json: top_k must be a whole number from 1 to 8, got 9"),
        ({**MOE, "moe_layer_freq": [0, 1]}, "moe_layer_freq must have one entry for each of 6 layers, got 2"),
        ({**DENSE, "model_type": "t5", "is_encoder_decoder": True}, "must describe a decoder, got an encoder-decoder"),
        ({**DENSE, "model_type": "mamba2"}, "model_type must be a transformer .* got 'mamba2'"),
        (
            {**DENSE, "layer_types": ["full_attention", "linear_attention"]},
            "layer_types must .* got 'linear_attention'",
        ),
        ({**DENSE, "attn_type_list": [1, 0]}, r"attn_type_list must .* got 0 \(linear attention\)"),
        ({"peft_type": "LORA", "base_model_name_or_path": "a/b", "r": 8}, "dimensions of 'a/b', got an adapter's"),
        ({"do_sample": True, "temperature": 0.6}, "got a generation config's file"),
        ({"tokenizer_class": "LlamaTokenizer", "eos_token": "</s>"}, "got a tokenizer's file"),
        ({"weight_map": {}, "metadata": {}}, "got an index of weight files"),
        ({"quant_method": "gptq", "bits": 4}, "got a quantization config's file"),
    ],
)
def test_errors_name_the_key_the_rule_and_the_value(config, message):
    with pytest.raises(ValueError, match=message):
        hf_config.read(json.dumps(config))


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "config.json must be JSON, got nothing"),
        ('{"hidden_size": 64,}', "config.json must be JSON, got '.*' in line 1"),
        ("from_pretrained('gpt2')", 'config.json must be JSON, got "from_pretrained'),
        ("[]", r"config.json must be one JSON object, got \[\]"),
        ("[{}, {}]", "config.json must be one JSON object, got"),
        ("7", "config.json must be one JSON object, got 7"),
        (b"\xff\xfe{", "config.json must be UTF-8 text, got the byte 0xff"),
        ("[" * 100_000, "config.json must be nested less deeply"),
        ('{"hidden_size": ' + "[" * 900 + "]" * 900 + "}", "hidden_size must be a whole number|nested less deeply"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "config.json must hold numbers of ordinary length"),
        (" " * 1_000_001, "config.json must be at most 1,000,000 bytes long, got 1,000,001"),
    ],
)
def test_text_that_is_no_configuration_is_refused_in_one_sentence(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        hf_config.read(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_the_files_name_stands_in_its_errors():
    with pytest.raises(ValueError, match="^mine.json must name hidden_size"):
        hf_config.read("{}", name="mine.json")


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
NAMES = [*MOE, *LATENT, "text_config", "attn_config", "ffn_config", "moe_layers", "moe_layer_freq", "layer_types"]
NAMES += ["decoder_sparse_step", "sliding_window", "n_shared_experts", "shared_expert_intermediate_size", "hidden_act"]
NAMES += ["multi_query", "q_lora_rank", "head_dim", "use_bias", "peft_type", "quantization_config", "vision_config"]


def reads_or_says_why_not(text):
    try:
        config = hf_config.read(text)
    except ValueError as error:
        assert type(error) is ValueError and 0 < len(str(error)) < 300
    else:
        assert isinstance(config.architecture, Architecture)
        assert all(note.endswith(".") for note in config.notes)


@settings(max_examples=150, deadline=None)
@given(ANYTHING)
def test_any_json_is_read_or_refused_with_a_value_error(value):
    reads_or_says_why_not(json.dumps(value))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([DENSE, MOE, {**MOE, **LATENT}]), st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=3))
def test_any_value_in_a_known_key_is_read_or_refused_with_a_value_error(config, changes):
    reads_or_says_why_not(json.dumps({**config, **changes}))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_is_read_or_refused_with_a_value_error(text):
    reads_or_says_why_not(text)
