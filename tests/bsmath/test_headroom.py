import pytest
from numpy.testing import assert_allclose

from bsmath import throughput
from bsmath.headroom import fastest_range, most_doubling_gain, most_fixed_time
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

CEILING = 794.5 / 989
"""H200: fastest measured BF16 matmul over the dense peak."""


def test_founding_run_can_be_a_fifth_faster_at_most():
    assert_allclose(CEILING / 0.66, 1.217, atol=5e-4)


def test_doubling_the_founding_batch_gains_less_than_ten_percent():
    # Of a step of 1, 1 - .66/.8033 = .178 can be fixed; twice the batch takes 2 - .178 = 1.822 for twice the tokens.
    assert_allclose(most_doubling_gain(0.66, CEILING), 2 / 1.8216 - 1, rtol=1e-3)


@pytest.mark.parametrize("mfu", [0.1, 0.4, 0.66, 0.8])
def test_doubling_gains_less_than_any_batch_could(mfu):
    assert 0 <= most_doubling_gain(mfu, CEILING) <= CEILING / mfu - 1


def test_at_the_ceiling_nothing_is_left():
    assert most_fixed_time(0.7, CEILING, CEILING) == most_doubling_gain(CEILING, CEILING) == 0


def test_largest_fixed_time_puts_the_plateau_at_the_ceiling():
    run = outlook(Scenario())
    fixed = most_fixed_time(run.step_time, run.mfu, CEILING)
    limit = throughput.plateau_from_rate(run.tokens_per_step, run.tokens_per_second, fixed)
    assert_allclose(limit * run.flops_per_token / 989e12, CEILING)


def test_range_holds_the_assumed_optimum_and_grows_with_what_is_open():
    scenario = Scenario()
    run = outlook(scenario)
    found = fastest_range(scenario, run, CEILING)
    low, high = found.tokens_per_step
    assert low < run.fastest_batch < high
    assert found.critical_batch_size[0] <= 1e6 <= found.critical_batch_size[1]
    assert fastest_range(scenario, run, None).tokens_per_step[1] < high


def test_range_starts_at_one_sequence_on_every_replica():
    scenario = Scenario(fixed_time=1e-4, data_parallel_size=64, micro_batch_size=1, network_bandwidth=1e15)
    low, _ = fastest_range(scenario, outlook(scenario), CEILING).tokens_per_step
    assert low == 64 * 2048
