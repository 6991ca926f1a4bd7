import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import maxtext

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "maxtext.log"
LINE = (
    "completed step: {}, seconds: 4.117, TFLOP/s/device: 198.214, Tokens/s/device: 1989.812, "
    "total_weights: {}, loss: {}\n"
)


def table(text: str):
    return maxtext.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return maxtext.read(SAMPLE.read_text(), SAMPLE.name).frame


def test_the_sample_is_recognized():
    assert maxtext.recognizes(SAMPLE.read_text())


def test_completed_step_0_is_one_step_done(sample):
    assert sample["step"].tolist() == [1, 2, 3, 4, 5]


def test_rates_are_per_device_and_weights_the_tokens_of_the_batch(sample):
    row = sample.iloc[2]
    assert (row["train_loss"], row["step_time_s"], row["tokens_per_s_per_gpu"]) == (10.877, 4.117, 7959.2)
    assert row["batch_tokens"] == 262_144 == row["batch_seqs"] * row["seq_len"]
    assert row["tokens_per_s_per_gpu"] * row["n_gpus"] * row["step_time_s"] == pytest.approx(262_144, rel=1e-3)


def test_the_evaluation_joins_its_step(sample):
    assert sample["val_loss"].dropna().tolist() == [9.311]
    assert sample["train_loss"].iloc[-1] == 9.201


def test_the_configuration_is_read(sample):
    row = sample.iloc[0]
    assert (row["n_gpus"], row["seq_len"], row["batch_seqs"], row["accum"]) == (8, 4096, 64, 1)
    assert (row["params"], row["model"]) == (1.236e9, "synthetic-1b")


def test_weights_that_differ_with_padding_are_averaged():
    read = maxtext.read("".join(LINE.format(step, 7000 + 10 * step, 9.0) for step in range(10)), "run.log")
    assert read.frame["batch_tokens"].unique().tolist() == [7045]
    assert any("padding" in comment for comment in read.comments)


def test_a_batch_ramp_keeps_the_weights_of_each_row():
    frame = table("".join(LINE.format(step, 4096 if step < 5 else 8192, 9.0) for step in range(10)))
    assert frame["batch_tokens"].tolist() == [4096] * 5 + [8192] * 5


def test_older_and_newer_lines_have_fewer_or_more_fields():
    old = "I0317 10:00:13.226566 1253444 metric_logger.py:181] completed step: 1, seconds: 8.693, TFLOP/s: 1.731, loss: 9.206\n"
    new = LINE.format(2, 4096, "9.1, lr: 3.000e-05, grad_norm: 1.0, raw_grad_norm: 2.5")
    frame = table(old + new)
    assert frame["train_loss"].tolist() == [9.206, 9.1]
    assert (frame["learning_rate"].iloc[1], frame["grad_norm"].iloc[1]) == (3e-5, 2.5)


def test_a_diverged_loss_is_infinite():
    assert table(LINE.format(3, 4096, "nan"))["train_loss"].tolist() == [math.inf]


def test_other_text_is_not_recognized():
    code = "f\"completed step: {step}, seconds: {metrics['scalar']['perf/step_time_seconds']:.3f}, \"\n"
    assert not any(maxtext.recognizes(text) for text in (code, "Completed step: 3, seconds of delay.\n", ""))


def test_a_log_without_steps_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table("Config param max_target_length: 4096\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


@pytest.mark.parametrize("part", ["completed step: 1, seconds: 1,", "loss: ", " ", "Config param "])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\n" + LINE.format(1, 4096, 9.1)
    begun = time.perf_counter()
    maxtext.recognizes(text), table(text)
    assert time.perf_counter() - begun < 1
