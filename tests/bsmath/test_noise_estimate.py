"""The noise scale averaged over a log: a model of gradients whose truth is known, honest intervals, rows needed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import noise, noise_estimate
from bsmath.fieller import student
from tests.bsmath.noise_model import gradients, parts


def intervals(trace, grad_sq_norm, **given) -> np.ndarray:
    return np.array(
        [noise_estimate.estimate(*pair, **given).interval() for pair in zip(trace, grad_sq_norm, strict=True)]
    ).T


def covered(trace, grad_sq_norm, truth: float, **given) -> float:
    low, high = intervals(trace, grad_sq_norm, **given)
    return np.mean((low <= truth) & (truth <= high))


def test_the_ratio_of_means_recovers_a_known_noise_scale_where_the_mean_of_ratios_is_4_percent_high():
    small, big = gradients(np.random.default_rng(3), 4_000)
    trace, grad_sq_norm = noise.trace(8, 128, small, big), noise.grad_sq_norm(8, 128, small, big)
    found = noise_estimate.estimate(trace, grad_sq_norm)
    low, high = found.interval()
    assert low < 200 < high and high / low < 1.02
    assert_allclose(found.noise_scale, 200, rtol=0.01)
    assert_allclose((trace / grad_sq_norm).mean(), 208.8, rtol=0.01)
    assert found.verdict() == (True, "Both parts are clear of zero.")


@pytest.mark.parametrize("rows", [20, 60, 400])
@pytest.mark.parametrize("relative_error", [0.5, 4, 16])
def test_the_90_percent_interval_covers_the_truth_in_87_to_93_percent_of_1000_draws(rows, relative_error):
    found = parts(np.random.default_rng(rows), (1_000, rows), relative_error)
    assert 0.87 <= covered(*found, truth=200) <= 0.93


def test_the_interval_covers_as_often_when_rows_average_different_numbers_of_steps():
    steps = np.array([1, 2, 4, 8] * 8)
    once = parts(np.random.default_rng(5), (1_000, steps.sum()), 4)
    ends = np.cumsum(steps) - steps
    found = [np.add.reduceat(part, ends, axis=1) / steps for part in once]
    assert 0.87 <= covered(*found, truth=200, weights=steps) <= 0.93
    whole, averaged = (
        noise_estimate.estimate(once[0][0], once[1][0]),
        noise_estimate.estimate(found[0][0], found[1][0], steps),
    )
    assert_allclose(averaged.noise_scale, whole.noise_scale)


def test_a_slow_trend_of_both_parts_neither_widens_the_interval_nor_spoils_its_coverage():
    trace, grad_sq_norm = parts(np.random.default_rng(6), (1_000, 100), 4)
    signal = np.exp(-np.linspace(0, 2, 100))  # |G|^2 and the noise both fall, the noise scale grows as 1/signal
    trended = trace * signal**0.5, grad_sq_norm * signal
    truth = 200 * (signal**0.5).mean() / signal.mean()
    assert 0.87 <= covered(*trended, truth=truth) <= 0.93
    estimated = noise_estimate.estimate(trended[0][0], trended[1][0])
    plain = np.array([np.cov(*[part[i] for part in trended])[0, 0] for i in range(20)]).mean() / 100
    differences = np.mean([noise_estimate.estimate(trended[0][i], trended[1][i]).variances[0] for i in range(20)])
    assert plain > 20 * differences and estimated.degrees == pytest.approx(66.2, abs=0.1)


def test_means_of_one_row_apart_have_the_variance_of_a_difference():
    """Three rows by hand: differences of trace 2 and -1, of |G|^2 1 and 1; half their products, over 2, over 3."""
    found = noise_estimate.estimate([10, 12, 11], [4, 5, 6])
    assert (found.trace, found.grad_sq_norm, found.rows) == (11, 5, 3)
    assert_allclose(found.variances, [(4 + 1) / 2 / 2 / 3, (2 - 1) / 2 / 2 / 3, (1 + 1) / 2 / 2 / 3])
    assert found.degrees == pytest.approx(2 * 4 / 5)


def test_the_interval_is_that_of_fieller():
    """Where R is at an end, trace - R |G|^2 is just t of its own deviations from 0."""
    found = noise_estimate.estimate(*parts(np.random.default_rng(7), 30, 4))
    t = student(found.degrees, 0.8)
    for end in found.interval(0.8):
        variance = found.variances[0] - 2 * end * found.variances[1] + end**2 * found.variances[2]
        assert_allclose(abs(found.trace - end * found.grad_sq_norm) / variance**0.5, t)
    assert found.interval(0.5)[0] > found.interval(0.9)[0] and found.interval(0.5)[1] < found.interval(0.9)[1]


def test_where_the_signal_could_be_zero_there_is_only_a_lower_bound():
    found = noise_estimate.estimate([100, 90, 110, 95, 105], [3.0, -2.0, 4.0, -3.0, 2.0])
    low, high = found.interval()
    assert 0 < low < found.noise_scale == 125 and high == np.inf
    assert found.verdict()[0] is False and "only a lower bound" in found.verdict()[1]


def test_rows_that_bound_the_ratio_on_neither_side_are_not_said_to_give_a_bound():
    trace, signal = np.full(16, 60.0), np.ones(16)
    trace[7], signal[7] = 6e5, 1e4
    known, why = noise_estimate.estimate(trace, signal).verdict()
    assert not known and "on either side" in why and "lower bound" not in why


def test_two_rows_have_no_interval():
    assert np.isnan(noise_estimate.estimate([60.0, 61.0], [1.0, 1.1]).interval()).all()
    assert np.isfinite(noise_estimate.estimate([60.0, 61.0, 62.0], [1.0, 1.1, 1.0]).interval()).all()


def test_where_the_mean_signal_is_negative_the_noise_scale_is_not_identified():
    found = noise_estimate.estimate([100, 90, 110, 95, 105], [3.0, -4.0, 4.0, -5.0, 1.0])
    assert np.isnan(found.noise_scale) and found.interval()[1] == np.inf and found.interval()[0] > 0
    assert found.verdict()[0] is False and "not identified" in found.verdict()[1]
    impossible = noise_estimate.estimate([100, 90, 110, 95, 105], [-3.0, -3.1, -2.9, -3.2, -3.0])
    assert np.isnan(impossible.interval()).all() and np.isnan(impossible.noise_scale)


def test_where_the_noise_could_be_zero_there_is_only_an_upper_bound():
    found = noise_estimate.estimate([1.0, -1.0, 2.0, -1.0], [5.0, 5.1, 4.9, 5.0])
    assert found.interval()[0] == 0 and 0 < found.interval()[1] < np.inf
    assert "only an upper bound" in found.verdict()[1]


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_fewer_than_three_rows_give_no_verdict(rows):
    identified, why = noise_estimate.estimate([2.0] * rows, [1.0] * rows).verdict()
    assert not identified and why.endswith(f"got {rows}.")


def test_rows_without_scatter_give_the_ratio_itself():
    found = noise_estimate.estimate([6.0] * 5, [2.0] * 5)
    assert found.noise_scale == 3
    assert_allclose(found.interval(), 3)


def test_the_scale_of_the_gradient_and_the_unit_of_the_batch_change_nothing_else():
    trace, grad_sq_norm = parts(np.random.default_rng(8), 30, 4)
    found = noise_estimate.estimate(trace, grad_sq_norm)
    scaled = noise_estimate.estimate(
        trace * 1e14 * 64, grad_sq_norm * 1e14
    )  # an unremoved loss scale, and 64 tokens a sequence
    assert_allclose(scaled.interval(), 64 * np.array(found.interval()))
    assert_allclose(scaled.noise_scale, 64 * found.noise_scale)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([1, 2], [1]), "grad_sq_norm must be as long as trace, got 1 for 2"),
        (([1, np.nan], [1, 2]), "trace must be finite, got "),
        (([1, 2], [1, np.inf]), "grad_sq_norm must be finite, got "),
        (([1, 2], [1, 2], [1, 0]), r"weights must be a positive number for each of the 2 rows, got \[1, 0\]"),
        (([1, 2], [1, 2], [1]), "weights must be a positive number for each of the 2 rows"),
    ],
)
def test_unusable_rows_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        noise_estimate.estimate(*arguments)


def test_a_trace_of_zero_is_not_blamed_on_the_gradient():
    identified, why = noise_estimate.estimate([0.0] * 5, [1.0] * 5).verdict()
    assert not identified and why.startswith("The mean of tr(Sigma) is not positive")


@pytest.mark.parametrize("relative_error", [0.5, 4])
def test_the_deviation_of_the_average_is_that_of_repeated_draws(relative_error):
    drawn = parts(np.random.default_rng(12), (1_000, 60), relative_error)
    found = [noise_estimate.estimate(*pair) for pair in zip(*drawn, strict=True)]
    spread = np.std([one.noise_scale for one in found]) / 200
    assert_allclose(np.median([one.relative_deviation for one in found]), spread, rtol=0.08)


def test_the_rows_needed_make_the_average_as_sure_as_wanted():
    rng = np.random.default_rng(13)
    found = [noise_estimate.estimate(*pair) for pair in zip(*parts(rng, (400, 60), 4), strict=True)]
    need = round(float(np.median([one.rows_needed(0.02) for one in found])))
    assert need > 60
    drawn = parts(rng, (1_000, need), 4)
    assert_allclose(np.std(drawn[0].mean(axis=1) / drawn[1].mean(axis=1)) / 200, 0.02, rtol=0.1)


def test_rows_needed_fall_with_the_square_of_the_deviation_and_are_unknown_without_a_noise_scale():
    found = noise_estimate.estimate(*parts(np.random.default_rng(14), 30, 4))
    assert_allclose(found.rows_needed(0.05), 4 * found.rows_needed())
    assert_allclose(found.rows_needed(found.relative_deviation), 30)
    hidden = noise_estimate.estimate([100, 90, 110, 95, 105], [3.0, -4.0, 4.0, -5.0, 1.0])
    assert np.isnan(hidden.relative_deviation) and np.isnan(hidden.rows_needed())
