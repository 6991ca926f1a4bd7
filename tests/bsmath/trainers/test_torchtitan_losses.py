import math
from pathlib import Path

import pytest

from bsmath.trainers import torchtitan_losses

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "torchtitan_losses_synthetic.txt"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"
FIVE = "1 8.0\n2 7.5\n3 7.0\n4 6.5\n5 6.0\n"


def test_the_sample_has_a_row_a_line():
    assert torchtitan_losses.recognizes(SAMPLE.read_text())
    frame = torchtitan_losses.read(SAMPLE.read_text(), SAMPLE.name).frame
    assert frame["step"].tolist() == list(range(1, 9))
    assert (frame["train_loss"][0], frame["train_loss"][7]) == (8.031250953674316, 3.962500095367432)


def test_the_assumption_is_said():
    read = torchtitan_losses.read(FIVE, "losses.txt")
    assert any("without a header" in comment for comment in read.comments)


def test_a_diverged_loss_is_infinite_and_other_lines_are_a_problem():
    read = torchtitan_losses.read(FIVE + "6 nan\n7\n", "losses.txt")
    assert read.frame["train_loss"].iloc[-1] == math.inf
    assert [problem.row for problem in read.problems] == [7]


@pytest.mark.parametrize(
    "text, why",
    [
        (FIVE[:24], "fewer than five lines"),
        ("8 1.5\n16 1.7\n32 1.9\n64 1.95\n128 1.98\n", "batch sizes, not steps"),
        ("1 111.5\n2 129.9\n3 136.5\n4 138.5\n5 139.5\n", "too large for a loss"),
        ("1 8\n2 7\n3 6\n4 5\n5 4\n", "whole numbers"),
        ("1 8.0\n2 7.5\n2 7.0\n3 6.5\n4 6.0\n", "steps that do not rise"),
        ("step loss\n" + FIVE, "a header"),
        (FIVE.replace(" ", ","), "commas"),
        (FIVE.replace("\n", " 3.0\n"), "three columns"),
        ("", "empty"),
    ],
)
def test_other_tables_are_not_recognized(text, why):
    assert not torchtitan_losses.recognizes(text), why


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
@pytest.mark.parametrize(
    "name, first, last",
    [
        ("torchtitan_losses_llama3_cuda.txt", 8.049097061157227, 2.746471643447876),
        ("torchtitan_losses_qwen3_moe_cuda.txt", 7.604050636291504, 2.852487564086914),
    ],
)
def test_the_loss_files_of_torchtitan(name, first, last):
    text = (REAL / name).read_text()
    assert torchtitan_losses.recognizes(text)
    frame = torchtitan_losses.read(text, name).frame
    assert frame["step"].tolist() == list(range(1, 101))
    assert (frame["train_loss"].iloc[0], frame["train_loss"].iloc[-1]) == (first, last)
