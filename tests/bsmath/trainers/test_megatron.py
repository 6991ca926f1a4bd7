import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import megatron

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "megatron.log"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"
real = pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")

LINE = " iteration {:8d}/     100 | consumed samples: {:12d} | elapsed time per iteration (ms): 500.0 | {}\n"


def table(text: str):
    return megatron.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return megatron.read(SAMPLE.read_text(), SAMPLE.name)


def test_the_sample_is_recognized():
    assert megatron.recognizes(SAMPLE.read_text())


def test_milliseconds_become_seconds_and_samples_are_sequences(sample):
    row = sample.frame.iloc[2]
    assert (row["step"], row["step_time_s"], row["batch_seqs"]) == (100, pytest.approx(0.8189), 32)
    assert (row["consumed_samples"], row["train_loss"], row["learning_rate"]) == (3200, 6.912233, 6e-5)
    assert row["grad_norm"] == 1.874


def test_the_validation_of_an_iteration_joins_its_row_and_the_test_set_does_not_count(sample):
    assert sample.frame["val_loss"].dropna().tolist() == [6.954118]
    assert sample.frame.loc[sample.frame["val_loss"].notna(), "step"].tolist() == [100]


def test_a_batch_ramp_gives_each_row_its_own_batch(sample):
    assert sample.frame["batch_seqs"].dropna().tolist() == [32, 32, 32, 64, 64, 64, 64, 64]


def test_the_argument_dump_gives_sequence_length_and_devices(sample):
    row = sample.frame.iloc[0]
    assert (row["seq_len"], row["micro_batch"], row["replicas"], row["n_gpus"], row["seed"]) == (2048, 4, 4, 16, 4321)


def test_a_skipped_iteration_keeps_its_row_without_a_loss(sample):
    assert sample.frame["step"].iloc[0] == 1
    assert math.isnan(sample.frame["train_loss"].iloc[0])


def test_a_loss_that_is_no_number_is_not_printed_and_counts_as_diverged(sample):
    assert sample.frame.loc[sample.frame["step"] == 300, "train_loss"].tolist() == [math.inf]
    assert any("without a loss" in problem.what for problem in sample.problems)


def test_a_resumed_step_is_kept_beside_the_first(sample):
    assert sample.frame.loc[sample.frame["step"] == 200, "step_time_s"].tolist() == pytest.approx([1.6002, 1.6117])


def test_half_a_pair_at_the_end_of_a_cut_line_is_left_out(sample):
    last = sample.frame.iloc[-1]
    assert last["step"] == 350 and math.isnan(last["batch_seqs"]) and math.isnan(last["train_loss"])
    cut = LINE.format(10, 320, "lm loss: 6.9E+00 |") + " iteration 20/ 100 | lm loss: 6.1"
    assert table(cut)["train_loss"].tolist()[:1] == [6.9] and table(cut)["step"].tolist() == [10, 20]
    assert math.isnan(table(cut)["train_loss"].iloc[1])


def test_text_of_another_rank_behind_a_line_changes_nothing():
    line = LINE.format(10, 320, "lm loss: 6.9E+00 |").strip("\n")
    assert table(line + "3:  iteration 11/ 100 | lm loss: 9.9E+00 |\n")["train_loss"].tolist() == [6.9]


def test_lines_of_2019_without_colons_are_read():
    text = (
        " iteration      100/   50000 | elapsed time per iteration (ms): 334.9 | learning rate 1.010E-06 | "
        "lm loss 1.020020E+01 | loss scale 131072.0 |\n"
    )
    assert megatron.recognizes(text)
    row = table(text).iloc[0]
    assert (row["step"], row["train_loss"], row["learning_rate"]) == (100, 10.2002, 1.01e-6)
    assert row["step_time_s"] == pytest.approx(0.3349)


DEEPSPEED = (
    "[default7]: iteration {}/  1000 | consumed samples: {:12d} | consumed tokens: {:12d} | elapsed time per iteration "
    "(s): 100.00 | learning rate: 5.9E-05 | global batch size:  2048 | lm loss: 2.5E+00 | grad norm: 0.174 | number of "
    "skipped iterations:   0 | number of nan iterations:   0 | samples per second: {} | TFLOPs: 149.02 |\n"
)


def test_megatron_deepspeed_prints_seconds_and_tokens():
    frame = table(DEEPSPEED.format(3, 6144, 6144 * 2048, "20.480"))
    row = frame.iloc[0]
    assert (row["step_time_s"], row["samples_per_s"], row["tokens"]) == (100.0, 20.48, 6144 * 2048)
    assert (row["seq_len"], row["batch_seqs"]) == (2048, 2048)


@pytest.mark.parametrize("printed, expected", [("20.480", 20.48), ("0.0205", 20.5), ("7.0", None)])
def test_samples_per_second_must_agree_with_batch_and_time(printed, expected):
    frame = table(DEEPSPEED.format(3, 6144, 6144 * 2048, printed))
    found = frame["samples_per_s"].tolist() if "samples_per_s" in frame else [None]
    assert found == [expected if expected is None else pytest.approx(expected)]


def test_gpt_neox_writes_the_loss_with_an_underscore_and_opens_with_its_rate():
    text = (
        "  train_batch_size ................ 32........................updated\n"
        " samples/sec: 64.000 | iteration       10/  320000 | elapsed time per iteration (ms): 500.0 | learning rate: "
        "1.8E-05 | lm_loss: 1.1E+01 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        " validation results at iteration 10 | lm_loss value: 1.2E+01 | lm_loss_ppl value: 1.6E+05 | \n"
    )
    row = table(text).iloc[0]
    assert (row["samples_per_s"], row["train_loss"], row["val_loss"], row["batch_seqs"]) == (64, 11.0, 12.0, 32)


def test_the_oldest_dump_gives_the_batch_of_a_replica():
    text = (
        "using world size: 64 and model-parallel size: 4\n  batch_size ...................... 48\n"
        " iteration 1/ 1000 | elapsed time per iteration (ms): 100.0 | lm loss: 1.2E+01 |\n"
    )
    row = table(text).iloc[0]
    assert (row["micro_batch"], row["replicas"], row["batch_seqs"], row["n_gpus"]) == (48, 16, 768, 64)


def test_a_printed_nan_is_a_diverged_loss():
    assert table(LINE.format(10, 320, "lm loss: nan | grad norm: nan |"))["train_loss"].tolist() == [math.inf]


def test_other_text_is_not_recognized():
    prose = "We ran iteration 100 of 5000 | the lm loss was fine.\n| iteration | lm loss |\n|---|---|\n| 100 | 6.9 |\n"
    code = "log_string = ' iteration {:8d}/{:8d} |'.format(it, n)\nlog_string += ' lm loss: {:.6E} |'\n"
    nemo = "Training epoch 0, iteration 0/99 | lr: 1e-07 | global_step: 0 | reduced_train_loss: 11.03\n"
    assert not any(megatron.recognizes(text) for text in (prose, code, nemo, ""))


def test_a_log_without_iterations_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table("using world size: 8\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


@pytest.mark.parametrize("part", [" | lm loss ", "iteration 1/ 2 | ", " ", "lm loss: "])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    line = "iteration 1/ 2 | lm loss: 1.0 |" + part * (100_000 // len(part))
    begun = time.perf_counter()
    megatron.recognizes(line), table(line)
    assert time.perf_counter() - begun < 1


@real
def test_the_log_of_bigscience_has_three_skipped_iterations():
    text = (REAL / "megatron_lm_bigscience_perf_n16.out").read_text()
    read = megatron.read(text, "perf")
    assert megatron.recognizes(text)
    assert read.rows.tolist() == [341, 343, 345]
    assert read.frame["step"].tolist() == [1, 2, 3]
    assert read.frame["step_time_s"].tolist() == pytest.approx([155.4838, 129.0288, 128.8915])
    assert "train_loss" not in read.frame and read.frame["learning_rate"].tolist() == [0, 0, 0]
    last = read.frame.iloc[-1]
    assert (last["consumed_samples"], last["batch_seqs"], last["seq_len"], last["micro_batch"]) == (3072, 1024, 1024, 4)
    assert (last["n_gpus"], last["replicas"]) == (64, 1)


@real
def test_the_old_log_of_bigscience_takes_its_batch_from_the_dump():
    text = (REAL / "megatron_deepspeed_zero_bigscience.out").read_text()
    frame = table(text)
    assert frame["step"].tolist() == [1, 2, 3]
    assert frame["train_loss"].tolist() == [12.52221, 12.5177, 40.75231]
    assert frame["step_time_s"].tolist() == pytest.approx([121.8998, 125.9124, 123.9078])
    assert frame[["batch_seqs", "micro_batch", "seq_len", "n_gpus"]].iloc[0].tolist() == [768, 48, 1024, 64]
