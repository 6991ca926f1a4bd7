"""What Hugging Face model types call their dimensions, and what their files may leave out.

Names and defaults are those of the configuration classes of transformers 4.57
(https://github.com/huggingface/transformers/tree/v4.57.1/src/transformers/models) and, for types that bring their own
code, of the models' repositories. A file written by transformers leaves out what equals the base class's default, so a
missing tie_word_embeddings of an unknown type means true.
"""

KEYS = {
    "num_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden_size": ("hidden_size", "n_embd", "n_embed", "d_model"),
    "num_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "dense_ffn_size": ("intermediate_size_mlp",),  # Llama 4, whose intermediate_size is the experts'
    "ffn_size": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "num_kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads", "multi_query_group_num"),
    "head_dim": ("head_dim", "kv_channels"),
    "expansion_ratio": ("expansion_ratio",),
    "positions": ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"),
    "num_experts": ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    "top_k": (
        *("num_experts_per_tok", "experts_per_token", "num_experts_per_token"),
        *("moe_top_k", "moe_topk", "moe_k"),
    ),
    "expert_ffn_size": ("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size", "ffn_hidden_size"),
    "num_shared_experts": ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
    "shared_ffn_size": ("shared_expert_intermediate_size", "shared_intermediate_size"),
    "first_moe_layer": ("first_k_dense_replace", "moe_layer_start_index"),
    "last_moe_layer": ("moe_layer_end_index",),
    "moe_every": ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"),
    "moe_layer_freq": ("moe_layer_freq",),
    "q_lora_rank": ("q_lora_rank",),
    "kv_lora_rank": ("kv_lora_rank",),
    "nope_head_dim": ("qk_nope_head_dim",),
    "rope_head_dim": ("qk_rope_head_dim",),
    "value_head_dim": ("v_head_dim",),
    "sliding_window": ("sliding_window", "attention_chunk_size"),
    "mtp_layers": ("num_nextn_predict_layers",),
}
"""Our name -> theirs, the first that is there counts."""

FLAGS = {
    "tied_embeddings": ("tie_word_embeddings", "tie_embeddings"),
    "biases": ("use_bias", "bias", "add_bias_linear", "enable_bias", "mlp_bias"),
    "qkv_bias": ("qkv_bias", "use_qkv_bias", "add_qkv_bias", "attention_bias"),
    "no_bias": ("no_bias",),
    "multi_query": ("multi_query",),
    "new_decoder_architecture": ("new_decoder_architecture",),
    "use_sliding_window": ("use_sliding_window",),
    "is_encoder_decoder": ("is_encoder_decoder",),
}

ACTIVATIONS = ("hidden_act", "activation_function", "hidden_activation", "activation", "activation_type")

# Defaults by our names. extra_positions: rows of the learned position embedding beyond the longest sequence.
_PLAIN = {"gated_mlp": False, "tied_embeddings": True}
_GPT = {**_PLAIN, "biases": True}
_GPT_UNTIED = {**_GPT, "tied_embeddings": False}
_LEARNED = {**_GPT, "extra_positions": 0}
_FALCON = {**_PLAIN, "multi_query": True}
_LLAMA = {"gated_mlp": True, "tied_embeddings": False}
_LLAMA_TIED = {**_LLAMA, "tied_embeddings": True}
_MISTRAL = {**_LLAMA, "num_kv_heads": 8}
_GEMMA = {**_LLAMA_TIED, "head_dim": 256, "num_kv_heads": 4}
_GLM = {**_LLAMA, "head_dim": 128, "num_kv_heads": 2, "qkv_bias": True}

FAMILIES = {
    **dict.fromkeys(("gpt2", "gpt_neo", "bert"), _LEARNED),
    "gpt_bigcode": {**_LEARNED, "multi_query": True},
    "opt": {**_GPT, "extra_positions": 2},
    **dict.fromkeys(("gpt_neox", "gptj", "codegen", "phi", "persimmon"), _GPT_UNTIED),
    "bloom": _GPT,
    "mpt": _PLAIN,
    **dict.fromkeys(("falcon", "RefinedWeb", "RefinedWebModel"), _FALCON),
    "starcoder2": {**_GPT, "num_kv_heads": 2},
    **dict.fromkeys(("nemotron", "arcee", "apertus"), {"gated_mlp": False, "tied_embeddings": False}),
    **dict.fromkeys(("llama", "phi3", "olmo", "olmo2", "olmo3", "olmoe", "granite", "granitemoe"), _LLAMA),
    **dict.fromkeys(
        ("stablelm", "internlm2", "internlm3", "baichuan", "exaone4", "helium", "hunyuan_v1_dense"), _LLAMA
    ),
    **dict.fromkeys(("deepseek", "deepseek_v2", "deepseek_v3", "kimi_k2", "dots1", "hunyuan_v1_moe"), _LLAMA),
    **dict.fromkeys(("cohere", "cohere2", "ernie4_5", "ernie4_5_moe", "minicpm", "smollm3"), _LLAMA_TIED),
    **dict.fromkeys(("mistral", "ministral"), _MISTRAL),
    "mixtral": {**_MISTRAL, "num_experts": 8, "top_k": 2},
    "phimoe": {**_MISTRAL, "num_experts": 16, "top_k": 2},
    "dbrx": {**_LLAMA, "num_kv_heads": 1, "num_experts": 4, "top_k": 1},
    "qwen": {**_LLAMA, "qkv_bias": True, "ffn_share": 2},  # two gates of half intermediate_size each
    **dict.fromkeys(
        ("qwen2", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_moe"),
        {**_LLAMA, "qkv_bias": True},
    ),
    **dict.fromkeys(("qwen3", "qwen3_vl_text"), {**_LLAMA, "head_dim": 128}),
    **dict.fromkeys(("qwen3_moe", "qwen3_vl_moe_text"), {**_LLAMA, "num_kv_heads": 4}),
    "gemma": {**_GEMMA, "num_kv_heads": 16},
    **dict.fromkeys(("gemma2", "gemma3", "gemma3_text"), _GEMMA),
    **dict.fromkeys(("glm", "glm4"), _GLM),
    "chatglm": {**_LLAMA, "qkv_bias": True},
    "glm4_moe": {**_LLAMA, "num_kv_heads": 8},
    "seed_oss": {**_MISTRAL, "head_dim": 128, "qkv_bias": True},
    "gpt_oss": {**_MISTRAL, "head_dim": 64, "biases": True, "num_experts": 128, "top_k": 4},
    **dict.fromkeys(("llama4", "llama4_text"), {**_MISTRAL, "head_dim": 128, "top_k": 1, "num_shared_experts": 1}),
}

_SHAPE = ("num_layers", "hidden_size", "num_heads", "ffn_size", "vocab_size")
NESTED = {
    kind: dict(zip(_SHAPE, shape, strict=True))
    for kind, shape in {
        "llama": (32, 4096, 32, 11_008, 32_000),
        "mistral": (32, 4096, 32, 14_336, 32_000),
        "qwen2": (32, 4096, 32, 22_016, 151_936),
        "gemma": (28, 3072, 16, 24_576, 256_000),
        "gemma2": (26, 2304, 8, 9216, 256_000),
        "gemma3_text": (26, 2304, 8, 9216, 262_208),
    }.items()
}
"""Sizes that a nested language model's configuration leaves out where they equal its class's defaults."""

LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
OTHER_PARTS = ("vision_config", "audio_config", "visual")

NO_TRANSFORMERS = frozenset(
    "mamba mamba2 falcon_mamba rwkv rwkv5 rwkv6 rwkv7 jamba zamba zamba2 bamba nemotron_h recurrent_gemma falcon_h1 "
    "qwen3_next lfm2 xlstm kimi_linear gemma3n gemma3n_text albert".split()
)
"""Model types whose layers are not all attention and MLP, or share or add parameters in their own way."""
ATTENTION_LAYERS = frozenset({"full_attention", "sliding_attention", "chunked_attention", "attention"})

OTHER_FILES = {
    "peft_type": "an adapter's (LoRA)",
    "log_history": "a Trainer's log",
    "weight_map": "an index of weight files",
    "tokenizer_class": "a tokenizer's",
    "added_tokens": "a tokenizer's",
    "added_tokens_decoder": "a tokenizer's",
    "chat_template": "a tokenizer's",
    "image_processor_type": "an image processor's",
    "train_micro_batch_size_per_gpu": "DeepSpeed's",
    "_class_name": "a diffusion model's",
    "eos_token_id": "a generation config's",
    "max_new_tokens": "a generation config's",
    "do_sample": "a generation config's",
    "quant_method": "a quantization config's",
}
"""A key of another file -> whose file it is; asked only where the dimensions are missing."""
