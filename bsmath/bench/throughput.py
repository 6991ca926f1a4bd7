"""Tokens per second against batch size: times optimizer steps of the small GPT on this machine.

A step is what a trainer repeats: clear the gradients, forward and backward over the micro-batches, average the gradients
over the processes, AdamW. Data are drawn, and the processes wait for each other, before the clock starts; the step time
of several processes is that of the slowest. Like all of the harness, CUDA and NCCL have not been tried on real hardware.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import torch

from bsmath import flops
from bsmath.bench import device, timing
from bsmath.bench.peak import known_peak
from bsmath.bench.ranks import Ranks
from bsmath.bench.record import Setup
from bsmath.bench.settings import Throughput
from bsmath.bench.timing import Size, Timed
from bsmath.bench.train import Run, accumulate_gradient, average_gradient
from bsmath.bench.train import num_params as num_params  # belongs to what every measurement offers

COLUMNS = (
    "run", "device", "dtype", "num_params", "seq_len", "data_parallel_size", "micro_batch_size", "grad_accum_steps",
    "global_batch_size", "tokens_per_step", "repeat", "steps_measured", "step_time_s", "step_time_min_s",
    "step_time_max_s", "tokens_per_second", "peak_memory_bytes", "mfu", "note",
)  # fmt: skip
LEARNING_RATE = 3e-4
"""Any rate costs the same time; this one trains."""


def notes(settings: Throughput) -> list[str]:
    """What a reader of the file must know."""
    compiled = ", compiled with torch.compile" if settings.compile else ""
    return [
        f"steps: {max(settings.warmup_steps, 1)} warm-up steps left out, then {settings.steps} measured{compiled}; "
        "step_time_s is their median",
        "memory: peak_memory_bytes is allocated on one CUDA device, or resident in one process on a CPU, its libraries too",
        "mfu: 6 FLOPs per parameter and token over the dense peak of the device; empty where that peak is not known",
        "units: global_batch_size and micro_batch_size in sequences, tokens_per_second of the whole job",
    ]


def sizes(settings: Throughput, processes: int) -> dict[Size, str]:
    """What is measured, and the end of each run's name: that of the largest micro-batch that was asked and comes to it.

    A batch that cannot be forwarded as asked has micro-batches of 0.
    """
    found = {}
    for batch in settings.global_batch_sizes:
        share, rest = divmod(batch, processes)
        for asked in sorted(settings.micro_batch_sizes) or [share]:
            micro = min(share, asked)
            if share and not rest and share % micro == 0:
                found[Size(micro, batch)] = f"-micro{asked}" if settings.micro_batch_sizes else ""
        if not any(size.global_batch_size == batch for size in found):
            found[Size(0, batch)] = ""
    return found


def rows(setup: Setup, ranks: Ranks, text: np.ndarray, kept: list[dict[str, str]]) -> Iterator[tuple[dict, float]]:
    """Rows still to be measured, each with the share of the sequences that is then done."""
    settings = setup.settings
    names = sizes(settings, ranks.size)
    held = {(int(row["repeat"]), _size(row)): row["note"] for row in kept}
    peak = settings.peak_flops or known_peak(setup.device_name, settings.dtype)
    total = settings.repeats * sum(size.global_batch_size for size in names)
    done = sum(size.global_batch_size for _, size in held)
    found = timing.measurements(
        list(names),
        partial(timed_steps, settings, ranks, text),
        seq_len=settings.seq_len,
        repeats=settings.repeats,
        seed=settings.seed,
        kept=held,
    )
    for one in found:
        done += one.size.global_batch_size
        micro, rate = one.size.micro_batch_size, one.tokens_per_second
        row = setup.cells() | one.cells()
        row["run"] += "-compiled" * settings.compile + names[one.size]
        row["micro_batch_size"] = micro or None
        row["grad_accum_steps"] = one.size.global_batch_size // (micro * ranks.size) if micro else None
        work = flops.flops_per_token(setup.num_params)
        row["mfu"] = flops.mfu(rate, work, peak, ranks.size) if rate and peak else None
        yield row, done / total


def _size(row: dict[str, str]) -> Size:
    return Size(int(row["micro_batch_size"] or 0), int(row["global_batch_size"]))


def timed_steps(settings: Throughput, ranks: Ranks, text: np.ndarray, size: Size) -> Timed:
    """Time optimizer steps of a fresh model; MemoryError, in every process, where the size does not fit."""
    micro, batch = size
    if not micro:
        return Timed(note=f"skipped: {_misfit(settings, ranks.size, batch)}")
    run = together(ranks, lambda: _compiled(Run(settings, ranks, text, settings.seed)))
    peak = device.watch_memory()
    with _compile_errors():
        step(run, micro, together(ranks, lambda: run.batch(batch)), partial(together, ranks))

    def draw() -> torch.Tensor:
        windows = run.batch(batch)
        ranks.any(False)  # waits for the slowest: its drawing would count as a step of the others
        return windows

    # One process of several that runs out of memory only now ends the job: it cannot tell the others, which wait for it.
    with device.memory_errors() if ranks.size == 1 else nullcontext():
        for _ in range(settings.warmup_steps - 1):
            step(run, micro, draw())
        times = device.time_steps(partial(step, run, micro), draw, settings.steps, device.synchronize)
    slowest = ranks.largest(torch.tensor([*times, peak() or 0], dtype=torch.float64, device=ranks.device)).tolist()
    return Timed(tuple(slowest[:-1]), int(slowest[-1]) or None)


def _misfit(settings: Throughput, processes: int, global_batch_size: int) -> str:
    share, rest = divmod(global_batch_size, processes)
    asked = " or ".join(map(str, settings.micro_batch_sizes))
    return f"not a multiple of the {processes} processes" if rest else f"its share of {share} is no multiple of {asked}"


def together(ranks: Ranks, local: Callable[[], object]) -> object:
    """What a call without messages between processes gives; MemoryError in every process where one ran out of memory."""
    result, failed = None, False
    try:
        with device.memory_errors():
            result = local()
    except MemoryError:
        failed = True
    if ranks.any(failed):
        raise MemoryError
    return result


def step(run: Run, micro_batch_size: int, windows: torch.Tensor, local=lambda call: call()) -> None:
    """One optimizer step; `local` runs those parts that send no messages."""

    def gradient() -> None:
        run.optimizer.zero_grad()
        accumulate_gradient(run.model, windows, micro_batch_size, run.settings.dtype)

    local(gradient)
    average_gradient(run.model, run.ranks)
    local(lambda: run.update(LEARNING_RATE))


def _compiled(run: Run) -> Run:
    if run.settings.compile:
        torch.compiler.reset()  # else the second size is compiled for any size, and after eight nothing is compiled
        run.model.loss = torch.compile(run.model.loss, dynamic=False)
    return run


@contextmanager
def _compile_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            raise
        reason = str(error).splitlines()[0]
        raise ValueError(f"compile must work on this machine, with a C++ compiler, got {reason!r}") from None


def line(row: dict) -> str:
    """The row as one printed line."""
    start = f"B={row['global_batch_size']:4d}  "
    start += f"micro_batch={row['micro_batch_size']}  " if "-micro" in row["run"] else ""
    if row["step_time_s"] is None:
        return start + row["note"]
    return start + f"step_time={row['step_time_s'] * 1000:7.1f}ms  tok/s={row['tokens_per_second']:,.0f}"
