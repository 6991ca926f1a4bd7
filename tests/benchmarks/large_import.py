"""How long the import of 1,000,000 rows takes and what memory it needs: python -m tests.benchmarks.large_import

The bars: at most 1.5 times the time of `pandas.read_csv` (default C engine, of the same bytes in memory) and at most 3
times the file in peak memory. Time is the median of alternating runs in one process. Memory is the peak resident size
of a fresh process above that after its imports, with the file read from disk after that, so that its bytes count.
"""

import argparse
import io
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from bsmath import logs, sweeps

ROOT = Path(__file__).parent.parent.parent
RUNS = 15
READERS = {"sweeps.read": sweeps.read, "logs.read": logs.read}
FILES = {"sweep": ["sweeps.read"], "logs of 20 runs": ["logs.read"], "log of one run": ["sweeps.read", "logs.read"]}
"""Kinds of files, and the readers that are measured on each."""
WARM_UP = {"sweeps.read": "sweep", "logs.read": "log of one run"}
"""Kinds of files that are read before memory is measured."""
WARM_ROWS = 60_000
"""Their rows: enough to be read in blocks."""


def made(kind: str, rows: int) -> bytes:
    """A synthetic CSV of one kind with so many rows, always the same."""
    generator = np.random.default_rng(0)
    table = {"sweep": _sweep, "logs of 20 runs": _logs, "log of one run": _log}[kind](generator, rows)
    return table.to_csv(index=False).encode()


def _sweep(generator, rows: int) -> pd.DataFrame:
    batch, devices = 2 ** generator.integers(15, 23, rows), 2 ** generator.integers(0, 4, rows)
    step_time = (0.05 + batch / devices / 30_000) * generator.lognormal(0, 0.02, rows)
    run = np.array([f"{model}-{card}" for model in ("7b", "13b", "70b") for card in ("a100", "h100", "h200")])
    return pd.DataFrame(
        {
            "run": run[generator.integers(0, len(run), rows)],
            "batch_tokens": batch,
            "n_gpus": devices,
            "lr": (3e-4 * (batch / 2**19) ** 0.5).round(7),
            "step_time_s": step_time.round(4),
            "tokens_per_s": (batch / step_time).round(1),
        }
    )


def _logs(generator, rows: int) -> pd.DataFrame:
    steps, runs = np.arange(rows // 20) + 1, np.arange(20)
    batch = np.repeat(2 ** (15 + runs // 4), len(steps))
    step = np.tile(steps, 20)
    loss = 2.5 + 8 * step**-0.3 + generator.normal(0, 0.05, len(step))
    return pd.DataFrame(
        {
            "run": np.repeat([f"b{2 ** (5 + run // 4)}-lr{run % 4 + 1}e-4" for run in runs], len(steps)),
            "step": step,
            "tokens": step * batch,
            "loss": loss.round(5),
            "val_loss": np.where(step % 500 == 0, loss.round(4), np.nan),
            "lr": (3e-4 * np.minimum(step / 2000, 1)).round(8),
            "step_time_ms": (batch / 400 * generator.lognormal(0, 0.02, len(step))).round(2),
        }
    )


def _log(generator, rows: int) -> pd.DataFrame:
    step = np.arange(rows) + 1
    loss = 2.5 + 8 * step**-0.3 + generator.normal(0, 0.05, rows)
    step_time = 1.2 * generator.lognormal(0, 0.02, rows)
    table = {"step": step, "loss": loss.round(5), "batch": 256, "seq_len": 2048, "step_time": step_time.round(4)}
    return pd.DataFrame(table)


def seconds(function, data: bytes) -> float:
    """Wall-clock time of one reading. [s]"""
    start = time.perf_counter()
    function(data)
    return time.perf_counter() - start


def times(reader: str, data: bytes) -> tuple[float, float]:
    """Median times of the reader and of pandas, in alternating runs. [s]"""
    own, theirs = [], []
    for _ in range(RUNS):
        own.append(seconds(lambda given: READERS[reader](given, "file.csv"), data))
        theirs.append(seconds(lambda given: pd.read_csv(io.BytesIO(given)), data))
    return statistics.median(own), statistics.median(theirs)


def grown(reader: str, path: str) -> float:
    """Peak resident size of this process above what it was before the file was read. [bytes]"""
    READERS[reader](made(WARM_UP[reader], WARM_ROWS), "file.csv")  # what is loaded on first use
    before = _memory("VmRSS")
    data = Path(path).read_bytes()
    kept = READERS[reader](data, "file.csv")
    assert data and kept is not None
    return _memory("VmHWM") - before


def _memory(wanted: str) -> float:
    """Resident size (VmRSS) or its peak (VmHWM); not of getrusage, whose peak a process has from its parent. [bytes]"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * float(line.split()[1]) for line in lines if line.startswith(f"{wanted}:"))


def memory(reader: str, path: str) -> float:
    """The same of a fresh process. [bytes]"""
    command = [sys.executable, "-m", "tests.benchmarks.large_import", "--grown", reader, path]
    return float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print the ratios for each kind of file and each reader."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--grown", nargs=2, metavar=("READER", "PATH"), help="print the memory of one reading [bytes]")
    options = parser.parse_args()
    if options.grown:
        print(grown(*options.grown))
        return
    print(f"{'file':<17}{'MB':>6}  {'reader':<12}{'s':>7}{'pandas s':>10}{'ratio':>7}{'peak MB':>9}{'ratio':>7}")
    for kind, readers in FILES.items():
        data = made(kind, options.rows)
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write(data)
            file.flush()
            for reader in readers:
                own, theirs = times(reader, data)
                peak = memory(reader, file.name)
                print(
                    f"{kind:<17}{len(data) / 1e6:>6.1f}  {reader:<12}{own:>7.2f}{theirs:>10.2f}{own / theirs:>7.2f}"
                    f"{peak / 1e6:>9.0f}{peak / len(data):>7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
