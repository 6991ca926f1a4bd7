"""How fast logged runs were: warm-up, the unit of the log, what is per device, batches that change, several files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import sweeps
from bsmath.logs import curves, run_rates
from bsmath.logs.curves import Reading


def record(name: str = "run.csv", **columns) -> curves.LossCurves:
    return curves.read(pd.DataFrame({"step": np.arange(1, 21), **columns}), name)


def only(found: curves.LossCurves, reading: Reading = Reading()) -> pd.Series:
    rates = found.throughput(reading)
    assert len(rates) == 1
    return rates.iloc[0]


WARM = np.array([9.0, 2.0, *[1.0] * 18])  # the first step compiles, the second fills caches


def test_the_steps_of_the_warm_up_are_left_out_and_counted():
    rate = only(record(step_time_s=WARM, batch_tokens=4096))
    assert rate["tokens_per_second"] == 4096 and (rate["left_out"], rate["count"]) == (2, 18)
    assert rate["step_time"] == 1


def test_of_a_steady_log_the_first_step_alone_is_left_out():
    assert only(record(step_time_s=1.0, batch_tokens=4096))["left_out"] == 1


@pytest.mark.parametrize(
    "times, first",
    [([1.0], 0), ([5.0, 1.0], 0), ([5.0, 1.0, 1.0], 1), ([1.0, 1.0, 1.0, 1.0], 1), ([9.0, 8.0, 7.0, 6.0], 2)],
)
def test_at_most_half_of_a_log_is_warm_up(times, first):
    assert run_rates.steady(np.array(times)) == first


def test_the_range_holds_nine_tenths_of_the_steady_steps():
    times = np.concatenate([[1.0], np.linspace(1, 2, 19)])
    rate = only(record(step_time_s=times, batch_tokens=1000))
    assert rate["low"] < rate["tokens_per_second"] < rate["high"]
    assert_allclose([rate["low"], rate["high"]], 1000 / np.quantile(np.linspace(1, 2, 19), [0.95, 0.05]), rtol=0.05)


def test_a_rate_of_one_device_is_multiplied_by_the_devices_of_the_log():
    assert only(record(tokens_per_s_per_gpu=100.0, n_gpus=8, batch_tokens=1000))["tokens_per_second"] == 800


def test_devices_that_the_log_does_not_name_are_asked_for():
    found = record(tokens_per_s_per_gpu=100.0, batch_tokens=1000)
    assert [question.key for question in found.questions()] == ["num_devices"]
    assert only(found)["tokens_per_second"] == 100
    assert only(found, Reading(num_devices=4))["tokens_per_second"] == 400


def test_samples_and_steps_per_second_become_tokens_once_a_sequence_is_known():
    samples = record(samples_per_s=50.0, batch_seqs=16)
    assert only(samples, Reading(seq_len=128))["tokens_per_second"] == 50 * 128
    assert only(samples)["tokens_per_second"] == 50 and samples.batches()[1] == "sequences"
    steps = record(steps_per_s=2.0, batch_seqs=16, seq_len=128)
    assert only(steps)["tokens_per_second"] == 2 * 16 * 128


def test_rate_times_step_time_gives_the_batch_that_a_log_does_not_name():
    rate = only(record(step_time_s=1.54010, tokens_per_s=340_424.0, loss=3.0))
    assert rate["tokens_per_step"] == 524_288


def test_a_clock_gives_the_time_of_a_step():
    rate = only(record(wall_time_s=100 + 3.0 * np.arange(20), batch_tokens=600))
    assert rate["tokens_per_second"] == 200


def test_each_batch_of_a_ramp_is_a_point():
    batch = np.repeat([16, 32], 10)
    found = record(batch_seqs=batch, step_time_s=batch / 8, seq_len=10)
    rates = found.throughput()
    assert rates["tokens_per_step"].tolist() == [160, 320] and rates["tokens_per_second"].tolist() == [80, 80]
    assert found.sweep().has_throughput and not found.sweep().has_steps


def test_runs_on_other_devices_are_other_series_unless_each_has_one_batch():
    def run(size, devices):
        return record(f"b{size}g{devices}.csv", batch_tokens=size, tokens_per_s=float(size * devices), n_gpus=devices)

    grid = curves.joined([run(size, devices) for size in (100, 200) for devices in (1, 8)])
    assert set(grid.throughput()["series"]) == {"1 GPU", "8 GPUs"}
    diagonal = curves.joined([run(100, 1), run(200, 8)])
    assert set(diagonal.throughput()["series"]) == {sweeps.ALL_ROWS}


def test_what_is_no_positive_number_is_no_rate():
    rate = only(record(tokens_per_s=[0.0, np.nan, np.inf, -5.0, *[10.0] * 16], batch_tokens=100))
    assert rate["tokens_per_second"] == 10 and rate["count"] == 15


def test_milliseconds_of_the_header_are_seconds():
    assert only(record(step_time_ms=250.0, batch_tokens=100))["tokens_per_second"] == 400


def test_the_overview_says_what_a_run_did_and_how_it_ended():
    fine = record(
        "a.csv", loss=np.linspace(9, 3, 20), batch_tokens=100, tokens_per_s=7.0, grad_norm=np.r_[[9.0] * 10, [2.0] * 10]
    )
    lost = record("b.csv", loss=[9.0] * 19 + [np.inf], batch_tokens=100, tokens_per_s=7.0)
    cut = record("c.csv", loss=np.linspace(9, 3, 20), batch_tokens=100, state="crashed", dropped_fraction=0.125)
    table = curves.joined([fine, lost, cut]).overview()
    assert table["ended"].tolist() == ["", "diverged", "crashed"]
    assert table.loc[0, ["tokens_per_second", "steady", "left_out", "grad_norm", "last_step"]].tolist() == [
        7,
        19,
        1,
        2,
        20,
    ]
    assert table.loc[2, "dropped"] == 0.125 and np.isnan(table.loc[2, "tokens_per_second"])


def test_a_group_that_is_typed_makes_a_series_of_its_own():
    found = curves.joined(
        [record("a.csv", batch_tokens=100, tokens_per_s=7.0), record("b.csv", batch_tokens=100, tokens_per_s=9.0)]
    )
    found = found.with_runs(found.runs.assign(model=["before", "after"]))
    assert found.throughput()["series"].tolist() == ["before", "after"]
