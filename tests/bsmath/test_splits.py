"""Splits of a global batch: complete, exact, fast; brute force agrees."""

from dataclasses import FrozenInstanceError
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsmath.batch import global_batch_size, num_devices
from bsmath.splits import Split, feasible, nearest, ranked

SIZES = {
    "wanted": st.integers(1, 120),
    "devices": st.integers(1, 24),
    "per_replica": st.integers(1, 4),
    "largest": st.integers(0, 12),
    "smallest": st.integers(1, 4),
}


def plain(splits):
    return [(s.micro_batch_size, s.grad_accum_steps, s.data_parallel_size) for s in splits]


def brute(wanted, devices, per_replica, largest, smallest, idle=False):
    return {
        (micro, accum, replicas)
        for replicas in range(1, devices + 1)
        for micro in range(smallest, largest + 1)
        for accum in range(1, wanted + 1)
        if micro * accum * replicas == wanted
        and (replicas * per_replica <= devices if idle else replicas * per_replica == devices)
    }


@given(**SIZES, idle=st.booleans())
def test_every_split_is_found_once_and_no_other(wanted, devices, per_replica, largest, smallest, idle):
    found = plain(
        feasible(wanted, devices, per_replica, largest, smallest_micro_batch=smallest, idle_devices=idle),
    )
    assert len(found) == len(set(found))
    assert set(found) == brute(wanted, devices, per_replica, largest, smallest, idle)


@given(**SIZES)
def test_nearest_batches_are_those_that_a_search_finds(wanted, devices, per_replica, largest, smallest):
    def splits(batch):
        return feasible(batch, devices, per_replica, largest, smallest_micro_batch=smallest)

    below, above = nearest(wanted, devices, per_replica, largest, smallest_micro_batch=smallest)
    assert below == next((batch for batch in range(wanted, 0, -1) if splits(batch)), None)
    reachable = wanted + devices * smallest  # a multiple of replicas x smallest is among these, if any is feasible
    assert above == next((batch for batch in range(wanted, reachable + 1) if splits(batch)), None)


def test_five_hundred_and_twelve_sequences_on_64_devices():
    # 32 replicas of two devices, 16 sequences each: micro-batches of 8, 4, 2, 1 where 12 fit.
    assert plain(feasible(512, 64, 2, 12)) == [(8, 2, 32), (4, 4, 32), (2, 8, 32), (1, 16, 32)]


def test_a_split_consumes_the_wanted_batch_and_all_devices():
    for split in feasible(1152, 96, 8, 20):
        sizes = split.micro_batch_size, split.grad_accum_steps, split.data_parallel_size
        assert global_batch_size(*sizes) == 1152
        assert num_devices(split.data_parallel_size, 8) == 96


def test_256_sequences_cannot_be_split_over_seven_replicas():
    assert feasible(256, 7, 1, 2) == []
    assert nearest(256, 7, 1, 2) == (252, 259)


def test_keeping_the_micro_batch_leaves_fewer_batches():
    assert nearest(256, 7, 1, 2, smallest_micro_batch=2) == (252, 266)


def test_a_feasible_batch_is_its_own_neighbor_on_both_sides():
    assert nearest(512, 64, 2, 12) == (512, 512)


def test_below_one_micro_batch_on_every_replica_there_is_only_a_larger_batch():
    assert nearest(5, 8, 1, 4) == (None, 8)


@pytest.mark.parametrize("devices, per_replica, largest", [(8, 3, 4), (8, 16, 4), (8, 1, 0)])
def test_nothing_is_feasible_where_replicas_do_not_fill_the_devices_or_nothing_fits(devices, per_replica, largest):
    assert feasible(64, devices, per_replica, largest) == []
    assert nearest(64, devices, per_replica, largest) == (None, None)


def test_idle_devices_make_every_batch_feasible():
    # 97 is prime, so on 64 devices it runs on one, as any micro-batch of one.
    assert plain(feasible(97, 64, 1, 8, idle_devices=True)) == [(1, 97, 1)]


def test_more_memory_never_takes_a_split_away():
    known = set()
    for largest in range(20):
        now = set(feasible(720, 24, 2, largest))
        assert known <= now
        known = now


def test_the_fastest_split_comes_first_and_of_equals_the_larger_micro_batch():
    splits = feasible(16, 8, 1, 4, idle_devices=True)
    by_rate = ranked(splits, lambda split: split.data_parallel_size)
    assert plain(by_rate)[:3] == [(2, 1, 8), (1, 2, 8), (4, 1, 4)]
    assert ranked(reversed(splits), lambda split: 1.0) == ranked(splits, lambda split: 1.0)
    assert plain(ranked(splits, lambda split: 1.0))[:3] == [(4, 1, 4), (4, 2, 2), (4, 4, 1)]


def test_a_million_sequences_on_a_hundred_thousand_devices_take_no_time():
    began = perf_counter()
    assert len(feasible(10**6, 10**5, 1, 10**6)) == 4
    assert nearest(999_999, 10**5, 1, 10**6) == (900_000, 1_000_000)
    assert len(feasible(720_720, 10**5, 1, 10**6, idle_devices=True)) > 7_000  # the most divisors below a million
    assert perf_counter() - began < 0.5  # takes 0.02 s: the margin is for a busy machine


def test_a_split_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Split(micro_batch_size=1, grad_accum_steps=1, data_parallel_size=1).micro_batch_size = 2
