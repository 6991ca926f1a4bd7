"""Published config.json files, abbreviated to what bears on dimensions, with the parameters of the released weights.

Each is at https://huggingface.co/<name>/blob/main/config.json. Counts are totals of the weights unless a comment says
otherwise; norms on queries and keys and the like, which Architecture leaves out, are below a thousandth.
"""

import json

import pytest
from numpy.testing import assert_allclose

from bsmath import hf_config, presets
from bsmath.architecture import num_params

_LLAMA = {"model_type": "llama", "hidden_act": "silu", "tie_word_embeddings": False}
_QWEN = {"hidden_act": "silu", "tie_word_embeddings": False, "vocab_size": 151_936}
_MOE = {"hidden_act": "silu", "tie_word_embeddings": False}
_LATENT = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}


def _shape(layers, hidden, heads, kv_heads, ffn, vocab=None, positions=None, head_dim=None) -> dict:
    """The keys most types share; what is None is left out."""
    keys = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": ffn,
        "vocab_size": vocab,
        "max_position_embeddings": positions,
        "head_dim": head_dim,
    }
    return {key: value for key, value in keys.items() if value is not None}


_GPT2 = {"model_type": "gpt2", "n_ctx": 1024, "n_positions": 1024, "vocab_size": 50_257}
_FALCON = {"model_type": "falcon", "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False}

EXAMPLES = {
    "openai-community/gpt2": (124_439_808, {**_GPT2, "n_embd": 768, "n_layer": 12, "n_head": 12}),
    "openai-community/gpt2-xl": (
        1_557_611_200,
        {**_GPT2, "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_inner": None},
    ),
    "EleutherAI/pythia-1.4b": (
        1_414_647_808,
        {"model_type": "gpt_neox", "hidden_act": "gelu", "tie_word_embeddings": False}
        | _shape(24, 2048, 16, None, 8192, 50_304, 2048),
    ),
    "EleutherAI/gpt-j-6b": (
        6_050_882_784,
        {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_inner": None, "n_positions": 2048}
        | {"vocab_size": 50_400, "tie_word_embeddings": False},
    ),
    "bigcode/starcoder": (
        15_517_456_384,
        {"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24_576}
        | {"n_positions": 8192, "vocab_size": 49_152, "multi_query": True},
    ),
    "bigcode/starcoder2-3b": (
        3_030_371_328,
        {"model_type": "starcoder2", "use_bias": True, "sliding_window": 4096}
        | _shape(30, 3072, 24, 2, 12_288, 49_152, 16_384),
    ),
    "facebook/opt-1.3b": (
        1_315_758_080,
        {"model_type": "opt", "ffn_dim": 8192, "word_embed_proj_dim": 2048}
        | _shape(24, 2048, 32, None, None, 50_272, 2048),
    ),
    "mosaicml/mpt-7b": (
        6_649_286_656,
        {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4, "no_bias": True}
        | {
            "vocab_size": 50_432,
            "max_seq_len": 2048,
            "attn_config": {"alibi": True, "attn_type": "multihead_attention"},
        },
    ),
    "bigscience/bloom": (
        176_247_271_424,
        {"model_type": "bloom", "n_embed": 14_336, "n_layer": 70, "num_attention_heads": 112, "vocab_size": 250_880},
    ),
    "tiiuae/falcon-7b": (
        6_921_720_704,
        {**_FALCON, "num_kv_heads": 71, "new_decoder_architecture": False} | _shape(32, 4544, 71, None, None, 65_024),
    ),
    "tiiuae/falcon-40b": (
        41_303_293_952,
        {**_FALCON, "num_kv_heads": 8, "new_decoder_architecture": True} | _shape(60, 8192, 128, None, None, 65_024),
    ),
    "meta-llama/Llama-3.1-8B": (8_030_261_248, _LLAMA | _shape(32, 4096, 32, 8, 14_336, 128_256, 131_072)),
    "meta-llama/Llama-3.2-1B": (
        1_235_814_400,
        {**_LLAMA, "tie_word_embeddings": True} | _shape(16, 2048, 32, 8, 8192, 128_256, 131_072, 64),
    ),
    "mistralai/Mistral-7B-v0.1": (
        7_241_732_096,
        {"model_type": "mistral", "sliding_window": 4096, **_MOE} | _shape(32, 4096, 32, 8, 14_336, 32_000, 32_768),
    ),
    "mistralai/Mistral-Nemo-Base-2407": (
        12_247_782_400,
        {"model_type": "mistral", "sliding_window": None, **_MOE}
        | _shape(40, 5120, 32, 8, 14_336, 131_072, 128_000, 128),
    ),
    "Qwen/Qwen-7B": (
        7_721_324_544,
        {"model_type": "qwen", "kv_channels": 128, "no_bias": True, "tie_word_embeddings": False}
        | _shape(32, 4096, 32, None, 22_016, 151_936, 32_768),
    ),
    "Qwen/Qwen2.5-0.5B": (
        494_032_768,
        {**_QWEN, "model_type": "qwen2", "tie_word_embeddings": True, "use_sliding_window": False}
        | {"sliding_window": 32_768}
        | _shape(24, 896, 14, 2, 4864, positions=32_768),
    ),
    "Qwen/Qwen2.5-7B": (
        7_615_616_512,
        {**_QWEN, "model_type": "qwen2"} | _shape(28, 3584, 28, 4, 18_944, 152_064, 131_072),
    ),
    "Qwen/Qwen3-8B": (
        8_190_735_360,
        {**_QWEN, "model_type": "qwen3", "attention_bias": False} | _shape(36, 4096, 32, 8, 12_288, None, 40_960, 128),
    ),
    "allenai/OLMo-2-1124-7B": (
        7_298_617_344,
        {"model_type": "olmo2", "attention_bias": False, **_MOE} | _shape(32, 4096, 32, 32, 11_008, 100_352, 4096),
    ),
    "google/gemma-2b": (
        2_506_172_416,
        {"model_type": "gemma", "hidden_act": "gelu"} | _shape(18, 2048, 8, 1, 16_384, 256_000, 8192, 256),
    ),
    "google/gemma-2-9b": (
        9_241_705_984,
        {"model_type": "gemma2", "sliding_window": 4096} | _shape(42, 3584, 16, 8, 14_336, 256_000, 8192, 256),
    ),
    "google/gemma-3-1b-pt": (
        999_885_952,
        {"model_type": "gemma3_text", "sliding_window": 512} | _shape(26, 1152, 4, 1, 6912, 262_144, 32_768, 256),
    ),
    "microsoft/phi-2": (2_779_683_840, {"model_type": "phi"} | _shape(32, 2560, 32, 32, 10_240, 51_200, 2048)),
    "microsoft/Phi-3-mini-4k-instruct": (
        3_821_079_552,
        {"model_type": "phi3", "sliding_window": 2047, **_MOE} | _shape(32, 3072, 32, 32, 8192, 32_064, 4096),
    ),
    "THUDM/glm-4-9b": (
        9_399_951_360,
        {"model_type": "chatglm", "num_layers": 40, "hidden_size": 4096, "num_attention_heads": 32}
        | {"kv_channels": 128, "multi_query_group_num": 2, "ffn_hidden_size": 13_696, "padded_vocab_size": 151_552}
        | {"add_qkv_bias": True, "add_bias_linear": False, "tie_word_embeddings": False, "seq_length": 8192},
    ),
    "mistralai/Mixtral-8x7B-v0.1": (
        46_702_792_704,
        {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, **_MOE}
        | _shape(32, 4096, 32, 8, 14_336, 32_000, 32_768),
    ),
    "microsoft/Phi-3.5-MoE-instruct": (
        41_873_153_344,
        {"model_type": "phimoe", "num_local_experts": 16, "num_experts_per_tok": 2, "attention_bias": True, **_MOE}
        | _shape(32, 4096, 32, 8, 6400, 32_064, 131_072),
    ),
    "allenai/OLMoE-1B-7B-0924": (
        6_919_161_856,
        {"model_type": "olmoe", "num_experts": 64, "num_experts_per_tok": 8, **_MOE}
        | _shape(16, 2048, 16, 16, 1024, 50_304, 4096),
    ),
    "Qwen/Qwen1.5-MoE-A2.7B": (
        14_315_784_192,
        {**_QWEN, "model_type": "qwen2_moe", "num_experts": 60, "num_experts_per_tok": 4, "decoder_sparse_step": 1}
        | {"moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}
        | _shape(24, 2048, 16, 16, 5632, None, 8192),
    ),
    "Qwen/Qwen3-30B-A3B": (
        30_532_122_624,
        {**_QWEN, "model_type": "qwen3_moe", "num_experts": 128, "num_experts_per_tok": 8, "mlp_only_layers": []}
        | {"moe_intermediate_size": 768, "decoder_sparse_step": 1}
        | _shape(48, 2048, 32, 4, 6144, None, 40_960, 128),
    ),
    "deepseek-ai/deepseek-moe-16b-base": (
        16_375_728_128,
        {"model_type": "deepseek", "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, **_MOE}
        | {"moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1}
        | _shape(28, 2048, 16, 16, 10_944, 102_400, 4096),
    ),
    "deepseek-ai/DeepSeek-V2-Lite": (
        15_706_484_224,
        {"model_type": "deepseek_v2", "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, **_MOE}
        | {"moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1, "q_lora_rank": None}
        | {**_LATENT, **_shape(27, 2048, 16, 16, 10_944, 102_400, 163_840)},
    ),
    "deepseek-ai/DeepSeek-V3": (
        671_026_419_200,  # without multi-token prediction
        {"model_type": "deepseek_v3", "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, **_MOE}
        | {"moe_intermediate_size": 2048, "first_k_dense_replace": 3, "moe_layer_freq": 1, "q_lora_rank": 1536}
        | {"num_nextn_predict_layers": 1, "quantization_config": {"quant_method": "fp8", "fmt": "e4m3"}}
        | {**_LATENT, **_shape(61, 7168, 128, 128, 18_432, 129_280, 163_840)},
    ),
    "moonshotai/Kimi-K2-Base": (
        1.026e12,  # its report (arXiv 2507.20534) and card round to 1.04 and 1 trillion
        {"model_type": "kimi_k2", "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8, **_MOE}
        | {"moe_intermediate_size": 2048, "first_k_dense_replace": 1, "moe_layer_freq": 1, "q_lora_rank": 1536}
        | {"num_nextn_predict_layers": 0, **_LATENT, **_shape(61, 7168, 64, 64, 18_432, 163_840, 131_072)},
    ),
    "openai/gpt-oss-20b": (
        20_914_757_184,
        {"model_type": "gpt_oss", "num_local_experts": 32, "experts_per_token": 4, "num_experts_per_tok": 4, **_MOE}
        | {"attention_bias": True, "sliding_window": 128, "quantization_config": {"quant_method": "mxfp4"}}
        | {"layer_types": ["sliding_attention", "full_attention"] * 12}
        | _shape(24, 2880, 64, 8, 2880, 201_088, 131_072, 64),
    ),
    "databricks/dbrx-base": (
        131_596_523_520,
        {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "max_seq_len": 32_768}
        | {"vocab_size": 100_352, "tie_word_embeddings": False, "attn_config": {"kv_n_heads": 8, "rope_theta": 500_000}}
        | {"ffn_config": {"ffn_hidden_size": 10_752, "moe_num_experts": 16, "moe_top_k": 4}},
    ),
    "meta-llama/Llama-4-Maverick-17B-128E": (
        400e9,  # model card
        {"model_type": "llama4", "tie_word_embeddings": False, "vision_config": {"hidden_size": 1408}}
        | {
            "text_config": {"model_type": "llama4_text", "num_local_experts": 128, "num_experts_per_tok": 1}
            | {"interleave_moe_layer_step": 2, "intermediate_size_mlp": 16_384, "attention_chunk_size": 8192}
            | _shape(48, 5120, 40, 8, 8192, 202_048, 262_144, 128)
        },
    ),
    "google/gemma-3-4b-it": (
        675e6 + 3209e6,  # Gemma 3 report (arXiv 2503.19786), table 1, without the vision encoder
        {"model_type": "gemma3", "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}}
        | {
            "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10_240}
            | {"num_hidden_layers": 34, "sliding_window": 1024}
        },
    ),
    "llava-hf/llava-1.5-7b-hf": (
        6_738_415_616 + 2 * 64 * 4096,  # Llama 2 7B with 64 more tokens, without the vision encoder
        {"model_type": "llava", "vision_config": {"hidden_size": 1024}}
        | {"text_config": {"model_type": "llama", "vocab_size": 32_064, "max_position_embeddings": 4096}},
    ),
}
"""Name of a repository -> (parameters, configuration)."""

PRESETS = {
    "openai-community/gpt2": "gpt_2_124m",
    "openai-community/gpt2-xl": "gpt_2_1_5b",
    "EleutherAI/pythia-1.4b": "pythia_1_4b",
    "bigscience/bloom": "bloom_176b",
    "mosaicml/mpt-7b": "mpt_7b",
    "meta-llama/Llama-3.1-8B": "llama_3_1_8b",
    "mistralai/Mistral-7B-v0.1": "mistral_7b",
    "Qwen/Qwen2.5-0.5B": "qwen_2_5_0_5b",
    "Qwen/Qwen2.5-7B": "qwen_2_5_7b",
    "Qwen/Qwen3-8B": "qwen_3_8b",
    "allenai/OLMo-2-1124-7B": "olmo_2_7b",
    "mistralai/Mixtral-8x7B-v0.1": "mixtral_8x7b",
    "allenai/OLMoE-1B-7B-0924": "olmoe_1b_7b",
    "Qwen/Qwen3-30B-A3B": "qwen3_30b_a3b",
    "deepseek-ai/deepseek-moe-16b-base": "deepseekmoe_16b",
    "deepseek-ai/DeepSeek-V3": "deepseek_v3",
    "moonshotai/Kimi-K2-Base": "kimi_k2",
    "openai/gpt-oss-20b": "gpt_oss_20b",
    "databricks/dbrx-base": "dbrx",
    "meta-llama/Llama-4-Maverick-17B-128E": "llama_4_maverick",
}
"""Name of a repository -> the preset with the same dimensions."""


@pytest.mark.parametrize("repository", EXAMPLES)
def test_published_configs_give_the_parameters_of_their_weights(repository):
    parameters, config = EXAMPLES[repository]
    architecture = hf_config.read(json.dumps(config)).architecture
    assert_allclose(num_params(architecture), parameters, rtol=2e-3)


@pytest.mark.parametrize("repository", PRESETS)
def test_published_configs_give_the_dimensions_of_the_presets(repository):
    config = hf_config.read(json.dumps(EXAMPLES[repository][1]))
    assert config.architecture == presets.models()[PRESETS[repository]].architecture


@pytest.mark.parametrize("repository", EXAMPLES)
def test_every_published_type_but_a_wrapper_is_known(repository):
    notes = hf_config.read(json.dumps(EXAMPLES[repository][1])).notes
    assert not [note for note in notes if "not known here" in note]


def test_there_are_at_least_twelve_model_types():
    assert len({config["model_type"] for _, config in EXAMPLES.values()}) >= 25
