"""The noise-scale measurement: its rows, where it ends, that it goes on, and that processes change nothing."""

import csv
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath import noise as formulas  # noqa: E402
from bsmath import noise_estimate  # noqa: E402
from bsmath.bench import noise  # noqa: E402
from bsmath.bench.settings import Noise  # noqa: E402
from bsmath.bench.train import Run  # noqa: E402
from tests.bsmath.bench import alone  # noqa: E402
from tests.bsmath.bench.alone import ALONE, TEXT, as_text  # noqa: E402

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[3]
SMALL = Noise(
    global_batch_size=8,
    seq_len=16,
    layers=1,
    width=16,
    heads=2,
    steps=7,
    average_steps=3,
    lr_warmup_steps=4,
    eval_sequences=8,
    device="cpu",
)
rows = partial(alone.rows, noise)
GROUPS = ["all", "embedding", "norm", "attention", "mlp"]


def test_every_few_steps_give_a_row_of_each_layer_group_and_the_rest_one_at_the_end():
    found = rows(SMALL)
    assert all(sorted(row) == sorted(noise.COLUMNS) for row, _ in found)
    assert [row["group"] for row, _ in found] == GROUPS * 3
    assert [(row["step"], row["steps_averaged"]) for row, _ in found[:: len(GROUPS)]] == [(3, 3), (6, 3), (7, 1)]
    assert [share for _, share in found[:: len(GROUPS)]] == pytest.approx([3 / 7, 6 / 7, 1])


def test_batch_sizes_are_counted_in_tokens():
    row, _ = rows(replace(SMALL, micro_batch_size=2))[0]
    assert (row["global_batch_size"], row["tokens_per_step"]) == (8, 128)
    assert (row["tokens_small"], row["tokens_big"], row["tokens"]) == (32, 128, 3 * 128)


def test_both_parts_are_those_of_the_squared_norms_of_the_row():
    for row, _ in rows(SMALL):
        norms = [row[name] for name in ("tokens_small", "tokens_big", "grad_sq_norm_small", "grad_sq_norm_big")]
        assert row["trace"] == pytest.approx(formulas.trace(*norms))
        assert row["grad_sq_norm"] == pytest.approx(formulas.grad_sq_norm(*norms))


def test_the_squared_norms_of_the_first_step_are_those_of_its_own_gradients():
    run = Run(SMALL, ALONE, TEXT, SMALL.seed)
    windows = run.batch(8)
    each = []
    for one in windows.split(1):
        run.model.zero_grad()
        run.model.loss(one[:, :-1], one[:, 1:]).backward()
        each.append(sum(float(weight.grad.square().sum()) for weight in run.model.parameters()))
    run.model.zero_grad()
    run.model.loss(windows[:, :-1], windows[:, 1:]).backward()
    whole = sum(float(weight.grad.square().sum()) for weight in run.model.parameters())
    row, _ = rows(replace(SMALL, steps=1))[0]
    assert row["grad_sq_norm_small"] == pytest.approx(sum(each) / 8, rel=1e-4)
    assert row["grad_sq_norm_big"] == pytest.approx(whole, rel=1e-4)


def test_measuring_changes_nothing_in_the_run():
    run = Run(SMALL, ALONE, TEXT, SMALL.seed)
    losses = [run.step(8, run.warmed_up(SMALL.learning_rate)) for _ in range(3)]
    row, _ = rows(SMALL)[0]
    assert row["loss"] == pytest.approx(sum(losses) / 3) and row["held_out_loss"] == run.evaluate()


def test_the_run_ends_at_its_target_loss():
    free = rows(SMALL)
    target = free[len(GROUPS)][0]["held_out_loss"]
    assert rows(replace(SMALL, target_loss=target)) == free[: 2 * len(GROUPS)]


def test_rows_of_an_earlier_run_are_kept_and_the_others_are_the_same():
    whole = rows(SMALL)
    for done in (1, len(GROUPS), 2 * len(GROUPS) + 2, len(whole)):
        assert rows(SMALL, [as_text(row) for row, _ in whole[:done]]) == whole[done:]


def test_a_micro_batch_as_large_as_the_batch_is_refused():
    with pytest.raises(ValueError, match="the noise scale needs two batch sizes, got 1"):
        rows(replace(SMALL, micro_batch_size=8))


@pytest.mark.parametrize(
    "parts, line",
    [
        ((0.5, 1_000.0), "step=   30  attention  held-out loss=2.500  noise scale=2,000 tokens"),
        ((-0.5, 1_000.0), "step=   30  attention  held-out loss=2.500  noise scale not identified"),
    ],
)
def test_the_printed_line_says_the_noise_scale(parts, line):
    row = {"step": 30, "group": "attention", "held_out_loss": 2.5}
    assert noise.line(row | dict(zip(("ema_grad_sq_norm", "ema_trace"), parts, strict=True))) == line


def test_the_notes_say_which_batches_are_compared():
    assert "small batch 1 sequences, big batch 8" in "\n".join(noise.notes(SMALL))


def measured(out: Path, *start: str) -> list[dict[str, str]]:
    """The rows that the command line writes."""
    options = (
        "--global-batch-size 8 --seq-len 16 --layers 1 --width 16 --heads 2 --steps 12 --average-steps 2 --threads 1"
    )
    command = [
        sys.executable,
        *start,
        "-m",
        "bsmath.bench",
        "noise",
        *options.split(),
        "--device",
        "cpu",
        "--out",
        str(out),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment)
    written = list(csv.DictReader(line for line in out.read_text().splitlines() if not line.startswith("#")))
    assert len(written) == 6 * len(GROUPS), done.stderr
    return written


def test_two_processes_measure_what_one_does(tmp_path):
    """With one sequence a micro-batch both have the same small and the same big batch."""
    one = measured(tmp_path / "one.csv")
    two = measured(tmp_path / "two.csv", *"-m torch.distributed.run --standalone --nproc-per-node 2".split())
    assert {row["data_parallel_size"] for row in two} == {"2"}
    for single, shared in zip(one, two, strict=True):
        for name in ("step", "tokens", "group", "tokens_small", "tokens_big"):
            assert shared[name] == single[name]
        for name in ("loss", "held_out_loss", "grad_sq_norm_small", "grad_sq_norm_big", "trace"):
            assert float(shared[name]) == pytest.approx(float(single[name]), rel=1e-3), (name, single["group"])
    low, high = estimate(one).interval()
    assert low < estimate(two).noise_scale < high


def estimate(written: list[dict[str, str]]) -> noise_estimate.NoiseScaleEstimate:
    found = [row for row in written if row["group"] == "all"]
    return noise_estimate.estimate(*([float(row[name]) for row in found] for name in ("trace", "grad_sq_norm")))
