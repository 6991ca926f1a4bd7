"""What nanochat prints."""

import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import nanochat

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "nanochat.log"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"


def table(text: str):
    return nanochat.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return table(SAMPLE.read_text())


def test_the_rate_is_of_the_job_the_time_in_seconds_and_the_mfu_in_parts_of_one(sample):
    row = sample.iloc[1]
    assert (row["step"], row["train_loss"], row["step_time_s"]) == (10, 8.412004, pytest.approx(1.52))
    assert row["tokens_per_s"] == 344_926 and "tokens_per_s_per_gpu" not in sample
    assert row["mfu"] == pytest.approx(0.482) and "learning_rate" not in sample
    assert sample["step"].tolist() == [0, 10, 100, 200] and sample["train_loss"].iloc[-1] == math.inf


def test_the_lines_before_give_the_batch_and_the_devices(sample):
    row = sample.iloc[0]
    assert (row["batch_tokens"], row["accum"], row["micro_batch"], row["seq_len"]) == (524_288, 2, 32, 2048)
    assert (row["n_gpus"], row["replicas"], row["params"]) == (4, 4, 286_262_272)


def test_bits_per_byte_are_not_taken_for_a_loss(sample):
    assert "val_loss" not in sample
    assert "bits per byte" in " ".join(nanochat.read(SAMPLE.read_text(), "x").comments)


def test_without_its_line_the_batch_follows_from_time_and_rate():
    text = "".join(line + "\n" for line in SAMPLE.read_text().split("\n") if line.startswith("step "))
    assert (table(text)["batch_tokens"] == 524_288).all()


def test_older_and_shorter_forms_are_read():
    text = (
        "step 00010 (12.00%) | loss: 7.44 | grad norm: 0.5000 | lrm: 1.00 | dt: 8111ms | tok/sec: 4,039 | "
        "mfu: 3.1% | epoch: 1\n"
        "step 00011/00080 (13.75%) | loss: 7.40 | lrm: 1.00 | dt: 8120.50ms | tok/sec: 4,035 | "
        "mfu: 3.10 | total time: 0.10m\n"
    )
    assert nanochat.recognizes(text)
    frame = table(text)
    assert frame["step_time_s"].tolist() == pytest.approx([8.111, 8.1205]) and frame["grad_norm"].iloc[0] == 0.5
    assert frame["mfu"].tolist() == pytest.approx([0.031, 0.031]) and frame["batch_tokens"].iloc[0] == 32_768


def test_other_text_is_not_recognized():
    code = """print0(f"step {step:05d}/{n:05d} ({pct_done:.2f}%) | loss: {x:.6f} | dt: {dt:.2f}ms | tok/sec: {t:,}")"""
    build = "step     0 | loss: 10.955029 | lr 6.0000e-06 | norm: 15.2641 | dt: 331.47ms | tok/sec: 158166.84\n"
    prose = "In step 5 (50%) the loss: 4, dt: 1 and tok/sec: 3.\n"
    assert not any(nanochat.recognizes(text) for text in (code, build, prose, ""))


def test_a_log_without_steps_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table("saving checkpoint to out\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", ",,,", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


def test_a_log_that_is_cut_anywhere_ends_in_a_table_or_a_refusal():
    text = SAMPLE.read_text()
    for end in range(0, len(text), 7):
        try:
            assert len(table(text[:end]))
        except SweepError as error:
            assert "must" in str(error)


@pytest.mark.parametrize(
    "part", ["step 1 (1%) | loss: 1 ", "| dt: ", " ", "Tokens / micro-batch: 1,", "Total batch size "]
)
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\n" + SAMPLE.read_text()
    begun = time.perf_counter()
    assert nanochat.recognizes(text) and len(table(text)) >= len(table(SAMPLE.read_text()))
    assert time.perf_counter() - begun < 1
