"""The harness as people run it: in a process of its own."""

import csv
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TINY = "--global-batch-sizes 1,4,2 --seq-len 16 --layers 1 --width 16 --heads 2 --steps 2 --warmup-steps 1 --threads 1".split()
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from bsmath.bench.__main__ import main; main(sys.argv[1:])"


def bench(*arguments, start=("-m", "bsmath.bench")) -> subprocess.CompletedProcess:
    command = [sys.executable, *start, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


@pytest.mark.torch
def test_a_tiny_sweep_prints_and_writes_every_measurement(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "sweep.csv"
    done = bench("throughput", *TINY, "--micro-batch-size", 2, "--repeats", 2, "--device", "cpu", "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    printed = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    written = rows(out)
    assert [line[:6] for line in printed] == [f"B={int(row['global_batch_size']):4d}" for row in written]
    assert sorted((row["repeat"], row["global_batch_size"]) for row in written) == [
        (repeat, batch) for repeat in "12" for batch in "124"
    ]
    assert {row["run"] for row in written} == {"cpu-1threads-7.5k-micro2"}
    for row in written:
        micro, accumulated = int(row["micro_batch_size"]), int(row["grad_accum_steps"])
        assert micro <= 2 and micro * accumulated == int(row["global_batch_size"])
        assert float(row["step_time_min_s"]) <= float(row["step_time_s"]) <= float(row["step_time_max_s"])
        rate = int(row["tokens_per_step"]) / float(row["step_time_s"])
        assert float(row["tokens_per_second"]) == pytest.approx(rate, rel=1e-3)
    comments = [line for line in out.read_text().splitlines() if line.startswith("#")]
    assert comments[0].startswith("# command: python -m bsmath.bench throughput --global-batch-sizes 1,4,2 ")
    assert done.stdout.splitlines()[: len(comments)] == comments


@pytest.mark.torch
def test_an_interrupted_sweep_keeps_what_is_done(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "sweep.csv"
    command = [sys.executable, "-m", "bsmath.bench", "throughput", *TINY, "--repeats", "1000", "--out", out]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        seen = 0
        while seen < 3:
            line = running.stdout.readline()
            assert line, running.stderr.read()
            seen += line.startswith("B=")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said == f"stopped; the measurements that were done are in {out}\n"
    assert len(rows(out)) >= 3 and all(float(row["step_time_s"]) > 0 for row in rows(out))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "the following arguments are required: throughput"),
        (("noise",), "argument throughput: invalid choice: 'noise' (choose from 'throughput')"),
        (("throughput", "--steps", "ten"), "argument --steps: must be a whole number, got 'ten'"),
        (
            ("throughput", "--global-batch-sizes", "1,,2"),
            "argument --global-batch-sizes: must be a whole number, got ''",
        ),
        (("throughput", "--batch", "8"), "unrecognized arguments: --batch 8"),
        (("throughput", "--seq-len", "0"), "seq_len must be a whole number from 1 to 1.04858e+06, got 0"),
        (
            ("throughput", "--global-batch-sizes", "8,12", "--micro-batch-size", "8"),
            "global_batch_size must be a multiple of micro_batch_size (8), got 12",
        ),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line_before_pytorch_loads(arguments, message):
    done = bench(*arguments, start=("-c", WITHOUT_TORCH))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [done.stderr.strip()] and done.stderr.strip().endswith(f": {message}")


@pytest.mark.torch
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    pytest.importorskip("torch")
    done = bench("throughput", *TINY, "--out", tmp_path / "no" / "where.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such file or directory" in done.stderr and len(done.stderr.splitlines()) == 1


def test_without_pytorch_one_sentence_says_how_to_install_it():
    done = bench("throughput", *TINY, start=("-c", WITHOUT_TORCH))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and "pip install -r requirements-bench.txt" in done.stderr


def test_the_formulas_and_the_file_format_never_load_pytorch():
    code = "import sys, bsmath, bsmath.bench.__main__; sys.exit('torch' in sys.modules)"
    assert bench(start=("-c", code)).returncode == 0


def test_help_names_units_and_defaults():
    shown = bench("throughput", "--help", start=("-c", WITHOUT_TORCH)).stdout
    assert "[sequences]" in shown and "[tokens]" in shown and "1,2,4,8,16,32,64,128,256" in shown
