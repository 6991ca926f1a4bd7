"""The file of a measurement: comment lines that say how it was made, a header, rows that are flushed as they come.

A file that holds the beginning of the same measurement is continued; one that holds another is left alone. Needs no PyTorch.
"""

import csv
import dataclasses
import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bsmath.bench.settings import Settings

SETTINGS = "# settings: "
"""Start of the line that tells one measurement from another."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What is measured, and on what: all that is the same in every row."""

    measure: str
    """throughput, noise, convergence, branch or router."""
    settings: Settings
    """What was asked."""
    num_params: int
    """Parameters of the model."""
    device: str
    """cpu or cuda."""
    device_name: str
    """The accelerator's own name; the processor's on a CPU."""
    threads: int
    """CPU threads that PyTorch uses in each process."""
    processes: int
    """Data-parallel replicas."""
    torch_version: str
    """PyTorch's version and build."""

    @property
    def run(self) -> str:
        """Short name of the series: cpu-2threads-0.8M, with processes and dtype where they are not the defaults."""
        parts = [self.device_name if self.device == "cuda" else f"cpu-{self.threads}threads"]
        parts += [f"{self.processes}processes"] * (self.processes > 1)
        parts.append(f"{self.num_params / 1e6:.1f}M" if self.num_params >= 1e5 else f"{self.num_params / 1e3:.1f}k")
        parts += [self.settings.dtype] * (self.settings.dtype != Settings.dtype)
        return "-".join(parts).replace(" ", "-")

    def cells(self) -> dict[str, object]:
        """The columns that every row begins with."""
        return {
            "run": self.run,
            "device": self.device,
            "dtype": self.settings.dtype,
            "num_params": self.num_params,
            "seq_len": self.settings.seq_len,
            "data_parallel_size": self.processes,
        }

    @property
    def identity(self) -> str:
        """What a file must share with this measurement to be continued by it, as one line."""
        asked = dataclasses.asdict(self.settings)
        where = {"measure": self.measure, "device_name": self.device_name, "processes": self.processes}
        return SETTINGS + json.dumps(where | {"torch": self.torch_version} | asked)


def preamble(setup: Setup, command: str, date: str, notes: Sequence[str] = ()) -> list[str]:
    """The comment lines: how, when, where and with what it was measured."""
    asked = setup.settings
    shown = f"{setup.processes} processes, " if setup.processes > 1 else ""
    return [
        f"# command: {command}",
        f"# date: {date}",
        f"# machine: {processor()}, {os.cpu_count()} cores, {memory()} memory",
        f"# device: {setup.device} ({setup.device_name}), {shown}{setup.threads} CPU threads used",
        f"# software: Python {platform.python_version()}, PyTorch {setup.torch_version}",
        f"# model: GPT over bytes, {asked.layers} layers, width {asked.width}, {asked.heads} heads, {setup.num_params} parameters",
        "# data: sources of Python's standard library, one token a byte",
        *(f"# {note}" for note in notes),
        setup.identity,
    ]


def done(path: Path, setup: Setup, columns: Sequence[str]) -> list[dict[str, str]] | None:
    """The rows of an earlier, interrupted run of the same measurement; None where the file does not exist.

    Raises
    ------
    ValueError
        Where the file holds something else.
    """
    if not path.exists():
        return None
    kept, _, _ = path.read_text(encoding="utf-8").rpartition("\n")  # a row cut short has no line end
    lines = kept.splitlines()
    comments = [line for line in lines if line.startswith("#")]
    rows = list(csv.reader(lines[len(comments) :]))
    held = next((line for line in comments if line.startswith(SETTINGS)), None)
    if held != setup.identity or rows[:1] != [list(columns)]:
        rule = "not exist, or hold the beginning of this same measurement"
        raise ValueError(f"out must {rule}, got {str(path)!r}, {_difference(held, setup)}")
    return [dict(zip(columns, row, strict=True)) for row in rows[1:]]


def _difference(held: str | None, setup: Setup) -> str:
    """In words, what a file has that this measurement does not."""
    if held is None:
        return "which holds no settings"
    theirs, ours = (json.loads(line.removeprefix(SETTINGS)) for line in (held, setup.identity))
    other = [
        f"{name} {theirs.get(name)!r} (here {value!r})" for name, value in ours.items() if theirs.get(name) != value
    ]
    return f"which has {', '.join(other[:3])}" if other else "whose columns are others"


class Table:
    """A file that rows are added to; without a path, rows go nowhere."""

    def __init__(self, path: Path | None, columns: Sequence[str], comments: Iterable[str], kept: list[dict] | None):
        self.columns = columns
        self.out: TextIO | None = None
        if path is None:
            return
        if kept is None:
            self.out = path.open("w", encoding="utf-8", newline="")
            self.out.writelines(f"{comment}\n" for comment in comments)
            self._write(columns)
        else:
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)  # a row cut short is measured again
            self.out = path.open("a", encoding="utf-8", newline="")

    def append(self, row: dict[str, object]) -> None:
        """Write one row and hand it to the system at once, so that a measurement cut short keeps it."""
        if self.out:
            self._write([text(row[name]) for name in self.columns])

    def _write(self, cells: Sequence[str]) -> None:
        csv.writer(self.out, lineterminator="\n").writerow(cells)
        self.out.flush()

    def close(self) -> None:
        """Close the file."""
        if self.out:
            self.out.close()


def text(value) -> str:
    """A cell: floats with seven digits, nothing for None."""
    if value is None:
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


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
