"""The file of a throughput sweep: comment lines that say how it was made, a header, one row a measurement.

Rows are flushed as they come, so an interrupted sweep keeps what it has. Needs no PyTorch.
"""

import csv
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bsmath.bench.settings import Settings

COLUMNS = (
    "run",
    "device",
    "dtype",
    "num_params",
    "seq_len",
    "micro_batch_size",
    "grad_accum_steps",
    "data_parallel_size",
    "global_batch_size",
    "tokens_per_step",
    "repeat",
    "steps_measured",
    "step_time_s",
    "step_time_min_s",
    "step_time_max_s",
    "tokens_per_second",
    "note",
)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The timed steps of one global batch size in one repeat."""

    global_batch_size: int
    """[sequences]"""
    repeat: int
    """From 1."""
    step_times: tuple[float, ...]
    """One optimizer step each; empty where the batch could not be run. [s]"""
    note: str = ""
    """Why there are no times."""

    @property
    def step_time(self) -> float:
        """Median of the steps. [s]"""
        return statistics.median(self.step_times)

    def line(self, seq_len: int) -> str:
        """The measurement as one printed line; B is in sequences, seq_len in tokens."""
        start = f"B={self.global_batch_size:4d}  "
        if not self.step_times:
            return start + self.note
        rate = self.global_batch_size * seq_len / self.step_time
        return start + f"step_time={self.step_time * 1000:7.1f}ms  tok/s={rate:,.0f}"


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What is measured, and on what: all that is the same in every row."""

    settings: Settings
    """What the sweep was asked to do."""
    num_params: int
    """Parameters of the model."""
    device: str
    """cpu or cuda."""
    device_name: str
    """The accelerator's own name; the processor's on a CPU."""
    threads: int
    """CPU threads that PyTorch uses."""
    torch_version: str
    """PyTorch's version and build."""

    @property
    def run(self) -> str:
        """Short name of the series: cpu-2threads-0.8M, with dtype and micro-batch where they are not the defaults."""
        asked = self.settings
        parts = [self.device_name if self.device == "cuda" else f"cpu-{self.threads}threads"]
        parts.append(f"{self.num_params / 1e6:.1f}M" if self.num_params >= 1e5 else f"{self.num_params / 1e3:.1f}k")
        parts += [asked.dtype] * (asked.dtype != Settings.dtype)
        parts += [f"micro{asked.micro_batch_size}"] * (asked.micro_batch_size is not None)
        return "-".join(parts).replace(" ", "-")


def preamble(setup: Setup, command: str, date: str) -> list[str]:
    """The comment lines: how, when, where and with what the sweep was measured."""
    asked = setup.settings
    return [
        f"# command: {command}",
        f"# date: {date}",
        f"# machine: {processor()}, {os.cpu_count()} cores, {memory()} memory",
        f"# device: {setup.device} ({setup.device_name}), {setup.threads} CPU threads used",
        f"# software: Python {platform.python_version()}, PyTorch {setup.torch_version}",
        f"# model: GPT, {asked.layers} layers, width {asked.width}, {asked.heads} heads, {setup.num_params} parameters",
        f"# dtype: {asked.dtype}",
        f"# steps: {asked.warmup_steps} warm-up steps left out, then {asked.steps} measured; step_time_s is their median",
        "# units: global_batch_size and micro_batch_size in sequences, tokens_per_second of the whole job",
    ]


def row(measurement: Measurement, setup: Setup) -> list[str]:
    """The cells of one measurement, in the order of COLUMNS; times and rate are empty where it could not be run."""
    asked, batch, times = setup.settings, measurement.global_batch_size, measurement.step_times
    micro, tokens = asked.micro_batch(batch), batch * asked.seq_len
    counts = (setup.num_params, asked.seq_len, micro, batch // micro, 1, batch, tokens, measurement.repeat, len(times))
    timing = [""] * 4
    if times:
        timing = [f"{seconds:.7f}" for seconds in (measurement.step_time, min(times), max(times))]
        timing.append(f"{tokens / measurement.step_time:.1f}")
    return [setup.run, setup.device, asked.dtype, *map(str, counts), *timing, measurement.note]


def start(out: TextIO, comments: list[str]) -> None:
    """Write the comment lines and the header."""
    out.writelines(f"{comment}\n" for comment in comments)
    append(out, COLUMNS)


def append(out: TextIO, cells: Sequence[str]) -> None:
    """Write one row and hand it to the system at once, so that a sweep cut short keeps it."""
    csv.writer(out, lineterminator="\n").writerow(cells)
    out.flush()


def processor() -> str:
    """The processor's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def memory() -> str:
    """The machine's memory as text."""
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.1f} GB"
    except (AttributeError, ValueError, OSError):
        return "unknown"
