import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath.critical import steps_to_target
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.hyperbola_verdict import verdict

# Steps to a loss at 64 to 16,384 sequences of 512 tokens (Zhang et al. 2024, arXiv 2410.21676, the authors' MIT-licensed
# notebook) and B_crit in sequences as refitted in log space.
PUBLISHED = [
    ([46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600], 2191, 1294),
    ([96000, 49000, 24000, 12000, 7128, 4350, 2940, 2400, 2300], 3240, 1752),
    ([196000, 90000, 46000, 23400, 13300, 7224, 4980, 3400, 2879], 5433, 2095),
    ([311000, 166000, 81000, 37440, 21320, 11400, 7199, 4700, 3800], 7907, 2460),
    ([642000, 331000, 176000, 94000, 46500, 25000, 15360, 8900, 6500], 11131, 3897),
]
SEQUENCES = 2.0 ** np.arange(6, 15)
BATCHES = np.array([0.1, 0.3, 1, 3, 10, 30]) * 1e6


@pytest.mark.parametrize("steps, knee, least", PUBLISHED)
def test_fit_reproduces_published_sweeps(steps, knee, least):
    fit = fit_hyperbola(SEQUENCES, steps)
    assert_allclose(fit.critical_batch_size, knee, rtol=5e-4)
    assert_allclose(fit.min_steps, least, rtol=5e-4)
    low, high = fit.interval(0.95)["critical_batch_size"]
    assert 0.80 < low / knee < 0.90 and 1.10 < high / knee < 1.25  # the width is about 15 %
    assert verdict(fit)[0]


def test_fit_recovers_noiseless_parameters():
    fit = fit_hyperbola(BATCHES, steps_to_target(BATCHES, 2e6, 1e4))
    assert_allclose([fit.critical_batch_size, fit.min_steps, fit.min_tokens], [2e6, 1e4, 2e10], rtol=1e-6)
    assert_allclose(fit.predict(BATCHES), steps_to_target(BATCHES, 2e6, 1e4), rtol=1e-6)


def test_ninety_percent_interval_covers_the_truth_in_87_to_93_percent_of_sweeps():
    random = np.random.default_rng(20261201)
    truth = {"critical_batch_size": 2e6, "min_steps": 1e4, "min_tokens": 2e10}
    covered = dict.fromkeys(truth, 0)
    for _ in range(3000):
        noise = np.exp(random.normal(0, 0.05, BATCHES.size))
        intervals = fit_hyperbola(BATCHES, steps_to_target(BATCHES, 2e6, 1e4) * noise).interval(0.90)
        for name, value in truth.items():
            covered[name] += intervals[name][0] <= value <= intervals[name][1]
    assert all(2610 <= count <= 2790 for count in covered.values()), covered


def test_band_covers_the_fitted_curve_and_widens_beyond_the_data():
    random = np.random.default_rng(1)
    fit = fit_hyperbola(BATCHES, steps_to_target(BATCHES, 2e6, 1e4) * np.exp(random.normal(0, 0.05, BATCHES.size)))
    inside, outside = np.array([1e6]), np.array([1e9])
    low, high = fit.band(inside)
    assert low < fit.predict(inside) < high
    far_low, far_high = fit.band(outside)
    assert far_high / far_low > high / low


def test_one_absurd_repeat_does_not_move_the_fit():
    batch = np.repeat(BATCHES, 3)
    steps = steps_to_target(batch, 2e6, 1e4)
    steps[4] *= 10
    assert_allclose(fit_hyperbola(batch, steps).critical_batch_size, 2e6, rtol=1e-4)


def test_batches_left_of_the_least_tokens_are_left_out():
    steps = steps_to_target(BATCHES, 2e6, 1e4)
    steps[0] *= 1.5
    fit = fit_hyperbola(BATCHES, steps)
    assert fit.left == (1e5,)
    assert_allclose(fit.critical_batch_size, 2e6, rtol=1e-5)
    assert_allclose(fit.used, BATCHES[1:])
    assert fit.cheapest[0] == pytest.approx(3e5)
    assert_allclose(fit.tokens, BATCHES * steps)


def test_one_contradicting_batch_is_left_out_and_named():
    batch = 2.0 ** np.arange(-3, 6) * 2e6
    steps = steps_to_target(batch, 2e6, 1e4) * np.exp(np.random.default_rng(3).normal(0, 0.02, 9))
    clean = fit_hyperbola(batch, steps).critical_batch_size
    steps[4] *= 1.8
    fit = fit_hyperbola(batch, steps)
    assert fit.broken == (2e6 * 2.0,)
    assert_allclose(fit.critical_batch_size, clean, rtol=0.1)


def test_coarse_evaluations_widen_the_interval_of_a_perfect_fit():
    steps = steps_to_target(BATCHES, 2e6, 1e4)
    fine, coarse = (fit_hyperbola(BATCHES, steps, np.full(6, each)).interval() for each in (1, 5000))
    assert fine["critical_batch_size"][1] / fine["critical_batch_size"][0] < 1.1
    assert coarse["critical_batch_size"][1] / coarse["critical_batch_size"][0] > 1.5


def test_evaluations_finer_than_the_scatter_change_nothing():
    steps = steps_to_target(BATCHES, 2e6, 1e4) * np.exp(np.random.default_rng(5).normal(0, 0.1, 6))
    assert fit_hyperbola(BATCHES, steps, np.full(6, 10)).interval() == fit_hyperbola(BATCHES, steps).interval()


def test_a_run_stopped_where_the_curve_is_lower_anyway_changes_nothing():
    steps = steps_to_target(BATCHES, 2e6, 1e4) * np.exp(np.random.default_rng(5).normal(0, 0.05, 6))
    plain = fit_hyperbola(BATCHES, steps)
    stopped = fit_hyperbola(BATCHES, steps, stopped=([1e5], [50_000]))  # 210,000 are needed there
    assert_allclose(stopped.critical_batch_size, plain.critical_batch_size)
    assert_allclose(stopped.interval()["min_steps"], plain.interval()["min_steps"], rtol=1e-6)


def test_a_run_stopped_above_the_curve_raises_it_there():
    batch = np.array([1e5, 2e5, 4e5, 8e5])  # far below the knee: no bend shows
    steps = steps_to_target(batch, 1e7, 1e4) * np.array([1.02, 0.98, 1.01, 0.99])
    plain = fit_hyperbola(batch, steps)
    bound = fit_hyperbola(batch, steps, stopped=([1e7], [20_000]))  # the truth there: 20,000 steps
    assert bound.predict(1e7) > 0.95 * 20_000 > plain.predict(1e7)
    assert bound.interval()["min_steps"][0] > plain.interval()["min_steps"][0]
    assert bound.interval()["critical_batch_size"][1] < plain.interval()["critical_batch_size"][1]


def test_a_run_stopped_left_of_a_u_says_nothing_of_the_hyperbola():
    steps = steps_to_target(BATCHES, 2e6, 1e4)
    steps[0] *= 1.5
    fit = fit_hyperbola(BATCHES, steps, stopped=([5e4], [1e7]))
    assert_allclose(fit.critical_batch_size, 2e6, rtol=1e-5)


def test_batches_that_rounding_alone_tells_apart_are_one():
    steps = steps_to_target(BATCHES, 2e6, 1e4)
    batch = np.append(BATCHES, np.nextafter(BATCHES[2], 0))
    fit = fit_hyperbola(batch, np.append(steps, steps[2]))
    assert_allclose(fit.critical_batch_size, 2e6, rtol=1e-5)
    assert fit.batch.size == 6


def test_joint_region_holds_the_truth_in_87_to_93_percent_of_sweeps():
    random, inside = np.random.default_rng(7), 0
    for _ in range(1000):
        fit = fit_hyperbola(BATCHES, steps_to_target(BATCHES, 2e6, 1e4) * np.exp(random.normal(0, 0.05, 6)))
        knee, low, high = fit.joint()
        if knee[0] <= 2e6 <= knee[-1]:
            inside += np.interp(2e6, knee, low) <= 1e4 <= np.interp(2e6, knee, high)
    assert 870 <= inside <= 930


def test_joint_region_reaches_beyond_the_interval_of_each_alone():
    fit = fit_hyperbola(
        BATCHES, steps_to_target(BATCHES, 2e6, 1e4) * np.exp(np.random.default_rng(1).normal(0, 0.05, 6))
    )
    knee, low, high = fit.joint()
    alone = fit.interval()
    assert knee[0] < alone["critical_batch_size"][0] and knee[-1] > alone["critical_batch_size"][1]
    assert low.min() < alone["min_steps"][0] and high.max() > alone["min_steps"][1]


@pytest.mark.parametrize(
    "batch, steps, message",
    [
        ([1e5, 0], [10, 5], "tokens_per_step must be positive and finite, got"),
        ([1e5, 1e6], [10, np.inf], "steps must be positive and finite, got"),
        ([1e5, 1e5], [10, 5], "tokens_per_step must hold at least two different values, got 1"),
        ([1e5, 1e6, 1e7], [10, 5], "steps must be as long as tokens_per_step, got 2 for 3"),
    ],
)
def test_unusable_data_are_named(batch, steps, message):
    with pytest.raises(ValueError, match=message):
        fit_hyperbola(batch, steps)
