from numpy.testing import assert_allclose

from bsmath.levers import levers
from bsmath.scenario import Scenario


def test_levers_are_sorted_by_what_they_save():
    ratios = [lever.time_ratio for lever in levers(Scenario())]
    assert ratios == sorted(ratios) and len(ratios) == 5


def test_twice_the_replicas_far_below_the_knee_halve_time_at_equal_work():
    tiny = Scenario(micro_batch_size=1, seq_len=16, critical_batch_size=1e10, network_bandwidth=1e15)
    twice = next(lever for lever in levers(tiny) if lever.name == "twice the replicas")
    assert_allclose([twice.time_ratio, twice.work_ratio], [0.5, 1.0], rtol=1e-4)


def test_twice_the_replicas_far_above_the_knee_save_nothing_and_double_the_work():
    huge = Scenario(grad_accum_steps=100_000, critical_batch_size=1e4)
    twice = next(lever for lever in levers(huge) if lever.name == "twice the replicas")
    assert_allclose([twice.time_ratio, twice.work_ratio], [1.0, 2.0], rtol=1e-3)


def test_more_mfu_scales_only_the_part_that_grows_with_the_batch():
    more = next(lever for lever in levers(Scenario(fixed_time=0)) if lever.name == "a tenth more MFU")
    assert_allclose(more.time_ratio, 1 / 1.1)


def test_changes_that_change_nothing_or_leave_the_range_are_left_out():
    names = [lever.name for lever in levers(Scenario(fixed_time=0, micro_batch_size=1, data_parallel_size=1_000_000))]
    assert set(names) == {"a tenth more MFU", "twice the accumulation"}
