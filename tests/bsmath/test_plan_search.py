import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import memory_outlook, model_shape, plan_search
from bsmath.outlook import outlook, seconds_to_goal
from bsmath.plan_search import fastest_splits, largest_micro_batches, spread
from bsmath.scenario import Scenario

MOST_MICRO_BATCH = 40


def high(scenario: Scenario, micro_batch_size: int, replicas: int) -> float:
    """High memory estimate, from the page's own record. [bytes]"""
    other = scenario.change(micro_batch_size=micro_batch_size, data_parallel_size=replicas)
    return memory_outlook.outlook(other, model_shape.of(other)).estimate.high


def random_scenario(number: int) -> Scenario:
    """A small job: up to 16 devices, few sequences in memory, every term of the step time possible."""
    rng = np.random.default_rng(number)
    model_parallel = int(rng.choice([1, 1, 2, 3, 4]))
    job = Scenario(
        num_params=10 ** rng.uniform(7, 9.5),
        seq_len=int(rng.choice([256, 1024, 2048])),
        accelerator=str(rng.choice(["h200_sxm", "l4", "a100_80_sxm", "3e14"])),
        mfu=rng.uniform(0.2, 0.7),
        fixed_time=float(rng.choice([0, 0.01, 0.1, 1])) * rng.uniform(0.5, 2),
        micro_batch_size=int(rng.integers(1, 5)),
        grad_accum_steps=int(rng.integers(1, 20)),
        data_parallel_size=int(rng.integers(1, 4)),
        model_parallel_size=model_parallel,
        padding_fraction=float(rng.choice([0, 0.3])),
        critical_batch_size=10 ** rng.uniform(4, 6.5),
        goal=str(rng.choice(["target", "budget"])),
        zero_stage=int(rng.integers(0, 4)),
        micro_batch_time=float(rng.choice([0, 0.02])),
        network_bandwidth=10 ** rng.uniform(8, 11),
        overlap=float(rng.choice([0, 0.5, 1])),
        gradient_dtype=str(rng.choice(["bf16", "fp32"])),
        most_devices=int(rng.integers(model_parallel, 17)),
    )
    shared = high(job, 1, job.most_devices // model_parallel)
    per_sequence = high(job, 2, 1) - high(job, 1, 1)
    return job.change(device_memory=shared + 10 ** rng.uniform(-1.5, -0.05) * MOST_MICRO_BATCH * per_sequence)


def least_time(scenario: Scenario, replicas: int) -> float:
    """Least time over every micro-batch that fits and every accumulation that could win, by plain search. [s]"""
    best = math.inf
    for micro in range(1, 10_000):
        if high(scenario, micro, replicas) > scenario.device_memory * (1 + 1e-12):
            return best
        one = scenario.change(micro_batch_size=micro, data_parallel_size=replicas, grad_accum_steps=1)
        run = outlook(one)
        if scenario.goal == "budget":
            own = scenario.micro_batch_size * scenario.grad_accum_steps * scenario.data_parallel_size
            most = own // (micro * replicas)
        else:
            # Never fewer than S_min steps, none shorter than its tokens at the plateau: more cannot beat one micro-batch each.
            most = math.ceil(run.seconds * run.plateau / (scenario.min_steps * run.tokens_per_step))
        if most:
            best = min(best, seconds_to_goal(one, run.tokens_per_step * np.arange(1, most + 1)).min())
    raise AssertionError("memory bounds no micro-batch")


@pytest.mark.parametrize("number", range(50))
def test_no_split_beats_the_one_that_is_found(number):
    scenario = random_scenario(number)
    most = scenario.most_devices // scenario.model_parallel_size
    assert largest_micro_batches(scenario, np.arange(1, most + 1)).max() <= MOST_MICRO_BATCH
    found = fastest_splits(scenario, scenario.most_devices)
    times = dict(zip(found.get("data_parallel_size", ()), found.get("seconds", ()), strict=True))
    for replicas in range(1, most + 1):
        assert_allclose(times.get(replicas, math.inf), least_time(scenario, replicas), rtol=1e-8)


def test_the_random_scenarios_cover_both_goals_all_stages_and_jobs_that_fit_only_where_states_are_shared():
    jobs = [random_scenario(number) for number in range(50)]
    assert {job.goal for job in jobs} == {"target", "budget"} and {job.zero_stage for job in jobs} == {0, 1, 2, 3}
    assert {job.model_parallel_size for job in jobs} == {1, 2, 3, 4} and {job.padding_fraction for job in jobs} == {
        0,
        0.3,
    }
    first = [largest_micro_batches(job, np.array([1, job.most_devices // job.model_parallel_size])) for job in jobs]
    assert any(alone == 0 < shared for alone, shared in first)


@pytest.mark.parametrize("number", range(12))
def test_every_split_is_feasible_and_takes_as_long_as_the_outlook_of_the_scenario_says(number):
    scenario = random_scenario(number)
    found = fastest_splits(scenario, scenario.most_devices)
    names = ("data_parallel_size", "micro_batch_size", "grad_accum_steps")
    for index in range(len(found.get("seconds", ()))):
        split = {name: int(found[name][index]) for name in names}
        run = outlook(scenario.change(**split))
        assert math.prod(split.values()) == found["global_batch_size"][index] == run.global_batch_size
        assert found["num_devices"][index] == run.num_devices <= scenario.most_devices
        same = (
            "tokens_per_step",
            "step_time",
            "tokens_per_second",
            "steps",
            "tokens",
            "seconds",
            "device_hours",
            "goodput",
        )
        for name in same:
            assert_allclose(found[name][index], getattr(run, name), rtol=1e-12)


def test_numbers_tried_have_at_most_five_binary_digits_and_leave_small_gaps():
    numbers = spread(5000)
    assert numbers[:33].tolist() == [*range(1, 33), 34] and numbers[-1] == 5000
    assert all(len(bin(number)[2:].rstrip("0")) <= 5 for number in numbers[:-1].tolist())
    assert (np.diff(numbers) / numbers[:-1])[32:].max() <= 1 / 16
    assert spread(35)[-2:].tolist() == [34, 35] and spread(7).tolist() == list(range(1, 8)) and not len(spread(0))
    assert spread(300, 256).tolist() == [*range(1, 257), 272, 288, 300]


def test_a_larger_limit_tries_all_that_a_smaller_one_does():
    assert set(spread(64)) <= set(spread(4096))


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("experts", [1, 4])
def test_the_largest_micro_batch_is_that_of_the_memory_page_for_every_number_of_replicas(stage, experts):
    scenario = Scenario(
        num_params=8e9, active_params=3e9, zero_stage=stage, expert_parallel_size=experts, num_experts=16, top_k=2,
        micro_batch_size=3, model_parallel_size=2,
    )  # fmt: skip
    replicas = np.array([1, 2, 3, 8, 64])
    others = [scenario.change(data_parallel_size=d) for d in replicas.tolist()]
    expected = [memory_outlook.outlook(one, model_shape.of(one)).largest_micro_batch[0] for one in others]
    assert largest_micro_batches(scenario, replicas).tolist() == expected
    assert (np.diff(expected) >= 0).all() and (stage == 0 or expected[-1] > expected[0])


def test_typed_memory_replaces_that_of_the_accelerator_and_without_any_the_own_micro_batch_is_the_largest():
    replicas = np.array([1, 4])
    typed = Scenario(device_memory=80e9, accelerator="h200_sxm")
    assert (
        largest_micro_batches(typed, replicas).tolist()
        == largest_micro_batches(Scenario(accelerator="h100_sxm"), replicas).tolist()
    )
    assert largest_micro_batches(Scenario(accelerator="1e15", micro_batch_size=7), replicas).tolist() == [7, 7]
    assert largest_micro_batches(Scenario(accelerator="1e15", device_memory=1e9), replicas).tolist() == [0, 0]


def test_a_budget_grows_the_batch_up_to_that_of_the_scenario_and_no_further():
    scenario = Scenario(goal="budget", micro_batch_size=10, grad_accum_steps=6, data_parallel_size=2, most_devices=64)
    found = fastest_splits(scenario, 64)
    assert found["global_batch_size"].max() == 120
    assert found["global_batch_size"][0] == 120
    assert set(found["data_parallel_size"]) == set(spread(64))  # 64 replicas of one sequence are still below 120
    assert fastest_splits(scenario, 200)["data_parallel_size"].max() == 120


def test_without_any_fixed_time_the_smallest_batch_is_chosen_among_equals():
    job = Scenario(accelerator="1e15", fixed_time=0, micro_batch_size=8, grad_accum_steps=8, network_bandwidth=1e15)
    for goal in ("target", "budget"):
        assert fastest_splits(job.change(goal=goal), 4)["global_batch_size"].tolist() == [1, 2, 3, 4]


def test_of_equal_batches_the_one_with_the_larger_micro_batch_is_chosen():
    # B_fast is 40.4 sequences of one device: 40 = 8 x 5 = 5 x 8 = ..., all equally fast on a typed peak.
    job = Scenario(accelerator="1e15", mfu=0.65289, micro_batch_size=8)
    found = fastest_splits(job, 1)
    assert found["global_batch_size"] == 40 and found["micro_batch_size"] == 8


def test_nothing_is_found_where_nothing_fits_or_a_replica_needs_more_devices():
    assert fastest_splits(Scenario(num_params=405e9), 64) == {}
    assert fastest_splits(Scenario(model_parallel_size=8), 7) == {}


def test_the_search_leaves_the_scenario_as_it_was():
    scenario = Scenario()
    fastest_splits(scenario, 64)
    assert scenario == Scenario()


def test_time_at_a_line_is_that_of_whole_micro_batches():
    scenario = Scenario(padding_fraction=0.2, zero_stage=3, micro_batch_time=0.01)
    on = plan_search.lines(scenario, np.array([2, 4]), np.array([1, 8, 24]))
    real = 3 * plan_search.smallest_steps(scenario, on)
    times = plan_search.seconds(scenario, on, real)
    for row, replicas in enumerate((2, 4)):
        for column, micro in enumerate((1, 8, 24)):
            split = {"micro_batch_size": micro, "grad_accum_steps": 3, "data_parallel_size": replicas}
            assert_allclose(times[row, column], outlook(scenario.change(**split)).seconds, rtol=1e-12)
