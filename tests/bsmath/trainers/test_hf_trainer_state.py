"""trainer_state.json of Hugging Face's Trainer."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from bsmath.sweeps import json_lines
from bsmath.sweeps.model import SweepError
from bsmath.trainers import hf_trainer_state

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "hf_trainer_state.json"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"


def read(state) -> tuple:
    table = hf_trainer_state.read(json.dumps(state), "trainer_state.json")
    return table.frame, " ".join(table.comments)


def state(history, **beside):
    return {"global_step": 40, "max_steps": 40, "train_batch_size": 8, "log_history": history} | beside


LAST = {"step": 40, "train_runtime": 92.41, "train_samples_per_second": 27.7, "train_steps_per_second": 0.433}


def test_the_sample_is_read_with_training_and_validation_of_a_step_in_one_row():
    frame = hf_trainer_state.read(SAMPLE.read_text(), "x").frame
    assert frame["step"].tolist() == [0, 10, 20, 30, 40]
    assert frame["train_loss"].tolist()[1:] == [7.4312, 6.2205, 5.7719, 5.5128]
    assert frame["val_loss"].dropna().tolist() == [10.91, 6.1043, 5.4876]
    assert frame["tokens"].tolist()[1:] == [1_310_720, 2_621_440, 3_932_160, 5_242_880]
    assert frame["learning_rate"].iloc[-1] == 0
    assert frame["grad_norm"].isna().tolist() == [True, False, False, True, False]


def test_values_that_are_printed_as_text_are_numbers():
    frame, _ = read(state([{"step": "20", "loss": "6.22", "learning_rate": "3e-4", "grad_norm": "1.8"}]))
    assert frame[["step", "train_loss", "learning_rate", "grad_norm"]].iloc[0].tolist() == [20, 6.22, 3e-4, 1.8]


def test_the_train_batch_size_is_that_of_one_device_and_the_batch_follows_from_the_rates():
    frame, said = read(state([{"step": 20, "loss": 5.0}, LAST]))
    assert frame["micro_batch"].iloc[0] == 8
    assert frame["batch_seqs"].iloc[0] == 64  # 27.7 * 92.41 / 40 = 63.99
    assert frame["samples_per_s"].iloc[0] == 27.7 and frame["steps_per_s"].iloc[0] == 0.433
    assert "samples/s over steps/s" in said and "one device" in said


def test_a_last_batch_that_is_not_full_does_not_change_the_batch():
    record = LAST | {"train_runtime": 100, "train_samples_per_second": 25.0, "train_steps_per_second": 0.4}
    assert read(state([{"step": 1, "loss": 1}, record]))[0]["batch_seqs"].iloc[0] == 64  # 62.5, not 62 and not 63


def test_without_the_record_of_the_whole_run_no_batch_is_claimed():
    frame, _ = read(state([{"step": 20, "loss": 5.0}], global_step=20))
    assert "batch_seqs" not in frame and "samples_per_s" not in frame
    assert frame["state"].iloc[0] == "stopped at 20 of 40 steps"


def test_the_mean_loss_of_the_whole_run_is_no_row():
    frame, _ = read(state([{"step": 40, "loss": 5.0}, LAST | {"train_loss": 6.1}]))
    assert frame["train_loss"].tolist() == [5.0]


def test_tokens_per_second_of_the_trainer_are_of_one_device():
    frame, _ = read(state([{"step": 40, "loss": 5.0}, LAST | {"train_tokens_per_second": 9_000.0}]))
    assert frame["tokens_per_s_per_gpu"].iloc[0] == 9_000 and "tokens_per_s" not in frame


def test_a_loss_that_is_nan_is_inf_and_tokens_that_were_not_counted_are_left_out():
    frame, _ = read(state([{"step": 1, "loss": float("nan"), "num_input_tokens_seen": 0}, {"step": 2, "loss": 0.5}]))
    assert frame["train_loss"].tolist() == [np.inf, 0.5] and "tokens" not in frame


def test_of_several_evaluations_one_is_taken_and_the_others_are_named():
    history = [{"step": 1, f"eval_{name}_loss": value} for name, value in (("a", 3.0), ("b", 9.0))]
    frame, said = read(state(history))
    assert frame["val_loss"].dropna().tolist() == [3.0] and "eval_b_loss" in said


def test_a_record_without_a_step_is_named():
    table = hf_trainer_state.read(json.dumps(state([{"loss": 1.0}, {"step": 2, "loss": 1.0}])), "x")
    assert [problem.row for problem in table.problems] == [1] and len(table.frame) == 1


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", '{"log_history": [', '{"log_history": {}}', "", "{" * 9_999])
def test_what_is_no_history_is_refused_in_a_sentence(text):
    assert not hf_trainer_state.recognizes(text)
    with pytest.raises(SweepError, match="x must"):
        hf_trainer_state.read(text, "x")


def test_it_is_recognized_in_one_line_as_in_many():
    assert hf_trainer_state.recognizes(SAMPLE.read_text())
    assert hf_trainer_state.recognizes(json.dumps(state([])))
    assert not hf_trainer_state.recognizes("the log_history of global_step")


def test_one_line_of_100_000_characters_is_read_at_once():
    start = time.perf_counter()
    text = json.dumps(state([{"step": 1, "loss": 1.0, "note": "{'" * 50_000}]))
    assert len(hf_trainer_state.read(text, "x").frame) == 1
    assert time.perf_counter() - start < 1


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
def test_a_real_state_with_only_evaluations_at_step_0():
    table = hf_trainer_state.read((REAL / "hf_trainer_state_aigoncharov.json").read_text(), "x")
    frame = table.frame
    assert len(frame) == 31 and frame["step"].iloc[[0, -1]].tolist() == [0, 12_030]
    assert frame["train_loss"].iloc[1] == 1.1074 and frame["train_loss"].count() == 30
    assert frame["val_loss"].iloc[0] == pytest.approx(5.741583347320557)
    assert (frame["micro_batch"] == 4).all() and "batch_seqs" not in frame  # no record of the whole run


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
def test_a_real_list_of_records_is_no_state_and_stays_with_the_reader_of_json():
    data = (REAL / "tinytalk_stage_a_log.json").read_bytes()
    assert not hf_trainer_state.recognizes(data.decode())
    frame = json_lines.read_list(data, "x").frame
    assert len(frame) == 43 and frame["train_loss"].iloc[-1] == pytest.approx(4.0338969)
    assert len(frame) == 49 or len(frame) > 2
    assert frame["step"].iloc[[0, -1]].tolist() == [200, 7200]
