"""The loads of a scenario's experts: uniform, skewed, and with alike tokens; what would be enough; presets."""

import math
import re

import pytest
from numpy.testing import assert_allclose

from bsmath import curves, expert_load, model_shape, moe, presets
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

DEEP = Scenario(micro_batch_size=1, seq_len=4096, num_experts=256, top_k=8)


def load(scenario: Scenario) -> expert_load.ExpertLoad:
    return expert_load.expert_load(scenario, outlook(scenario))


def skewed(concentration: float) -> Scenario:
    """The scenario whose skew is that of a Dirichlet concentration a per expert."""
    return DEEP.change(router_skew=math.sqrt(255 / (256 * concentration + 1)))


def test_an_even_router_is_the_exact_uniform_one():
    found = load(DEEP)
    assert_allclose([found.cv, found.uniform_cv, found.dropped], [0.08700, 0.08700, 0.00007592], rtol=1e-4)
    assert found.dropped == moe.dropped_fraction(4096, 256, 8, 1.25)


@pytest.mark.parametrize("concentration, dropped", [(1, 0.2870), (10, 0.04874), (50, 0.006377), (1000, 0.000164)])
def test_a_skewed_router_drops_what_the_dirichlet_multinomial_says(concentration, dropped):
    found = load(skewed(concentration))
    assert_allclose(found.dropped, dropped, rtol=5e-3)
    assert found.cv > found.skew and found.tokens_for_cv == (math.inf if found.skew > 0.1 else found.tokens_for_cv)


def test_a_larger_micro_batch_cannot_even_out_a_skewed_router():
    small, large = (load(skewed(10).change(micro_batch_size=size)) for size in (1, 1000))
    assert large.uniform_cv < small.uniform_cv / 30
    assert_allclose(large.cv, large.skew, rtol=1e-3)
    assert large.dropped > 0.9 * small.dropped


def test_alike_tokens_count_as_fewer():
    alike = load(DEEP.change(sequence_correlation=0.01))
    assert_allclose(alike.cv, 0.08700 * math.sqrt(1 + 4095 * 0.01), rtol=1e-4)
    assert alike.dropped > 100 * load(DEEP).dropped
    both = load(skewed(10).change(sequence_correlation=0.01))
    assert both.cv > max(alike.cv, load(skewed(10)).cv)


@pytest.mark.parametrize(
    "replicas, correlation, skew, factor, simulated",
    [
        (1, 0.03, 0.0, 1.25, 0.408),
        (1, 0.03, 0.1, 1.25, 0.408),
        (1, 0.1, 0.1, 1.25, 0.650),
        (1, 0.03, 0.3, 2.0, 0.26),
        (8, 0.03, 0.3, 1.25, 0.135),
    ],
)
def test_alike_tokens_of_a_skewed_router_drop_what_a_simulation_drops(replicas, correlation, skew, factor, simulated):
    """Shares drawn at the skew, each sequence's own around them: 4,096 tokens each, 64 experts, one a token."""
    scenario = Scenario(
        micro_batch_size=replicas,
        seq_len=4096,
        num_experts=64,
        top_k=1,
        router_skew=skew,
        sequence_correlation=correlation,
    )
    assert_allclose(expert_load.dropped(scenario, 4096 * replicas, factor), simulated, rtol=0.08)


def test_a_tiny_skew_is_no_skew():
    for scenario in (
        DEEP,
        DEEP.change(sequence_correlation=0.1),
        Scenario(num_experts=8, top_k=2, sequence_correlation=0.01),
    ):
        even, tiny = load(scenario), load(scenario.change(router_skew=1e-6))
        assert_allclose([tiny.cv, tiny.tokens_for_cv], [even.cv, even.tokens_for_cv], rtol=1e-6)
        assert_allclose(tiny.dropped, even.dropped, atol=2e-4)


def test_tokens_for_a_cv_give_that_cv():
    for scenario in (
        DEEP,
        DEEP.change(sequence_correlation=0.01),
        skewed(100),
        DEEP.change(sequence_correlation=1e-4, router_skew=0.05),
    ):
        assert_allclose(expert_load.load_cv(scenario, load(scenario).tokens_for_cv), expert_load.WANTED_CV, rtol=1e-6)


def test_what_goes_to_every_expert_is_even():
    found = load(Scenario(num_experts=64, top_k=64, router_skew=0.5, sequence_correlation=0.5))
    assert (found.skew, found.cv, found.dropped, found.tokens_for_cv) == (0, 0, 0, 0)
    assert load(Scenario(num_experts=8, top_k=7, router_skew=300)).least_factor <= 8 / 7


def test_the_least_capacity_factor_drops_what_is_wanted():
    for scenario in (
        DEEP,
        skewed(10),
        DEEP.change(sequence_correlation=0.05),
        skewed(10).change(sequence_correlation=0.1),
    ):
        found = load(scenario)
        assert load(scenario.change(capacity_factor=found.least_factor)).dropped <= expert_load.WANTED_DROP * (1 + 1e-9)
        assert load(scenario.change(capacity_factor=found.least_factor - 2 / 128)).dropped > expert_load.WANTED_DROP


def test_a_skew_beyond_one_expert_is_cut():
    assert load(Scenario(num_experts=4, top_k=1, router_skew=300)).skew == pytest.approx(0.999 * math.sqrt(3))
    assert load(Scenario(num_experts=8, top_k=2, router_skew=300)).skew == pytest.approx(0.999 * math.sqrt(3))
    assert load(Scenario(num_experts=1, top_k=1, router_skew=3)).cv == 0


@pytest.mark.parametrize(
    "name, replicas, said",
    [
        (
            "deepseek_v3",
            15_360,
            "each expert 128 on average, below the 362 from which .* In a whole step each expert sees 1.97M: not too small",
        ),
        (
            "mixtral_8x7b",
            256,
            "each expert 1,024 on average, enough for a compute-bound matmul on this accelerator .from 325",
        ),
        (
            "olmoe_1b_7b",
            1024,
            "each expert 512 on average, below the 520 from which .* In a whole step each expert sees 524k: not too small",
        ),
    ],
)
def test_whether_the_batch_is_too_small_for_the_experts_of_known_models(name, replicas, said):
    fields = model_shape.fields_of(presets.models()[name].architecture)
    own = {
        "architecture": name,
        "accelerator": "h100_sxm",
        "micro_batch_size": 1,
        "seq_len": 4096,
        "data_parallel_size": replicas,
    }
    found = load(Scenario().change(**fields | own))
    assert re.search(said, found.answer) and found.slowdown >= 1.25


def test_the_cv_falls_to_the_skew_and_no_further():
    table = curves.evenness(skewed(10), 4096, (0.0, 0.3))
    assert table["this"].is_monotonic_decreasing and table[0.0].is_monotonic_decreasing
    assert_allclose(table["this"].iloc[-1], 100 * load(skewed(10)).skew, rtol=1e-3)
    assert_allclose(table[0.0] / 100, moe.expert_load_cv(table["routed_tokens"], 256, 8))


def test_the_distribution_widens_with_the_skew():
    even, skew = (expert_load.distribution(scenario, 4096) for scenario in (DEEP, skewed(10)))
    assert skew["load"].max() > even["load"].max()
    assert_allclose(even["probability"].sum(), 1, atol=1e-3)


def test_a_slow_expert_pays_for_its_capacity_whatever_is_dropped():
    fields = model_shape.fields_of(presets.models()["deepseek_v3"].architecture)
    own = {"architecture": "deepseek_v3", "accelerator": "h100_sxm", "micro_batch_size": 1, "seq_len": 4096}
    even = Scenario().change(**fields | own)
    assert_allclose([load(even).slowdown, load(even).step_slowdown], [2.538, 1.753], rtol=1e-3)
    assert load(even.change(router_skew=1.0)).step_slowdown == load(even).step_slowdown


def test_the_largest_run_has_curves():
    huge = Scenario(
        num_experts=2,
        top_k=1,
        expert_parallel_size=10**5,
        data_parallel_size=10**5,
        seq_len=2**20,
        micro_batch_size=10**6,
    )
    routed = load(huge).routed
    assert curves.evenness(huge, routed, (0.0,)).notna().all(axis=None)
    assert curves.dropped_percent(huge, routed, (1.25,)).notna().all(axis=None)


@pytest.mark.parametrize("correlation", [0.0, 0.01])
def test_the_skew_is_found_from_a_measured_drop_rate(correlation):
    scenario = DEEP.change(sequence_correlation=correlation)
    share = load(scenario.change(router_skew=0.4)).dropped
    assert_allclose(expert_load.skew_for_dropped(scenario, share), 0.4, rtol=1e-3)


def test_a_drop_rate_that_no_router_has_is_refused_with_what_is_possible():
    with pytest.raises(ValueError, match="the dropped share must be from 7.59e-05 .an even router. to 0.871 .* got 0"):
        expert_load.skew_for_dropped(DEEP, 0.0)
    with pytest.raises(ValueError, match="got 0.5"):
        expert_load.skew_for_dropped(Scenario(num_experts=4, top_k=4), 0.5)
