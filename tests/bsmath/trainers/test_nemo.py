import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import nemo

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "nemo.log"
BAR = (
    "Epoch {}: :  47%|████▋     | {}/{} [06:19<07:13, reduced_train_loss={}, global_step={}, "
    "consumed_samples={}, train_step_timing in s=24.00]"
)


def table(text: str):
    return nemo.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return nemo.read(SAMPLE.read_text(), SAMPLE.name)


def test_the_sample_is_recognized():
    assert nemo.recognizes(SAMPLE.read_text())


def test_consumed_samples_show_that_steps_count_from_0(sample):
    assert sample.frame["step"].tolist() == [1, 11, 21, 31, 41, 51]
    assert any("counts from 0" in comment for comment in sample.comments)
    assert (sample.frame["consumed_samples"] == sample.frame["step"] * 128).iloc[1:].all()


def test_steps_that_agree_with_the_samples_stay_as_printed():
    line = "Training epoch 0, iteration {0}/9 | global_batch_size: 32 | global_step: {0} | reduced_train_loss: 9.2 | consumed_samples: {1}\n"
    assert table(line.format(1, 32) + line.format(2, 64))["step"].tolist() == [1, 2]


def test_the_batch_is_the_jobs_in_sequences_and_the_time_in_seconds(sample):
    row = sample.frame.iloc[1]
    assert (row["train_loss"], row["step_time_s"], row["learning_rate"], row["batch_seqs"]) == (
        9.871,
        6.082,
        1.65e-6,
        128,
    )


def test_a_validation_loss_counts_once_and_not_again_on_every_line(sample):
    assert sample.frame["val_loss"].dropna().tolist() == [8.011, 7.151]
    assert sample.frame.loc[sample.frame["val_loss"].notna(), "step"].tolist() == [31, 51]


def test_the_configuration_is_read(sample):
    row = sample.frame.iloc[0]
    assert (row["n_gpus"], row["micro_batch"], row["seq_len"]) == (16, 2, 4096)


def test_rates_are_per_device_and_may_have_an_exponent():
    text = "0: Training epoch 0, iteration 5/9 | global_step: 5 | reduced_train_loss: 9.2 | tokens_per_sec_per_gpu: 1.073e+04\n"
    frame = table(text)
    assert frame["tokens_per_s_per_gpu"].tolist() == [10_730] and "tokens_per_s" not in frame


def test_the_bar_of_nemo_1_gives_the_batch_by_what_each_step_consumes():
    text = "\n".join(BAR.format(0, step + 1, 50, 9 - step, f"{step}.00", f"{(step + 1) * 1024}.0") for step in range(4))
    assert nemo.recognizes(text)
    frame = table(text)
    assert frame["step"].tolist() == [1, 2, 3, 4]
    assert frame["batch_seqs"].unique().tolist() == [1024]
    assert (frame["train_loss"].iloc[0], frame["step_time_s"].iloc[0]) == (9, 24)


def test_a_bar_drawn_again_is_one_row():
    line = BAR.format(0, 50, 50, 0.186, "49.00", "51200.0")
    assert len(table(line + "\n" + line + "\n")) == 1


def test_a_step_of_three_digits_is_taken_from_the_bars_own_count():
    frame = table(
        BAR.format(0, 1987, 2000, 0.139, "1.99e+3", "2.54e+5") + "][NeMo I 2024-06-17 08:36:41 x:480] Removing\n"
    )
    assert frame["step"].tolist() == [1986] and "consumed_samples" not in frame


def test_a_diverged_loss_is_infinite_and_a_last_line_may_be_cut():
    line = "Training epoch 0, iteration 5/9 | global_step: 5 | reduced_train_loss: nan | train_step_timing in s: 6.0\n"
    frame = table(line + "Training epoch 0, iteration 6/9 | lr: 1e-05 | global_st")
    assert frame["train_loss"].iloc[0] == math.inf
    assert frame["step"].tolist() == [5, 6] and math.isnan(frame["train_loss"].iloc[1])


def test_lines_before_a_resume_and_after_it_are_kept():
    line = "Training epoch 0, iteration {0}/99 | global_step: {0} | reduced_train_loss: {1}\n"
    assert table(line.format(10, 9.1) + line.format(20, 8.1) + line.format(11, 9.0))["step"].tolist() == [10, 20, 11]


def test_other_text_is_not_recognized():
    file = "checkpoints/run--reduced_train_loss=8.2760-epoch=0 was saved\n"
    code = 'log_string += f" | reduced_train_loss: {val:.4}"\n'
    keras = "Epoch 1/10: 100%|###| 50/50 [00:10<00:00, loss=2.3]\n"
    assert not any(nemo.recognizes(text) for text in (file, code, keras, ""))


def test_a_log_without_steps_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table("seq_length: 4096\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


@pytest.mark.parametrize("part", ["Epoch 0: |", "reduced_train_loss=", ", a=1", " | a: 1", "| 1/2 ["])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = "Epoch 0: " + part * (100_000 // len(part)) + "reduced_train_loss\nTraining epoch 0, iteration 5/9 | lr: 1\n"
    begun = time.perf_counter()
    nemo.recognizes(text), table(text)
    assert time.perf_counter() - begun < 1
