import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import logline, power_hyperbola
from bsmath.critical import steps_to_target

BATCHES = 2.0 ** np.arange(-4, 6) * 1e6


def line(exponent, noise=0.0, seed=0):
    steps = 1e4 * (1 + (2e6 / BATCHES) ** exponent) * np.exp(np.random.default_rng(seed).normal(0, noise, 10))
    return logline.fit(1 / BATCHES, steps)


@pytest.mark.parametrize("exponent", [0.5, 0.8, 1.0, 1.4, 2.0])
def test_fit_recovers_noiseless_parameters(exponent):
    fit = power_hyperbola.fit(line(exponent))
    assert_allclose([fit.exponent, fit.critical_batch_size, fit.min_steps], [exponent, 2e6, 1e4], rtol=5e-3)
    assert_allclose(fit.predict(BATCHES), 1e4 * (1 + (2e6 / BATCHES) ** exponent), rtol=1e-3)


def test_steps_are_twice_their_least_at_the_critical_batch():
    fit = power_hyperbola.fit(line(0.6, 0.02))
    assert_allclose(fit.predict(fit.critical_batch_size), 2 * fit.min_steps, rtol=1e-6)


def test_a_hyperbola_is_rejected_about_as_often_as_said():
    plain = [line(1.0, 0.05, seed) for seed in range(200)]
    assert sum(power_hyperbola.is_better(power_hyperbola.fit(one), one) for one in plain) <= 18


def test_another_exponent_is_clearly_better_where_it_holds():
    one = line(0.5, 0.02)
    fit = power_hyperbola.fit(one)
    assert power_hyperbola.is_better(fit, one) and fit.chance < 1e-3


def test_published_language_models_keep_an_exponent_near_one():
    # Zhang et al. 2024, arXiv 2410.21676: 85M, steps at 64 to 16,384 sequences; free exponents were 0.97 to 1.08.
    steps = [46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600]
    batch = 2.0 ** np.arange(6, 15)
    one = logline.fit(1 / batch, np.array(steps, float))
    fit = power_hyperbola.fit(one)
    assert 0.95 < fit.exponent < 1.1 and not power_hyperbola.is_better(fit, one)


def test_four_batches_are_too_few():
    batch = BATCHES[:4]
    assert power_hyperbola.fit(logline.fit(1 / batch, steps_to_target(batch, 2e6, 1e4))) is None
