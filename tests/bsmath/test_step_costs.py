import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import curves, model_shape, presets, step_costs, throughput
from bsmath.architecture import parameter_table
from bsmath.measured import fitted_changes, measurement
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from bsmath.sweeps import read

# 7B on 64 H100 in nodes of eight: gradients of 14e9 bytes over 40e9 bytes/s take 2 63/64 14e9/40e9 = 0.689 s.
LARGE = Scenario(
    num_params=7e9,
    accelerator="h100_sxm",
    mfu=0.4,
    micro_batch_size=1,
    seq_len=2048,
    data_parallel_size=64,
    fixed_time=0,
)
REDUCE = 2 * 63 / 64 * 14e9 / 40e9
COMPUTE = 6 * 7e9 * 2048 / (989e12 * 0.4)


def test_one_device_with_large_micro_batches_is_the_straight_line_of_the_scenario():
    scenario = Scenario()
    assert_allclose(step_costs.effective(scenario), (0.05, 989e12 * 0.71 / (6 * 7.96e8)))


def test_gradients_that_the_backward_pass_cannot_hide_lengthen_the_step():
    fixed, limit = step_costs.effective(LARGE)
    assert_allclose(fixed, REDUCE - 2 / 3 * COMPUTE)
    assert_allclose(outlook(LARGE).step_time, REDUCE + COMPUTE / 3)
    assert_allclose(limit, step_costs.plateau(LARGE))


def test_without_overlap_all_of_it_shows():
    assert_allclose(step_costs.effective(LARGE.change(overlap=0))[0], REDUCE)


def test_a_micro_batch_long_enough_hides_it():
    assert step_costs.effective(LARGE.change(micro_batch_size=8))[0] == 0


def test_gradients_in_fp32_are_twice_as_many_bytes():
    assert_allclose(step_costs.gradient_bytes(LARGE.change(gradient_dtype="fp32")), 28e9)


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"data_parallel_size": 8}, 0.8 * 450e9),  # one node: NVLink 4, one way
        ({"data_parallel_size": 64}, 0.8 * 50e9),  # beyond it: a 400 Gb/s port each
        ({"network_bandwidth": 25e9}, 25e9),
        ({"accelerator": "1e15", "data_parallel_size": 2}, 0.8 * 50e9),
    ],
)
def test_bandwidth_is_typed_or_that_of_the_links_in_use(changes, expected):
    assert_allclose(step_costs.bandwidth(LARGE.change(**changes))[0], expected)


def test_overhead_per_micro_batch_lowers_the_plateau_but_not_the_fixed_time():
    scenario = Scenario(micro_batch_time=0.1, grad_accum_steps=4)
    fixed, limit = step_costs.effective(scenario)
    assert fixed == 0.05
    assert_allclose(98_304 / limit, 98_304 / step_costs.plateau(scenario) + 0.1)
    assert outlook(scenario).plateau_mfu < scenario.mfu


@pytest.mark.parametrize("scenario", [Scenario(), LARGE, LARGE.change(zero_stage=3, grad_accum_steps=3)])
def test_terms_add_up_to_the_step_time_of_the_run(scenario):
    run = outlook(scenario)
    assert_allclose(step_costs.terms_at(scenario, run.padded_tokens_per_step).total, run.step_time)
    table = step_costs.over_batch(scenario, [run.tokens_per_step])
    assert_allclose(table[list(step_costs.TERMS)].sum(axis=1), run.step_time)


def test_a_rate_climbs_with_the_batch_and_then_is_flat():
    run = outlook(LARGE)
    sizes = np.geomspace(1e4, 1e9, 50)
    rate = sizes / step_costs.terms_at(LARGE, sizes).total
    assert (np.diff(rate) > -1e-9 * rate[1:]).all()
    assert_allclose(rate[-1], run.plateau, rtol=0.01)


@pytest.mark.parametrize("scenario", [Scenario(), LARGE, Scenario(micro_batch_time=0.05, grad_accum_steps=4)])
def test_calibration_gives_the_measured_rate_back(scenario):
    run = outlook(scenario)
    wanted = 0.9 * run.tokens_per_second
    after = outlook(curves.calibrated(scenario, run.tokens_per_step, wanted))
    assert_allclose(after.tokens_per_second, wanted, rtol=1e-6)


def test_calibration_to_a_rate_that_communication_forbids_is_refused():
    with pytest.raises(ValueError, match="measured rate must be within reach once communication"):
        curves.calibrated(LARGE, 131_072, 131_072 / REDUCE)


def test_a_fit_used_in_a_job_with_communication_predicts_the_fitted_rates():
    sizes = 131_072 * np.array([1, 2, 4, 8])
    rows = "\n".join(f"{size},{size / (1.0 + size / 5e5)}" for size in sizes)
    found = measurement(read(f"batch_tokens,tokens_per_s\n{rows}".encode(), "s.csv"), "all rows", "tokens_per_second")
    run = outlook(LARGE.change(**fitted_changes(LARGE, found)[0]))
    assert_allclose([run.fixed_time, run.plateau], [1.0, 5e5], rtol=1e-4)
    assert_allclose(
        throughput.tokens_per_second(sizes, run.fixed_time, run.padded_plateau), found.points["median"], rtol=1e-4
    )


@pytest.mark.parametrize("name", ["mixtral_8x7b", "olmoe_1b_7b", "qwen3_30b_a3b", "deepseek_v3", "kimi_k2"])
def test_expert_parameters_follow_from_total_and_active_ones(name):
    arch = presets.models()[name].architecture
    scenario = Scenario(**model_shape.fields_of(arch))
    assert_allclose(step_costs.expert_params(scenario), parameter_table(arch)["routed_experts"], rtol=3e-3)


def test_a_dense_model_has_no_experts_to_share_out():
    assert step_costs.expert_params(Scenario()) == 0
    assert step_costs.device_params(Scenario(expert_parallel_size=8, data_parallel_size=8)) == 7.96e8


def test_an_expert_parallel_group_shares_its_experts_and_nothing_else():
    scenario = Scenario(
        num_params=46.7e9, active_params=12.9e9, num_experts=8, top_k=2, data_parallel_size=16, expert_parallel_size=8
    )
    experts = (46.7e9 - 12.9e9) / 0.75
    assert_allclose(step_costs.device_params(scenario), 46.7e9 - experts + experts / 8)
