"""The noise scale: published formulas, a Gaussian model of gradients whose truth is known, honest intervals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import noise

BIG, SMALL = 1_024, 64
TRACE, GRAD_SQ_NORM = 68.0, 1.0
SPREAD = np.linspace(0.2, 1.8, 200)  # the eigenvalues of Sigma in the sourced variances: tr(Sigma) = 200


def gradients(rng, steps: int, small_batches: int = 16, tokens_small: int = 8):
    """Squared norms at both batch sizes of drawn gradients: G along the first axis, Sigma = diag(SPREAD)."""
    shards = rng.standard_normal((steps, small_batches, SPREAD.size)) * np.sqrt(SPREAD / tokens_small)
    shards[..., 0] += 1
    return (shards**2).sum(axis=-1).mean(axis=-1), (shards.mean(axis=1) ** 2).sum(axis=-1)


def parts(rng, shape, relative_error: float, small_batches: int = 8):
    """trace and grad_sq_norm of independent steps by their exact laws, |G| = 1, tr(Sigma) = 200 with five eigenvalues.

    |G_big|^2 and the scatter of the small batches around G_big are independent sums of chi squares.
    """
    values, times = np.linspace(0.2, 1.8, 5), 40
    tokens_big = times * values.sum() / relative_error
    tokens_small = tokens_big / small_batches
    big = (1 + np.sqrt(values[0] / tokens_big) * rng.standard_normal(shape)) ** 2
    scatter = 0.0
    for i, value in enumerate(values):
        big += value / tokens_big * rng.chisquare(times - (i == 0), shape)
        scatter += value / tokens_small * rng.chisquare(times * (small_batches - 1), shape)
    norms = (tokens_small, tokens_big, big + scatter / small_batches, big)
    return noise.trace(*norms), noise.grad_sq_norm(*norms)


def intervals(trace, grad_sq_norm, **given) -> np.ndarray:
    return np.array([noise.estimate(*pair, **given).interval() for pair in zip(trace, grad_sq_norm, strict=True)]).T


def covered(trace, grad_sq_norm, truth: float, **given) -> float:
    low, high = intervals(trace, grad_sq_norm, **given)
    return np.mean((low <= truth) & (truth <= high))


def test_two_squared_norms_give_both_parts_back():
    norms = (SMALL, BIG, GRAD_SQ_NORM + TRACE / SMALL, GRAD_SQ_NORM + TRACE / BIG)
    assert norms[2:] == (2.0625, 1.06640625)
    assert_allclose(noise.grad_sq_norm(*norms), GRAD_SQ_NORM)
    assert_allclose(noise.trace(*norms), TRACE)
    assert_allclose(noise.noise_scale(noise.trace(*norms), noise.grad_sq_norm(*norms)), 68)


def test_one_example_a_small_batch_is_the_unbiased_sample_variance():
    rng = np.random.default_rng(0)
    shards = rng.standard_normal((12, 5)) + 1
    small, big = (shards**2).sum(axis=1).mean(), (shards.mean(axis=0) ** 2).sum()
    assert_allclose(noise.trace(1, 12, small, big), shards.var(axis=0, ddof=1).sum())


def test_formulas_broadcast():
    big = np.array([[1.1], [1.2]])
    found = noise.trace(SMALL, BIG, np.array([2.0, 3.0, 4.0]), big)
    assert found.shape == (2, 3)
    assert_allclose(found[1, 2], noise.trace(SMALL, BIG, 4.0, 1.2))
    frame = pd.DataFrame({"trace": [2.0, 6.0], "grad_sq_norm": [1.0, 2.0]})
    assert noise.noise_scale(frame["trace"], frame["grad_sq_norm"]).tolist() == [2, 3]


@pytest.mark.parametrize(
    "tokens_per_step, gain", [(64e3, 0.064 / 1.064), (250e3, 0.2), (1e6, 0.5), (4e6, 0.8), (16e6, 16 / 17)]
)
def test_a_step_gains_half_of_the_most_at_the_noise_scale(tokens_per_step, gain):
    """The inverse of S/S_min in the worked table of the hyperbola with B_crit = 1e6."""
    assert_allclose(noise.improvement(tokens_per_step, 1e6), gain)
    assert_allclose(1 / noise.improvement(tokens_per_step, 1e6) - 1, noise.relative_error(tokens_per_step, 1e6))


def test_the_relative_error_is_one_at_the_noise_scale_and_falls_with_the_batch():
    assert noise.relative_error(1e6, 1e6) == 1
    assert noise.relative_error(4e6, 1e6) == 0.25


def test_deviations_of_one_step_are_the_sourced_ones():
    """d = 200, Sigma = diag(linspace(.2, 1.8)), G along the axis of .2, 16 batches of 8: derived."""
    squares = (SPREAD**2).sum()
    assert_allclose(noise.trace_variance(squares, 16) ** 0.5, 5.693, rtol=1e-3)
    assert_allclose(noise.grad_sq_norm_variance(squares, 16, 128, SPREAD[0]) ** 0.5, 0.1947, rtol=1e-3)
    assert_allclose(noise.covariance(squares, 16, 128), -0.2532, rtol=1e-3)


def test_drawn_gradients_have_these_means_and_deviations():
    small, big = gradients(np.random.default_rng(3), 4_000)
    trace, grad_sq_norm = noise.trace(8, 128, small, big), noise.grad_sq_norm(8, 128, small, big)
    assert_allclose(trace.mean(), 200, rtol=0.002)
    assert_allclose(grad_sq_norm.mean(), 1, rtol=0.012)
    assert_allclose([trace.std(), grad_sq_norm.std()], [5.693, 0.1947], rtol=0.05)
    assert_allclose(np.cov(trace, grad_sq_norm)[0, 1], -0.2532, rtol=0.25)


def test_the_ratio_of_means_recovers_a_known_noise_scale_where_the_mean_of_ratios_is_4_percent_high():
    small, big = gradients(np.random.default_rng(3), 4_000)
    trace, grad_sq_norm = noise.trace(8, 128, small, big), noise.grad_sq_norm(8, 128, small, big)
    found = noise.estimate(trace, grad_sq_norm)
    low, high = found.interval()
    assert low < 200 < high and high / low < 1.02
    assert_allclose(found.noise_scale, 200, rtol=0.01)
    assert_allclose((trace / grad_sq_norm).mean(), 208.8, rtol=0.01)
    assert found.verdict() == (True, "Both parts are clear of zero.")


def test_steps_for_a_wanted_deviation_are_the_sourced_ones():
    """r = 16, n = 8, d_eff = 1,000: the deviation of |G|^2 is 80.57 %, and 10 % takes 64.9 steps."""
    variance = noise.grad_sq_norm_relative_variance(16, 8, 1_000)
    assert_allclose(variance**0.5, 0.8057, rtol=1e-4)
    assert_allclose(noise.steps_needed(variance, 0.10), 64.9, rtol=1e-3)


def test_the_relative_variances_are_the_absolute_ones_where_the_gradient_lies_like_the_noise():
    trace, squares, n, tokens = 200.0, 250.0, 16, 128
    dimension, r = trace**2 / squares, trace / tokens  # |G|^2 = 1
    along = squares / trace
    first, second = noise.trace_variance(squares, n), noise.grad_sq_norm_variance(squares, n, tokens, along)
    assert_allclose(noise.grad_sq_norm_relative_variance(r, n, dimension), second)
    delta = first / trace**2 + second - 2 * noise.covariance(squares, n, tokens) / trace
    assert_allclose(noise.relative_variance(r, n, dimension), delta)


def test_a_smaller_small_batch_makes_the_estimate_surer():
    """Gray et al. 2024: one example a small batch gives the least variance."""
    found = noise.relative_variance(4.0, np.array([2, 4, 8, 64]), 1_000)
    assert (np.diff(found) < 0).all()


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
    whole, averaged = noise.estimate(once[0][0], once[1][0]), noise.estimate(found[0][0], found[1][0], steps)
    assert_allclose(averaged.noise_scale, whole.noise_scale)


def test_a_slow_trend_of_both_parts_neither_widens_the_interval_nor_spoils_its_coverage():
    trace, grad_sq_norm = parts(np.random.default_rng(6), (1_000, 100), 4)
    signal = np.exp(-np.linspace(0, 2, 100))  # |G|^2 and the noise both fall, the noise scale grows as 1/signal
    trended = trace * signal**0.5, grad_sq_norm * signal
    truth = 200 * (signal**0.5).mean() / signal.mean()
    assert 0.87 <= covered(*trended, truth=truth) <= 0.93
    estimated = noise.estimate(trended[0][0], trended[1][0])
    plain = np.array([np.cov(*[part[i] for part in trended])[0, 0] for i in range(20)]).mean() / 100
    differences = np.mean([noise.estimate(trended[0][i], trended[1][i]).variances[0] for i in range(20)])
    assert plain > 20 * differences and estimated.degrees == pytest.approx(66.2, abs=0.1)


def test_means_of_one_row_apart_have_the_variance_of_a_difference():
    """Three rows by hand: differences of trace 2 and -1, of |G|^2 1 and 1; half their products, over 2, over 3."""
    found = noise.estimate([10, 12, 11], [4, 5, 6])
    assert (found.trace, found.grad_sq_norm, found.rows) == (11, 5, 3)
    assert_allclose(found.variances, [(4 + 1) / 2 / 2 / 3, (2 - 1) / 2 / 2 / 3, (1 + 1) / 2 / 2 / 3])
    assert found.degrees == pytest.approx(2 * 4 / 5)


def test_the_interval_is_that_of_fieller():
    """Where R is at an end, trace - R |G|^2 is just t of its own deviations from 0."""
    found = noise.estimate(*parts(np.random.default_rng(7), 30, 4))
    t = noise.student(found.degrees, 0.8)
    for end in found.interval(0.8):
        variance = found.variances[0] - 2 * end * found.variances[1] + end**2 * found.variances[2]
        assert_allclose(abs(found.trace - end * found.grad_sq_norm) / variance**0.5, t)
    assert found.interval(0.5)[0] > found.interval(0.9)[0] and found.interval(0.5)[1] < found.interval(0.9)[1]


def test_where_the_signal_could_be_zero_there_is_only_a_lower_bound():
    found = noise.estimate([100, 90, 110, 95, 105], [3.0, -2.0, 4.0, -3.0, 2.0])
    low, high = found.interval()
    assert 0 < low < found.noise_scale == 125 and high == np.inf
    assert found.verdict()[0] is False and "only a lower bound" in found.verdict()[1]


def test_where_the_mean_signal_is_negative_the_noise_scale_is_not_identified():
    found = noise.estimate([100, 90, 110, 95, 105], [3.0, -4.0, 4.0, -5.0, 1.0])
    assert np.isnan(found.noise_scale) and found.interval()[1] == np.inf and found.interval()[0] > 0
    assert found.verdict()[0] is False and "not identified" in found.verdict()[1]
    impossible = noise.estimate([100, 90, 110, 95, 105], [-3.0, -3.1, -2.9, -3.2, -3.0])
    assert np.isnan(impossible.interval()).all() and np.isnan(impossible.noise_scale)


def test_where_the_noise_could_be_zero_there_is_only_an_upper_bound():
    found = noise.estimate([1.0, -1.0, 2.0, -1.0], [5.0, 5.1, 4.9, 5.0])
    assert found.interval()[0] == 0 and 0 < found.interval()[1] < np.inf
    assert "only an upper bound" in found.verdict()[1]


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_fewer_than_three_rows_give_no_verdict(rows):
    identified, why = noise.estimate([2.0] * rows, [1.0] * rows).verdict()
    assert not identified and why.endswith(f"there are {rows}.")


def test_rows_without_scatter_give_the_ratio_itself():
    found = noise.estimate([6.0] * 5, [2.0] * 5)
    assert found.noise_scale == 3
    assert_allclose(found.interval(), 3)


def test_the_scale_of_the_gradient_and_the_unit_of_the_batch_change_nothing_else():
    trace, grad_sq_norm = parts(np.random.default_rng(8), 30, 4)
    found = noise.estimate(trace, grad_sq_norm)
    scaled = noise.estimate(trace * 1e14 * 64, grad_sq_norm * 1e14)  # an unremoved loss scale, and 64 tokens a sequence
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
        noise.estimate(*arguments)


def log(trace, grad_sq_norm, **columns) -> pd.DataFrame:
    return pd.DataFrame(
        {"tokens": np.arange(1.0, len(trace) + 1), "trace": trace, "grad_sq_norm": grad_sq_norm} | columns
    )


def test_smoothing_is_the_ratio_of_the_averages_around_each_row():
    found = noise.smoothed(log([8.0, 4.0, 3.0, 1.0], [1.0, 2.0, 3.0, 4.0]), rows=3)
    assert_allclose(found["trace"], [6, 5, 8 / 3, 2])
    assert_allclose(found["grad_sq_norm"], [1.5, 2, 3, 3.5])
    assert_allclose(found["noise_scale"], found["trace"] / found["grad_sq_norm"])
    assert list(found.columns) == ["tokens", "noise_scale", "low", "high", "grad_sq_norm", "trace"]


def test_smoothing_forgets_a_huge_first_row():
    found = noise.smoothed(log([2.0] * 8, [1e6] + [1.0] * 7), rows=5)
    assert_allclose(found["noise_scale"].iloc[3:], 2, rtol=1e-6)


def test_the_smoothed_interval_is_that_of_the_rows_around():
    trace, grad_sq_norm = parts(np.random.default_rng(9), 40, 0.5)
    found = noise.smoothed(log(trace, grad_sq_norm), rows=9)
    whole = noise.estimate(trace[16:25], grad_sq_norm[16:25])
    assert_allclose(found.loc[20, ["low", "high"]].astype(float), whole.interval(), rtol=1e-6)
    first = noise.estimate(trace[:5], grad_sq_norm[:5])
    assert_allclose(found.loc[0, ["low", "high"]].astype(float), first.interval(), rtol=1e-6)


def test_a_window_of_one_row_is_that_row_without_an_interval():
    trace, grad_sq_norm = parts(np.random.default_rng(10), 25, 0.5)
    alone = noise.smoothed(log(trace, grad_sq_norm), rows=1)
    assert_allclose(alone["noise_scale"], trace / grad_sq_norm)
    assert alone["low"].isna().all()


def test_smoothing_weighs_rows_by_their_steps():
    found = noise.smoothed(log([2.0, 8.0], [1.0, 1.0], steps_averaged=[3, 1]), rows=3)
    assert_allclose(found["trace"].iloc[-1], (3 * 2 + 8) / 4)


def test_smoothing_is_not_identified_where_the_averaged_signal_is_negative():
    found = noise.smoothed(log([5.0, 5.0, 5.0, 5.0], [1.0, -3.0, -1.0, 9.0]), rows=1)
    assert found["noise_scale"].isna().tolist() == [False, True, True, False]
    assert len(noise.smoothed(log([], []))) == 0


@pytest.mark.parametrize("rows", [0, 2, -1])
def test_a_window_without_a_middle_is_refused(rows):
    with pytest.raises(ValueError, match=f"rows must be an odd number from 1, got {rows}"):
        noise.smoothed(log([1.0], [1.0]), rows=rows)


def test_a_trace_of_zero_is_not_blamed_on_the_gradient():
    identified, why = noise.estimate([0.0] * 5, [1.0] * 5).verdict()
    assert not identified and why.startswith("The mean of tr(Sigma) is not positive")
