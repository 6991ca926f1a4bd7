"""The file that a measurement leaves: comments, header, rows, and its continuation."""

import csv
from dataclasses import replace

import pytest

from bsmath.bench import record
from bsmath.bench.record import Setup, Table
from bsmath.bench.settings import Convergence, Throughput

SETUP = Setup(
    measure="throughput",
    settings=Throughput(seq_len=2048, micro_batch_sizes=(16,)),
    num_params=796_000_000,
    device="cuda",
    device_name="NVIDIA H200",
    threads=8,
    processes=1,
    torch_version="2.13.0",
)
COLUMNS = ("run", "repeat", "step_time_s", "note")
ROWS = [
    {"run": 'an "odd", name', "repeat": 1, "step_time_s": 0.14631234567, "note": ""},
    {"run": "b", "repeat": 2, "step_time_s": None, "note": "out of memory"},
]


def written(path, rows=ROWS, setup=SETUP, columns=COLUMNS):
    table = Table(path, columns, record.preamble(setup, command="the command", date="2026-08-01 12:00 UTC"), None)
    for row in rows:
        table.append(row)
    table.close()
    return path


@pytest.mark.parametrize(
    "changes, name",
    [
        ({"num_params": 836_736, "device": "cpu", "threads": 2}, "cpu-2threads-0.8M"),
        ({"num_params": 836_736, "device": "cpu", "processes": 4}, "cpu-8threads-4processes-0.8M"),
        ({"num_params": 26_300, "settings": Throughput(dtype="bfloat16")}, "NVIDIA-H200-26.3k-bfloat16"),
        ({}, "NVIDIA-H200-796.0M"),
    ],
)
def test_series_that_are_not_comparable_have_different_names(changes, name):
    assert replace(SETUP, **changes).run == replace(SETUP, **changes).cells()["run"] == name


def test_the_file_reads_back_with_any_csv_reader_that_skips_comments(tmp_path):
    lines = written(tmp_path / "rows.csv").read_text().splitlines()
    assert all(line.startswith("# ") for line in lines[:-3]) and not any(line.startswith("#") for line in lines[-3:])
    assert list(csv.DictReader(lines[-3:])) == [
        {"run": 'an "odd", name', "repeat": "1", "step_time_s": "0.1463123", "note": ""},
        {"run": "b", "repeat": "2", "step_time_s": "", "note": "out of memory"},
    ]


def test_a_row_is_in_the_file_as_soon_as_it_is_appended(tmp_path):
    table = Table(tmp_path / "rows.csv", COLUMNS, ["# one"], None)
    table.append(ROWS[1])
    assert (tmp_path / "rows.csv").read_text() == "# one\nrun,repeat,step_time_s,note\nb,2,,out of memory\n"
    table.close()


def test_a_file_that_does_not_exist_has_no_rows_and_one_without_rows_has_none_yet(tmp_path):
    assert record.done(tmp_path / "none.csv", SETUP, COLUMNS) is None
    assert record.done(written(tmp_path / "empty.csv", rows=[]), SETUP, COLUMNS) == []


@pytest.mark.parametrize("cut", [0, 1, 9])
def test_a_measurement_goes_on_after_the_last_whole_row(tmp_path, cut):
    path = written(tmp_path / "rows.csv")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - cut])
    kept = record.done(path, SETUP, COLUMNS)
    assert [row["repeat"] for row in kept] == (["1", "2"] if cut == 0 else ["1"])
    table = Table(path, COLUMNS, ["# never written"], kept)
    for row in ROWS[len(kept) :]:
        table.append(row)
    table.close()
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "setup, columns, difference",
    [
        (
            replace(SETUP, settings=Throughput(seq_len=64, micro_batch_sizes=(16,))),
            COLUMNS,
            "has seq_len 2048 (here 64)",
        ),
        (replace(SETUP, processes=2), COLUMNS, "has processes 1 (here 2)"),
        (replace(SETUP, torch_version="2.14"), COLUMNS, "has torch '2.13.0' (here '2.14')"),
        (
            replace(SETUP, measure="convergence", settings=Convergence(seq_len=2048)),
            COLUMNS,
            "has measure 'throughput' (here 'convergence')",
        ),
        (SETUP, COLUMNS[:-1], "whose columns are others"),
    ],
)
def test_a_file_of_another_measurement_is_refused_naming_the_difference(tmp_path, setup, columns, difference):
    path = written(tmp_path / "rows.csv")
    with pytest.raises(ValueError) as refused:
        record.done(path, setup, columns)
    rule = f"out must not exist, or hold the beginning of this same measurement, got {str(path)!r}, "
    assert str(refused.value).startswith(rule) and difference in str(refused.value)


def test_a_file_that_is_no_measurement_is_refused(tmp_path):
    (tmp_path / "notes.csv").write_text("batch,tok/s\n8,100\n")
    with pytest.raises(ValueError, match="which holds no settings$"):
        record.done(tmp_path / "notes.csv", SETUP, COLUMNS)


def test_the_date_and_the_command_may_differ():
    here, there = (record.preamble(SETUP, command=text, date=text) for text in ("one", "two"))
    assert here != there and here[-1] == there[-1] == SETUP.identity


@pytest.mark.parametrize(
    "fact",
    [
        "# command: the command",
        "# date: 2026-08-01 12:00 UTC",
        f"# machine: {record.processor()}, ",
        "# device: cuda (NVIDIA H200), 8 CPU threads used",
        ", PyTorch 2.13.0",
        "# model: GPT over bytes, 4 layers, width 64, 2 heads, 796000000 parameters",
        "# a note of the measurement",
    ],
)
def test_the_comments_say_how_the_file_was_made(fact):
    comments = record.preamble(
        SETUP, command="the command", date="2026-08-01 12:00 UTC", notes=["a note of the measurement"]
    )
    assert fact in "\n".join(comments)


def test_several_processes_are_named():
    comments = record.preamble(replace(SETUP, processes=2), command="", date="")
    assert "# device: cuda (NVIDIA H200), 2 processes, 8 CPU threads used" in comments


@pytest.mark.parametrize(
    "value, cell", [(None, ""), (3, "3"), (0.1463, "0.1463"), (136_699.44, "136699.4"), ("a", "a")]
)
def test_floats_have_seven_digits_and_nothing_is_an_empty_cell(value, cell):
    assert record.text(value) == cell
