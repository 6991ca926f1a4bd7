"""What Hugging Face's Trainer prints."""

import time
from pathlib import Path

import numpy as np
import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import hf_stdout

SAMPLE = (Path(__file__).parents[3] / "data" / "samples" / "logs" / "hf_stdout.log").read_text()
HEAD = """  Num Epochs = 2
  Instantaneous batch size per device = 8
  Total train batch size (w. parallel, distributed & accumulation) = 64
  Gradient Accumulation steps = 4
  Total optimization steps = 1,000
"""


def read(text: str) -> tuple:
    table = hf_stdout.read(text, "train.log")
    return table.frame, " ".join(table.comments)


def record(loss, epoch) -> str:
    return f"{{'loss': {loss}, 'grad_norm': 1.5, 'learning_rate': 0.0001, 'epoch': {epoch}}}"


def bar(count, total=1_000) -> str:
    return f"  {100 * count // total}%|###   | {count}/{total} [00:10<00:10,  1.95it/s]"


def test_the_sample_has_the_steps_of_the_bar_and_the_batch_of_the_head():
    frame, said = read(SAMPLE)
    assert frame["step"].tolist() == [10, 20, 30, 40]
    assert frame["train_loss"].tolist() == [7.4312, 6.2205, np.inf, 5.5128]
    assert frame["val_loss"].dropna().tolist() == [6.1043] and frame["val_loss"].notna().tolist()[1]
    assert frame["learning_rate"].tolist() == [0.0003, 0.0003, 0.00015, 0]
    assert frame["grad_norm"].isna().tolist() == [False, False, True, False]
    constants = {"batch_seqs": 64, "micro_batch": 8, "accum": 4, "replicas": 2, "params": 124_439_808}
    assert {name: frame[name].iloc[0] for name in constants} == constants
    assert frame["samples_per_s"].iloc[0] == 27.7 and "progress bar" in said


def test_the_bar_of_an_evaluation_gives_no_step():
    text = "\n".join([record(5, 0.1), bar(50), bar(3, 25), bar(25, 25), record(4, 0.2), bar(100), bar(25, 25)])
    assert read(text)[0]["step"].tolist() == [50, 100]


def test_a_bar_on_the_line_of_the_record_is_text_around_it():
    text = f"{bar(10)}{record(5, 0.02)}\n{bar(10)}\n{bar(20)}{record(4, 0.04)}\n{bar(20)}"
    assert read(text)[0]["step"].tolist() == [10, 20]


def test_records_that_were_buffered_away_from_the_bars_take_their_step_from_the_epochs():
    text = HEAD + "\n".join([bar(1_000), *(record(5, 0.1 * number) for number in range(1, 21))])
    frame, said = read(text)
    assert frame["step"].tolist() == [50 * number for number in range(1, 21)]  # 2 epochs are 1,000 steps
    assert "every 50 steps" in said


def test_without_bar_and_head_the_step_is_the_number_of_the_record_and_this_is_said():
    frame, said = read("\n".join([record(5, 0.1), record(4, 0.2), "{'eval_loss': 4.5, 'epoch': 0.2}"]))
    assert frame["step"].tolist() == [1, 2] and frame["val_loss"].tolist()[1] == 4.5
    assert "number of the training record" in said


def test_a_step_in_the_record_counts():
    text = "{'loss': 2.0, 'step': 30, 'epoch': 1}\n{'loss': 1.0, 'step': 60, 'epoch': 2}"
    assert read(text)[0]["step"].tolist() == [30, 60]


def test_a_run_that_was_resumed_keeps_the_steps_of_its_bar():
    text = "\n".join(f"{record(5, 1)}\n{bar(count)}" for count in (10, 20, 30, 20, 30, 40))
    assert read(text)[0]["step"].tolist() == [10, 20, 30, 20, 30, 40]


def test_values_of_numpy_and_torch_are_read():
    text = "{'loss': np.float64(2.5), 'grad_norm': tensor(1.25, device='cuda:0'), 'epoch': 0.5}\n" + record(2.0, 1.0)
    frame, _ = read(text)
    assert frame["train_loss"].tolist() == [2.5, 2.0] and frame["grad_norm"].iloc[0] == 1.25


def test_tokens_of_trl_are_tokens_so_far():
    text = "{'loss': 2.5, 'num_tokens': 12345.0, 'epoch': 0.5}\n{'loss': 2.4, 'num_tokens': 24690.0, 'epoch': 1.0}"
    assert read(text)[0]["tokens"].tolist() == [12_345, 24_690]


def test_the_batch_follows_from_the_last_record_where_the_head_is_missing():
    last = "{'train_runtime': 92.41, 'train_samples_per_second': 27.7, 'train_steps_per_second': 0.433, 'epoch': 1.0}"
    frame, said = read("\n".join([record(5, 0.5), record(4, 1), last]))
    assert frame["batch_seqs"].iloc[0] == 64 and "samples/s over steps/s" in said


def test_the_configuration_of_deepspeed_below_the_trainer_gives_the_batch():
    lines = [
        "train_batch_size ............. 256",
        "train_micro_batch_size_per_gpu  8",
        "world_size ................... 16",
    ]
    text = "\n".join(
        [
            *(f"[2026-01-11 13:27:59,217] [INFO] [config.py:1024:print]   {line}" for line in lines),
            record(5, 1),
            record(4, 2),
        ]
    )
    frame, _ = read(text)
    assert frame[["batch_seqs", "micro_batch", "replicas"]].iloc[0].tolist() == [256, 8, 16]


def test_a_last_line_that_was_cut_off_is_left_out():
    assert len(read("\n".join([record(5, 0.1), record(4, 0.2), "{'loss': 3.9, 'grad_n"]))[0]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "print({'loss': loss.item(), 'epoch': epoch})\nlogs = {'loss': tr_loss, 'epoch': self.state.epoch}",
        "the loss was 4.8 in epoch 0.5",
        '{"loss": 4.8, "epoch": 0.5}\n{"loss": 4.7, "epoch": 0.6}',
        "step,loss\n1,4.8\n2,4.7",
        "iter 0: loss 10.9891, time 2915.44ms, mfu -100.00%",
    ],
)
def test_what_is_no_log_of_the_trainer_is_not_recognized(text):
    assert not hf_stdout.recognizes(text)
    with pytest.raises(SweepError, match="x must have lines of steps"):
        hf_stdout.read(text.replace("'loss'", "'x'"), "x")


@pytest.mark.parametrize("piece", ["{'", "{'loss': 1, 'epoch' ", "100%|x| 1/2 [", "'a': ", "1%|", " = 1"])
def test_a_line_of_100_000_characters_is_read_at_once(piece):
    start = time.perf_counter()
    text = "\n".join([record(5, 1), (piece * 100_000)[:100_000], record(4, 2)])
    assert hf_stdout.recognizes(text) and len(read(text)[0]) == 2
    assert time.perf_counter() - start < 1
