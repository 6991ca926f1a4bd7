"""Downloads: a CSV that reads back and that no spreadsheet runs, and fits as strict JSON."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as some
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


OWN_TEMPLATE = {"run", "batch_tokens", "n_gpus", "step_time_s", "tokens_per_s", "steps_to_target"}
FOLDERS = (SAMPLES, SAMPLES / "logs", SAMPLES.parent / "measured", SAMPLES.parent / "published")
TABLES = sorted(
    path for folder in FOLDERS for path in folder.iterdir() if path.suffix in (".csv", ".json", ".md", ".log")
)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_every_shipped_table_reads_back_with_its_series_units_and_every_number(path):
    try:
        ours = sweeps.read(path.read_bytes(), path.name)
    except SweepError:
        pytest.skip("holds no table of a sweep")
    theirs = sweeps.read(downloads.tidy_csv(ours).encode(), "tidy.csv")
    assert theirs.batch_unit == ours.batch_unit and list(theirs.table["series"]) == list(ours.table["series"])
    for name in set(ours.table) - {"row", "series", "resolution"}:
        one, other = (each.table[name].to_numpy(float) for each in (ours, theirs))
        np.testing.assert_array_equal(one, other, err_msg=name)


def test_headers_are_those_of_the_template_and_name_their_units():
    sweep = sweeps.read(sweeps.TEMPLATE.encode(), "template.csv")
    header, first, *_ = downloads.tidy_csv(sweep).splitlines()
    assert set(header.split(",")) == OWN_TEMPLATE
    assert first == "all rows,262144,8,249661,1.05,240735"


def test_runs_that_did_not_arrive_say_how_they_ended():
    text = (
        "batch_tokens,learning_rate,seed,steps_to_target,steps_run,state\n1024,0.1,0,50,50,reached\n1024,0.2,0,,400,stopped\n"
        "1024,0.3,0,,,diverged\n4096,0.1,0,30,30,reached\n4096,0.2,0,20,20,reached\n4096,0.3,0,25,25,reached\n"
    )
    ours = sweeps.read(text.encode(), "runs.csv")
    written = downloads.tidy_csv(ours)
    table = sweeps.read(written.encode(), "tidy.csv").table
    assert [line.split(",")[-1] for line in written.splitlines()[:4]] == ["state", "reached", "stopped", "diverged"]
    assert table["censored"].tolist() == ours.table["censored"].tolist() == [False, True, True, False, False, False]
    assert table["steps_run"].tolist()[1:3] == [400, np.inf]


def test_a_batch_in_sequences_stays_one_in_sequences():
    ours = sweeps.read(b"batch_sequences,samples_per_s\n8,100\n16,180\n64,400\n", "x.csv")
    assert ours.batch_unit == "sequences"
    assert downloads.tidy_csv(ours).startswith("run,batch_seqs,")


def test_names_of_runs_cannot_be_formulas():
    sweep = sweeps.read(
        b"model,batch_tokens,tokens_per_s\n=cmd|x,1024,10\n=cmd|x,2048,15\nb,1024,12\nb,2048,17\n", "x.csv"
    )
    assert set(sweep.series) == {"=cmd|x", "b"}
    assert [line[0] for line in downloads.tidy_csv(sweep).splitlines()] == ["r", "'", "'", "b", "b"]


@example("'\n")  # once came back without its apostrophe
@example("''\t")
@given(some.text(max_size=8) | some.text("=+-@'\" \t\r\n1.e＝", max_size=6))
def test_no_text_begins_like_a_formula_and_each_comes_back(text):
    safe = downloads.safe_cell(text)
    bare = text.strip()
    assert safe.startswith("'") or bare[:1] not in tuple("=+-@＝＋－＠") or downloads._NUMBER.fullmatch(bare)
    assert downloads.plain_cell(safe) == text


def test_a_text_of_a_hundred_thousand_letters_is_no_burden():
    for text in (" " * 100_000 + "x", "'" * 100_000, "1" * 100_000 + "x", "\t" * 100_000):
        assert downloads.plain_cell(downloads.safe_cell(text)) == text


def test_numbers_of_any_kind_stay_numbers_and_gaps_stay_gaps():
    frame = pd.DataFrame(
        {"-x": [-1, 2], "y": [np.nan, -2.5], "z": pd.Series([None, "-3"], dtype=object), "w": [True, False]}
    )
    assert downloads.csv_safe(frame) == "'-x,y,z,w\n-1,,,True\n2,-2.5,-3,False\n"
    assert downloads.csv_safe(pd.DataFrame({"a": []})) == "a\n"
    assert downloads.csv_safe(pd.DataFrame([[1, 2]], columns=["a", "a"])) == "a,a\n1,2\n"


def test_a_fit_without_bounds_has_null_in_their_place():
    sweep = sweeps.read(b"batch_tokens,tokens_per_s\n1024,1000\n2048,2000\n4096,4000\n", "flat.csv")
    (fit,) = json.loads(downloads.fits_json([measurement(sweep, "all rows", "tokens_per_second")], Scenario()))["fits"]
    assert fit["parameters"]["plateau"]["value"] is None and fit["parameters"]["plateau"]["unit"] == "tokens/s"
    sweep = sweeps.read(b"batch_tokens,tokens_per_s\n1024,1000\n2048,1500\n", "two.csv")
    (fit,) = json.loads(downloads.fits_json([measurement(sweep, "all rows", "tokens_per_second")], Scenario()))["fits"]
    assert fit["parameters"]["plateau"]["interval"] is None and not fit["identified"]
    sweep = sweeps.read(b"batch_tokens,tokens_per_s\n1024,1000\n", "one.csv")
    (fit,) = json.loads(downloads.fits_json([measurement(sweep, "all rows", "tokens_per_second")], Scenario()))["fits"]
    assert fit["method"] is None and fit["parameters"] == {} and fit["points"][0]["median"] == 1000


def test_what_a_fit_leaves_out_is_named_and_marked():
    batch = 2.0 ** np.arange(10, 17)
    rate = batch / (0.05 + batch / 60_000)
    rate[3] *= 8
    rows = "\n".join(f"{size:.0f},{each!r}" for size, each in zip(batch, rate.tolist(), strict=True))
    sweep = sweeps.read(f"batch_tokens,tokens_per_s\n{rows}\n".encode(), "wrong.csv")
    (fit,) = json.loads(downloads.fits_json([measurement(sweep, "all rows", "tokens_per_second")], Scenario()))["fits"]
    assert fit["left_out"] == [8192] and [point["used"] for point in fit["points"]].index(False) == 3
    assert fit["points"][3]["residual"] == pytest.approx(7, rel=1e-3)
    assert (
        fit["parameters"]["fixed_time"]["value"] == pytest.approx(0.05, rel=1e-3)
        and fit["parameters"]["fixed_time"]["unit"] == "s"
    )
