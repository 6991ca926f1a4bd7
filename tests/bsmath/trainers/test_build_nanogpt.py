import math
from pathlib import Path

import pytest

from bsmath import intake
from bsmath.trainers import build_nanogpt

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "build_nanogpt_synthetic.txt"


def test_the_sample_has_a_row_a_step_with_both_losses():
    frame = build_nanogpt.read(SAMPLE.read_text(), SAMPLE.name).frame
    assert frame["step"].tolist() == [0, 1, 2, 3, 4, 5]
    assert frame["train_loss"].tolist() == [10.951172, 10.700213, 10.450331, 10.200874, 9.960109, 9.700455]
    assert frame["val_loss"].dropna().tolist() == [10.9503, 9.9502]


def test_a_run_that_diverged_has_an_infinite_loss_and_a_cut_line_is_named():
    read = build_nanogpt.read("1 train 9.5\n2 train -nan\n3 train inf\n4 tra", "log.txt")
    assert read.frame["train_loss"].tolist() == [9.5, math.inf, math.inf]
    assert [problem.row for problem in read.problems] == [4]


def test_a_negative_loss_is_named_and_does_not_lose_its_sign():
    read = build_nanogpt.read("1 train 9.5\n2 train -1.5\n3 train 9.3\n", "log.txt")
    assert read.frame["train_loss"].tolist() == [9.5, 9.3]
    assert [problem.row for problem in read.problems] == [2]


@pytest.mark.parametrize(
    "text, why",
    [
        ("0 hella 0.2\n1 hella 0.3\n2 hella 0.4\n", "no loss"),
        ("0 train 10.9\n1 train 9.9\n", "two lines"),
        ("0 train 10\n1 train 9\n2 train 8\n", "whole numbers"),
        ("0 train 10.9 3\n1 train 9.9 3\n2 train 8.9 3\n", "another number"),
        ("step what value\n0 train 10.9\n1 train 9.9\nx y 1\n2 train 9.8\n", "a table"),
    ],
)
def test_other_texts_are_not_recognized(text, why):
    assert not build_nanogpt.recognizes(text), why


def test_it_is_imported_as_the_losses_of_a_run():
    read = intake.read_file(SAMPLE.read_bytes(), "log.txt")
    assert "build-nanogpt" in repr(read)
