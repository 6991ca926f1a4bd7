"""The file that a sweep leaves: comments, header, rows."""

import csv
import io
from dataclasses import replace

import pytest

from bsmath.bench import record
from bsmath.bench.record import Measurement, Setup
from bsmath.bench.settings import Settings

SETUP = Setup(
    settings=Settings(seq_len=2048, micro_batch_size=16),
    num_params=796_000_000,
    device="cuda",
    device_name="NVIDIA H200",
    threads=8,
    torch_version="2.13.0",
)
FOUNDING = {8: (0.1463, "111,989"), 16: (0.2521, "129,970"), 48: (0.7191, "136,699")}
"""Step time [s] and printed rate of the founding sweep at 2,048 tokens a sequence; its times are rounded to 0.1 ms."""


def measured(batch: int, *times: float, note: str = "") -> Measurement:
    return Measurement(global_batch_size=batch, repeat=2, step_times=times, note=note)


def cells(measurement: Measurement, setup: Setup = SETUP) -> dict[str, str]:
    return dict(zip(record.COLUMNS, record.row(measurement, setup), strict=True))


@pytest.mark.parametrize("batch, step_time, rate", [(batch, *values) for batch, values in FOUNDING.items()])
def test_the_printed_line_has_the_founding_format(batch, step_time, rate):
    start, _, shown = measured(batch, step_time).line(2048).rpartition("=")
    assert start == f"B={batch:4d}  step_time={step_time * 1e3:7.1f}ms  tok/s"
    assert float(shown.replace(",", "")) == pytest.approx(float(rate.replace(",", "")), rel=5e-4)


def test_the_step_time_is_the_median_so_one_slow_step_does_not_count():
    row = cells(measured(48, 0.7191, 0.7191, 0.7192, 9.0, 0.7))
    assert (row["step_time_s"], row["step_time_min_s"], row["step_time_max_s"]) == (
        "0.7191000",
        "0.7000000",
        "9.0000000",
    )
    assert row["steps_measured"] == "5"


def test_a_row_counts_in_the_units_of_its_header():
    row = cells(measured(48, 0.7191))
    assert row["global_batch_size"] == "48" and row["micro_batch_size"] == "16" and row["grad_accum_steps"] == "3"
    assert row["data_parallel_size"] == "1" and row["tokens_per_step"] == str(48 * 2048)
    assert float(row["tokens_per_second"]) == pytest.approx(48 * 2048 / 0.7191, abs=0.05)
    assert row["num_params"] == "796000000" and row["repeat"] == "2" and row["note"] == ""


def test_what_could_not_be_run_has_no_times_and_says_why():
    row = cells(measured(64, note="out of memory"))
    assert [row[name] for name in record.COLUMNS[-5:]] == ["", "", "", "", "out of memory"]
    assert row["steps_measured"] == "0"
    assert measured(64, note="out of memory").line(2048) == "B=  64  out of memory"


@pytest.mark.parametrize(
    "changes, name",
    [
        ({"num_params": 836_736, "device": "cpu", "threads": 2}, "cpu-2threads-0.8M-micro16"),
        ({"num_params": 836_736, "device": "cpu", "threads": 2, "settings": Settings()}, "cpu-2threads-0.8M"),
        ({"num_params": 26_300, "settings": Settings(dtype="bfloat16")}, "NVIDIA-H200-26.3k-bfloat16"),
        ({}, "NVIDIA-H200-796.0M-micro16"),
    ],
)
def test_series_that_are_not_comparable_have_different_names(changes, name):
    assert replace(SETUP, **changes).run == name


def test_the_file_reads_back_with_any_csv_reader_that_skips_comments():
    out = io.StringIO()
    record.start(out, record.preamble(SETUP, command="python -m bsmath.bench throughput", date="2026-08-01 12:00 UTC"))
    record.append(out, record.row(measured(8, 0.1463), replace(SETUP, device_name='An "odd", name')))
    lines = out.getvalue().splitlines()
    assert all(line.startswith("# ") for line in lines[:-2]) and not any(line.startswith("#") for line in lines[-2:])
    (row,) = csv.DictReader(lines[-2:])
    assert row["run"] == 'An-"odd",-name-796.0M-micro16' and row["step_time_s"] == "0.1463000"


def test_the_header_is_the_documented_one():
    assert ",".join(record.COLUMNS) == (
        "run,device,dtype,num_params,seq_len,micro_batch_size,grad_accum_steps,data_parallel_size,global_batch_size,"
        "tokens_per_step,repeat,steps_measured,step_time_s,step_time_min_s,step_time_max_s,tokens_per_second,note"
    )


@pytest.mark.parametrize(
    "fact",
    [
        "# command: the command",
        "# date: 2026-08-01 12:00 UTC",
        f"# machine: {record.processor()}, ",
        "# device: cuda (NVIDIA H200), 8 CPU threads used",
        ", PyTorch 2.13.0",
        "# model: GPT, 4 layers, width 64, 2 heads, 796000000 parameters",
        "# dtype: float32",
        "# steps: 3 warm-up steps left out, then 10 measured",
    ],
)
def test_the_comments_say_how_the_file_was_made(fact):
    assert fact in "\n".join(record.preamble(SETUP, command="the command", date="2026-08-01 12:00 UTC"))
