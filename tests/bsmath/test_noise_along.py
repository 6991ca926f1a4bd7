"""The noise scale along training: windows and exponential averages of both parts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import noise_along, noise_estimate
from tests.bsmath.noise_model import parts


def log(trace, grad_sq_norm, **columns) -> pd.DataFrame:
    return pd.DataFrame(
        {"tokens": np.arange(1.0, len(trace) + 1), "trace": trace, "grad_sq_norm": grad_sq_norm} | columns
    )


def test_smoothing_is_the_ratio_of_the_averages_around_each_row():
    found = noise_along.smoothed(log([8.0, 4.0, 3.0, 1.0], [1.0, 2.0, 3.0, 4.0]), rows=3)
    assert_allclose(found["trace"], [6, 5, 8 / 3, 2])
    assert_allclose(found["grad_sq_norm"], [1.5, 2, 3, 3.5])
    assert_allclose(found["noise_scale"], found["trace"] / found["grad_sq_norm"])
    assert list(found.columns) == ["tokens", "noise_scale", "low", "high", "grad_sq_norm", "trace"]


def test_smoothing_forgets_a_huge_first_row():
    found = noise_along.smoothed(log([2.0] * 8, [1e6] + [1.0] * 7), rows=5)
    assert_allclose(found["noise_scale"].iloc[3:], 2, rtol=1e-6)


def test_the_smoothed_interval_is_that_of_the_rows_around():
    trace, grad_sq_norm = parts(np.random.default_rng(9), 40, 0.5)
    found = noise_along.smoothed(log(trace, grad_sq_norm), rows=9)
    whole = noise_estimate.estimate(trace[16:25], grad_sq_norm[16:25])
    assert_allclose(found.loc[20, ["low", "high"]].astype(float), whole.interval(), rtol=1e-6)
    first = noise_estimate.estimate(trace[:5], grad_sq_norm[:5])
    assert_allclose(found.loc[0, ["low", "high"]].astype(float), first.interval(), rtol=1e-6)


def test_a_window_of_one_row_is_that_row_without_an_interval():
    trace, grad_sq_norm = parts(np.random.default_rng(10), 25, 0.5)
    alone = noise_along.smoothed(log(trace, grad_sq_norm), rows=1)
    assert_allclose(alone["noise_scale"], trace / grad_sq_norm)
    assert alone["low"].isna().all()


def test_smoothing_weighs_rows_by_their_steps():
    found = noise_along.smoothed(log([2.0, 8.0], [1.0, 1.0], steps_averaged=[3, 1]), rows=3)
    assert_allclose(found["trace"].iloc[-1], (3 * 2 + 8) / 4)


def test_smoothing_is_not_identified_where_the_averaged_signal_is_negative():
    found = noise_along.smoothed(log([5.0, 5.0, 5.0, 5.0], [1.0, -3.0, -1.0, 9.0]), rows=1)
    assert found["noise_scale"].isna().tolist() == [False, True, True, False]
    assert len(noise_along.smoothed(log([], []))) == 0


@pytest.mark.parametrize("rows", [0, 2, -1])
def test_a_window_without_a_middle_is_refused(rows):
    with pytest.raises(ValueError, match=f"rows must be an odd number from 1, got {rows}"):
        noise_along.smoothed(log([1.0], [1.0]), rows=rows)


def test_an_exponential_average_divides_averages_of_both_parts_and_never_averages_the_ratio():
    """Decay 1/2 by hand: weights 1/4, 1/2, 1 over 1.75."""
    found = noise_along.exponential(log([8.0, 4.0, 3.0], [1.0, 2.0, 4.0]), 0.5)
    assert_allclose(found["trace"], [8, (4 + 4) / 1.5, (2 + 2 + 3) / 1.75])
    assert_allclose(found["grad_sq_norm"], [1, (0.5 + 2) / 1.5, (0.25 + 1 + 4) / 1.75])
    assert_allclose(found["noise_scale"], found["trace"] / found["grad_sq_norm"])
    assert list(found.columns) == ["tokens", "noise_scale", "low", "high", "grad_sq_norm", "trace"]


@pytest.mark.parametrize("decay", [0.0, 0.9, 0.99, 0.999])
def test_the_first_rows_of_an_exponential_average_are_not_pulled_towards_zero(decay):
    found = noise_along.exponential(log([6.0] * 30, [2.0] * 30), decay)
    assert_allclose(found["trace"], 6)
    assert_allclose(found["grad_sq_norm"], 2)


def test_an_exponential_average_remembers_a_huge_first_row_that_a_window_forgets():
    rows = log([2.0] * 60, [1e6] + [1.0] * 59)
    assert noise_along.exponential(rows, 0.99)["noise_scale"].iloc[-1] < 1e-3
    assert_allclose(noise_along.exponential(rows, 0.5)["noise_scale"].iloc[-1], 2, rtol=1e-6)


@pytest.mark.parametrize("decay, rows", [(0.9, 19), (0.99, 199), (0.999, 1_999), (0.0, 1)])
def test_effective_rows_are_the_sourced_ones(decay, rows):
    assert_allclose(noise_along.effective_rows(decay), rows)


@pytest.mark.parametrize("decay", [0.5, 0.9, 0.97])
def test_an_exponential_average_has_the_variance_of_its_effective_rows(decay):
    trace, grad_sq_norm = parts(np.random.default_rng(15), (1_500, 400), 0.5)
    last = [
        noise_along.exponential(log(*pair), decay)["trace"].iloc[-1] for pair in zip(trace, grad_sq_norm, strict=True)
    ]
    assert_allclose(np.var(last), trace.var() / noise_along.effective_rows(decay), rtol=0.12)


@pytest.mark.parametrize("decay, relative_error", [(0.9, 0.5), (0.9, 4), (0.97, 4)])
def test_the_interval_of_an_exponential_average_covers_the_truth_in_87_to_93_percent_of_1000_draws(
    decay, relative_error
):
    drawn = parts(np.random.default_rng(16), (1_000, 300), relative_error)
    last = [noise_along.exponential(log(*pair), decay).iloc[-1] for pair in zip(*drawn, strict=True)]
    covered = np.mean([(row["low"] <= 200) & (200 <= row["high"]) for row in last])
    assert 0.87 <= covered <= 0.93


def test_an_exponential_average_weighs_rows_by_their_steps():
    found = noise_along.exponential(log([2.0, 8.0], [1.0, 1.0], steps_averaged=[3, 1]), 0.5)
    assert_allclose(found["trace"].iloc[-1], (0.5 * 3 * 2 + 8) / 2.5)


def test_an_exponential_average_of_no_rows_or_one_has_no_interval():
    assert len(noise_along.exponential(log([], []), 0.9)) == 0
    alone = noise_along.exponential(log([6.0], [2.0]), 0.9)
    assert alone["noise_scale"].tolist() == [3] and alone[["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize("decay", [-0.1, 1, 1.5, float("nan")])
def test_a_decay_that_forgets_nothing_is_refused(decay):
    with pytest.raises(ValueError, match=f"decay must be from 0 to below 1, got {decay}"):
        noise_along.exponential(log([1.0], [1.0]), decay)
