import dataclasses
import re

import pytest
from numpy.testing import assert_allclose

from bsmath.outlook import outlook, seconds_to_goal
from bsmath.scenario import CHOICES, FIELDS, RANGES, TEXTS, Scenario

VERSION_1 = {
    "num_params": 7.96e8, "active_params": 7.96e8, "seq_len": 2048, "accelerator": "h200_sxm", "mfu": 0.71, "fixed_time": 0.05,
    "micro_batch_size": 48, "grad_accum_steps": 1, "data_parallel_size": 1, "model_parallel_size": 1, "padding_fraction": 0.0,
    "critical_batch_size": 1e6, "min_steps": 50_000, "goal": "target", "token_budget": 5e10, "optimizer": "adamw",
    "learning_rate": 3e-4, "reference_tokens_per_step": 524_288, "noise_scale": 1e6, "adam_saturation_batch": 1e6,
    "surge_peak_batch": 1e6, "weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95, "warmup_tokens": 1e9, "clip_norm": 1.0,
    "num_experts": 64, "top_k": 8, "capacity_factor": 1.25, "expert_parallel_size": 1, "price_per_device_hour": None,
    "architecture": "", "precision": "bf16", "recompute": "selective", "zero_stage": 0, "gradient_dtype": "bf16",
    "micro_batch_time": 0.0, "network_bandwidth": None, "overlap": 1.0, "target_loss": None,
    "min_learning_rate": 0.0, "decay": "coupled", "epsilon": 1e-8, "schedule": "cosine", "decay_tokens": 0.0, "schedule_unit": "steps",
    "checkpoint_tokens": 0.0, "eval_tokens": 0.0, "loss_average": "token", "gradient_norm": None, "new_micro_batch_size": 48,
    "new_grad_accum_steps": 1, "new_data_parallel_size": 1, "new_seq_len": 2048, "rate_rule": "usual", "beta_rule": "keep",
    "router_skew": 0.0, "sequence_correlation": 0.0, "ramp": "linear_tokens", "ramp_start": None, "ramp_end": None,
    "ramp_tokens": 1e10, "ramp_levels": 8, "ramp_factor": 1.0, "ramp_stages": "", "ramps_compared": "linear_tokens law adaptive",
    "critical_growth": "zhang_data", "most_devices": 64, "device_memory": None, "device_power": None, "deadline_days": None,
    "most_cost": None, "other_offers": "",
}  # fmt: skip


def test_defaults_are_those_of_link_version_1():
    assert dataclasses.asdict(Scenario()) == VERSION_1


def test_default_run_reads_as_specified():
    run = outlook(Scenario())
    assert run.num_devices == 1
    assert run.tokens_per_step == 98_304
    assert_allclose(run.tokens_per_second, 136_800, rtol=1e-3)
    assert_allclose(run.mfu, 0.66, atol=0.005)
    assert_allclose(run.half_batch, 7_350, rtol=1e-3)
    assert_allclose(run.fastest_batch, 85_740, rtol=1e-4)
    assert_allclose(run.steps, 558_626, rtol=1e-5)
    assert run.fastest_feasible_batch == 98_304
    assert_allclose(run.seconds, run.tokens / run.tokens_per_second)
    assert run.seconds == pytest.approx(run.best_seconds)


def test_active_params_follow_num_params_until_they_are_set():
    assert Scenario(num_params=7e9).active_params == 7e9
    assert Scenario().change(num_params=7e9).active_params == 7e9
    assert Scenario(num_params=671e9, active_params=37e9).change(num_params=700e9).active_params == 37e9


def test_noise_scale_follows_the_critical_batch():
    assert Scenario().change(critical_batch_size=4e6).noise_scale == 4e6


def test_work_counts_active_and_not_all_parameters():
    assert outlook(Scenario(num_params=671e9, active_params=37e9)).flops_per_token == 6 * 37e9


def test_padding_leaves_hardware_tokens_and_takes_real_ones():
    run = outlook(Scenario(padding_fraction=0.4))
    assert run.padded_tokens_per_step == 98_304
    assert_allclose(run.tokens_per_step, 0.6 * 98_304)
    assert_allclose(run.mfu, outlook(Scenario()).mfu)  # padding is work
    assert_allclose(run.tokens_per_second, 0.6 * outlook(Scenario()).tokens_per_second)


def test_typed_peak_stands_for_an_accelerator():
    assert Scenario(accelerator="495e12").peak_flops == 495e12


def test_budget_takes_its_tokens_at_the_rate():
    run = outlook(Scenario(goal="budget", token_budget=1e10))
    assert run.tokens == 1e10
    assert_allclose(run.seconds, 1e10 / run.tokens_per_second)
    assert_allclose(run.steps, 1e10 / 98_304)


@pytest.mark.parametrize("goal", ["target", "budget"])
def test_time_over_batches_meets_the_run_at_its_own_batch(goal):
    scenario = Scenario(goal=goal, padding_fraction=0.2, data_parallel_size=4)
    run = outlook(scenario)
    assert_allclose(seconds_to_goal(scenario, run.tokens_per_step), run.seconds)


def test_cost_needs_a_price():
    assert outlook(Scenario()).cost is None
    run = outlook(Scenario(price_per_device_hour=2.0, data_parallel_size=8))
    assert_allclose(run.cost, 2 * 8 * run.seconds / 3600)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"mfu": 7}, "mfu must be from 0.01 to 1, got 7"),
        ({"num_params": float("nan")}, "num_params must be finite, got nan"),
        ({"seq_len": 2048.5}, "seq_len must be a whole number, got 2048.5"),
        ({"micro_batch_size": 0}, "micro_batch_size must be a whole number from 1 to 1e+06, got 0"),
        ({"goal": "win"}, "goal must be one of target, budget, got 'win'"),
        ({"active_params": 8e8}, "active_params must be at most num_params (7.96e+08), got 8e+08"),
        ({"top_k": 65}, "top_k must be at most num_experts (64), got 65"),
        ({"accelerator": "abacus"}, "accelerator must be one of"),
    ],
)
def test_wrong_values_are_named(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Scenario(**changes)


def test_wrong_kinds_are_named():
    with pytest.raises(TypeError, match="mfu must be a number, got 'high'"):
        Scenario(mfu="high")


@pytest.mark.parametrize("name", [name for name in FIELDS if name in RANGES])
def test_every_number_accepts_its_range_ends_and_refuses_beyond(name):
    low, high = RANGES[name]
    loose = {"num_params": 1e13, "num_experts": 100_000, "top_k": 1, "active_params": 1e3}
    ends = {**loose, name: int(low) if isinstance(getattr(Scenario(), name), int) else low}
    if name in ("num_params", "num_experts"):
        ends |= {"active_params": 1e3, "top_k": 1}
    assert getattr(Scenario(**ends), name) == low
    assert getattr(Scenario(**{**loose, name: high}), name) == high
    with pytest.raises(ValueError, match=name):
        Scenario(**{**loose, name: high * 2})


def test_fp8_counts_the_fp8_peak():
    assert Scenario(accelerator="h100_sxm", precision="fp8").peak_flops == 1979e12
    assert Scenario(accelerator="1e15", precision="fp8").peak_flops == 1e15


def test_fp8_needs_a_device_that_has_it():
    with pytest.raises(
        ValueError, match="precision must be bf16 on NVIDIA A100 80 GB SXM, which has no FP8 peak, got 'fp8'"
    ):
        Scenario(accelerator="a100_80_sxm", precision="fp8")


def test_dimensions_may_be_a_model_s_name_or_written_out():
    assert Scenario(architecture="llama_3_1_8b").architecture == "llama_3_1_8b"
    with pytest.raises(ValueError, match="architecture must name num_heads"):
        Scenario(architecture="num_layers=2 hidden_size=96 vocab_size=9 ffn_size=9")


def test_every_field_has_exactly_one_check():
    assert sorted([*RANGES, *CHOICES, *TEXTS, "accelerator"]) == sorted(FIELDS)


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("architecture", "num_layers=2", "architecture must name"),
        ("ramp_stages", "1:2", "ramp_stages must begin at 0 tokens, got 1"),
        ("ramps_compared", "a-b", "ramps_compared must be names of ramps, got 'a-b'"),
        ("other_offers", "abacus 2", "other_offers must name accelerators"),
    ],
)
def test_free_text_is_checked_and_empty_is_allowed(name, text, message):
    assert getattr(Scenario(**{name: "  "}), name) == ""
    with pytest.raises(ValueError, match=message):
        Scenario(**{name: text})
    with pytest.raises(TypeError, match=f"{name} must be text, got 7"):
        Scenario(**{name: 7})


def test_free_text_has_a_case_for_every_field_that_holds_some():
    assert set(TEXTS) == {"architecture", "ramp_stages", "ramps_compared", "other_offers"}
