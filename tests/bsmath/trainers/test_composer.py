"""The console of MosaicML's Composer."""

import time
from pathlib import Path

import numpy as np
import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import composer

SAMPLE = (Path(__file__).parents[3] / "data" / "samples" / "logs" / "composer.log").read_text()


def read(text: str) -> tuple:
    table = composer.read(text, "train.log")
    return table.frame, " ".join(table.comments)


def block(mark, **metrics) -> str:
    return "\n".join([f"{mark}:", *(f"\t Train {key.replace('__', '/')}: {value}" for key, value in metrics.items())])


def test_the_sample_has_rates_of_job_and_device_and_an_evaluation_at_its_batch():
    frame, _ = read(SAMPLE)
    assert frame["step"].tolist() == [10, 20, 30]
    assert frame["train_loss"].tolist() == [7.2105, 6.1208, 5.7301]  # cross-entropy, not the total
    assert frame["val_loss"].isna().tolist() == [True, False, True] and frame["val_loss"].iloc[1] == 6.0518
    assert frame["tokens_per_s"].iloc[0] == 85_144.1234 and frame["tokens_per_s_per_gpu"].iloc[0] == 10_643.0154
    assert frame["steps_per_s"].iloc[0] == 0.6496 and frame["mfu"].iloc[0] == 0.4643
    assert frame["learning_rate"].tolist() == [0.0001, 0.0002, 0.0003]


def test_the_sample_has_the_settings_of_its_configuration():
    frame, _ = read(SAMPLE)
    constants = {"batch_seqs": 64, "batch_tokens": 131_072, "micro_batch": 8, "n_gpus": 8, "seq_len": 2048, "seed": 17}
    assert {name: frame[name].iloc[0] for name in constants} == constants
    assert frame["run"].iloc[0] == "synthetic-125m"


def test_batch_and_devices_follow_from_the_counts_where_the_configuration_is_missing():
    frame, said = read(SAMPLE[SAMPLE.index("[batch=10") :])
    assert (
        frame["batch_seqs"].iloc[0] == 64 and frame["batch_tokens"].iloc[0] == 131_072 and frame["n_gpus"].iloc[0] == 8
    )
    assert "time/token over time/batch" in said and "seq_len" not in frame


def test_a_mark_within_an_epoch_takes_its_step_from_the_batches_done_before():
    text = block("[epoch=2][batch=5/5]", time__batch=9, loss__train__total=3.0)
    assert read(text)[0]["step"].tolist() == [10]
    assert read(block("[epoch=2][batch=3/5]", loss__train__total=3.0))[0]["step"].tolist() == [8]


def test_a_mark_in_tokens_or_samples_is_no_step():
    text = block("[token=1048576/9999999]", time__batch=7, time__token=917_504, loss__train__total=3.0)
    frame, _ = read(text)
    assert frame["step"].tolist() == [8] and frame["batch_tokens"].iloc[0] == 131_072


def test_a_rate_that_was_rounded_to_nothing_is_left_out_and_a_loss_that_is_nan_is_inf():
    text = block("[batch=1/9]", **{"lr-DecoupledAdamW__group0": "0.0000", "loss__train__total": "nan"})
    frame, said = read(text)
    assert "learning_rate" not in frame and frame["train_loss"].tolist() == [np.inf] and "0.0000" in said


def test_metrics_on_the_line_of_the_mark_are_read():
    frame, _ = read("[batch=1/40]:   Train loss/train/total: 2.0366    Train metrics/train/LanguagePerplexity: 6.7352")
    assert frame[["step", "train_loss"]].iloc[0].tolist() == [1, 2.0366]


def test_an_evaluation_before_training_is_at_step_0_and_others_are_named():
    text = "[Eval batch=2/2] Eval on eval data:\n\t Eval metrics/eval/LanguageCrossEntropy: 11.0\n"
    text += "[Eval batch=2/2] Eval on code data:\n\t Eval metrics/code/LanguageCrossEntropy: 9.0"
    frame, said = read(text)
    assert frame["step"].tolist()[0] == 0 and frame["val_loss"].tolist()[0] == 11.0 and "2 evaluated data sets" in said


def test_what_is_another_log_is_not_recognized():
    assert composer.recognizes(SAMPLE)
    for text in (
        "Model,SeqLen (T),# GPUs\n7b,2048,8",
        "[step=10/1000,epoch=1]\n    train/CE loss=7.2",
        "log_str += f'\\n\\t {prefix}{data_name}: {data_str}'  # [batch={cur_batch}/{total}] Train loss",
        "Train loss: 2.0\nEval loss: 3.0",
    ):
        assert not composer.recognizes(text)
    with pytest.raises(SweepError, match="must have lines of steps"):
        composer.read("[batch=1/2]", "x")


def test_a_last_block_that_was_cut_off_keeps_what_it_has():
    cut = SAMPLE[: SAMPLE.rindex("Train throughput/samples_per_sec")]
    assert read(cut)[0]["train_loss"].tolist() == [7.2105, 6.1208, 5.7301]


@pytest.mark.parametrize("piece", ["[batch=1/", "Train a: ", "Train loss/train/total: 1 ", "[epoch=1]["])
def test_a_line_of_100_000_characters_is_read_at_once(piece):
    start = time.perf_counter()
    text = SAMPLE + (piece * 100_000)[:100_000] + "\n"
    assert composer.recognizes(text) and len(read(text)[0]) >= 3
    assert time.perf_counter() - start < 1
