"""Parameter counts from dimensions: hand-checkable models, every preset against its published count, and the errors."""

from decimal import Decimal

import pytest
from numpy.testing import assert_allclose

from bsmath import presets
from bsmath.architecture import Architecture, active_params, matmul_params, num_params, parameter_table

MODELS = {key: model for key, model in presets.models().items() if model.architecture is not None}
MOE = [key for key, model in MODELS.items() if model.num_experts is not None]

# Published figures that leave out the embedding's lookup: the MiniCPM paper's table 2 and the gpt-oss card's table 1.
WITHOUT_EMBEDDING = {"minicpm_2_4b": "num_params", "gpt_oss_20b": "active_params", "gpt_oss_120b": "active_params"}

DENSE = {"num_layers": 2, "hidden_size": 64, "num_heads": 4, "vocab_size": 100, "ffn_size": 256}
ROUTED = {"num_experts": 8, "top_k": 2, "expert_ffn_size": 32}
LATENT = {"kv_lora_rank": 16, "rope_head_dim": 4}


def counted(key: str, name: str) -> int:
    """What the published figure `name` of a preset counts, from its dimensions."""
    arch = MODELS[key].architecture
    left_out = parameter_table(arch)["embedding"] if WITHOUT_EMBEDDING.get(key) == name else 0
    return {"num_params": num_params, "active_params": active_params}[name](arch) - left_out


def last_digit(figure: float) -> float:
    """One unit in the last digit that was published: 1e9 of 37e9, 1e8 of 12.9e9."""
    return 10.0 ** Decimal(figure).normalize().as_tuple().exponent


def test_there_are_enough_models_dense_and_moe():
    assert len(MODELS) >= 34
    assert len(MOE) >= 12


@pytest.mark.parametrize("key", MODELS)
def test_dimensions_give_the_published_number_of_parameters(key):
    assert_allclose(counted(key, "num_params"), MODELS[key].num_params, rtol=0.01)


@pytest.mark.parametrize("key", MOE)
def test_dimensions_give_the_published_number_of_active_parameters(key):
    published = MODELS[key].active_params  # mostly two digits, some rounded (2.83 to 2.8), some cut (36.5 to 36)
    assert abs(counted(key, "active_params") - published) < max(0.01 * published, last_digit(published))


@pytest.mark.parametrize(
    "key, parameters",  # totals of the released weights, to the last parameter
    [
        ("gpt_2_124m", 124_439_808),
        ("gpt_2_355m", 354_823_168),
        ("gpt_2_774m", 774_030_080),
        ("gpt_2_1_5b", 1_557_611_200),
        ("pythia_1_4b", 1_414_647_808),
        ("pythia_6_9b", 6_857_302_016),
        ("llama_2_7b", 6_738_415_616),
        ("llama_2_13b", 13_015_864_320),
        ("llama_2_70b", 68_976_648_192),
        ("llama_3_1_8b", 8_030_261_248),
        ("llama_3_1_70b", 70_553_706_496),
        ("llama_3_1_405b", 405_853_388_800),
        ("mistral_7b", 7_241_732_096),
        ("qwen_2_5_0_5b", 494_032_768),
        ("qwen_2_5_7b", 7_615_616_512),
        ("qwen_2_5_72b", 72_706_203_648),
        ("mixtral_8x7b", 46_702_792_704),
        ("mixtral_8x22b", 140_630_071_296),
    ],
)
def test_counts_are_exact_where_nothing_is_left_out(key, parameters):
    assert num_params(MODELS[key].architecture) == parameters


@pytest.mark.parametrize(
    "key, parameters, left_out",  # totals of the released weights; norms on queries, keys and latents, routing biases
    [
        ("qwen_3_0_6b", 596_049_920, 28 * (128 + 128)),
        ("qwen_3_8b", 8_190_735_360, 36 * (128 + 128)),
        ("olmo_2_7b", 7_298_617_344, 32 * (4096 + 4096)),
        ("olmo_2_32b", 32_234_279_936, 64 * (5120 + 1024)),
        ("olmoe_1b_7b", 6_919_161_856, 16 * (2048 + 2048)),
        ("qwen3_30b_a3b", 30_532_122_624, 48 * (128 + 128)),
        ("qwen3_235b_a22b", 235_093_634_560, 94 * (128 + 128)),
        ("deepseek_v2", 235_741_434_880, 60 * (1536 + 512)),
        ("deepseek_v3", 671_026_419_200, 61 * (1536 + 512) + 58 * 256),  # without multi-token prediction
        ("bloom_176b", 176_247_271_424, 2 * 14_336),  # a norm on the embedding
    ],
)
def test_what_is_left_out_is_what_the_module_says(key, parameters, left_out):
    assert parameters - num_params(MODELS[key].architecture) == left_out
    assert left_out < 1e-4 * parameters


@pytest.mark.parametrize(
    "key, published",  # billions that leave out both embeddings: model cards of Moonlight and Qwen, report of Nemotron-4
    [("moonlight_16b", 15.29), ("qwen3_30b_a3b", 29.9), ("qwen3_235b_a22b", 234), ("nemotron_4_340b", 331.6)],
)
def test_counts_without_the_embeddings_are_the_published_ones(key, published):
    table = parameter_table(MODELS[key].architecture)
    without = sum(table.values()) - table["embedding"] - table["unembedding"]
    assert_allclose(without, published * 1e9, rtol=0.002)


def test_moonlight_activates_2_24_billion_without_the_embeddings():
    table = parameter_table(MODELS["moonlight_16b"].architecture, active=True)
    assert_allclose(sum(table.values()) - table["embedding"] - table["unembedding"], 2.24e9, rtol=0.002)


@pytest.mark.parametrize(
    "key, mlp, attention, embeddings",  # gpt-oss model card, table 1; its MLP holds router and biases
    [("gpt_oss_20b", 19.12e9, 0.64e9, 1.16e9), ("gpt_oss_120b", 114.71e9, 0.96e9, 1.16e9)],
)
def test_the_parts_of_gpt_oss_are_the_published_ones(key, mlp, attention, embeddings):
    table = parameter_table(MODELS[key].architecture)
    assert_allclose(table["routed_experts"] + table["router"] + table["biases"], mlp, rtol=1e-3)
    assert_allclose(table["attention"], attention, rtol=0.01)
    assert_allclose(table["embedding"] + table["unembedding"], embeddings, rtol=0.01)


def test_gpt_2_can_be_counted_by_hand():
    assert parameter_table(MODELS["gpt_2_124m"].architecture) == {
        "embedding": 50_257 * 768,
        "unembedding": 0,
        "attention": 12 * 4 * 768**2,
        "dense_mlp": 12 * 8 * 768**2,
        "routed_experts": 0,
        "shared_experts": 0,
        "router": 0,
        "biases": 12 * (4 * 768 + 3072 + 768),
        "norms": 25 * 2 * 768,
        "positions": 1024 * 768,
    }


def test_nanogpt_prints_its_count_without_positions():
    table = parameter_table(MODELS["nanogpt_124m"].architecture)
    assert_allclose(sum(table.values()) - table["positions"], 123.59e6, rtol=5e-5)


def test_latent_attention_of_deepseek_v3_can_be_counted_by_hand():
    layer = 7168 * 1536 + 1536 * 128 * 192 + 7168 * (512 + 64) + 512 * 128 * (128 + 128) + 128 * 128 * 7168
    assert parameter_table(MODELS["deepseek_v3"].architecture)["attention"] == 61 * layer


def test_matmul_params_of_a_plain_transformer_are_those_of_the_megatron_formula():
    arch = MODELS["gpt_3_175b"].architecture
    layers, hidden, vocab, seq_len = 96, 12_288, 50_257, 2048
    assert 6 * matmul_params(arch) == 72 * layers * hidden**2 + 6 * vocab * hidden  # 72 l h^2 (1 + V/(12 l h))
    assert_allclose(6 * matmul_params(arch) + 12 * layers * hidden * seq_len, 1.0764e12, rtol=1e-4)


@pytest.mark.parametrize("key", MODELS)
def test_matmul_params_are_the_active_ones_without_lookup_biases_norms_and_positions(key):
    arch = MODELS[key].architecture
    table = parameter_table(arch, active=True)
    logits = table["embedding"] if arch.tied_embeddings else table["unembedding"]
    rest = sum(table[part] for part in ("embedding", "unembedding", "biases", "norms", "positions"))
    assert matmul_params(arch) == active_params(arch) - rest + logits
    assert matmul_params(arch) <= active_params(arch) <= num_params(arch)


def test_tying_the_embeddings_saves_parameters_and_no_work():
    untied, tied = Architecture(**DENSE), Architecture(**DENSE, tied_embeddings=True)
    assert num_params(untied) - num_params(tied) == 100 * 64
    assert matmul_params(untied) == matmul_params(tied)


def test_a_gated_mlp_has_half_as_many_parameters_again():
    gated, plain = (parameter_table(Architecture(**DENSE, gated_mlp=value))["dense_mlp"] for value in (True, False))
    assert (gated, plain) == (2 * 3 * 64 * 256, 2 * 2 * 64 * 256)


def test_fewer_key_value_heads_save_their_share_of_attention():
    full, grouped = (parameter_table(Architecture(**DENSE, num_kv_heads=heads))["attention"] for heads in (4, 1))
    assert full == 2 * 4 * 64**2
    assert full - grouped == 2 * 2 * 64 * 3 * 16


def test_only_top_k_routed_experts_are_active():
    arch = Architecture(**DENSE, **ROUTED, num_shared_experts=1, num_dense_layers=1)
    assert num_params(arch) - active_params(arch) == 1 * (8 - 2) * 3 * 64 * 32
    table = parameter_table(arch)
    assert table["dense_mlp"] == 3 * 64 * 256
    assert table["shared_experts"] == 3 * 64 * 32
    assert table["router"] == 64 * 8


def test_with_all_experts_chosen_all_parameters_are_active():
    arch = Architecture(**DENSE, **{**ROUTED, "top_k": 8}, biases=True)
    assert active_params(arch) == num_params(arch)


def test_missing_dimensions_take_their_defaults():
    arch = Architecture(**DENSE)
    assert (arch.num_kv_heads, arch.head_dim, arch.value_head_dim) == (4, 16, 16)
    assert Architecture(**{**DENSE, "num_heads": 5}, head_dim=16).value_head_dim == 16


@pytest.mark.parametrize(
    "change, message",
    [
        ({"num_layers": 0}, "num_layers must be a whole number from 1"),
        ({"hidden_size": 64.5}, "hidden_size must be a whole number, got 64.5"),
        ({"vocab_size": "100"}, "vocab_size must be a number, got '100'"),
        ({"ffn_size": None}, "ffn_size must be a number, got None"),
        ({"num_heads": 5}, r"num_heads must divide hidden_size \(64\), got 5"),
        ({"num_kv_heads": 3}, r"num_kv_heads must divide num_heads \(4\), got 3"),
        ({"gated_mlp": 1}, "gated_mlp must be true or false, got 1"),
        ({"learned_positions": -1}, "learned_positions must be a whole number from 0"),
        ({"num_experts": 8}, r"top_k must come with num_experts \(8\), got None"),
        ({"top_k": 2}, r"top_k must come with num_experts \(None\), got 2"),
        ({**ROUTED, "expert_ffn_size": None}, r"expert_ffn_size must come with num_experts \(8\), got None"),
        ({**ROUTED, "top_k": 9}, "top_k must be a whole number from 1 to 8, got 9"),
        ({**ROUTED, "num_dense_layers": 3}, "num_dense_layers must be a whole number from 0 to 2, got 3"),
        ({"num_shared_experts": 1}, "num_shared_experts must come with num_experts, got 1"),
        ({"q_lora_rank": 8}, "q_lora_rank must come with kv_lora_rank, got 8"),
        ({"rope_head_dim": 4}, "rope_head_dim must come with kv_lora_rank, got 4"),
        ({**LATENT, "rope_head_dim": 16}, r"rope_head_dim must be from 1 to below head_dim \(16\), got 16"),
    ],
)
def test_errors_name_the_field_the_rule_and_the_value(change, message):
    Architecture(**DENSE, **ROUTED, **LATENT)
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        Architecture(**{**DENSE, **change})
