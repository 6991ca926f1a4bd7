"""The harness as people run it: in a process of its own."""

import csv
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODEL = "--seq-len 16 --layers 1 --width 16 --heads 2 --threads 1 --device cpu".split()
TINY = ("throughput", "--global-batch-sizes", "1,4,2", "--steps", "2", "--warmup-steps", "1", *MODEL)
TRAINED = ("convergence", "--global-batch-sizes", "4,8", "--learning-rates", "1e-2", "--target-loss", "4.8",
           "--max-steps", "60", "--eval-sequences", "9", *MODEL)  # fmt: skip
ALONE = ("-m", "bsmath.bench")
TWO = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *ALONE)
WITHOUT = "import sys; sys.modules[{!r}] = None; from bsmath.bench.__main__ import main; main(sys.argv[1:])"
LIMITED = (
    "import resource, torch; used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); "
    "resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000,) * 2); "
)
"""Little memory besides what PyTorch has taken already."""


def bench(*arguments, start=ALONE) -> subprocess.CompletedProcess:
    command = [sys.executable, *start, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)


def listens() -> None:
    """Ctrl-C reaches the process, also where these tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(rows_seen: int, *arguments, start=ALONE) -> tuple[int, str]:
    """Exit code and standard error of a measurement that gets Ctrl-C once it has printed some rows."""
    command = [sys.executable, *start, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, preexec_fn=listens, **pipes) as running:
        seen = 0
        while seen < rows_seen:
            line = running.stdout.readline()
            assert line, running.stderr.read()
            seen += not line.startswith("#")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
    return running.returncode, said


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def without_progress(said: str) -> str:
    """Standard error without the lines on the time that is left, which a slow machine prints more of."""
    return re.sub(r"^  \d+% done, about \d+ (s|min) left\n", "", said, flags=re.MULTILINE)


def printed(done: subprocess.CompletedProcess) -> list[str]:
    return [line for line in done.stdout.splitlines() if not line.startswith("#")]


@pytest.mark.torch
def test_a_tiny_sweep_prints_and_writes_every_measurement(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "sweep.csv"
    done = bench(*TINY, "--micro-batch-sizes", 2, "--repeats", 2, "--out", out)
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    written = rows(out)
    assert [line[:6] for line in printed(done)] == [f"B={int(row['global_batch_size']):4d}" for row in written]
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
def test_bfloat16_with_a_given_peak_has_a_name_an_mfu_and_its_memory(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "sweep.csv"
    done = bench(*TINY, "--repeats", 1, "--dtype", "bfloat16", "--peak-flops", "1e11", "--out", out)
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    for row in rows(out):
        assert (row["run"], row["dtype"]) == ("cpu-1threads-7.5k-bfloat16", "bfloat16")
        assert float(row["mfu"]) == pytest.approx(6 * 7_472 * float(row["tokens_per_second"]) / 1e11, rel=1e-5)
        assert sys.platform != "linux" or 1e7 < int(row["peak_memory_bytes"]) < 1e10


@pytest.mark.torch
def test_the_time_that_is_left_is_told_apart_from_the_rows(tmp_path):
    pytest.importorskip("torch")
    code, said = interrupted(5, *TINY, "--repeats", 1000)
    assert code == 130 and said.endswith("\nstopped\n")
    assert said != without_progress(said) == "stopped\n"


LONG = {
    "throughput": (36, (*TINY, "--repeats", 12)),
    "convergence": (24, (*TRAINED, "--seeds", 12, "--target-loss", 4.0)),
    "noise": (30 * 5, ("noise", "--steps", 300, "--global-batch-size", 8, *MODEL)),
    "branch": (2 * 2 * 3, ("branch", "--checkpoint-steps", "10,20", "--batch-factors", "1,2,4", "--branch-tokens", 2048,
                           "--seeds", 2, *MODEL)),
    "router": (8 * 4, ("router", "--steps", 30, "--routed-tokens", "16,32", "--groups", 2, "--seeds", 4, *MODEL)),
}  # fmt: skip
"""Measurement -> its rows, and arguments that leave time to interrupt it. Noise: 30 rows, each of all and four layer groups."""
KEYS = ("seed", "repeat", "global_batch_size", "learning_rate", "step", "group", "checkpoint_step", "batch_factor",
        "balancing_loss", "layer", "routed_tokens")  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("measure", LONG)
def test_an_interrupted_measurement_goes_on_with_the_same_command(tmp_path, measure):
    pytest.importorskip("torch")
    out = tmp_path / "rows.csv"
    whole, arguments = LONG[measure]
    code, said = interrupted(2, *arguments, "--out", out)
    assert code == 130
    assert said.splitlines()[-1] == f"stopped; what was measured is in {out}, the same command goes on from there"
    before = out.read_text()
    assert 2 <= len(rows(out)) < whole
    done = bench(*arguments, "--out", out)
    assert done.returncode == 0 and f"# goes on after the {len(rows_of(before))} rows in {out}" in done.stdout
    assert out.read_text().startswith(before) and len(printed(done)) == whole - len(rows_of(before))
    keys = [tuple(row.get(name) for name in KEYS) for row in rows(out)]
    assert len(keys) == len(set(keys)) == whole
    again = bench(*arguments, "--out", out)
    assert (again.returncode, printed(again)) == (0, []) and len(rows(out)) == whole


def rows_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")][1:]


@pytest.mark.torch
def test_a_file_of_another_measurement_is_refused_and_left_alone(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "rows.csv"
    assert bench(*TINY, "--repeats", 1, "--out", out).returncode == 0
    held = out.read_bytes()
    for other, difference in (((*TINY, "--repeats", 2), "repeats 1 (here 2)"), (TRAINED, "measure 'throughput'")):
        refused = bench(*other, "--out", out)
        assert (refused.returncode, refused.stdout, out.read_bytes()) == (2, "", held)
        assert "out must not exist, or hold the beginning of this same measurement" in refused.stderr
        assert difference in refused.stderr and len(refused.stderr.splitlines()) == 1


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of the memory is Linux's")
@pytest.mark.parametrize(
    "arguments, note", [(TINY, "note"), ((*TRAINED, "--seeds", 1), "outcome")], ids=["throughput", "convergence"]
)
def test_a_batch_that_memory_cannot_hold_is_a_row_and_the_others_are_measured(tmp_path, arguments, note):
    """8,000 sequences of 64 tokens have logits of 524 MB."""
    pytest.importorskip("torch")
    out = tmp_path / "rows.csv"
    large = ("--global-batch-sizes", "4,8000,8", "--seq-len", 64, "--repeats" if note == "note" else "--seeds", 1)
    done = bench(*arguments, *large, "--out", out, start=("-c", LIMITED + WITHOUT.format("none")))
    assert done.returncode == 0, done.stderr
    notes = {row["global_batch_size"]: row[note] for row in rows(out)}
    assert notes.pop("8000") == "out of memory" and set(notes) == {"4", "8"} and "out of memory" not in notes.values()
    assert [line for line in printed(done) if line.startswith("B=8000 ") and line.endswith(" out of memory")]


@pytest.mark.torch
@pytest.mark.parametrize("compiler", ["c++", "no-such-compiler"])
def test_compiling_works_or_says_in_one_sentence_why_not(tmp_path, monkeypatch, compiler):
    pytest.importorskip("torch")
    if compiler == "c++" and not shutil.which(compiler):
        pytest.skip("needs a C++ compiler")
    monkeypatch.setenv("CXX", compiler)
    done = bench(*TINY, "--global-batch-sizes", 2, "--repeats", 1, "--compile", "--out", tmp_path / "sweep.csv")
    if compiler == "c++":
        assert done.returncode == 0, done.stderr
        assert [row["run"] for row in rows(tmp_path / "sweep.csv")] == ["cpu-1threads-7.5k-compiled"]
    else:
        said = done.stderr.splitlines()
        assert done.returncode == 2 and len(said) == 1
        assert "compile must work on this machine, with a C++ compiler, got " in said[0]


@pytest.mark.torch
def test_two_processes_share_every_batch(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "sweep.csv"
    done = bench(*TINY, "--repeats", 1, "--out", out, start=TWO)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# command: torchrun --nproc-per-node 2 -m bsmath.bench throughput ")
    found = {row["global_batch_size"]: row for row in rows(out)}
    assert len(printed(done)) == len(rows(out)) == 3
    assert found["1"]["note"] == "skipped: not a multiple of the 2 processes"
    for batch in ("2", "4"):
        row = found[batch]
        assert (row["data_parallel_size"], int(row["micro_batch_size"]) * 2) == ("2", int(batch))
        assert row["run"] == "cpu-1threads-2processes-7.5k"
        rate = int(batch) * 16 / float(row["step_time_s"])  # of both processes together
        assert float(row["tokens_per_second"]) == pytest.approx(rate, rel=1e-5)


@pytest.mark.torch
def test_two_processes_converge_as_one_does(tmp_path):
    pytest.importorskip("torch")
    found = []
    for start, out in ((ALONE, tmp_path / "one.csv"), (TWO, tmp_path / "two.csv")):
        assert bench(*TRAINED, "--seeds", 1, "--out", out, start=start).returncode == 0
        found.append(rows(out))
    assert [row["data_parallel_size"] for row in found[0] + found[1]] == ["1", "1", "2", "2"]
    for one, two in zip(*found, strict=True):
        assert one["outcome"] == "reached" and int(one["steps_to_target"]) > 5
        assert [two[name] for name in ("steps_to_target", "outcome", "tokens_per_step")] == [
            one[name] for name in ("steps_to_target", "outcome", "tokens_per_step")
        ]
        assert float(two["final_loss"]) == pytest.approx(float(one["final_loss"]), rel=1e-4)


@pytest.mark.torch
def test_several_processes_stop_together_and_go_on_together(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "sweep.csv"
    code, said = interrupted(3, *TINY, "--repeats", 40, "--out", out, start=TWO)
    assert code != 0  # torchrun's own
    assert said.count(f"stopped; what was measured is in {out}, the same command goes on from there\n") == 1
    before = out.read_text()
    interrupted(2, *TINY, "--repeats", 40, "--out", out, start=TWO)
    keys = [(row["repeat"], row["global_batch_size"]) for row in rows(out)]
    assert out.read_text().startswith(before) and len(keys) == len(set(keys)) >= len(rows_of(before)) + 2


@pytest.mark.torch
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    pytest.importorskip("torch")
    done = bench(*TINY, "--out", tmp_path / "no" / "where.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such file or directory" in done.stderr and len(done.stderr.splitlines()) == 1
