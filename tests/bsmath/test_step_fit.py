"""The fit of a throughput sweep: parameters, intervals, and what must not bend it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath.step_fit import fit_step_time, fit_unweighted
from bsmath.throughput import tokens_per_second

# The worked case of one H200: t_fixed .05 s, plateau 136,700 tokens/s, sequences of 2,048.
FIXED, LIMIT = 0.05, 136_700
SWEEP = np.array([1, 2, 4, 8, 16, 32, 64]) * 2048.0
# BLOOM, 384 A100: TFLOP/s per device at a global batch in sequences (bigscience, tr11-176B chronicles).
BLOOM = ([16, 192, 512, 2048], [8.04, 73, 113, 149.8])


def noisy(seed: int, sizes=SWEEP, spread=0.03) -> np.ndarray:
    random = np.random.default_rng(seed)
    return tokens_per_second(sizes, FIXED, LIMIT) * np.exp(random.normal(0, spread, len(sizes)))


def test_fit_recovers_noiseless_parameters():
    fit = fit_step_time(SWEEP, tokens_per_second(SWEEP, FIXED, LIMIT))
    assert_allclose([fit.fixed_time, fit.plateau, fit.half_batch], [FIXED, LIMIT, 6835], rtol=1e-6)
    assert not fit.broken and not fit.beyond and not fit.curved


def test_fit_by_relative_error_finds_bloom_s_half_batch():
    fit = fit_step_time(*BLOOM)
    assert 181 < fit.plateau < 182 and 325 < fit.half_batch < 328


def test_unweighted_fit_gives_the_published_bloom_curve():
    plateau, half = fit_unweighted(*BLOOM)
    assert_allclose([plateau, half], [168.5, 253.1], rtol=1e-3)
    assert_allclose(plateau * np.array(BLOOM[0]) / (np.array(BLOOM[0]) + half), [10.0, 72.7, 112.8, 150.0], atol=0.06)


def test_unweighted_fit_recovers_noiseless_parameters():
    assert_allclose(fit_unweighted(SWEEP, tokens_per_second(SWEEP, FIXED, LIMIT)), (LIMIT, 6835), rtol=1e-5)


def test_ninety_percent_interval_covers_the_truth_in_87_to_93_percent_of_sweeps():
    random = np.random.default_rng(20261201)
    truth = {"fixed_time": FIXED, "plateau": LIMIT, "half_batch": FIXED * LIMIT}
    covered = dict.fromkeys(truth, 0)
    for _ in range(3000):
        rates = tokens_per_second(SWEEP, FIXED, LIMIT) * np.exp(random.normal(0, 0.03, SWEEP.size))
        intervals = fit_step_time(SWEEP, rates).interval(0.90)
        for name, value in truth.items():
            covered[name] += intervals[name][0] <= value <= intervals[name][1]
    assert all(2610 <= count <= 2790 for count in covered.values()), covered


@pytest.mark.parametrize("at", range(SWEEP.size - 1))
def test_one_broken_point_does_not_move_the_fit(at):
    rates = noisy(7, spread=0.01)
    clean = fit_step_time(np.delete(SWEEP, at), np.delete(rates, at))
    rates[at] *= 0.4
    fit = fit_step_time(SWEEP, rates)
    assert fit.broken == (SWEEP[at],)
    assert_allclose(list(fit.parameters.values()), list(clean.parameters.values()), rtol=1e-6)


@pytest.mark.parametrize("at", range(SWEEP.size))
def test_a_tenfold_typing_error_does_not_move_the_fit(at):
    rates = noisy(8, spread=0.01)
    rates[at] *= 10
    fit = fit_step_time(SWEEP, rates)
    assert fit.broken == (SWEEP[at],)
    assert_allclose(fit.plateau, LIMIT, rtol=0.05)


def test_a_cold_first_repeat_does_not_move_the_fit():
    rates = np.repeat(tokens_per_second(SWEEP, FIXED, LIMIT), 3)
    rates[0] /= 5
    fit = fit_step_time(np.repeat(SWEEP, 3), rates)
    assert_allclose(fit.plateau, LIMIT, rtol=1e-6)
    assert not fit.broken


def test_a_sweep_that_falls_is_fitted_up_to_its_best_batch():
    rates = tokens_per_second(SWEEP, FIXED, LIMIT)
    rates[-2:] *= [0.9, 0.7]
    fit = fit_step_time(SWEEP, rates)
    assert fit.beyond == tuple(SWEEP[-2:])
    assert_allclose([fit.fall, fit.plateau], [1 - rates[-1] / rates[-3], LIMIT], rtol=1e-6)


def test_noise_on_a_plateau_is_no_fall():
    for seed in range(40):
        assert fit_step_time(SWEEP * 64, noisy(seed, SWEEP * 64, 0.01)).fall == 0


def test_costs_that_hide_each_other_are_fitted_by_the_curve():
    sizes = np.geomspace(1e3, 1e6, 9)
    time = ((0.05**4 + (sizes / LIMIT) ** 4) ** 0.25) * np.exp(np.random.default_rng(3).normal(0, 0.01, 9))
    fit = fit_step_time(sizes, sizes / time)
    assert fit.curved
    assert_allclose([fit.fixed_time, fit.plateau], [0.05, LIMIT], rtol=0.03)
    assert_allclose(fit.half_batch, 0.05 * LIMIT * 15**-0.25, rtol=0.05)  # u^4 + 1 = (2u)^4
    low, high = fit.interval()["plateau"]
    assert low < LIMIT < high


def test_a_straight_sweep_is_rarely_called_curved():
    sizes = np.geomspace(2048, 2**20, 9)
    assert sum(fit_step_time(sizes, noisy(seed, sizes)).curved for seed in range(200)) <= 14


def test_fixed_time_at_a_batch_gives_the_fitted_step_time_there():
    fit = fit_step_time(SWEEP, noisy(2))
    assert_allclose(fit.fixed_time_at(8192.0) + 8192 / fit.plateau, 8192 / fit.predict(8192.0))
    assert_allclose(fit.fixed_time_at(8192.0), fit.fixed_time)


def test_doubling_gains_half_where_the_batch_is_half_the_knee_s():
    fit = fit_step_time(SWEEP, tokens_per_second(SWEEP, FIXED, LIMIT))
    assert_allclose(fit.doubling_gain(6835 / 2), 0.5, rtol=1e-4)
    assert_allclose(fit.doubling_gain(6835.0), 1 / 3, rtol=1e-4)  # from 1/2 to 2/3 of the plateau


def test_doubling_s_interval_holds_the_gain_and_shrinks_with_the_batch():
    fit = fit_step_time(SWEEP, noisy(5))
    gain, low, high = fit.doubling_gain(16_384)
    assert low < gain < high < fit.doubling_gain(2048)[2]


def test_doubling_is_unbounded_by_data_that_never_saturate():
    fit = fit_step_time(
        SWEEP, tokens_per_second(SWEEP, 100.0, LIMIT) * np.array([1.02, 0.97, 1.01, 0.99, 1.02, 0.98, 1])
    )
    assert_allclose(fit.doubling_gain(131_072)[2], 1)


def test_band_covers_the_fitted_rate():
    fit = fit_step_time(SWEEP, noisy(2))
    low, high = fit.band(SWEEP)
    assert ((low < fit.predict(SWEEP)) & (fit.predict(SWEEP) < high)).all()


def test_unusable_rates_are_named():
    with pytest.raises(ValueError, match="tokens_per_second must be positive and finite, got"):
        fit_step_time([1, 2, 3], [10, 0, 20])


def test_a_slow_last_batch_is_a_knee_and_no_accident():
    sizes = np.geomspace(1e3, 1e6, 8)
    time = np.maximum(3.0, sizes / 1e5) * np.exp(np.random.default_rng(9).normal(0, 0.01, 8))
    assert sizes[-1] not in fit_step_time(sizes, sizes / time).broken


def test_two_falling_batches_of_four_are_a_fall():
    assert fit_step_time([1, 2, 4, 8], [50, 66, 64, 60]).fall == pytest.approx(6 / 66)
