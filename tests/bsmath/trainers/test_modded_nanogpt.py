"""Logs of modded-nanogpt."""

import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import modded_nanogpt

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "modded_nanogpt.txt"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"
STEP = "step:1/2 train_time:5ms step_avg:nanms\n"


def table(text: str):
    return modded_nanogpt.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return table(SAMPLE.read_text())


def test_the_time_of_a_step_is_the_growth_of_the_clock_in_seconds(sample):
    assert sample["step"].tolist() == [0, 1, 2, 10, 11, 12, 13, 14]
    times = sample["step_time_s"].tolist()
    assert times[1:4] == pytest.approx([1.08, 0.14, 0.14])  # 1,120 ms over the 8 steps from 2 to 10
    assert math.isnan(times[0]) and math.isnan(times[4])  # the clock starts anew at step 11
    assert times[5:] == pytest.approx([0.14, 0.14, 0.142])


def test_validations_join_the_row_of_their_step(sample):
    assert sample["val_loss"].tolist()[0] == 10.9801 and math.isnan(sample["train_loss"].iloc[0])
    assert sample[["step", "train_loss", "val_loss"]].iloc[-1].tolist() == [14, 7.9031, 7.92]
    assert sample["train_loss"].iloc[6] == math.inf


def test_the_dumped_source_states_the_batch_with_its_unit_and_is_not_echoed(sample):
    read = modded_nanogpt.read(SAMPLE.read_text(), "run.log")
    assert (sample["batch_seqs"] == 512).all() and (sample["seq_len"] == 1024).all()
    assert "print" not in " ".join(read.comments) and not read.problems
    tokens = "    batch_size: int = 8*64*1024 # batch size, in tokens, across all devices\n" + STEP
    assert table(tokens)["batch_tokens"].iloc[0] == 524_288
    unsaid = "    batch_size: int = 512\n" + STEP
    assert not {"batch_tokens", "batch_seqs"} & set(table(unsaid))


def test_newer_forms_have_seconds_no_training_loss_and_constants_of_their_own():
    text = (
        "model_params:17059912\nworld_size:8 grad_accum_steps:2\n"
        "train_batch_tokens:524288 train_seq_len:1024 iterations:200\nseed:0\n"
        "step:0/200 val_loss:6.93170 val_bpb:4.1 train_time:0.000s step_avg:nanms\n"
        "step:100/200 train_time:8.000s step_avg:80.00ms\n"
        "step:200/200 val_loss:4.10000 val_bpb:2.4 train_time:16.500s step_avg:82.50ms\n"
    )
    frame = table(text)
    assert modded_nanogpt.recognizes(text)
    assert frame["step_time_s"].tolist()[1:] == pytest.approx([0.08, 0.085]) and frame["val_loss"].iloc[-1] == 4.1
    constants = ("params", "n_gpus", "accum", "batch_tokens", "seq_len", "seed")
    assert [frame[name].iloc[0] for name in constants] == [17_059_912, 8, 2, 524_288, 1024, 0]


def test_a_resumed_run_claims_no_time_over_the_gap():
    text = "".join(f"step:{step}/9 train_loss:3.0 train_time:{step}00ms step_avg:1ms\n" for step in (5, 6, 3, 4))
    frame = table(text)
    assert frame["step"].tolist() == [5, 6, 3, 4] and frame["step_time_s"].isna().tolist() == [True, False, True, False]


def test_source_and_other_logs_are_not_recognized():
    code = (
        SAMPLE.read_text()[: SAMPLE.read_text().index("=====")]
        + "assert parse('step:1/2 train_time:5ms step_avg:1ms')\n"
    )
    titan = "step: 10  loss: 10.8  memory: 1.0GiB(1%)  tps: 6,412\n"
    prose = "At step:10 we see train_time:5ms.\n"
    assert not any(modded_nanogpt.recognizes(text) for text in (code, titan, prose[3:8], "s:1 trl:3.0\n", ""))


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
@pytest.mark.parametrize(
    "name, count, validations, last, step_time",
    [
        ("modded_nanogpt_2024-10-29_train.txt", 5101, 42, (5100, 3.3406), 0.138),  # 705,452 - 705,314 ms
        ("modded_nanogpt_2025-01-26_batchsize.txt", 1771, 16, (1770, 3.2808), 0.105),  # 175,899 - 175,794 ms
    ],
)
def test_real_runs(name, count, validations, last, step_time):
    text = (REAL / name).read_text()
    assert modded_nanogpt.recognizes(text)
    frame = table(text)
    assert (len(frame), frame["val_loss"].count()) == (count, validations)  # lines of steps less those of validations
    assert frame["step"].iloc[0] == 0 and tuple(frame[["step", "val_loss"]].iloc[-1]) == last
    assert frame["step_time_s"].iloc[-1] == pytest.approx(step_time)
    row = frame[frame["step"] == 12].iloc[0]
    assert row["step_time_s"] == pytest.approx(0.135 if count == 5101 else 0.094)
    if count == 5101:
        assert frame["train_loss"].iloc[-1] == 3.3302 and frame["step_time_s"].median() == pytest.approx(
            0.1375, abs=1e-3
        )


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
    "part", ["step:1/2 train_time:1ms ", "step:", " ", "train_time:1", "    batch_size : int = 8*8*"]
)
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\n" + SAMPLE.read_text()
    begun = time.perf_counter()
    assert modded_nanogpt.recognizes(text) and len(table(text)) >= len(table(SAMPLE.read_text()))
    assert time.perf_counter() - begun < 1
