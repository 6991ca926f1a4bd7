"""What litgpt prints."""

import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import litgpt

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "litgpt.log"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"


def table(text: str):
    return litgpt.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return table(SAMPLE.read_text())


def test_a_row_is_an_optimizer_step_and_its_time_the_sum_of_its_micro_batches(sample):
    assert sample["step"].tolist() == [1, 2, 3]  # not 2, 4, 6, which count micro-batches
    assert sample["step_time_s"].tolist() == pytest.approx([1.3, 0.4, 0.404])
    assert sample["train_loss"].tolist() == [10.981, 10.703, math.inf]


def test_a_validation_counts_micro_batches_and_its_last_line_is_not_read_again(sample):
    assert sample["val_loss"].dropna().tolist() == [10.6012]
    assert sample[sample["val_loss"].notna()]["step"].tolist() == [2]


def test_the_arguments_give_the_batch(sample):
    row = sample.iloc[0]
    assert (row["batch_seqs"], row["micro_batch"], row["accum"], row["seq_len"]) == (16, 4, 2, 2048)
    assert (row["n_gpus"], row["params"], row["seed"], row["model"]) == (2, 162_322_944, 42, "synthetic-160m")


def test_without_the_lines_of_all_micro_batches_a_step_has_no_time():
    text = "".join(line + "\n" for line in SAMPLE.read_text().split("\n") if "(step)" in line)
    read = litgpt.read(text, "run.log")
    assert read.frame["step"].tolist() == [1, 2, 3] and "step_time_s" not in read.frame
    assert read.frame["val_loss"].dropna().tolist() == [10.601]  # shown with step 3, made after step 2
    assert read.frame["val_loss"].notna().tolist() == [False, True, False]
    assert read.frame["accum"].iloc[0] == 2 and "one of their micro-batches" in read.problems[0].what


def test_without_accumulation_the_time_of_an_iteration_is_that_of_a_step():
    line = "Epoch 1 | iter {0} step {0} | loss train: 4.0, val: n/a | iter time: 391.27 ms (step)\n"
    assert table(line.format(1) + line.format(2))["step_time_s"].tolist() == pytest.approx([0.39127] * 2)


def test_the_older_form_is_read():
    text = (
        "iter 7 step 3: loss 4.9230, iter time: 140.00ms\n"
        "iter 8 step 4: loss 4.9130, iter time: 160.00ms (optimizer.step) remaining time: 1.20 days\n"
        "iter 8: val loss 4.9021, val time: 1234.56ms\n"
    )
    assert litgpt.recognizes(text)
    (row,) = table(text).to_dict("records")
    assert (row["step"], row["train_loss"], row["val_loss"]) == (4, 4.913, 4.9021)
    assert row["step_time_s"] == pytest.approx(0.3)


def test_devices_are_those_of_all_nodes():
    text = SAMPLE.read_text().replace("'num_nodes': 1", "'num_nodes': 4")
    assert table(text)["n_gpus"].iloc[0] == 8


def test_other_text_is_not_recognized():
    code = """f"Epoch {e+1} | iter {i} step {s} | loss train: {x:.3f}, val: {v} | iter time: {t * 1000:.2f} ms\""""
    nano = "iter 10: loss 9.31, time 412.37ms, mfu 41.86%\n"
    prose = "Each iter 5 step 2 has a loss; the iter time: 3 ms.\n"
    assert not any(litgpt.recognizes(text) for text in (code, nano, prose, ""))


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
    "part",
    ["Epoch 1 | iter 1 step 0 | loss train: 1, ", "iter 1 step 1: loss ", " ", "micro_batch_size=1, ", "val loss "],
)
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\n" + SAMPLE.read_text()
    begun = time.perf_counter()
    assert litgpt.recognizes(text) and len(table(text)) >= len(table(SAMPLE.read_text()))
    assert time.perf_counter() - begun < 1
