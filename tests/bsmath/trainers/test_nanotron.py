import math
import re
import time
from pathlib import Path

import pytest

from bsmath import sweeps
from bsmath.sweeps.model import SweepError
from bsmath.trainers import nanotron

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "nanotron.log"
LINE = (
    "[INFO|DP=0|TP=0]: iteration: {} / 500 | consumed_tokens: 26.2M | elapsed_time_per_iteration_ms: {} | "
    "tokens_per_sec: 434K | tokens_per_sec_per_gpu: 54.3K | global_batch_size: {} | lm_loss: {} | lr: 1.5e-05 | grad_norm: 2.11\n"
)


def table(text: str):
    return nanotron.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return nanotron.read(SAMPLE.read_text(), SAMPLE.name).frame


def test_the_sample_is_recognized():
    assert nanotron.recognizes(SAMPLE.read_text())


def test_milliseconds_with_a_suffix_become_seconds(sample):
    assert sample["step_time_s"].tolist() == pytest.approx([9.81, 0.604, 0.602, 0.603])


def test_rates_are_known_for_the_job_and_per_device(sample):
    row = sample.iloc[-1]
    assert (row["step"], row["train_loss"], row["learning_rate"], row["grad_norm"]) == (300, 4.87, 4.5e-5, 0.81)
    assert (row["tokens_per_s"], row["tokens_per_s_per_gpu"]) == (435_000, 54_300)


def test_the_start_line_has_the_exact_batch_in_sequences(sample):
    row = sample.iloc[0]
    assert (row["micro_batch"], row["accum"], row["batch_seqs"], row["seq_len"]) == (2, 4, 64, 4096)
    assert "batch_tokens" not in sample and row["params"] == 1.24e9


def test_without_a_start_line_the_batch_is_in_tokens_where_time_times_rate_says_so():
    read = nanotron.read(LINE.format(100, "604", "262K", 6.87), "run.log")
    assert read.frame["batch_tokens"].tolist() == [262_000] and "batch_seqs" not in read.frame
    assert any("three digits" in comment for comment in read.comments)


def test_a_batch_that_is_not_time_times_rate_is_in_sequences():
    frame = table(LINE.format(100, "604", "64", 6.87))
    assert frame["batch_seqs"].tolist() == [64]
    assert frame["batch_tokens"].tolist() == [262_000]


def test_older_lines_have_whole_numbers_and_consumed_samples():
    text = (
        "[INFO|DP=0]: iteration: 5 / 20 | consumed_samples:         5120 | elapsed_time_per_iteration_ms: 604.1 | "
        "tokens_per_sec: 6.943E+06 | global_batch_size:  1024 | lm_loss: 1.1E+01 | lr: 1.500E-05 | grad_norm: 2.110\n"
    )
    row = table(text).iloc[0]
    assert (row["consumed_samples"], row["batch_seqs"], row["train_loss"]) == (5120, 1024, 11.0)
    assert (row["step_time_s"], row["tokens_per_s"]) == (pytest.approx(0.6041), 6.943e6)


def test_a_batch_that_changes_is_left_out_and_said():
    read = nanotron.read(LINE.format(1, "604", "262K", 6.8) + LINE.format(2, "1.21K", "524K", 6.7), "run.log")
    assert "batch_tokens" not in read.frame
    assert any("changes" in comment for comment in read.comments)


def test_a_diverged_loss_is_infinite_and_a_cut_one_is_left_out():
    frame = table(LINE.format(1, "604", "262K", "nan") + LINE.format(2, "604", "262K", "4.8754").split("754")[0])
    assert frame["train_loss"].iloc[0] == math.inf and math.isnan(frame["train_loss"].iloc[1])


def test_lines_of_several_ranks_become_one_row():
    assert len(table(LINE.format(1, "604", "262K", 6.8) * 2)) == 1


def test_other_text_is_not_recognized():
    code = 'LogItem("consumed_tokens", n), LogItem("lm_loss", loss)  # iteration: {step} / {total} |\n'
    nemo = "Training epoch 0, iteration 0/99 | lr: 1e-07 | reduced_train_loss: 11.03\n"
    assert not any(nanotron.recognizes(text) for text in (code, nemo, "iteration: 3 / 5 | all was well\n", ""))


def test_a_log_without_iterations_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table("Saving weights\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


@pytest.mark.parametrize("part", ["iteration: 1 / 2 | ", " | lm_loss: 1", " ", "mbs: ", "GeneralArgs("])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = "iteration: 1 / 2 | lm_loss: 3 | " + part * (100_000 // len(part)) + "\n" + "mbs: " + part * 9000
    begun = time.perf_counter()
    nanotron.recognizes(text), table(text)
    assert time.perf_counter() - begun < 1


def test_the_benchmark_table_of_nanotron_is_read_as_a_sweep():
    header = (
        "job_id,name,nodes,seq_len,mbs,batch_accum,gbs,mTFLOPs,tok/s/gpu,Mem Alloc (GB),dp,pp,tp,cp,ep,Total Params\n"
    )
    row = "{0},synthetic_{0},1,4096,2,{0},{1},400.0,{2},61.30,8,1,1,1,1,8.03B\n"
    text = header + row.format(4, 64, 7500.0) + row.format(8, 128, 7700.0) + row.format(16, 256, 7800.0)
    sweep = sweeps.read(text.encode(), "benchmark.csv")
    assert sweep.batch_unit == "tokens"
    assert sweep.table["tokens_per_step"].tolist() == [64 * 4096, 128 * 4096, 256 * 4096]
    assert sweep.table["tokens_per_second"].tolist() == [60_000, 61_600, 62_400]
    assert sweep.table["num_devices"].tolist() == [8, 8, 8]
