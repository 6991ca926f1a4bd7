"""The order of a sweep: every batch size once a repeat, shuffled, and nothing larger than what ran out of memory.

Needs no PyTorch: how a batch is timed is handed in.
"""

import random
from collections.abc import Callable, Iterator, Sequence

from bsmath.bench.record import Measurement
from bsmath.bench.settings import Settings

OUT_OF_MEMORY = "out of memory"


def order(settings: Settings) -> list[tuple[int, int]]:
    """Pairs (repeat from 1, global batch size), shuffled within each repeat.

    A machine that warms up or slows down then spreads its drift over all batch sizes instead of tilting the curve.
    """
    shuffle = random.Random(settings.seed)
    pairs = []
    for repeat in range(1, settings.repeats + 1):
        batches = shuffle.sample(settings.global_batch_sizes, len(settings.global_batch_sizes))
        pairs += [(repeat, batch) for batch in batches]
    return pairs


def measurements(settings: Settings, step_times: Callable[[int], Sequence[float]]) -> Iterator[Measurement]:
    """Time every batch size in every repeat, yielding each measurement as it is done.

    Parameters
    ----------
    settings : Settings
        What to measure.
    step_times : callable
        Gives the times [s] of the steps at a global batch size [sequences]; MemoryError where they do not fit.
    """
    too_large = None
    for repeat, batch in order(settings):
        times, note = (), ""
        if too_large is not None and batch > too_large:
            note = f"skipped: B={too_large} ran out of memory"
        elif batch == too_large:
            note = OUT_OF_MEMORY
        else:
            try:
                times = tuple(step_times(batch))
            except MemoryError:
                note, too_large = OUT_OF_MEMORY, batch
        yield Measurement(global_batch_size=batch, repeat=repeat, step_times=times, note=note)
