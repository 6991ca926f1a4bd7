"""Metric files of MLflow."""

import time
from pathlib import Path

import numpy as np
import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import mlflow_metric

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "mlflow_synthetic_train_loss.txt"
LINES = "1768386151000 4.8712 100\n1768386191500 4.3904 200\n"


def read(name: str, text: str = LINES):
    return mlflow_metric.read(text, name)


def test_the_sample_has_its_losses_and_its_times_in_seconds():
    frame = read(SAMPLE.name, SAMPLE.read_text()).frame
    assert frame["step"].tolist() == [100, 200, 300, 400]
    assert frame["train_loss"].tolist() == [4.8712, 4.3904, np.inf, 3.9821]
    assert np.diff(frame["wall_time_s"]).tolist() == [40, 40.5, 39.5]


@pytest.mark.parametrize(
    "name, header",
    [
        ("loss", "train_loss"),
        ("train_loss", "train_loss"),
        ("mlruns/0/0f3c/metrics/train/loss", "train_loss"),
        ("val_loss", "val_loss"),
        ("metrics/eval/loss", "val_loss"),
        ("eval_loss", "val_loss"),
        ("learning_rate", "learning_rate"),
        ("grad_norm", "grad_norm"),
        ("tokens_per_sec", "tokens_per_s"),
        ("num_input_tokens_seen", "tokens"),
    ],
)
def test_the_name_says_what_the_values_are(name, header):
    assert read(name).frame[header].tolist() == [4.8712, 4.3904]


@pytest.mark.parametrize(
    "name", ["x", "accuracy", "aux_loss", "loss_scale", "glossary", "tokens_per_sec_per_gpu", "step_time"]
)
def test_a_name_that_does_not_say_it_leaves_steps_and_times_alone(name):
    table = read(name)
    assert list(table.frame.columns) == ["step", "wall_time_s"] and "does not say" in table.comments[0]


def test_lines_that_are_something_else_are_named():
    table = read("loss", LINES + "1768386231\n")
    assert len(table.frame) == 2 and [problem.row for problem in table.problems] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "1 8.1\n2 8.0\n3 7.9",
        "1 8.1 100\n2 8.0 200",
        "step value\n1 2",
        "1768386151000 4.8 100",
        "",
        "1768386151000,4.8,100\n" * 3,
    ],
)
def test_other_tables_are_not_recognized(text):
    assert not mlflow_metric.recognizes(text)
    assert mlflow_metric.recognizes(LINES)


def test_a_file_without_such_lines_is_refused():
    with pytest.raises(SweepError, match="loss must have lines of a time, a value and a step"):
        read("loss", "a b c\n")


@pytest.mark.parametrize("piece", ["1768386151000 ", "1", " ", "1768386151000 1 1 "])
def test_a_line_of_100_000_characters_is_read_at_once(piece):
    start = time.perf_counter()
    assert len(read("loss", LINES + (piece * 100_000)[:100_000]).frame) == 2
    assert time.perf_counter() - start < 1
