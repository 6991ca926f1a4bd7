import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import logcurve, logline

X = np.geomspace(1e3, 1e6, 9)


@pytest.mark.parametrize("power", [0.5, 1, 2, 6])
def test_fit_recovers_noiseless_parameters(power):
    y = (0.05**power + (X / 2e5) ** power) ** (1 / power)
    found = logcurve.fit(X, y)
    assert_allclose([found.intercept, found.slope, found.power], [0.05, 1 / 2e5, power], rtol=1e-5)
    assert_allclose(found.predict(X), y, rtol=1e-8)


def test_power_one_is_the_straight_line():
    y = (0.05 + X / 2e5) * np.exp(np.random.default_rng(1).normal(0, 0.02, X.size))
    line = logline.fit(X, y)
    assert logcurve.fit(X, y).ssr <= line.ssr
    assert_allclose(np.exp(logcurve.bend(line.ratio * X, 1)) * line.intercept, line.predict(X))


def test_half_way_runs_from_one_to_a_half():
    assert_allclose(logcurve.half_way(np.array([1.0, 20.0])), [1, 0.5], rtol=1e-6)
    u = logcurve.half_way(3.0)
    assert_allclose((1 + u**3) ** (1 / 3), 2 * u)


def test_ninety_percent_interval_covers_the_truth_in_86_to_94_percent_of_sweeps():
    # 400 draws scatter by 1.5 points; the power is part of the fit.
    random = np.random.default_rng(4)
    truth = {"intercept": 0.05, "slope": 1 / 2e5, "half": logcurve.half_way(3.0) * 0.05 * 2e5}
    covered = dict.fromkeys(truth, 0)
    clean = (0.05**3 + (X / 2e5) ** 3) ** (1 / 3)
    for _ in range(400):
        bounds = logcurve.fit(X, clean * np.exp(random.normal(0, 0.03, X.size))).interval()
        for name, value in truth.items():
            covered[name] += bounds[name][0] <= value <= bounds[name][1]
    assert all(344 <= count <= 376 for count in covered.values()), covered


@pytest.mark.parametrize("module", [logline, logcurve])
def test_deleted_is_the_misfit_of_the_fit_without_each_point(module):
    y = (0.05**2 + (X / 2e5) ** 2) ** 0.5 * np.exp(np.random.default_rng(6).normal(0, 0.05, X.size))
    y[4] *= 3
    without = module.deleted(X, np.log(y))
    refitted = [module.fit(np.delete(X, i), np.delete(y, i)).ssr for i in range(X.size)]
    assert np.argmin(without) == np.argmin(refitted) == 4
    assert_allclose(without, refitted, rtol=0.12)
