"""What DeepSpeed prints."""

import time
from pathlib import Path

import numpy as np
import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import deepspeed

SAMPLE = (Path(__file__).parents[3] / "data" / "samples" / "logs" / "deepspeed.log").read_text()


def read(text: str) -> tuple:
    table = deepspeed.read(text, "train.log")
    return table.frame, " ".join(table.comments)


def engine(step) -> str:
    return f"[Rank 0] step={step}, skipped=0, lr=[0.0003, 0.0001], mom=[(0.9, 0.95)]"


def timer(step, rate, micro=4) -> str:
    place = f"epoch=0/micro_step={micro * step}/global_step={step}"
    return f"{place}, RunningAvgSamplesPerSec=1.0, CurrSamplesPerSec={rate}, MemAllocated=1GB"


def test_the_sample_has_the_current_rate_of_the_job_and_the_settings_of_its_configuration():
    frame, _ = read(SAMPLE)
    assert frame["step"].tolist() == [100, 200, 300]
    assert frame["samples_per_s"].round(2).tolist() == [252.92, 248.4, 253.06]
    assert frame["learning_rate"].round(6).tolist() == [1e-4, 2e-4, 3e-4]
    assert np.diff(frame["wall_time_s"]).round(3).tolist() == [25, 25]
    constants = {"batch_seqs": 64, "micro_batch": 4, "accum": 4, "replicas": 4, "n_gpus": 4}
    assert {name: frame[name].iloc[0] for name in constants} == constants


def test_accumulation_is_micro_steps_over_steps_where_the_configuration_is_missing():
    frame, said = read("\n".join([timer(10, 250.0), timer(20, 251.0)]))
    assert frame["accum"].tolist() == [4, 4] and "micro_step over global_step" in said
    assert frame["samples_per_s"].tolist() == [250.0, 251.0] and "batch_seqs" not in frame


def test_after_a_resume_the_timer_counts_anew_and_the_engine_does_not():
    text = "\n".join([engine(500), timer(10, 250.0), engine(510), timer(20, 251.0)])
    frame, _ = read(text)
    assert frame["step"].tolist() == [500, 510] and frame["samples_per_s"].tolist() == [250.0, 251.0]


def test_the_older_timer_without_micro_steps_is_read():
    frame, _ = read(
        "step=20, skipped=17, lr=[5e-05]\n[timer] 0/20, RunningAvgSamplesPerSec=232.7, CurrSamplesPerSec=227.5"
    )
    assert frame.iloc[0][["step", "samples_per_s", "learning_rate"]].tolist() == [20, 227.5, 5e-5]
    assert "accum" not in frame


def test_the_pipeline_gives_loss_step_time_and_by_its_rate_the_batch():
    lines = [
        f"steps: {step} loss: {loss} iter time (s): 0.936 samples/sec: 136.706" for step, loss in ((1, 5.5), (2, "nan"))
    ]
    frame, said = read("\n".join(lines))
    assert frame["train_loss"].tolist() == [5.5, np.inf] and frame["step_time_s"].tolist() == [0.936, 0.936]
    assert frame["samples_per_s"].iloc[0] == 136.706
    assert frame["batch_seqs"].iloc[0] == 128 and "both rounded" in said


def test_of_several_losses_of_the_pipeline_that_of_the_language_model_is_taken():
    frame, _ = read("steps: 200 loss: 5.55 lm loss: 5.51 moe loss: 0.04 iter time (s): 0.5 samples/sec: 128.0")
    assert frame["train_loss"].tolist() == [5.51]


def test_the_pipeline_of_a_fork_with_planned_steps_is_read():
    frame, _ = read("step:    10 /   500 loss: 2.5000 iter time (s): 0.500 samples/sec: 128.000 eta: 4m ")
    assert frame[["step", "train_loss", "batch_seqs"]].iloc[0].tolist() == [10, 2.5, 64]


def test_a_profile_alone_gives_one_rate_and_the_micro_batch_of_a_device():
    text = SAMPLE[SAMPLE.index("-------------------------- DeepSpeed Flops") :]
    frame, said = read(text)
    assert deepspeed.recognizes(text) and "profiler slows" in said
    assert frame[["step", "samples_per_s", "micro_batch", "n_gpus"]].iloc[0].tolist() == [200, 234.95, 4, 4]
    assert "batch_seqs" not in frame and "step_time_s" not in frame  # latency of a micro-batch


def test_settings_are_read_from_json_and_auto_is_left_out():
    text = '    "train_batch_size": 128,\n    "gradient_accumulation_steps": "auto",\n' + timer(10, 250.0, micro=1)
    frame, _ = read(text)
    assert frame["batch_seqs"].iloc[0] == 128 and frame["accum"].iloc[0] == 1


def test_a_rate_that_was_not_known_yet_is_left_out():
    frame, _ = read(engine(1) + "\nepoch=0/micro_step=1/global_step=1, RunningAvgSamplesPerSec=-inf, MemAllocated=1GB")
    assert "samples_per_s" not in frame and frame["step"].tolist() == [1]


def test_a_last_line_that_was_cut_off_is_left_out():
    assert len(read(timer(10, 250.0) + "\nepoch=0/micro_step=80/global_st")[0]) == 1


@pytest.mark.parametrize(
    "text",
    [
        'f"epoch={self.epoch_count}/micro_step={self.micro_step_count}/global_step={n}, RunningAvgSamplesPerSec={avg}"',
        "print(f'steps: {self.global_steps} loss: {loss:0.4f} iter time (s): {t:0.3f} samples/sec: {tput:0.3f}')",
        " iteration      199/  317892 | consumed samples: 152832 | lm loss: 5.9 |\n" + timer(199, 58.7),
        "{'loss': 1.0, 'learning_rate': 0.1, 'epoch': 0.5}\n" + engine(10),
        "step: 10  loss: 10.81247  memory: 61.44GiB(77.60%)  tps: 6,412",
        "step,loss\n1,2",
    ],
)
def test_what_is_another_log_is_not_recognized(text):
    assert not deepspeed.recognizes(text)


def test_a_text_without_steps_is_refused():
    with pytest.raises(SweepError, match="must have lines of steps"):
        deepspeed.read("train_batch_size ............. 64", "x")


@pytest.mark.parametrize(
    "piece", ["step=1, skipped=1, lr=[", "steps: 1 loss: 1 ", "steps: 1 loss: 1 iter time (s): ", "0/1, RunningAvg"]
)
def test_a_line_of_100_000_characters_is_read_at_once(piece):
    start = time.perf_counter()
    text = "\n".join([engine(1), (piece * 100_000)[:100_000], (piece * 9_000)[:9_900], engine(2)])
    assert deepspeed.recognizes(text) and len(read(text)[0]) >= 2
    assert time.perf_counter() - start < 1
