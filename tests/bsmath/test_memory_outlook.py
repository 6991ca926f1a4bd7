import pytest
from numpy.testing import assert_allclose

from bsmath import memory_outlook, memory_plan, model_shape
from bsmath.scenario import Scenario

LLAMA = Scenario(
    num_params=8.03e9, architecture="llama_3_1_8b", seq_len=8192, micro_batch_size=1, data_parallel_size=64, zero_stage=3,
    accelerator="h100_sxm",
)  # fmt: skip


def judged(scenario: Scenario):
    return memory_outlook.outlook(scenario, model_shape.of(scenario))


def test_named_dimensions_are_counted_as_they_are():
    found = judged(LLAMA)
    assert_allclose(found.estimate.states, 16 * 8.03e9 / 64)
    assert_allclose(found.estimate.activations, [factor * 8192 * 4096 * 32 for factor in (48, 96)])


def test_assumed_dimensions_widen_the_estimate_of_activations_alone():
    scenario = Scenario(num_params=6.7e9)
    found, plain = judged(scenario), memory_plan.estimate(
        **memory_outlook.job(scenario, model_shape.of(scenario).architecture)
    )  # fmt: skip
    assert found.estimate.activations == (
        plain.activations[0] / memory_outlook.ASSUMED,
        plain.activations[1] * memory_outlook.ASSUMED,
    )
    assert found.estimate.states == plain.states


@pytest.mark.parametrize(
    "micro_batch_size, verdict", [(1, "may fit"), (2, "does not fit")]
)  # 53.5 to 111 GB of 80; 105 GB at least  # fmt: skip
def test_verdict_compares_both_ends_with_the_device(micro_batch_size, verdict):
    assert judged(LLAMA.change(micro_batch_size=micro_batch_size)).verdict == verdict
    assert judged(LLAMA.change(recompute="full")).verdict == "fits"


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("micro_batch_size", [1, 7])
def test_largest_micro_batch_fits_and_the_next_does_not(recompute, micro_batch_size):
    scenario = LLAMA.change(recompute=recompute, accelerator="mi300x", micro_batch_size=micro_batch_size, seq_len=2048)
    sure, may = judged(scenario).largest_micro_batch
    assert 0 < sure <= may
    assert judged(scenario.change(micro_batch_size=sure)).verdict == "fits"
    assert judged(scenario.change(micro_batch_size=sure + 1)).verdict != "fits"
    assert judged(scenario.change(micro_batch_size=may + 1)).verdict == "does not fit"


def test_a_typed_peak_has_no_memory_to_fit_into():
    scenario = LLAMA.change(accelerator="1e15")
    found = judged(scenario)
    assert found.verdict is None and found.largest_micro_batch is None
    assert memory_outlook.freed_by(scenario, model_shape.of(scenario), 1) is None


def test_half_the_micro_batch_frees_half_of_what_grows_with_it():
    scenario = LLAMA.change(micro_batch_size=4)
    shape = model_shape.of(scenario)
    found = memory_outlook.freed_by(scenario, shape, 2)
    assert_allclose(found.memory, [part / 2 for part in judged(scenario).estimate.per_batch])
    assert found.same_memory_seq_len == pytest.approx(2 * 8192, abs=1) and found.capacity_factor is None


def test_a_mixture_can_spend_it_on_capacity():
    scenario = Scenario(
        num_params=46.7e9, active_params=12.88e9, architecture="mixtral_8x7b", micro_batch_size=4, seq_len=4096,
        data_parallel_size=8, model_parallel_size=8, zero_stage=1,
    )  # fmt: skip
    assert memory_outlook.freed_by(scenario, model_shape.of(scenario), 2).capacity_factor[0] > 0


def test_parts_add_up_to_the_estimate():
    found = judged(LLAMA)
    assert_allclose([sum(each.values()) for each in found.parts], [found.estimate.low, found.estimate.high])


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_sharing_experts_out_never_changes_what_is_fully_sharded(stage):
    scenario = Scenario(
        num_params=46.7e9, active_params=12.88e9, architecture="mixtral_8x7b", num_experts=8, top_k=2, seq_len=4096,
        micro_batch_size=1, data_parallel_size=64, model_parallel_size=1, zero_stage=stage,
    )  # fmt: skip
    alone, grouped = judged(scenario), judged(scenario.change(expert_parallel_size=8))
    sharded = ["optimizer", "gradients", "weights"][:stage]
    for part in ("optimizer", "gradients", "weights"):
        before, after = getattr(alone.estimate, part), getattr(grouped.estimate, part)
        assert after == pytest.approx(before) if part in sharded else after < before / 4
