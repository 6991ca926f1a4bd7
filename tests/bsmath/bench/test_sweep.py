"""The order of the measurements, and what happens when one does not fit."""

from collections import Counter

from bsmath.bench import sweep
from bsmath.bench.settings import Settings

BATCHES = (1, 2, 4, 8, 16)


def outcome(largest: int, **changes) -> dict[tuple[int, int], tuple]:
    """(repeat, batch) -> (times, note) on a device that holds batches up to `largest`."""

    def step_times(batch):
        if batch > largest:
            raise MemoryError
        return [0.1 * batch]

    found = sweep.measurements(Settings(global_batch_sizes=BATCHES, **changes), step_times)
    return {(one.repeat, one.global_batch_size): (one.step_times, one.note) for one in found}


def test_every_batch_size_is_measured_once_a_repeat():
    pairs = sweep.order(Settings(global_batch_sizes=BATCHES, repeats=3))
    assert Counter(pairs) == {(repeat, batch): 1 for repeat in (1, 2, 3) for batch in BATCHES}
    assert [repeat for repeat, _ in pairs] == sorted(repeat for repeat, _ in pairs)


def test_repeats_differ_in_order_and_the_seed_decides_it():
    def orders(seed):
        pairs = sweep.order(Settings(global_batch_sizes=tuple(range(1, 13)), repeats=2, seed=seed))
        return [batch for _, batch in pairs[:12]], [batch for _, batch in pairs[12:]]

    first, second = orders(0)
    assert first != second and first != sorted(first)
    assert orders(0) == (first, second) != orders(1)


def test_what_fits_is_measured_although_larger_batches_ran_out_of_memory():
    for (_, batch), (times, note) in outcome(largest=4).items():
        assert (times, note) == ((0.1 * batch,), "") if batch <= 4 else not times and note


def test_a_batch_that_ran_out_of_memory_says_so_in_every_repeat():
    found = outcome(largest=8, repeats=2)
    assert [found[repeat, 16] for repeat in (1, 2)] == [((), "out of memory")] * 2


def test_batches_larger_than_one_that_ran_out_of_memory_are_skipped_and_say_why():
    tried = []

    def step_times(batch):
        tried.append(batch)
        raise MemoryError

    settings = Settings(global_batch_sizes=BATCHES, repeats=2)
    first = sweep.order(settings)[0][1]
    notes = {}
    for one in sweep.measurements(settings, step_times):
        notes.setdefault(one.global_batch_size, set()).add(one.note)
    assert tried[0] == first and tried == sorted(tried, reverse=True) and tried[-1] == 1
    assert len(tried) == len(set(tried))
    assert "skipped: B=1 ran out of memory" in notes[2] and notes[1] == {"out of memory"}
