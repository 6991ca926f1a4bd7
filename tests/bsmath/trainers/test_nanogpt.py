"""What nanoGPT and llama2.c print."""

import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import nanogpt

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "nanogpt.log"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"


def table(text: str):
    return nanogpt.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return table(SAMPLE.read_text())


def test_times_are_in_seconds_mfu_in_parts_of_one_and_placeholders_are_left_out(sample):
    assert sample["step"].tolist() == [0, 10, 20, 30, 40, 50, 60]
    row = sample.iloc[1]
    assert (row["train_loss"], row["step_time_s"]) == (9.4012, pytest.approx(0.5124))
    assert row["mfu"] == pytest.approx(0.4011) and math.isnan(sample["mfu"].iloc[0])


def test_the_time_of_an_iteration_with_an_evaluation_is_left_out(sample):
    evaluated = sample[sample["step"].isin([0, 40])]
    assert evaluated["step_time_s"].isna().all() and evaluated["train_loss"].tolist() == [10.9741, 7.0233]
    assert evaluated["val_loss"].tolist() == [10.9733, 7.0522]


def test_losses_that_are_no_number_are_infinite(sample):
    assert sample["train_loss"].iloc[3] == math.inf and sample["val_loss"].iloc[-1] == math.inf


def test_the_configuration_gives_the_batch_in_tokens_and_the_command_line_overrides_the_file(sample):
    row = sample.iloc[0]
    assert (row["batch_tokens"], row["micro_batch"], row["seq_len"]) == (655_360, 16, 1024)
    assert row["params"] == 124_354_560 + 19_200
    assert "accum" not in sample  # 40 is over all processes, whose number is not printed


def test_llama2c_prints_the_same_otherwise():
    text = (
        "tokens per iteration will be: 131,072\n"
        "breaks down as: 2 grad accum steps * 2 processes * 128 batch size * 256 max seq len\n"
        "step 0: train loss 10.4, val loss 10.5\n"
        "0 | loss 10.4212 | lr 0.000000e+00 | 9345.67ms | mfu -100.00%\n"
        "10 | loss 9.1000 | lr 5.000000e-06 | 345.60ms | mfu 21.00%\n"
    )
    assert nanogpt.recognizes(text)
    frame = table(text)
    last = frame.iloc[-1]
    assert (last["step"], last["train_loss"], last["learning_rate"]) == (10, 9.1, 5e-6)
    assert last["step_time_s"] == pytest.approx(0.3456) and last["mfu"] == pytest.approx(0.21)
    assert (last["accum"], last["replicas"], last["micro_batch"], last["seq_len"]) == (2, 2, 128, 256)
    assert frame["learning_rate"].iloc[0] == 0


def test_evaluations_alone_have_both_losses():
    text = "step 0: train loss 4.2, val loss 4.3\njunk\nstep 500: train loss 2.0, val loss 2.1\n"
    assert nanogpt.recognizes(text)
    assert table(text)[["step", "train_loss", "val_loss"]].values.tolist() == [[0, 4.2, 4.3], [500, 2.0, 2.1]]


def test_a_resumed_run_repeats_its_steps():
    lines = "".join(f"iter {step}: loss 3.0, time 100.00ms, mfu 40.00%\n" for step in (10, 20, 11))
    assert table(lines)["step"].tolist() == [10, 20, 11]


def test_other_text_is_not_recognized():
    code = """print(f"iter {iter_num}: loss {lossf:.4f}, time {dt*1000:.2f}ms, mfu {running_mfu*100:.2f}%")"""
    litgpt = "iter 512: val loss 4.9, val time: 1234.56 ms\niter 0: loss 4.9, time: 391.27ms\n"
    prose = "After step 10 the train loss was 3, val loss 4.\n" * 3
    rows = "| iter | loss | time |\n|---|---|---|\n| 1 | 3 | 4 |\niter,loss,time\n1,3,4\n"
    assert not any(nanogpt.recognizes(text) for text in (code, litgpt, prose, rows, ""))


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
def test_a_real_run():
    text = (REAL / "nanogpt_stdout_druidowm.log").read_text()
    assert nanogpt.recognizes(text)
    frame = table(text)
    assert len(frame) == 2156 and frame["val_loss"].count() == 11  # grep -c "^iter", "^step"
    first, second, last = frame.iloc[0], frame.iloc[1], frame.iloc[-1]
    assert (first["step"], first["train_loss"], first["val_loss"]) == (0, 4.4512, 4.4402)
    assert (second["train_loss"], second["step_time_s"]) == (4.4586, pytest.approx(0.19377))
    assert (last["step"], last["train_loss"], last["step_time_s"]) == (2155, 0.0276, pytest.approx(0.22762))
    assert last["mfu"] == pytest.approx(1.0757)  # above 1: its device is faster than an A100


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
    "part", ["iter 1: loss 1, ", "step 1: train loss 1, ", " ", "loss", "Overriding: batch_size = "]
)
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\n" + SAMPLE.read_text()
    begun = time.perf_counter()
    assert nanogpt.recognizes(text) and len(table(text)) >= len(table(SAMPLE.read_text()))
    assert time.perf_counter() - begun < 1


def test_runs_appended_to_one_log_keep_their_own_batches():
    run = "tokens per iteration will be: {}\n" + "".join(
        f"iter {step}: loss {9 - step / 10}, time 400.00ms, mfu 40.00%\n" for step in range(4)
    )
    frame = nanogpt.read(run.format("32,768") + run.format("65,536"), "both.log").frame
    assert frame["batch_tokens"].tolist() == [32768] * 4 + [65536] * 4
    assert frame["step"].tolist() == [0, 1, 2, 3] * 2


def test_a_configuration_without_a_step_of_its_own_does_not_reach_back():
    log = "batch_size = 8\niter 1: loss 9.0, time 400.00ms, mfu 40.00%\niter 2: loss 9.0, time 400.00ms, mfu 40.00%\nbatch_size = 64\n"
    assert nanogpt.read(log, "cut.log").frame["micro_batch"].tolist() == [8, 8]
