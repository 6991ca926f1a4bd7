"""A measurement in the process of its test, or in processes of its own: what the tests of the measurements share."""

import csv
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from bsmath.bench import corpus, record
from bsmath.bench.ranks import Ranks
from bsmath.bench.record import Setup
from bsmath.bench.settings import Settings

ROOT = Path(__file__).parents[3]
TEXT = corpus.standard_library(100_000)
ALONE = Ranks(rank=0, size=1, device="cpu")


def rows(measure: ModuleType, settings: Settings, kept: Iterable[dict[str, str]] = ()) -> list[tuple[dict, float]]:
    """The rows of a measurement, each with the share that is then done."""
    setup = Setup(
        measure=measure.__name__.rpartition(".")[2],
        settings=settings,
        num_params=measure.num_params(settings),
        device="cpu",
        device_name="a processor",
        threads=1,
        processes=1,
        torch_version="2",
    )
    return list(measure.rows(setup, ALONE, TEXT, list(kept)))


def as_text(row: dict) -> dict[str, str]:
    """A row as the file holds it."""
    return {name: record.text(value) for name, value in row.items()}


def in_processes(number: int, options: list[str], out: Path) -> list[dict[str, str]]:
    """The rows that the command line writes, by one process alone or by several under torchrun."""
    launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(number), "-m"] if number > 1 else []
    command = [sys.executable, "-m", *launcher, "bsmath.bench", *options, "--out", str(out)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(line for line in out.read_text().splitlines() if not line.startswith("#")))
