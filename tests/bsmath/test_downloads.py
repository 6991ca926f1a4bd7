"""Downloads: a CSV that reads back and that no spreadsheet runs, and fits as strict JSON."""

import json
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import downloads, scenario_file, sweeps
from bsmath.link import View
from bsmath.measured import measurement
from bsmath.scenario import Scenario
from bsmath.sweeps import SweepError

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


@pytest.mark.parametrize("name", ["throughput.csv", "steps_to_target.csv", "both_decimal_comma.csv", "table.md"])
def test_the_tidy_csv_reads_back_as_the_same_rows(name):
    sweep = sweeps.read((SAMPLES / name).read_bytes(), name)
    again = sweeps.read(downloads.tidy_csv(sweep).encode(), "tidy.csv")
    for column in ("tokens_per_step", "tokens_per_second", "steps"):
        assert_allclose(again.table[column], sweep.table[column], rtol=1e-9)


@pytest.mark.parametrize("text", ["=1+1", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", '"=1', "＝1"])
def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(text):
    safe = downloads.safe_cell(text)
    assert safe == f"'{text}" and downloads.plain_cell(safe) == text
    assert f"'{text}".splitlines()[0][:2] in downloads.csv_safe(pd.DataFrame({text: [text]}))


@pytest.mark.parametrize("text", ["-1.5", "+2e-3", "7b", "it's", "a=b"])
def test_numbers_and_plain_words_stay(text):
    assert downloads.safe_cell(text) == text


def test_negative_numbers_stay_numbers():
    assert downloads.csv_safe(pd.DataFrame({"x": [-1.5, 2.0]})) == "x\n-1.5\n2.0\n"


def test_fits_are_strict_json_with_units_intervals_and_points():
    sweep = sweeps.read((SAMPLES / "throughput.csv").read_bytes(), "throughput.csv")
    text = downloads.fits_json([measurement(sweep, name, "tokens_per_second") for name in sweep.series], Scenario())
    found = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    assert len(found["fits"]) == len(sweep.series)
    assert "plateau" in json.dumps(found["fits"][0]) and found["scenario"]["num_params"] == 7.96e8


def test_the_scenario_file_gives_back_scenario_view_and_data():
    sweep = sweeps.read((SAMPLES / "throughput.csv").read_bytes(), "throughput.csv")
    scenario, view = Scenario(num_params=7e9, data_parallel_size=8), View(batch_scale="linear")
    text = scenario_file.to_json(scenario, view, [sweep])
    assert scenario_file.recognizes(text.encode())
    found = scenario_file.from_json(text.encode(), "scenario.json")
    assert (found.scenario, found.view, found.problems) == (scenario, view, ())
    assert_allclose(found.sweeps[0].table["tokens_per_second"], sweep.table["tokens_per_second"])


@pytest.mark.parametrize("broken", ["{", '{"format": "x"}', "[" * 50_000, '{"version": 1e999}'])
def test_a_broken_scenario_file_is_a_sentence(broken):
    with pytest.raises(SweepError):
        scenario_file.from_json(broken.encode(), "scenario.json")
