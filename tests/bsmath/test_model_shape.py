import pytest
from numpy.testing import assert_allclose

from bsmath import flops, model_shape, presets
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

LLAMA = presets.models()["llama_3_1_8b"]
NAMED = [name for name, model in presets.models().items() if model.architecture is not None]


@pytest.mark.parametrize("name", NAMED)
def test_dimensions_of_every_preset_describe_its_own_size(name):
    model = presets.models()[name]
    scenario = Scenario(
        num_params=model.num_params, active_params=model.active_params or model.num_params, architecture=name
    )
    found = model_shape.of(scenario)
    if name in ("gpt_oss_20b", "gpt_oss_120b", "minicpm_2_4b"):  # published without the embedding
        return
    assert not found.assumed and found.architecture == model.architecture


def test_a_scenario_without_dimensions_gets_those_of_a_usual_model():
    found = model_shape.of(Scenario(num_params=6.7e9))
    assert found.assumed and found.contradicted is None
    assert (found.architecture.num_layers, found.architecture.hidden_size) == (32, 4096)


def test_dimensions_of_another_model_are_not_used():
    found = model_shape.of(Scenario(num_params=70e9, architecture="llama_3_1_8b"))
    assert found.assumed
    assert_allclose(found.contradicted, 8.03e9, rtol=1e-3)
    assert found.architecture.num_layers > 40


def test_fields_of_a_mixture_set_its_experts_and_both_counts():
    changes = model_shape.fields_of(presets.models()["mixtral_8x7b"].architecture)
    assert changes["architecture"] == "mixtral_8x7b" and (changes["num_experts"], changes["top_k"]) == (8, 2)
    assert_allclose([changes["num_params"], changes["active_params"]], [46.7e9, 12.9e9], rtol=2e-3)
    assert not model_shape.of(Scenario(**changes)).assumed


def test_one_rate_reads_higher_the_more_a_count_includes():
    scenario = Scenario(
        num_params=LLAMA.num_params, architecture="llama_3_1_8b", seq_len=8192, accelerator="h100_sxm", recompute="full"
    )
    run = outlook(scenario)
    table = model_shape.readings(scenario, run, LLAMA.architecture).set_index("counted")
    six, full, causal, executed = table["utilization"]
    assert_allclose(six, run.mfu)
    assert causal < full < executed < full * 4 / 3 * 1.0001
    scores = flops.attention_flops_per_token(32, 32, 128, 8192)
    assert_allclose(full - causal, run.mfu * scores / 2 / run.flops_per_token)
    assert (table["tokens_per_second"] * table["flops_per_token"]).round(-6).nunique() == 1
