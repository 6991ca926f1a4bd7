"""The console of OLMo-core and OLMo."""

import time
from pathlib import Path

import numpy as np
import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import olmo

SAMPLE = (Path(__file__).parents[3] / "data" / "samples" / "logs" / "olmo.log").read_text()
OLDER = """global_train_batch_size: 2048
[2024-04-17 09:42:26] INFO     [olmo.train:816, rank=0] [step=1/1000]
    train/CrossEntropyLoss=11.25
    throughput/total_tokens=4,194,304
[2024-04-17 09:42:38] INFO     [olmo.train:816, rank=0] [step=2/1000]
    train/CrossEntropyLoss=nan
    throughput/total_tokens=8,388,608
    throughput/device/tokens_per_second=45,600
    throughput/device/batches_per_second=0.0870
[2024-04-17 09:42:40] INFO     [olmo.train:900, rank=0] [eval_step=5/5]
    eval/c4/CrossEntropyLoss=10.50
"""


def read(text: str) -> tuple:
    table = olmo.read(text, "train.log")
    return table.frame, " ".join(table.comments)


def test_the_sample_has_rates_of_a_device_and_mfu_as_a_fraction():
    frame, _ = read(SAMPLE)
    assert frame["step"].tolist() == [1, 10, 20, 30]
    assert frame["train_loss"].tolist() == [11.12, 7.214, 6.058, np.inf]
    assert frame["tokens_per_s_per_gpu"].tolist()[1:] == [6412, 6398, 6405] and "tokens_per_s" not in frame
    assert frame["mfu"].iloc[1] == pytest.approx(0.3823)
    assert frame["tokens"].tolist() == [524_288, 5_242_880, 10_485_760, 15_728_640]
    assert frame["learning_rate"].tolist() == pytest.approx([4e-5, 4e-4, 8e-4, 1.2e-3])
    assert frame["wall_time_s"].tolist() == pytest.approx([0, 540, 1140, 1740])


def test_the_batch_is_exact_and_the_devices_follow():
    frame, said = read(SAMPLE)
    assert frame["batch_tokens"].iloc[0] == 524_288 and "growth of the total" in said
    assert frame["n_gpus"].iloc[0] == 8  # 524,288 * 0.0978 / 6,412 = 8.0
    assert frame["seq_len"].iloc[0] == 2048 and frame["seed"].iloc[0] == 12_536


def test_an_evaluation_belongs_to_the_step_before_it_and_others_are_named():
    frame, said = read(SAMPLE)
    assert frame.loc[frame["step"] == 20, "val_loss"].tolist() == [6.102] and frame["val_loss"].count() == 1
    assert "c4_en-validation/CE loss is taken" in said


def test_the_older_form_counts_its_batch_in_sequences():
    frame, _ = read(OLDER)
    assert olmo.recognizes(OLDER)
    assert frame["train_loss"].tolist() == [11.25, np.inf] and frame["steps_per_s"].iloc[1] == 0.087
    assert frame["batch_seqs"].iloc[0] == 2048 and frame["batch_tokens"].iloc[0] == 4_194_304
    assert frame["n_gpus"].iloc[0] == 8 and frame["val_loss"].iloc[1] == 10.5
    assert np.diff(frame["wall_time_s"]).tolist() == [12]


def test_the_share_of_dropped_tokens_is_the_mean_over_the_blocks():
    text = "[step=1/9,epoch=1]\n    train/CE loss=5.0\n    train/block 00/token drop rate=0.02\n"
    frame, _ = read(text + "    train/block 01/token drop rate=0.04")
    assert frame["dropped_fraction"].tolist() == [pytest.approx(0.03)]


def test_marks_without_metrics_and_other_lines_are_left_out():
    text = "[step=1/???,epoch=1]\nnoise=1 or not\n[step=2/???,epoch=1,eta=1d(hard stop)]\n    train/CE loss=5.0"
    assert read(text)[0]["step"].tolist() == [2]


def test_a_last_block_that_was_cut_off_keeps_what_it_has():
    assert len(read(SAMPLE[: SAMPLE.rindex("optim/total")])[0]) == 4


def test_what_is_another_log_is_not_recognized():
    for text in (
        'f"[step={step}/{self.trainer.max_steps},epoch={self.trainer.epoch}]"\n    train/CE loss=x',
        "[batch=10/4800]:\n\t Train loss/train/total: 2.0",
        "step=10/1000\n    a=1",
        "    throughput/device/TPS=6,412",
    ):
        assert not olmo.recognizes(text)
    assert olmo.recognizes(SAMPLE)
    with pytest.raises(SweepError, match="must have lines of steps"):
        olmo.read("[step=1/2]", "x")


@pytest.mark.parametrize("piece", ["[step=1/2", "    a=", "2024-01-01 ", "[", "="])
def test_a_line_of_100_000_characters_is_read_at_once(piece):
    start = time.perf_counter()
    text = SAMPLE + (piece * 100_000)[:100_000] + "\n"
    assert olmo.recognizes(text) and len(read(text)[0]) == 4
    assert time.perf_counter() - start < 1
