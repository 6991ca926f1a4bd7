"""Numbers that no training run has are named; a time without a unit is asked about."""

import numpy as np
import pytest

from bsmath import sweeps
from bsmath.logs import curves
from bsmath.sweeps import plausible


def read(text: str, **answers):
    return sweeps.read(text.encode(), "file.csv", answers or None)


def said(sweep) -> str:
    return "; ".join(one.what for one in sweep.problems)


LONG = "batch_tokens,dt\n524288,250\n1048576,480\n2097152,950\n"


def test_a_long_time_without_a_unit_is_asked_about_and_taken_for_milliseconds_meanwhile():
    sweep = read(LONG)
    assert [(one.key, one.default) for one in sweep.questions] == [("time_unit", "ms")]
    assert sweep.table["step_time"].tolist() == pytest.approx([0.25, 0.48, 0.95])
    assert read(LONG, time_unit="s").table["step_time"].tolist() == [250, 480, 950]
    assert not read(LONG, units={"dt": "s"}).questions


@pytest.mark.parametrize(
    "text",
    [
        "batch_tokens,dt_s\n524288,250\n1048576,480\n",
        "batch_tokens,dt\n524288,250s\n1048576,480s\n",
        "batch_tokens,dt\n524288,2.5\n1048576,4.8\n",
    ],
)
def test_a_unit_that_is_named_and_a_short_time_are_not_asked_about(text):
    assert not read(text).questions


def test_a_fraction_of_a_token_and_absurd_rates_are_named():
    assert "no whole number" in said(read("batch_tokens;tok/s\n16.384;98.091\n32.768;99.5\n"))
    assert "no rate of a training run" in said(read("batch_tokens,step_time_s\n8,100\n16,110\n32,130\n"))
    assert "no rate of a training run" in said(read("batch_tokens,tok/s\n524288,3e9\n1048576,4e9\n"))


def test_many_devices_may_be_fast_and_ordinary_numbers_are_not_doubted():
    sizes = np.array([2.0**20])
    assert not plausible.doubts(sizes, np.array([5e8]), np.array([10_000.0]))
    assert not plausible.doubts(sizes, np.array([1e5]), np.nan)
    assert not plausible.doubts(sizes, np.array([np.nan]), np.nan)


def test_the_number_of_a_process_counts_nothing():
    sweep = read("rank,batch_tokens,tok/s\n0,1024,100\n1,1024,101\n0,2048,190\n1,2048,191\n")
    assert sweep.table["tokens_per_second"].tolist() == [100, 101, 190, 191] and not said(sweep)


def test_runs_on_other_hardware_are_other_series():
    import pandas as pd

    def run(size, card):
        table = pd.DataFrame(
            {"step": range(1, 9), "loss": 3.0, "batch_tokens": size, "gpu": card, "n_gpus": 8, "tok/s": 10.0 * size}
        )
        return curves.read(table, f"{card}-{size}.csv")

    found = curves.joined([run(size, card) for size in (1024, 2048) for card in ("A100", "H100")])
    assert set(found.throughput()["series"]) == {"A100", "H100"}
    assert found.runs["num_devices"].tolist() == [8] * 4
