"""Steps to a target: the order of the runs, where each ends, and that the seed decides everything."""

import math
from dataclasses import replace
from functools import partial

import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath.bench import convergence  # noqa: E402
from bsmath.bench.settings import Convergence  # noqa: E402
from bsmath.bench.train import Run  # noqa: E402
from tests.bsmath.bench import alone  # noqa: E402
from tests.bsmath.bench.alone import ALONE, TEXT, as_text  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = Convergence(
    global_batch_sizes=(4, 8),
    learning_rates=(1e-2,),
    seeds=1,
    seq_len=16,
    layers=1,
    width=16,
    heads=2,
    target_loss=4.8,
    max_steps=60,
    lr_warmup_steps=4,
    eval_sequences=8,
    device="cpu",
)
rows = partial(alone.rows, convergence)


def without_clock(found: list[tuple[dict, float]]) -> list[tuple[dict, float]]:
    """Rows without their wall-clock, which no seed decides."""
    return [({name: value for name, value in row.items() if name != "train_seconds"}, share) for row, share in found]


class Watched(Run):
    """A run that keeps the step and the loss of every evaluation."""

    def __init__(self, settings: Convergence):
        super().__init__(settings, ALONE, TEXT, 0)
        self.evaluations = []

    def evaluate(self) -> float:
        loss = super().evaluate()
        self.evaluations.append((self.steps, loss))
        return loss


def test_every_seed_is_a_whole_sweep_and_the_middle_rates_come_first():
    settings = replace(SMALL, global_batch_sizes=(8, 4), learning_rates=(4e-3, 1e-3, 2e-3), seeds=2, seed=5)
    jobs = convergence.order(settings)
    assert [seed for seed, _, _ in jobs] == [5] * 6 + [6] * 6
    assert [batch for _, batch, _ in jobs[:6]] == [4, 4, 4, 8, 8, 8]
    assert jobs[0] == (5, 4, 2e-3) and {rate for _, _, rate in jobs[1:3]} == {1e-3, 4e-3}
    assert len(set(jobs)) == len(jobs) == 12


def test_the_loss_is_evaluated_after_every_step_to_50_and_then_every_2_percent():
    run = Watched(replace(SMALL, target_loss=1e-3))
    convergence.to_target(run, 1, 1e-4, 130)
    steps = [step for step, _ in run.evaluations]
    assert steps[:52] == list(range(52))
    later = steps[51:]
    assert all(here < after <= math.ceil(here * 1.02) for here, after in zip(later, later[1:], strict=False))
    assert steps[-1] == 130 and len(later) < 60


def test_a_run_ends_at_the_first_evaluation_at_or_below_the_target():
    free = Watched(replace(SMALL, target_loss=1e-3))
    convergence.to_target(free, 8, 1e-2, 40)
    path = free.evaluations[1:]
    target = path[25][1]
    expected = next(step for step, loss in path if loss <= target)
    run = Watched(replace(SMALL, target_loss=target))
    arrived, outcome, _, loss = convergence.to_target(run, 8, 1e-2, 40)
    assert (arrived, outcome) == (expected, "reached") and run.steps == expected
    assert run.evaluations == free.evaluations[: expected + 1] and loss <= target


def test_a_run_that_does_not_arrive_has_no_steps_to_the_target_but_the_steps_it_was_given():
    run = Watched(replace(SMALL, target_loss=1e-3))
    arrived, outcome, seconds, loss = convergence.to_target(run, 4, 1e-2, 7)
    assert (arrived, outcome, loss) == (None, "not reached", run.evaluations[-1][1]) and seconds > 0
    assert run.steps == 7 and run.evaluations[-1][0] == 7


def test_a_rate_that_blows_the_loss_up_ends_the_run_as_diverged():
    run = Watched(SMALL)
    arrived, outcome, _, loss = convergence.to_target(run, 4, 100.0, 60)
    assert (arrived, outcome) == (None, "diverged") and run.steps < 60
    assert not loss <= run.evaluations[0][1] + 2
    assert all(before <= run.evaluations[0][1] + 2 for _, before in run.evaluations[:-1])


def test_the_wait_for_a_slow_rate_is_a_multiple_of_the_fewest_steps_at_its_batch():
    settings = replace(SMALL, learning_rates=(1e-9, 1e-2, 1e-8), patience=1.5)
    found = [row for row, _ in rows(replace(settings, learning_rates=(1e-9, 1e-2)))]
    assert [row["outcome"] for row in found] == ["not reached", "reached"] * 2
    assert [row["steps_run"] for row in found][::2] == [60, 60]  # nothing had arrived yet: the slowest rate ran first
    for seed_first, seed_second in ((0, 1),):
        both = [row for row, _ in rows(replace(settings, learning_rates=(1e-9, 1e-2), seeds=2))]
        slow = {(row["seed"], row["global_batch_size"]): row for row in both if row["learning_rate"] == 1e-9}
        fast = {(row["seed"], row["global_batch_size"]): row for row in both if row["learning_rate"] == 1e-2}
        for batch in (4, 8):
            given = math.ceil(1.5 * fast[seed_first, batch]["steps_to_target"])
            assert slow[seed_second, batch]["steps_run"] == min(60, given) < 60
            assert slow[seed_second, batch]["steps_to_target"] is None


def test_the_same_seed_gives_the_same_steps_and_another_one_other_steps():
    first, same, other = (without_clock(rows(replace(SMALL, seed=seed))) for seed in (0, 0, 1))
    assert first == same
    assert [row["final_loss"] for row, _ in other] != [row["final_loss"] for row, _ in first]


def test_a_row_counts_in_the_units_of_its_header():
    (row, share), (_, end) = rows(SMALL)
    assert tuple(row) == convergence.COLUMNS and (share, end) == (0.5, 1.0)
    assert (row["global_batch_size"], row["tokens_per_step"], row["learning_rate"]) == (4, 64, 1e-2)
    assert row["outcome"] == "reached" and row["steps_to_target"] == row["steps_run"] > 1
    assert row["final_loss"] <= row["target_loss"] == 4.8


def test_rows_of_an_earlier_run_are_kept_and_still_tell_how_long_to_wait():
    settings = replace(SMALL, learning_rates=(1e-2, 1e-9), seeds=2, patience=1.5)
    whole = rows(settings)
    for done in (1, 3, 5):
        again = rows(settings, [as_text(row) for row, _ in whole[:done]])
        assert without_clock(again) == without_clock(whole[done:])


def test_a_rate_with_more_digits_than_the_file_keeps_is_not_measured_twice():
    settings = replace(SMALL, global_batch_sizes=(4,), learning_rates=(1 / 300,), max_steps=2)
    assert rows(settings, [as_text(row) for row, _ in rows(settings)]) == []


@pytest.mark.parametrize(
    "row, line",
    [
        ({"steps_to_target": 728, "outcome": "reached", "steps_run": 728}, "B=   8  lr=0.004  seed=0  steps=728"),
        (
            {"steps_to_target": None, "outcome": "not reached", "steps_run": 2370},
            "B=   8  lr=0.004  seed=0  not reached in 2370",
        ),
    ],
)
def test_the_printed_line_says_how_the_run_ended(row, line):
    assert convergence.line({"global_batch_size": 8, "learning_rate": 4e-3, "seed": 0} | row) == line


def test_the_notes_say_where_a_run_ends():
    said = "\n".join(convergence.notes(SMALL))
    assert "target: 4.8 nats" in said and "2.0 times the best run" in said and "60 steps" in said
