import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import torchtitan

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "torchtitan.log"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats" / "torchtitan_stdout_line.log"
TIME = "[titan] 2026-08-21 10:14:02,118 - root - INFO - "


def table(text: str):
    return torchtitan.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return torchtitan.read(SAMPLE.read_text(), SAMPLE.name).frame


def test_the_sample_is_recognized():
    assert torchtitan.recognizes(SAMPLE.read_text())


def test_tps_is_per_device_and_mfu_a_fraction(sample):
    row = sample.iloc[1]
    assert (row["step"], row["train_loss"], row["grad_norm"]) == (10, 9.8017, 2.9127)
    assert row["tokens_per_s_per_gpu"] == 9102 and "tokens_per_s" not in sample
    assert row["mfu"] == pytest.approx(0.3572)


def test_timestamps_are_the_clock(sample):
    assert (sample["wall_time_s"].diff().iloc[1:4] == 60).all()


def test_a_validation_has_its_loss_and_no_training_rate(sample):
    row = sample[sample["val_loss"].notna()].iloc[0]
    assert (row["step"], row["val_loss"]) == (30, 6.9127)
    assert math.isnan(row["tokens_per_s_per_gpu"]) and math.isnan(row["train_loss"])


def test_a_loss_that_is_no_number_is_infinite_and_an_unknown_mfu_is_left_out(sample):
    last = sample.iloc[-1]
    assert (last["step"], last["train_loss"]) == (40, math.inf)
    assert math.isnan(last["mfu"]) and math.isnan(last["grad_norm"])


def test_the_lines_before_the_first_step_give_the_batch_and_the_devices(sample):
    row = sample.iloc[0]
    assert (row["micro_batch"], row["batch_seqs"], row["accum"], row["seq_len"]) == (4, 32, 2, 4096)
    assert (row["n_gpus"], row["replicas"], row["params"], row["model"]) == (8, 4, 1_235_814_400, "llama3 1B")


def test_newer_versions_name_the_degrees_of_the_mesh():
    text = (
        TIME + "Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=4, etp=1\n"
        "" + TIME + "Training starts at step 1, with local batch size 8, global batch size 64, sequence length 8192, "
        "total steps 1000 (warmup 200)\n"
        + TIME
        + "step:  1  loss: 12.2  memory:  1.0GiB(1.0%)  wps: 1,210  mfu: 4.1%\n"
    )
    row = table(text).iloc[0]
    assert (row["n_gpus"], row["replicas"], row["batch_seqs"], row["seq_len"]) == (16, 4, 64, 8192)
    assert row["tokens_per_s_per_gpu"] == 1210


def test_lines_of_several_ranks_become_one_row():
    line = "[rank{}]:[titan] 2026-08-21 10:14:02,118 - root - INFO - step:  5  loss:  9.5  memory:  1.0GiB(1.0%)  tps: 10\n"
    assert len(table(line.format(0) + line.format(1))) == 1


def test_a_resumed_run_repeats_its_steps():
    line = "step: {}  loss:  {}  memory:  1.0GiB(1.0%)  tps: 10\n"
    frame = table(line.format(10, 9.5) + line.format(20, 8.5) + line.format(11, 9.4))
    assert frame["step"].tolist() == [10, 20, 11]


def test_a_line_cut_within_its_loss_is_left_out():
    assert len(table("step: 10  loss: 9.5  tps: 1\nnoise\nstep: 20  loss: 1")) == 1


def test_other_text_is_not_recognized():
    code = 'f"{color.red}step: {step:2}  "\nf"{color.green}loss: {loss:7.4f}  "\n'
    nanochat = "step 00005/18000 (0.03%) | loss: 9.87 | tok/sec: 340,424\n"
    prose = "At step: 10 the loss: 4 was fine, memory: enough.\n"
    table_ = "| step | loss | tps |\n|---|---|---|\n| 10 | 9.1 | 4,376 |\n"
    assert not any(torchtitan.recognizes(text) for text in (code, nanochat, prose, table_, ""))


def test_a_log_without_steps_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table(TIME + "Training completed\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


@pytest.mark.parametrize("part", ["step:  1  loss: ", "step: ", " ", "batch size ", "Building a a with "])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\nstep: 10  loss: 9.5  tps: 1\n"
    begun = time.perf_counter()
    torchtitan.recognizes(text), table(text)
    assert time.perf_counter() - begun < 1


@pytest.mark.skipif(not REAL.is_file(), reason="the folder of real files is not beside the project")
def test_the_line_of_a_real_run():
    assert torchtitan.recognizes(REAL.read_text())
    (row,) = table(REAL.read_text()).to_dict("records")
    assert (row["step"], row["train_loss"], row["grad_norm"]) == (20, 11.83506, 9.6669)
    assert (row["tokens_per_s_per_gpu"], row["mfu"]) == (4376, pytest.approx(0.2562))
