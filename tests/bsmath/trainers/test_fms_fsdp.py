"""What fms-fsdp prints."""

import time
from pathlib import Path

import numpy as np
import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import fms_fsdp

SAMPLE = (Path(__file__).parents[3] / "data" / "samples" / "logs" / "fms_fsdp.log").read_text()


def read(text: str) -> tuple:
    table = fms_fsdp.read(text, "train.log")
    return table.frame, " ".join(table.comments)


def test_the_sample_has_current_rates_of_a_device():
    frame, _ = read(SAMPLE)
    assert frame["step"].tolist() == [100, 200, 300]
    assert frame["train_loss"].tolist() == [7.1201, 6.0034, np.inf]
    assert frame["tokens_per_s_per_gpu"].tolist() == [9405, 9412, 9417] and "tokens_per_s" not in frame
    assert frame["step_time_s"].tolist() == [0.871, 0.8703, 0.8699]
    assert frame["tokens"].tolist() == [6_553_600, 13_107_200, 19_660_800]
    assert frame["learning_rate"].tolist() == [3e-5, 6e-5, 9e-5] and frame["grad_norm"].tolist() == [1.25] * 3


def test_batch_and_devices_follow_from_the_tokens_seen():
    frame, said = read(SAMPLE)
    assert frame["batch_tokens"].iloc[0] == 65_536  # 6,553,600 tokens in 100 steps
    assert frame["n_gpus"].iloc[0] == 8  # 65,536 / (0.871 s * 9,405 tokens/s)
    assert "growth of the tokens seen" in said


def test_the_configuration_gives_the_batch_of_a_device():
    frame, _ = read(SAMPLE)
    constants = {"micro_batch": 2, "seq_len": 4096, "seed": 2023, "model": "tiny"}
    assert {name: frame[name].iloc[0] for name in constants} == constants and "batch_seqs" not in frame


def test_prefixes_of_a_launcher_are_no_part_of_a_line():
    text = "[default0]:step: 10\n[default0]:loss: 5.0\n0: current token per gpu per sec: 9,412\njunk: 1"
    frame, _ = read(text)
    assert fms_fsdp.recognizes(text)
    assert frame[["step", "train_loss", "tokens_per_s_per_gpu"]].iloc[0].tolist() == [10, 5.0, 9412]


def test_one_report_alone_claims_no_batch():
    frame, _ = read(SAMPLE[SAMPLE.index("step: 100") : SAMPLE.index("step: 200")])
    assert "batch_tokens" not in frame and "n_gpus" not in frame


def test_other_losses_are_not_the_loss():
    frame, _ = read("step: 1\nloss: 3.0\nce_loss: 2.0\ndistill_loss: 1.0\ncurrent token per gpu per sec: 9")
    assert frame["train_loss"].tolist() == [3.0]


def test_a_last_block_that_was_cut_off_keeps_what_it_has():
    frame, _ = read(SAMPLE[: SAMPLE.rindex("gradient norm")])
    assert len(frame) == 3 and frame["step_time_s"].isna().tolist() == [False, False, True]


def test_what_is_another_log_is_not_recognized():
    for text in (
        'print("step:", batch_idx)\nprint("current token per gpu per sec:", current_throughput)',
        "step: 10\nloss: 5.0",
        "step: 10  loss: 10.81247  tps: 6,412",
        "overall token per gpu per sec: 9412",
    ):
        assert not fms_fsdp.recognizes(text)
    assert fms_fsdp.recognizes(SAMPLE)
    with pytest.raises(SweepError, match="must have lines of steps"):
        fms_fsdp.read("step: 10", "x")


@pytest.mark.parametrize("piece", ["step: 1", "loss: ", " ", ":", "running with these configs seq_length=1 "])
def test_a_line_of_100_000_characters_is_read_at_once(piece):
    start = time.perf_counter()
    text = (piece * 100_000)[:100_000] + "\n" + SAMPLE
    assert fms_fsdp.recognizes(text) and len(read(text)[0]) == 3
    assert time.perf_counter() - start < 1
