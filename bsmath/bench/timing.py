"""Times optimizer steps at several batch sizes: of the harness's model, or of your own training loop.

    from bsmath.bench.timing import measure_throughput

    def step(global_batch_size):
        train_step(data[:global_batch_size])  # one optimizer step of your loop, its data at hand

    measure_throughput(step, [8, 16, 32, 64], seq_len=2048, out="sweep.csv")  # the Upload page reads this file

Every size is timed once a repeat, shuffled within each repeat: a machine that warms up or slows down then spreads its drift
over all sizes instead of tilting the curve. A size that does not fit the memory becomes a row that says so. This module
loads no PyTorch; where the loop has loaded it and uses CUDA, the clock waits for the device.
"""

import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bsmath import checks
from bsmath.bench import device, record

OUT_OF_MEMORY = "out of memory"
COLUMNS = (
    "seq_len", "global_batch_size", "tokens_per_step", "repeat", "steps_measured", "step_time_s", "step_time_min_s",
    "step_time_max_s", "tokens_per_second", "peak_memory_bytes", "note",
)  # fmt: skip
"""What a measurement alone knows; the harness adds its model, its machine and its micro-batches."""


class Size(NamedTuple):
    """What one measurement times, in the order of the memory that it takes."""

    micro_batch_size: int
    """Forwarded at once by one process; the global batch where a loop does not say. [sequences]"""
    global_batch_size: int
    """[sequences]"""

    def __str__(self) -> str:
        parts = (
            f" in micro-batches of {self.micro_batch_size}" if self.micro_batch_size < self.global_batch_size else ""
        )
        return f"B={self.global_batch_size}{parts}"


class Timed(NamedTuple):
    """What timing one size gave."""

    step_times: tuple[float, ...] = ()
    """One optimizer step each; empty where the size could not be run. [s]"""
    peak_memory: int | None = None
    """See device.watch_memory. [bytes]"""
    note: str = ""
    """Why there are no times."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The timed steps of one size in one repeat."""

    size: Size
    """What was timed."""
    repeat: int
    """From 1."""
    seq_len: int
    """[tokens/sequence]"""
    timed: Timed
    """What came out."""

    @property
    def step_time(self) -> float | None:
        """Median of the steps, so that one slow step does not count; None where the size could not be run. [s]"""
        return statistics.median(self.timed.step_times) if self.timed.step_times else None

    @property
    def tokens_per_second(self) -> float | None:
        """Rate of the whole job; None where the size could not be run. [tokens/s]"""
        return self.size.global_batch_size * self.seq_len / self.step_time if self.timed.step_times else None

    def cells(self) -> dict[str, object]:
        """The row of the file, by COLUMNS."""
        times = self.timed.step_times
        return {
            "seq_len": self.seq_len,
            "global_batch_size": self.size.global_batch_size,
            "tokens_per_step": self.size.global_batch_size * self.seq_len,
            "repeat": self.repeat,
            "steps_measured": len(times),
            "step_time_s": self.step_time,
            "step_time_min_s": min(times, default=None),
            "step_time_max_s": max(times, default=None),
            "tokens_per_second": self.tokens_per_second,
            "peak_memory_bytes": self.timed.peak_memory,
            "note": self.timed.note,
        }


def measure_throughput(
    step: Callable[[int], object],
    global_batch_sizes: Sequence[int],
    *,
    seq_len: int,
    warmup_steps: int = 3,
    steps: int = 10,
    repeats: int = 3,
    synchronize: Callable[[], object] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
) -> list[Measurement]:
    """Time the optimizer steps of a training loop at several batch sizes.

    Parameters
    ----------
    step : callable
        Does one optimizer step of the whole job at a global batch size. Prepare its data before, or they are timed too.
    global_batch_sizes : sequence of int
        Any order. [sequences]
    seq_len : int
        [tokens/sequence]
    warmup_steps, steps, repeats : int
        Steps left out, steps timed in each repeat, repeats of every size.
    synchronize : callable, optional
        Waits until the device is done; PyTorch's own for CUDA if left out.
    seed : int
        Decides the order, which every process of a job must share.
    out : path, optional
        File that takes every row as soon as it is there, in place of what it held. In a job of several processes, give it
        in one of them; there a process that alone runs out of memory leaves the others waiting.
    """
    checks.whole("seq_len", seq_len)
    checks.whole("steps", steps)
    sizes = [Size(checks.whole("global_batch_size", batch), batch) for batch in dict.fromkeys(global_batch_sizes)]

    def measure(size: Size) -> Timed:
        with device.memory_errors():
            peak = device.watch_memory()
            for _ in range(warmup_steps):
                step(size.global_batch_size)
            times = device.time_steps(step, lambda: size.global_batch_size, steps, synchronize or device.synchronize)
            return Timed(times, peak())

    table = record.Table(Path(out) if out else None, COLUMNS, _comments(warmup_steps, steps), None)
    found = []
    for one in measurements(sizes, measure, seq_len=seq_len, repeats=repeats, seed=seed):
        table.append(one.cells())
        found.append(one)
    table.close()
    return found


def _comments(warmup_steps: int, steps: int) -> list[str]:
    cuda = device.cuda()
    name = cuda.get_device_name() if cuda else record.processor()
    counts = f"{warmup_steps} warm-up steps left out, then {steps} measured; step_time_s is their median"
    return [f"# date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC", f"# device: {name}", f"# steps: {counts}"]


def order(sizes: Sequence[Size], repeats: int, seed: int) -> list[tuple[int, Size]]:
    """Pairs (repeat from 1, size), shuffled within each repeat."""
    shuffle = random.Random(seed)
    return [(repeat, size) for repeat in range(1, repeats + 1) for size in shuffle.sample(sizes, len(sizes))]


def measurements(
    sizes: Sequence[Size],
    measure: Callable[[Size], Timed],
    *,
    seq_len: int,
    repeats: int,
    seed: int,
    kept: Mapping[tuple[int, Size], str] | None = None,
) -> Iterator[Measurement]:
    """Measure every size once a repeat, but nothing as large as what has run out of memory.

    Parameters
    ----------
    sizes : sequence of Size
        What to measure.
    measure : callable
        Times a size; MemoryError where it does not fit.
    seq_len, repeats, seed : int
        As in measure_throughput.
    kept : mapping, optional
        (repeat, size) -> note of what an earlier, interrupted run has measured.
    """
    kept = kept or {}
    too_large = min((size for (_, size), note in kept.items() if note == OUT_OF_MEMORY), default=None)
    for repeat, size in order(sizes, repeats, seed):
        if (repeat, size) in kept:
            continue
        if too_large is not None and size > too_large:
            timed = Timed(note=f"skipped: {too_large} ran out of memory")
        elif size == too_large:
            timed = Timed(note=OUT_OF_MEMORY)
        else:
            try:
                timed = measure(size)
            except MemoryError:
                timed, too_large = Timed(note=OUT_OF_MEMORY), size
        yield Measurement(size=size, repeat=repeat, seq_len=seq_len, timed=timed)
