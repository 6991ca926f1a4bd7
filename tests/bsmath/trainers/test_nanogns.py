"""What nanoGNS prints."""

import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import nanogns

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "nanogns.log"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"


def table(text: str):
    return nanogns.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return table(SAMPLE.read_text())


def test_times_are_in_seconds_rates_of_the_job_and_the_mfu_in_parts_of_one(sample):
    assert sample["step"].tolist() == [0, 10, 20, 30, 40, 50]
    row = sample.iloc[2]
    assert (row["train_loss"], row["step_time_s"], row["tokens_per_s"]) == (4.2433, 2.1, 7802)
    assert row["mfu"] == pytest.approx(0.0017) and math.isnan(sample["mfu"].iloc[1])
    assert sample["train_loss"].iloc[3] == math.inf


def test_an_iteration_with_an_evaluation_has_neither_time_nor_rate(sample):
    evaluated = sample[sample["val_loss"].notna()]
    assert evaluated[["step", "val_loss"]].values.tolist() == [[0, 4.288], [40, 4.1302]]
    assert evaluated[["step_time_s", "tokens_per_s"]].isna().all(axis=None)


def test_the_batch_is_stated_or_follows_from_time_and_rate(sample):
    assert (sample["batch_tokens"] == 16_384).all()
    unstated = SAMPLE.read_text().replace("tokens per iteration", "tokens")
    assert (table(unstated)["batch_tokens"] == 16_384).all()


def test_a_batch_that_follows_a_schedule_is_not_claimed_to_be_constant():
    text = SAMPLE.read_text().replace("dt=2.100s", "dt=1.000s").replace("dt=2.051s", "dt=0.500s")
    read = nanogns.read(text, "run.log")
    assert "batch_tokens" not in read.frame and "16,384" in read.problems[0].what


def test_noise_scales_behind_a_line_change_nothing():
    text = "iter_num=10: train_lossf=4.2741, dt=2.147s, mfu=0.00%, tokens_per_sec=7,630, gns 12.34\n"
    assert nanogns.recognizes(text)
    row = table(text).iloc[0]
    assert (row["step"], row["train_loss"], row["tokens_per_s"], row["batch_tokens"]) == (10, 4.2741, 7630, 16_384)


def test_other_text_is_not_recognized():
    code = """tracker.print(f"{iter_num=}: "+"{train_lossf=:.4f}, dt={dt:.3f}s, {mfu=:.2f}%, {tokens_per_sec=:,.0f}")"""
    nano = "step 0: train loss 4.2, val loss 4.3\niter 10: loss 9.31, time 412.37ms, mfu 41.86%\n"
    assert not any(nanogns.recognizes(text) for text in (code, nano, "iter_num=5 was the best\n", ""))


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
    "part", ["iter_num=1: train_lossf=1, ", "dt=1s, ", " ", "tokens_per_sec=1,", "step 1: train loss "]
)
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\n" + SAMPLE.read_text()
    begun = time.perf_counter()
    assert nanogns.recognizes(text) and len(table(text)) >= len(table(SAMPLE.read_text()))
    assert time.perf_counter() - begun < 1
