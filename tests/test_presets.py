"""The presets of data/*.toml: units, sources, and agreement with the published figures they stand for."""

import dataclasses

import pytest
from numpy.testing import assert_allclose

from bsmath import presets, shipped
from bsmath.scenario import Scenario

RECORDS = [
    pytest.param(record, id=f"{kind.__name__}-{key}")
    for kind in (presets.hardware, presets.models, presets.runs)
    for key, record in kind().items()
]
HARDWARE = [pytest.param(record, id=key) for key, record in presets.hardware().items()]
RUNS = [pytest.param(run, id=key) for key, run in presets.runs().items()]


def tokens_per_step(run: presets.Run) -> float:
    replica = run.fields["micro_batch_size"] * run.fields.get("grad_accum_steps", 1)
    return replica * run.fields.get("data_parallel_size", 1) * run.fields["seq_len"]


def num_devices(run: presets.Run) -> int:
    return run.fields.get("data_parallel_size", 1) * run.fields.get("model_parallel_size", 1)


@pytest.mark.parametrize("record", RECORDS)
def test_every_entry_has_a_label_and_a_source(record):
    assert record.label.strip()
    assert record.source.startswith(("https://", "data/measured/"))


def test_labels_are_unique_within_a_file():
    for kind in (presets.hardware, presets.models, presets.runs):
        labels = [record.label for record in kind().values()]
        assert len(set(labels)) == len(labels)


def test_files_are_read_once_and_cannot_be_changed():
    assert presets.hardware() is presets.hardware()
    with pytest.raises(TypeError):
        presets.hardware()["h200_sxm"] = None
    with pytest.raises(TypeError):
        presets.runs()["palm_540b"].fields["mfu"] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        presets.models()["palm_540b"].num_params = 1.0


@pytest.mark.parametrize("device", HARDWARE)
def test_hardware_is_in_si_base_units(device):
    assert 1e13 < device.peak_flops < 1e16
    assert device.memory is None or 1e10 < device.memory < 1e12
    assert 2e11 < device.memory_bandwidth < 1e14
    if device.link_bandwidth is not None:
        assert 1e10 < device.link_bandwidth < device.memory_bandwidth


@pytest.mark.parametrize("device", HARDWARE)
def test_no_peak_is_a_sparse_headline(device):
    headlines = {other.sparse_peak_flops for other in presets.hardware().values()} - {None}
    assert device.peak_flops not in headlines
    if device.sparse_peak_flops is not None:
        assert_allclose(device.sparse_peak_flops, 2 * device.peak_flops, rtol=0.03)


@pytest.mark.parametrize("device", HARDWARE)
def test_fp8_is_at_most_about_twice_bf16(device):
    if device.peak_flops_fp8 is not None:
        assert device.peak_flops <= device.peak_flops_fp8 <= 2.03 * device.peak_flops


@pytest.mark.parametrize(
    "key, flop_per_byte",
    [
        ("a100_40_sxm", 201),
        ("a100_80_sxm", 153),
        ("a100_80_pcie", 161),
        ("h100_sxm", 295),
        ("h100_pcie", 378),
        ("h200_sxm", 206),
        ("b200_sxm", 281),
        ("gb200", 313),
        ("b300_sxm", 281),
        ("mi250x", 117),
        ("mi300x", 247),
        ("mi325x", 218),
        ("mi355x", 313),
        ("tpu_v4", 229),
        ("tpu_v5e", 240),  # "240 tokens per chip" in the scaling book
        ("tpu_v5p", 166),
        ("tpu_v6e", 574),
        ("gaudi_2", 176),
        ("gaudi_3", 453),
        ("l4", 403),
        ("l40s", 419),
        ("rtx_3090", 76),
        ("rtx_4090", 164),
        ("rtx_5090", 117),
    ],
)
def test_machine_balance_is_the_published_one(key, flop_per_byte):
    device = presets.hardware()[key]
    assert_allclose(device.peak_flops / device.memory_bandwidth, flop_per_byte, rtol=0.02)


@pytest.mark.parametrize("model", [pytest.param(model, id=key) for key, model in presets.models().items()])
def test_active_parameters_are_given_for_moe_alone_and_are_the_smaller(model):
    assert (model.active_params is None) == (model.num_experts is None) == (model.top_k is None)
    assert 1e8 < model.num_params < 2e12
    if model.num_experts is not None:
        assert model.active_params < model.num_params
        assert model.top_k < model.num_experts


def test_a_model_without_dimensions_has_no_architecture():
    assert presets.models()["minimax_01"].architecture is None


def test_the_routing_of_a_model_is_that_of_its_architecture():
    for model in presets.models().values():
        if model.architecture is not None:
            assert (model.architecture.num_experts, model.architecture.top_k) == (model.num_experts, model.top_k)


@pytest.mark.parametrize(
    "key, tokens, tokens_per_expert",  # k B / E per step
    [
        ("olmoe_1b_7b", 4_194_304, 524_288),
        ("deepseekmoe_16b", 18.9e6, 1.77e6),
        ("deepseek_v2", 37_748_736, 1.416e6),
        ("deepseek_v3", 62_914_560, 1_966_080),
        ("kimi_k2", 67e6, 1.396e6),
        ("moonlight_16b", 33_554_432, 3.146e6),
        ("minimax_01", 128e6, 8.0e6),
    ],
)
def test_routing_gives_the_published_tokens_per_expert(key, tokens, tokens_per_expert):
    model = presets.models()[key]
    assert_allclose(tokens * model.top_k / model.num_experts, tokens_per_expert, rtol=0.01)


@pytest.mark.parametrize(
    "key, tokens",
    [
        ("worked_example", 1_000_000),
        ("founding_question", 48 * 2048),
        ("gpt_3_175b", 3.2e6),
        ("gopher_280b", 6e6),
        ("chinchilla_70b", 3e6),
        ("mt_nlg_530b", 1920 * 2048),
        ("palm_540b", 4.19e6),
        ("bloom_176b", 2048 * 2048),
        ("pythia_6_9b", 2.10e6),
        ("llama_2_7b", 2**22),  # published as "4M"
        ("deepseek_llm_67b", 18.9e6),
        ("nemotron_4_340b", 2304 * 4096),
        ("llama_3_1_405b", 2**24),  # published as "16M": 128 replicas of 16 sequences of 8,192
        ("olmo_2_7b", 4.19e6),
        ("olmo_3_7b", 4.19e6),
        ("deepseek_v2", 9216 * 4096),
        ("deepseek_v3", 15360 * 4096),
        ("kimi_k2", 67e6),
    ],
)
def test_split_gives_the_published_tokens_per_step(key, tokens):
    assert_allclose(tokens_per_step(presets.runs()[key]), tokens, rtol=0.01)


@pytest.mark.parametrize(
    "key, devices",
    [
        ("founding_question", 1),
        ("gopher_280b", 4096),
        ("mt_nlg_530b", 2240),
        ("palm_540b", 6144),
        ("bloom_176b", 384),
        ("pythia_6_9b", 128),
        ("nemotron_4_340b", 6144),
        ("llama_3_1_405b", 16_384),
        ("olmo_3_7b", 512),
        ("deepseek_v3", 2048),
    ],
)
def test_split_gives_the_published_number_of_devices(key, devices):
    assert num_devices(presets.runs()[key]) == devices


@pytest.mark.parametrize(
    "key, tokens_per_second",  # published, per device
    [("mt_nlg_530b", 29.2), ("palm_540b", 38.8), ("bloom_176b", 104.3), ("nemotron_4_340b", 192), ("olmo_3_7b", 7700)],
)
def test_plateau_per_device_is_close_to_the_published_throughput(key, tokens_per_second):
    fields = presets.runs()[key].fields
    peak = presets.hardware()[fields["accelerator"]].peak_flops
    assert_allclose(peak * fields["mfu"] / (6 * fields["num_params"]), tokens_per_second, rtol=0.04)


@pytest.mark.parametrize("run", RUNS)
def test_accelerator_and_mfu_come_together(run):
    assert ("accelerator" in run.fields) == ("mfu" in run.fields)


@pytest.mark.parametrize("run", RUNS)
def test_learning_rate_belongs_to_the_batch_of_the_run(run):
    assert ("learning_rate" in run.fields) == ("reference_tokens_per_step" in run.fields)
    if "learning_rate" in run.fields:
        assert_allclose(run.fields["reference_tokens_per_step"], tokens_per_step(run), rtol=0.01)


@pytest.mark.parametrize("key", sorted(set(presets.runs()) & set(presets.models())))
def test_a_run_has_the_size_and_routing_of_its_model(key):
    model, fields = presets.models()[key], presets.runs()[key].fields
    for name in ("active_params", "seq_len", "num_experts", "top_k"):
        assert fields.get(name) == getattr(model, name)
    # A run states the round size of its report, a model that of its weights: 7B of Llama 2 is 6.74B, of OLMo 2 7.30B.
    assert_allclose(fields["num_params"], model.num_params, rtol=0.05)


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_a_valid_scenario(run):
    assert set(run.fields) <= {field.name for field in dataclasses.fields(Scenario)}
    scenario = Scenario(**run.fields)
    assert {name: getattr(scenario, name) for name in run.fields} == run.fields
    assert scenario.active_params <= scenario.num_params


HARDWARE_TOML = """
[device]
label = "Device"
peak_flops = 1e14
memory = 80e9
memory_bandwidth = 1e12
source = "https://example.org/device"
"""
MODEL_TOML = """
[moe]
label = "MoE"
num_params = 1e9
active_params = 1e8
num_experts = 8
top_k = 2
source = "https://example.org/moe"
"""
DENSE_TOML = """
[dense]
label = "Dense"
num_params = 1e9
num_layers = 2
hidden_size = 64
num_heads = 4
vocab_size = 100
ffn_size = 256
source = "https://example.org/dense"
"""
RUN_TOML = """
[run]
label = "Run"
source = "https://example.org/run"
note = "All of it is published."
accelerator = "h200_sxm"
"""


@pytest.mark.parametrize(
    "read, text, old, new, message",
    [
        ("hardware", HARDWARE_TOML, "1e14", "312", "device.peak_flops must be from 1e+13 to 1e+17, got 312"),
        ("hardware", HARDWARE_TOML, "80e9", "true", "device.memory must be a number, got True"),
        ("hardware", HARDWARE_TOML, "peak_flops = 1e14\n", "", "device.peak_flops must be given, got nothing"),
        ("hardware", HARDWARE_TOML, "label", "name", "device.name must be one of label, peak_flops"),
        (
            "hardware",
            HARDWARE_TOML,
            "https",
            "ftp",
            "device.source must be an https address or a file of data/measured, got 'ftp:",
        ),
        ("hardware", HARDWARE_TOML, "label", 'checked = "August"\nlabel', "device.checked must be a month"),
        ("hardware", HARDWARE_TOML, "[device]", "peak = 1\n[device]", "peak must be a table, got 1"),
        ("models", MODEL_TOML, "1e8", "2e9", "moe.active_params must be from 0 to 1e+09, got 2000000000.0"),
        ("models", MODEL_TOML, "top_k = 2", "top_k = 9", "moe.top_k must be a whole number from 1 to 8, got 9"),
        ("models", MODEL_TOML, "top_k = 2", "", "moe.top_k must come with num_experts, got None and 8"),
        ("models", MODEL_TOML, "label", "name", "moe.name must be one of label, num_params"),
        ("models", DENSE_TOML, "num_heads = 4\n", "", "dense.num_heads must be given, got nothing"),
        ("models", DENSE_TOML, "num_heads = 4", "num_heads = 5", "dense.num_heads must divide hidden_size (64), got 5"),
        ("models", DENSE_TOML, "layers = 2", "layers = 2.5", "dense.num_layers must be a whole number, got 2.5"),
        ("models", DENSE_TOML, "source", "top_k = 2\nsource", "dense.top_k must come with num_experts"),
        ("runs", RUN_TOML, "h200_sxm", "v100", "run.accelerator must be one of a100_40_sxm, "),
        ("runs", RUN_TOML, '"h200_sxm"', "[1]", "run.accelerator must be a number, got [1]"),
        ("runs", RUN_TOML, "All of it is published.", " ", "run.note must be filled in, got ' '"),
    ],
)
def test_a_wrong_entry_names_file_entry_and_field(tmp_path, read, text, old, new, message):
    path = tmp_path / f"{read}.toml"
    reader = getattr(presets, f"read_{read}")
    path.write_text(text)
    assert len(reader(path)) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises((TypeError, ValueError)) as error:
        reader(path)
    assert str(error.value).startswith(f"{read}.toml: {message}")


def test_the_run_of_one_cpu_thread_is_what_the_measured_files_say():
    run = Scenario(**presets.runs()["cpu_thread"].fields)
    rate, steps = shipped.sweep("together_throughput").fit, shipped.sweep("together_convergence").fit
    assert_allclose(float(run.accelerator), 6 * run.num_params * rate.plateau, rtol=1e-3)
    assert_allclose(run.fixed_time, rate.fixed_time, rtol=1e-3)
    assert_allclose((run.critical_batch_size, run.min_steps), (steps.critical_batch_size, steps.min_steps), rtol=1e-3)
    rates = shipped.sweep("together_convergence").tuning.set_index("tokens_per_step")["learning_rate"]
    assert run.learning_rate == rates[run.reference_tokens_per_step]
