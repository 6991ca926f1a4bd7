import json
import math
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import megatron_golden

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "megatron_golden.json"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats" / "megatron_golden_values_new_moe.json"


def table(tree):
    return megatron_golden.read(json.dumps(tree), "golden.json").frame


def test_the_sample_has_a_row_an_iteration_and_seconds():
    assert megatron_golden.recognizes(SAMPLE.read_text())
    frame = megatron_golden.read(SAMPLE.read_text(), SAMPLE.name).frame
    assert frame["step"].tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["train_loss"].tolist() == [10.71, 10.02, 9.41, 8.93, 8.51, 8.17]
    assert math.isnan(frame["step_time_s"][0]) and frame["step_time_s"][5] == 0.249


def test_older_files_hold_a_list_from_the_first_step_on():
    frame = table({"lm loss": {"start_step": 0, "end_step": 15, "step_interval": 5, "values": [10.8, 10.7, 10.5]}})
    assert frame["step"].tolist() == [0, 5, 10] and frame["train_loss"].tolist() == [10.8, 10.7, 10.5]


def test_a_loss_that_is_no_number_is_a_diverged_run():
    frame = table({"lm loss": {"start_step": 1, "step_interval": 1, "values": {"1": 10.0, "2": "nan", "3": "NaN"}}})
    assert frame["train_loss"].tolist() == [10.0, math.inf, math.inf]


def test_steps_are_sorted_as_numbers():
    frame = table({"lm loss": {"start_step": 1, "step_interval": 1, "values": {"10": 8.0, "9": 8.1, "1": 10.0}}})
    assert frame["step"].tolist() == [1, 9, 10]


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]",
        '{"lm loss": {"start_step": 1, "step_interval": 1, "values": {"1": 10.',
        '{"lm loss": {"start_step": 1, "step_interval": 1, "values": 3}}',
        '{"lm loss": {"start_step": "a", "step_interval": null, "values": [1, 2]}}',
        '{"lm loss": 3, "iteration-time": null}',
        '{"a":' * 100_000,
        '{"lm loss": {"start_step": 1, "values": {"' + "9" * 5000 + '": 1.0, "-1": 2, "x": true}}}',
    ],
)
def test_what_is_no_golden_file_is_refused_in_one_sentence(text):
    with pytest.raises(SweepError, match="golden.json must"):
        megatron_golden.read(text, "golden.json")


def test_other_json_is_not_recognized():
    assert not megatron_golden.recognizes('{"log_history": [{"loss": 1.0, "step": 1}]}')
    assert not megatron_golden.recognizes('{"lm loss": {"values": [1, 2]}}')


@pytest.mark.skipif(not REAL.is_file(), reason="the folder of real files is not beside the project")
def test_the_golden_values_of_a_mixture_of_experts():
    assert megatron_golden.recognizes(REAL.read_text())
    frame = megatron_golden.read(REAL.read_text(), REAL.name).frame
    assert frame["step"].tolist() == list(range(1, 51))
    assert (frame["train_loss"].iloc[0], frame["train_loss"].iloc[-1]) == (10.90535, 7.58617)
