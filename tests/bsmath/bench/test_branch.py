"""Branches of a run: what they share, what they refuse, that they can be continued and shared out over processes."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath import logs  # noqa: E402
from bsmath.bench import branch  # noqa: E402
from bsmath.bench.__main__ import settings_fit  # noqa: E402
from bsmath.bench.settings import Branch  # noqa: E402
from bsmath.bench.train import Run  # noqa: E402
from tests.bsmath.bench import alone  # noqa: E402
from tests.bsmath.bench.alone import ALONE, TEXT, as_text  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = Branch(
    global_batch_size=2,
    learning_rate=1e-2,
    checkpoint_steps=(4, 6),
    batch_factors=(1, 2, 4),
    branch_tokens=8 * 16,
    seeds=2,
    seq_len=16,
    layers=1,
    width=16,
    heads=2,
    lr_warmup_steps=4,
    eval_sequences=8,
    device="cpu",
)
rows = partial(alone.rows, branch)
ROOT = Path(__file__).parents[3]


def test_there_is_one_row_a_checkpoint_seed_and_factor_in_the_units_of_its_header():
    found = rows(SMALL)
    keys = [(row["checkpoint_step"], row["seed"], row["batch_factor"]) for row, _ in found]
    assert keys == [(step, seed, k) for step in (4, 6) for seed in (0, 1) for k in (1, 2, 4)]
    row, _ = found[2]
    assert tuple(row) == branch.COLUMNS and found[-1][1] == 1.0
    assert (row["checkpoint_tokens"], row["base_global_batch_size"]) == (4 * 2 * 16, 2)
    assert (row["global_batch_size"], row["tokens_per_step"], row["steps"]) == (8, 128, 1)
    assert row["learning_rate"] == pytest.approx(2e-2)  # sqrt(4) times


def test_the_unchanged_branch_is_the_run_itself_with_other_data():
    run = Run(SMALL, ALONE, TEXT, 0)
    for _ in range(4):
        run.step(2, run.warmed_up(1e-2))
    run.data = np.random.default_rng((1, 4))
    for _ in range(4):
        run.step(2, 1e-2)
    found = {(row["checkpoint_step"], row["seed"], row["batch_factor"]): row["loss"] for row, _ in rows(SMALL)}
    assert found[4, 1, 1] == run.evaluate()


class Drawn(Run):
    """A run that keeps the windows that it was trained on, and its rates."""

    def __init__(self, *args):
        super().__init__(*args)
        self.seen, self.rates = [], []

    def batch(self, global_batch_size):
        self.seen.append(super().batch(global_batch_size))
        return self.seen[-1]

    def update(self, learning_rate):
        self.rates.append(learning_rate)
        super().update(learning_rate)


def drawn(seed: int, factor: int) -> tuple[torch.Tensor, list[float]]:
    run = Drawn(SMALL, ALONE, TEXT, 0)
    state = branch.advanced(run, None, 4)
    run.seen, run.rates = [], []
    branch.branch(run, state, seed, factor)
    return torch.cat(run.seen), run.rates


def test_all_factors_of_a_seed_see_the_same_windows_and_other_seeds_others():
    one, four, other = drawn(0, 1)[0], drawn(0, 4)[0], drawn(1, 1)[0]
    assert torch.equal(one, four) and one.numel() == 8 * 17
    assert not torch.equal(one, other)


def test_the_rate_grows_with_the_root_of_the_factor_at_once():
    assert drawn(0, 1)[1] == [1e-2] * 4 and drawn(0, 4)[1] == [2e-2]


def test_a_branch_leaves_no_trace_in_the_run():
    found = rows(replace(SMALL, checkpoint_steps=(6,)))
    after_another = [(row, share) for row, share in rows(SMALL) if row["checkpoint_step"] == 6]
    assert [row for row, _ in found] == [row for row, _ in after_another]


def test_rows_of_an_earlier_run_are_kept_and_the_others_come_out_the_same():
    whole = rows(SMALL)
    for done in (1, 5, 6, 9, 12):
        assert rows(SMALL, [as_text(row) for row, _ in whole[:done]]) == whole[done:]


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"branch_tokens": 192},
            "branch_tokens must be whole steps of every branch, a multiple of 8 x 16 tokens, got 192",
        ),
        ({"batch_factors": (2, 4)}, r"batch_factors must hold 1, the unchanged branch, got \(2, 4\)"),
        ({"checkpoint_steps": (3, 6)}, r"checkpoint_step must be at least lr_warmup_steps \(4\), got 3"),
        ({"micro_batch_size": 3}, r"global_batch_size must be a multiple of micro_batch_size \(3\), got 4"),
    ],
)
def test_branches_that_could_not_be_compared_are_refused_before_anything_is_trained(change, message):
    with pytest.raises(ValueError, match=message):
        settings_fit(replace(SMALL, **change), 1)


def test_micro_batches_must_divide_the_share_of_every_process():
    settings_fit(replace(SMALL, micro_batch_size=4), 1)
    with pytest.raises(ValueError, match="multiple of micro_batch_size"):
        settings_fit(replace(SMALL, global_batch_size=6, branch_tokens=24 * 16, micro_batch_size=4), 2)


def test_the_printed_line_names_checkpoint_batch_rate_and_loss():
    row = {
        "checkpoint_step": 250,
        "seed": 0,
        "batch_factor": 8,
        "global_batch_size": 32,
        "learning_rate": 4e-3,
        "loss": 2.5,
    }
    assert branch.line(row) == "step=  250  seed=0  k=  8  B=  32  lr=0.004  loss=2.5000"


OPTIONS = (
    "branch --global-batch-size 2 --learning-rate 0.01 --checkpoint-steps 4 --batch-factors 1,2,4 --branch-tokens 128 "
    "--seeds 2 --seq-len 16 --layers 1 --width 16 --lr-warmup-steps 4 --eval-sequences 8 --device cpu --threads 1"
).split()


def test_two_processes_give_the_losses_of_one_and_the_file_is_read_as_branches(tmp_path):
    single, shared = (alone.in_processes(n, OPTIONS, tmp_path / f"{n}.csv") for n in (1, 2))
    assert len(single) == len(shared) == 6 and {row["data_parallel_size"] for row in shared} == {"2"}
    losses = [[float(row["loss"]) for row in each] for each in (single, shared)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    found = logs.read((tmp_path / "1.csv").read_bytes(), "1.csv")
    assert found.kind == "branch" and found.record.branches[0].tokens_per_step.tolist() == [32, 64, 128]
