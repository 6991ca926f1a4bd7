import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import fairseq

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "fairseq.log"
INNER = (
    "2026-10-01 11:21:43 | INFO | train_inner | epoch 001:    {0} / 390 loss={1}, ppl={2}, wps=9000, ups=2.2, wpb={3}, "
    "bsz=128, num_updates={0}, lr=3.75e-05, gnorm=1.0, train_wall=26, wall=25\n"
)


def table(text: str):
    return fairseq.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return fairseq.read(SAMPLE.read_text(), SAMPLE.name).frame


def test_the_sample_is_recognized():
    assert fairseq.recognizes(SAMPLE.read_text())


def test_losses_in_bits_become_nats(sample):
    assert sample["train_loss"].iloc[0] == pytest.approx(12.0 * math.log(2))
    assert math.exp(sample["val_loss"].dropna().iloc[0]) == pytest.approx(512)


def test_a_perplexity_that_is_e_to_the_loss_keeps_the_loss():
    assert table(INNER.format(10, 2.0, 7.39, 4096))["train_loss"].tolist() == [2.0]


def test_words_are_tokens_of_the_whole_job(sample):
    row = sample.iloc[0]
    assert (row["step"], row["tokens_per_s"], row["batch_tokens"], row["batch_seqs"]) == (100, 249_700.1, 65_536, 128)
    assert (row["learning_rate"], row["grad_norm"], row["wall_time_s"]) == (3.75e-5, 1.052, 25)


def test_lines_of_json_are_read_like_the_others(sample):
    row = sample[sample["step"] == 400].iloc[0]
    assert row["train_loss"] == pytest.approx(8.5 * math.log(2)) and row["tokens_per_s"] == 249_650.2
    assert sample["step"].tolist() == [100, 200, 300, 390, 400, 780]
    assert sample["val_loss"].iloc[-1] == pytest.approx(8 * math.log(2))


def test_means_of_epochs_are_left_out_beside_lines_of_updates(sample):
    assert math.isnan(sample.loc[sample["step"] == 390, "train_loss"].iloc[0])


def test_the_configuration_is_read(sample):
    row = sample.iloc[0]
    assert (row["n_gpus"], row["seq_len"], row["accum"], row["seed"]) == (8, 512, 2, 7)
    assert (row["params"], row["model"]) == (60_526_080, "transformer_lm")


OLD = (
    "| epoch 002 | loss 8.413 | nll_loss 8.000 | ppl 256 | wps 102922 | ups 1 | wpb 73680.957 | bsz 23.985 | "
    "num_updates 2798 | lr 0.174875 | gnorm 0.249 | clip 1.000 | wall 2020 | train_wall 1954\n"
    "| epoch 002 | valid on 'valid' subset | loss 7.599 | nll_loss 7.000 | ppl 128 | num_updates 2798 | best_loss 7.599\n"
    "| epoch 002 | test on 'test' subset | loss 1.0 | nll_loss 1.0 | ppl 2 | num_updates 2798\n"
)


def test_old_logs_have_only_means_of_epochs_and_the_loss_is_taken_without_label_smoothing():
    assert fairseq.recognizes(OLD)
    read = fairseq.read(OLD, "run.log")
    (row,) = read.frame.to_dict("records")
    assert (row["step"], row["batch_tokens"], row["tokens_per_s"]) == (2798, 73_681, 102_922)
    assert row["train_loss"] == pytest.approx(8 * math.log(2)) and row["val_loss"] == pytest.approx(7 * math.log(2))
    assert any("whole epochs" in comment for comment in read.comments)


def test_batches_that_differ_much_stay_with_their_rows():
    frame = table(INNER.format(10, 9.0, 512, 4096) + INNER.format(20, 8.0, 256, 8192.4))
    assert frame["batch_tokens"].tolist() == [4096, 8192]


def test_batches_within_three_percent_are_one():
    frame = table(
        INNER.format(10, 9.0, 512, 4000) + INNER.format(20, 8.0, 256, 4050.4) + INNER.format(30, 8.0, 256, 4010)
    )
    assert frame["batch_tokens"].tolist() == [4010] * 3


def test_a_diverged_loss_is_infinite():
    assert table(INNER.format(10, "nan", "nan", 4096))["train_loss"].tolist() == [math.inf]


def test_a_cut_line_is_left_out():
    assert len(table(INNER.format(10, 9.0, 512, 4096) + INNER.format(20, 8.0, 256, 4096)[:90])) == 1
    assert (
        len(
            table(
                INNER.format(10, 9.0, 512, 4096) + '| train | {"epoch": 2, "train_loss": "8", "train_num_updates": "2'
            )
        )
        == 1
    )


def test_other_text_is_not_recognized():
    code = 'progress.log({"epoch": epoch, "num_updates": n, "loss": loss})\n'
    lines = '{"step": 1, "loss": 9.0}\n{"epoch": 1, "loss": 8.0}\n'
    prose = "At epoch 3 the loss fell; num_updates was 100.\n"
    assert not any(fairseq.recognizes(text) for text in (code, lines, prose, ""))


def test_a_log_without_updates_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table("| INFO | fairseq_cli.train | training on 8 devices (GPUs/TPUs)\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


@pytest.mark.parametrize("part", ["| loss 1 ", "epoch 001 | ", "a=1, ", " ", '{"epoch": 1,', "[" * 20])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    line = "| epoch 001 | num_updates 3 | loss " + part * (100_000 // len(part))
    begun = time.perf_counter()
    for text in (line, line[:19_000], 'x {"epoch": 1, "num_updates": ' + "[" * 15_000 + "loss"):
        fairseq.recognizes(text), table(INNER.format(10, 9.0, 512, 4096) + text)
    assert time.perf_counter() - begun < 1
