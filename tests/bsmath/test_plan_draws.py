import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath.critical import steps_to_target
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.plan_draws import COUNT, draws, hyperbola_draws, step_draws
from bsmath.step_fit import fit_step_time
from bsmath.throughput import step_time

KNEE, LEAST = 2e6, 1e4
FIXED, PLATEAU = 0.05, 1e6
BATCHES = np.geomspace(1e5, 3e7, 8)
SIZES = np.geomspace(5e3, 1e6, 8)


def measured_steps(random, batches=BATCHES, scatter=0.05):
    return steps_to_target(batches, KNEE, LEAST) * np.exp(random.normal(0, scatter, batches.size))


def measured_rates(random, sizes=SIZES, scatter=0.03):
    return sizes / (step_time(sizes, FIXED, PLATEAU) * np.exp(random.normal(0, scatter, sizes.size)))


@pytest.mark.parametrize("count", [5, 8, 12])
def test_quantiles_of_the_draws_are_the_ends_of_the_profile_intervals(count):
    random = np.random.default_rng(count)
    batches = np.geomspace(1e5, 3e7, count)
    for _ in range(10):
        fit = fit_hyperbola(batches, measured_steps(random, batches))
        drawn = hyperbola_draws(fit, 4096).eval("min_tokens = critical_batch_size * min_steps")
        for name, ends in fit.interval().items():
            assert_allclose(drawn[name].quantile([0.05, 0.95]), ends, rtol=0.01)


@pytest.mark.parametrize("level", [0.5, 0.98])
def test_the_draws_agree_with_the_intervals_at_other_levels_too(level):
    fit = fit_hyperbola(BATCHES, measured_steps(np.random.default_rng(3)))
    tails = [(1 - level) / 2, (1 + level) / 2]
    for name, values in hyperbola_draws(fit, 4096).items():
        assert_allclose(values.quantile(tails), fit.interval(level)[name], rtol=0.01)


def test_the_draws_of_a_step_time_agree_with_its_intervals():
    fit = fit_step_time(SIZES, measured_rates(np.random.default_rng(4)))
    drawn = step_draws(fit, 4096).eval("half_batch = fixed_time * plateau")
    for name, ends in fit.interval().items():
        assert_allclose(drawn[name].quantile([0.05, 0.95]), ends, rtol=0.01)


def test_the_usual_number_of_draws_knows_the_ends_of_a_band_to_two_percent_of_its_width():
    fit = fit_hyperbola(BATCHES, measured_steps(np.random.default_rng(3)))
    for name, (low, high) in fit.interval().items():
        if name != "min_tokens":
            ends = hyperbola_draws(fit, COUNT)[name].quantile([0.05, 0.95])
            assert_allclose(ends, [low, high], atol=0.02 * (high - low))


def test_a_larger_critical_batch_comes_with_fewer_least_steps():
    drawn = hyperbola_draws(fit_hyperbola(BATCHES, measured_steps(np.random.default_rng(5))))
    assert drawn.corr(method="spearman").iloc[0, 1] < -0.5


def test_a_longer_fixed_time_comes_with_a_higher_plateau():
    drawn = step_draws(fit_step_time(SIZES, measured_rates(np.random.default_rng(5))))
    assert drawn.corr(method="spearman").iloc[0, 1] > 0.2


def test_both_fits_are_drawn_independently():
    random = np.random.default_rng(6)
    steps = hyperbola_draws(fit_hyperbola(BATCHES, measured_steps(random)))
    times = step_draws(fit_step_time(SIZES, measured_rates(random)))
    together = steps.join(times).corr(method="spearman")
    assert together.loc[steps.columns, times.columns].abs().to_numpy().max() < 0.05


def test_noiseless_data_give_a_point():
    drawn = step_draws(fit_step_time(SIZES, SIZES / step_time(SIZES, FIXED, PLATEAU)))
    assert_allclose(drawn["fixed_time"], FIXED, rtol=1e-5)
    assert_allclose(drawn["plateau"], PLATEAU, rtol=1e-5)


def test_coarse_evaluations_spread_the_draws_of_a_perfect_fit_as_wide_as_its_interval():
    fit = fit_hyperbola(BATCHES, steps_to_target(BATCHES, KNEE, LEAST), np.full(8, 2000))
    drawn = hyperbola_draws(fit, 4096)
    assert fit.line.ssr < 1e-12 and fit.line.floor > 0.04
    for name, values in drawn.items():
        assert_allclose(values.quantile([0.05, 0.95]), fit.interval()[name], rtol=0.01)


def test_a_stopped_run_moves_the_draws_as_it_moves_the_interval():
    batches = np.geomspace(1e5, 3e6, 6)
    steps = measured_steps(np.random.default_rng(1), batches)
    plain = fit_hyperbola(batches, steps)
    bound = fit_hyperbola(batches, steps, stopped=([3e7], [1.05 * plain.predict(3e7)]))
    assert bound.min_steps > plain.min_steps
    for name, values in hyperbola_draws(bound, 4096).items():
        assert_allclose(values.quantile([0.05, 0.95]), bound.interval()[name], rtol=0.02)


@pytest.mark.parametrize("power", [3, 0.6])
def test_a_curve_is_drawn_within_its_own_intervals(power):
    sizes = np.geomspace(1e3, 1e6, 10)
    times = (FIXED**power + (sizes / PLATEAU) ** power) ** (1 / power)
    times *= np.exp(np.random.default_rng(0).normal(0, 0.01, 10))
    fit = fit_step_time(sizes, sizes / times)
    assert fit.curved
    for name, values in step_draws(fit, 4096).items():
        assert_allclose(values.quantile([0.05, 0.95]), fit.interval()[name], rtol=0.01)


def test_the_draws_are_the_same_every_time():
    line = fit_hyperbola(BATCHES, measured_steps(np.random.default_rng(8))).line
    assert all(map(np.array_equal, draws(line), draws(line)))


def test_sweeps_without_a_bend_are_refused_with_the_reason():
    batches = np.geomspace(1e3, 1e4, 6)
    fit = fit_hyperbola(batches, measured_steps(np.random.default_rng(1), batches))
    with pytest.raises(ValueError, match=r"must be bounded on both sides by the data, got \(.*inf\): [A-Z]"):
        hyperbola_draws(fit)
    sizes = np.geomspace(10, 100, 6)
    with pytest.raises(ValueError, match="must be bounded on both sides .* Overhead-bound"):
        step_draws(fit_step_time(sizes, measured_rates(np.random.default_rng(1), sizes)))


def test_two_batches_are_refused():
    with pytest.raises(ValueError, match="must be bounded on both sides"):
        hyperbola_draws(fit_hyperbola([1e5, 1e7], [210_000, 12_000]))


def test_a_number_of_draws_must_be_positive():
    line = fit_hyperbola(BATCHES, measured_steps(np.random.default_rng(8))).line
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        draws(line, 0)
