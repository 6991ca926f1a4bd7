import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import memory_outlook, model_shape, pollux
from bsmath.outlook import outlook, seconds_to_goal
from bsmath.plan_batches import flat_range, over_batch, stay_below
from bsmath.plan_search import largest_micro_batches
from bsmath.planner import Plan, answers, cheapest, fastest, frontier, marginal, plans
from bsmath.scenario import Scenario

JOB = Scenario(
    num_params=8.03e9, architecture="llama_3_1_8b", accelerator="h200_sxm", mfu=0.4, zero_stage=1, micro_batch_size=1,
    grad_accum_steps=4, data_parallel_size=64, critical_batch_size=3e6, most_devices=96, price_per_device_hour=3,
    micro_batch_time=0.02, overlap=0.5,
)  # fmt: skip
PADDED = JOB.change(padding_fraction=0.3, zero_stage=3, model_parallel_size=2)
BUDGET = JOB.change(goal="budget")
OFFERED = JOB.change(other_offers="h100_sxm 2.5, b200_sxm 6, mi300x 2")
FOUNDING = Scenario(accelerator=f"{136_700 * 6 * 7.96e8 / 0.71:.12g}", micro_batch_size=1)
"""One sequence at a time on a device whose plateau is the 136,700 tokens/s of the worked case; t_fixed .05 s, B_crit 1e6."""


def made_up(seconds: float, hours: float, cost: float | None = None) -> Plan:
    blank = dict.fromkeys((field.name for field in dataclasses.fields(Plan)), 0)
    return Plan(**blank | {"seconds": seconds, "device_hours": hours, "cost": cost})


@pytest.mark.parametrize("scenario", [JOB, PADDED, BUDGET, OFFERED], ids=["target", "padded", "budget", "offers"])
def test_a_plan_is_what_the_outlook_says_of_its_split(scenario):
    for plan in plans(scenario):
        prices = {"h200_sxm": 3, "h100_sxm": 2.5, "b200_sxm": 6, "mi300x": 2}
        run = outlook(
            scenario.change(
                accelerator=plan.accelerator,
                price_per_device_hour=prices[plan.accelerator],
                micro_batch_size=plan.micro_batch_size,
                grad_accum_steps=plan.grad_accum_steps,
                data_parallel_size=plan.data_parallel_size,
            )
        )
        assert (plan.num_devices, plan.global_batch_size) == (run.num_devices, run.global_batch_size)
        for name in (
            "tokens_per_step",
            "step_time",
            "tokens_per_second",
            "steps",
            "tokens",
            "seconds",
            "goodput",
            "cost",
        ):
            assert_allclose(getattr(plan, name), getattr(run, name), rtol=1e-12)


def test_there_is_one_plan_for_each_accelerator_and_number_of_devices():
    found = [(plan.accelerator, plan.num_devices) for plan in plans(OFFERED)]
    assert len(set(found)) == len(found) and {name for name, _ in found} == {
        "h200_sxm",
        "h100_sxm",
        "b200_sxm",
        "mi300x",
    }
    assert max(devices for _, devices in found) == 96
    assert {plan.num_devices % 2 for plan in plans(PADDED)} == {0}


def test_price_and_power_are_counted_only_where_they_are_typed():
    priced = plans(JOB.change(device_power=700))[0]
    assert_allclose(priced.cost, 3 * priced.num_devices * priced.seconds / 3600)
    assert_allclose(priced.energy, 700 * priced.num_devices * priced.seconds)
    free = plans(JOB.change(price_per_device_hour=None))[0]
    assert free.cost is None and free.energy is None


def test_typed_memory_and_power_stay_with_the_own_accelerator():
    scenario = JOB.change(device_memory=90e9, device_power=700, other_offers="mi300x 2")
    alone = JOB.change(accelerator="mi300x", price_per_device_hour=2)
    assert [plan for plan in plans(scenario) if plan.accelerator == "mi300x"] == list(plans(alone))
    assert all(plan.energy is not None for plan in plans(scenario) if plan.accelerator == "h200_sxm")
    assert max(p.micro_batch_size for p in plans(scenario) if p.accelerator == "h200_sxm") < max(
        p.micro_batch_size for p in plans(JOB)
    )


def test_accelerators_without_a_plan_are_named_with_the_reason():
    scenario = OFFERED.change(other_offers="l4 0.5, a100_80_sxm, h200_sxm 1, b200_sxm 6", precision="bf16")
    found = answers(scenario)
    assert {plan.accelerator for plan in found.plans} == {"h200_sxm", "b200_sxm"}
    assert [sentence.split(" ", 1)[1] for sentence in found.left_out if "L4" in sentence] == [
        "plan on NVIDIA L4: no split over up to 96 devices surely fits its memory."
    ]
    assert any("no price to compare" in sentence for sentence in found.left_out)
    assert any("its price is the scenario's" in sentence for sentence in found.left_out)
    eight = answers(scenario.change(precision="fp8", other_offers="a100_80_sxm 1, b200_sxm 6"))
    assert eight.left_out == ("NVIDIA A100 80 GB SXM has no FP8 peak, so it is left out.",)


def test_where_nothing_fits_there_are_no_plans_but_a_sentence():
    found = answers(Scenario(num_params=405e9))
    assert (found.plans, found.frontier, found.savings, found.cheapest, found.fastest) == ((), (), (), None, None)
    assert len(found.left_out) == 1 and not found.in_money
    replica = answers(JOB.change(model_parallel_size=128, other_offers="mi300x 2"))
    assert replica.left_out == ("One replica takes 128 devices, more than the 96 allowed.",)


@pytest.mark.parametrize("scenario", [JOB, PADDED, BUDGET, OFFERED], ids=["target", "padded", "budget", "offers"])
def test_the_frontier_is_monotone_and_no_plan_beats_it(scenario):
    found = answers(scenario)
    times, costs = [p.seconds for p in found.frontier], [p.cost for p in found.frontier]
    assert (np.diff(times) > 0).all() and (np.diff(costs) < 0).all()
    for plan in found.plans:
        assert any(
            one.seconds <= plan.seconds * (1 + 1e-8) and one.cost <= plan.cost * (1 + 1e-8) for one in found.frontier
        )
    for one in found.frontier:
        assert not any(plan.seconds < one.seconds and plan.cost < one.cost for plan in found.plans)


def test_a_frontier_by_hand():
    best, dear, middle, beaten, slow = (
        made_up(*x) for x in ((1, 9, 50), (2, 9, 60), (2, 8, 40), (3, 1, 40), (9, 5, 10))
    )
    assert frontier([slow, beaten, middle, dear, best]) == (best, middle, slow)
    assert frontier([best, made_up(1, 9, 70)]) == (best,)
    assert frontier([]) == ()


def test_without_every_price_costs_are_device_hours():
    one, other = made_up(1, 9, 50), made_up(2, 8, None)
    assert frontier([one, other]) == (one, other)
    assert cheapest([one, other]) == other and fastest([one, other], 8) == other and fastest([one, other], 50) == one
    free = answers(OFFERED.change(price_per_device_hour=None))
    assert (
        not free.in_money and min(free.plans, key=lambda p: p.device_hours).device_hours == free.cheapest.device_hours
    )


@pytest.mark.parametrize("days", [3, 5, 10, 40, 1000])
def test_the_cheapest_by_a_deadline_is_that_of_a_filter(days):
    found = answers(OFFERED.change(deadline_days=days))
    kept = [plan.cost for plan in found.plans if plan.seconds <= days * 86_400]
    assert (found.cheapest is None) == (not kept)
    if kept:
        assert_allclose(found.cheapest.cost, min(kept), rtol=1e-8)
        assert found.cheapest.seconds <= days * 86_400


@pytest.mark.parametrize("cost", [100, 8_500, 12_000, 1e9])
def test_the_fastest_at_a_cost_is_that_of_a_filter(cost):
    found = answers(OFFERED.change(most_cost=cost))
    kept = [plan.seconds for plan in found.plans if plan.cost <= cost]
    assert (found.fastest is None) == (not kept)
    if kept:
        assert_allclose(found.fastest.seconds, min(kept), rtol=1e-8)
        assert found.fastest.cost <= cost


def test_an_hour_saved_costs_the_difference_of_neighbors():
    first, second = marginal([made_up(3600, 9, 100), made_up(7200, 9, 40), made_up(18_000, 9, 10)])
    assert (first.cost, first.seconds, first.cost_per_hour) == (30, 10_800, 10)
    assert (second.cost, second.seconds, second.cost_per_hour) == (60, 3600, 60)
    found = answers(OFFERED)
    assert_allclose(sum(one.cost for one in found.savings), found.frontier[0].cost - found.frontier[-1].cost)
    assert all(one.cost_per_hour > 0 for one in found.savings)


@pytest.mark.parametrize("scenario", [JOB, PADDED, BUDGET], ids=["target", "padded", "budget"])
def test_more_devices_never_make_the_frontier_slower(scenario):
    few, many = (answers(scenario.change(most_devices=most)).plans for most in (32, 128))
    for plan in few:
        assert any(one.seconds <= plan.seconds and one.cost <= plan.cost for one in many)
    assert fastest(many).seconds < fastest(few).seconds


def test_a_dearer_price_moves_cost_and_nothing_else():
    cheap, dear = plans(JOB), plans(JOB.change(price_per_device_hour=6))
    assert_allclose([2 * plan.cost for plan in cheap], [plan.cost for plan in dear])
    assert [plan.seconds for plan in cheap] == [plan.seconds for plan in dear]


@pytest.mark.parametrize("scenario", [JOB, PADDED], ids=["target", "padded"])
@pytest.mark.parametrize("devices", [8, 64, 96])
def test_the_batch_of_greatest_goodput_is_the_batch_of_least_time(scenario, devices):
    table = over_batch(scenario, devices)
    assert table["goodput"].idxmax() == table["seconds"].idxmin() == table["cost"].idxmin()
    minimum = table["tokens"] / (1 + table["tokens_per_step"] / 3e6)
    assert_allclose(table["seconds"], minimum / table["goodput"])  # T = E_min / goodput
    plan = next(plan for plan in plans(scenario) if plan.num_devices == devices)
    assert_allclose(table["seconds"].min(), plan.seconds, rtol=1e-9)


@pytest.mark.parametrize("devices", [8, 64])
def test_efficiency_of_pollux_ranks_the_batches_of_equal_devices_as_time_does(devices):
    table = over_batch(JOB, devices)
    reference = table["tokens_per_step"].min()
    useful = pollux.goodput(table["tokens_per_second"], table["tokens_per_step"], 3e6, reference)
    assert (np.argsort(-useful, kind="stable") == np.argsort(table["seconds"], kind="stable")).all()


@pytest.mark.parametrize("scenario", [JOB, PADDED, BUDGET], ids=["target", "padded", "budget"])
def test_over_the_batch_every_row_is_the_fastest_split_of_its_batch(scenario):
    table = over_batch(scenario, 8).iloc[::7]
    replicas = 8 // scenario.model_parallel_size
    largest = largest_micro_batches(scenario, np.array([replicas]))[0]
    for row in table.itertuples():
        share, left = divmod(row.global_batch_size, replicas)
        assert left == 0 and row.micro_batch_size <= largest
        splits = [m for m in range(1, largest + 1) if share % m == 0]
        runs = [
            outlook(scenario.change(micro_batch_size=m, grad_accum_steps=share // m, data_parallel_size=replicas))
            for m in splits
        ]
        best = min(runs, key=lambda run: run.seconds)
        assert_allclose((row.seconds, row.cost), (best.seconds, best.cost), rtol=1e-9)


def test_over_the_batch_every_multiple_of_the_replicas_stands_up_to_four_times_the_critical_one():
    table = over_batch(JOB.change(micro_batch_size=1, grad_accum_steps=37), 8)
    assert table["global_batch_size"][:256].tolist() == list(range(8, 8 * 257, 8))
    assert table["tokens_per_step"].iloc[-1] <= 4 * 3e6 < table["tokens_per_step"].iloc[-1] * 17 / 16
    assert len(table) < 600 and table["tokens_per_step"].is_monotonic_increasing
    own = over_batch(JOB.change(grad_accum_steps=499, data_parallel_size=2), 2)
    assert 998 in own["global_batch_size"].tolist()


def test_a_budget_ends_at_the_batch_of_the_scenario():
    table = over_batch(BUDGET, 8)
    assert table["global_batch_size"].tolist() == list(range(8, 264, 8))
    assert_allclose(table["seconds"].min(), next(plan.seconds for plan in plans(BUDGET) if plan.num_devices == 8))
    assert over_batch(BUDGET, 300).empty and flat_range(BUDGET, 300) is None


def test_where_nothing_fits_the_batches_are_empty():
    large = Scenario(num_params=405e9)
    assert over_batch(large, 4).empty and set(over_batch(large, 4)) == set(over_batch(JOB, 8))
    assert flat_range(large, 4) is None and stay_below(large, 4) is None


def test_devices_that_do_not_hold_whole_replicas_are_refused():
    for answer in (over_batch, flat_range, stay_below):
        with pytest.raises(ValueError, match=r"num_devices must be a multiple of model_parallel_size \(2\), got 7"):
            answer(PADDED, 7)
    with pytest.raises(ValueError, match=r"num_devices must be .*got 0"):
        over_batch(JOB, 0)


@pytest.mark.parametrize("devices", [1, 8, 96])
@pytest.mark.parametrize(
    "scenario",
    [JOB.change(zero_stage=1, device_memory=290e9), JOB.change(padding_fraction=0.3, device_memory=290e9, fixed_time=5), BUDGET.change(device_memory=290e9)],
    ids=["target", "padded", "budget"],
)  # fmt: skip
def test_the_flat_range_holds_exactly_the_batches_within_five_percent(scenario, devices):
    smallest = over_batch(scenario, devices)["tokens_per_step"].min()
    times = {}
    for micro in range(1, largest_micro_batches(scenario, np.array([devices]))[0] + 1):
        one = scenario.change(micro_batch_size=micro, data_parallel_size=devices, grad_accum_steps=1)
        most = 256 // (devices * micro) if scenario.goal == "budget" else 6000 // micro
        accumulation = np.arange(1, most + 1)
        if most:
            taken = seconds_to_goal(one, outlook(one).tokens_per_step * accumulation)
            for share, seconds in zip((accumulation * micro).tolist(), taken.tolist(), strict=True):
                times[share] = min(times.get(share, math.inf), seconds)
    within = [share for share, seconds in times.items() if seconds <= 1.05 * min(times.values())]
    assert max(within) < 5000  # the search went far enough
    assert_allclose(flat_range(scenario, devices), (min(within) * smallest, max(within) * smallest))


def test_one_device_stays_far_below_the_critical_batch():
    # Worked case: T/S_min 8.5749 s at B_fast = 82,674, 14.7306 at B_crit, 36.639 at 4 B_crit. B_fast is no multiple of 2,048.
    below = stay_below(FOUNDING, 1)
    assert below.tokens_per_step == 40 * 2048
    assert_allclose(below.times_below, 1e6 / 81_920)
    assert_allclose(
        (below.time_at_critical, below.time_at_four_critical), (14.7306 / 8.5750, 36.639 / 8.5750), rtol=1e-4
    )


def test_the_fastest_batch_to_the_target_is_asked_for_whatever_the_goal():
    assert stay_below(FOUNDING.change(goal="budget"), 1) == stay_below(FOUNDING, 1)


def test_a_critical_batch_below_one_sequence_is_read_at_one_sequence():
    below = stay_below(FOUNDING.change(critical_batch_size=200), 1)
    assert below.tokens_per_step == 2048 and below.times_below < 1
    assert below.time_at_critical == below.time_at_four_critical == 1


def test_high_memory_estimate_decides_what_fits():
    for plan in plans(JOB):
        one = JOB.change(micro_batch_size=plan.micro_batch_size, data_parallel_size=plan.data_parallel_size)
        assert memory_outlook.outlook(one, model_shape.of(one)).verdict == "fits"
