"""Useful tokens under a critical batch that moves: the hyperbola of flat batches, gamma, and the schedules that follow it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import critical, progress, ramp

USEFUL, KNEE = 5e10, 1e6
COURSE = progress.leveled(
    ramp.through(USEFUL * np.geomspace(1e-6, 10, 8), (USEFUL * np.geomspace(1e-6, 10, 8)) ** 0.47), USEFUL, KNEE
)


def power_course(exponent):
    """B_n = c s^p over full-batch steps s; u = c s^(p+1)/(p+1), so that B_n is a power p/(p+1) of u."""
    power = exponent / (exponent + 1)
    return ramp.through([1e-12, 1.0], [1e-12**power, 1.0])


@pytest.mark.parametrize("exponent, gamma", [(0.5, 0.96), (1, 8 / 9), (2, 0.75)])
def test_gamma_of_a_noise_scale_that_grows_as_a_power_of_steps(exponent, gamma):
    assert_allclose((1 + exponent) / (1 + exponent / 2) ** 2, gamma)  # the closed form
    assert_allclose(progress.gamma(power_course(exponent), 1.0), gamma, rtol=2e-4)


def test_gamma_is_one_under_a_constant_critical_batch():
    assert_allclose(progress.gamma(ramp.flat(KNEE), USEFUL), 1)


@pytest.mark.parametrize("batch", [1e4, 1e5, 1e6, 3e7])
def test_a_flat_batch_lies_on_the_hyperbola_whatever_the_course(batch):
    done = progress.to_target(ramp.flat(batch), COURSE, USEFUL)
    assert_allclose(done.tokens, critical.tokens_to_target(batch, KNEE, USEFUL / KNEE), rtol=1e-9)
    assert_allclose(done.steps, critical.steps_to_target(batch, KNEE, USEFUL / KNEE), rtol=1e-9)


def test_a_leveled_course_has_the_asked_harmonic_mean():
    assert_allclose(progress.critical_batch(COURSE, USEFUL), KNEE)


def test_the_square_root_rule_has_both_overheads_of_the_paper():
    """gamma = 0.96: both overheads are 1 + sqrt(gamma) = 1.9798 (McCandlish et al. 2018, eq. D.3 to D.5)."""
    course = progress.leveled(power_course(0.5), 1.0, 1e-3)
    done = progress.to_target(progress.adaptive(course, 1.0, 1.0, 0, np.inf), course, 1.0)
    assert_allclose([done.steps / 1e3, done.tokens], 1.9798, rtol=1e-3)


@pytest.mark.parametrize("factor", [0.2, 1, 5])
def test_the_square_root_rule_reaches_the_frontier_at_any_exchange_rate(factor):
    done = progress.to_target(progress.adaptive(COURSE, USEFUL, factor, 0, np.inf), COURSE, USEFUL)
    product = (done.steps * KNEE / USEFUL - 1) * (done.tokens / USEFUL - 1)
    assert_allclose(product, progress.gamma(COURSE, USEFUL), rtol=3e-3)


@pytest.mark.parametrize("factor", [0.25, 1, 4])
def test_a_batch_in_proportion_to_the_critical_one_wastes_the_same_share_throughout(factor):
    """E = (1 + k) E_min and S = (1 + 1/k) S_min, whatever the course: as if B_crit were constant."""
    done = progress.to_target(progress.proportional(COURSE, USEFUL, factor, 0, np.inf), COURSE, USEFUL)
    assert_allclose(done.tokens, (1 + factor) * USEFUL, rtol=2e-3)
    assert_allclose(done.steps, (1 + 1 / factor) * USEFUL / KNEE, rtol=2e-3)


@pytest.mark.parametrize(
    "made",
    [
        ramp.linear_tokens(1e5, 4e6, 2e10),
        ramp.staircase([0, 1e9, 2e10], [1e5, 1e6, 3e6]),
        progress.doubling(COURSE, USEFUL, 1, 1e5, 4e6),
        progress.proportional(COURSE, USEFUL, 1, 3e5, 2e6),
    ],
)
def test_no_schedule_comes_below_the_frontier(made):
    done = progress.to_target(made, COURSE, USEFUL)
    product = (done.steps * KNEE / USEFUL - 1) * (done.tokens / USEFUL - 1)
    assert product >= progress.gamma(COURSE, USEFUL) * (1 - 1e-3)


def test_a_ramp_against_a_fine_march_by_hand():
    made, useful, seen = ramp.linear_tokens(1e5, 4e6, 2e10), 0.0, 0.0
    for _ in range(40_000):
        stride = 3e6
        middle = seen + stride / 2
        useful += stride / (1 + float(made.at(middle)) / float(COURSE.at(max(useful, 1.0))))
        seen += stride
    assert_allclose(progress.through(made, COURSE, seen).useful_tokens, useful, rtol=2e-3)


@pytest.mark.parametrize(
    "made", [ramp.flat(3e5), ramp.linear_tokens(1e5, 4e6, 2e10), ramp.linear_steps(1e5, 4e6, 9e11)]
)
def test_through_undoes_to_target(made):
    done = progress.to_target(made, COURSE, USEFUL)
    assert_allclose(progress.through(made, COURSE, done.tokens).useful_tokens, USEFUL, rtol=1e-4)


def test_a_ramp_that_grows_wastes_fewer_tokens_than_its_end_and_takes_more_steps():
    end, made = progress.to_target(ramp.flat(4e6), COURSE, USEFUL), ramp.linear_tokens(1e5, 4e6, 2e10)
    done = progress.to_target(made, COURSE, USEFUL)
    assert done.tokens < end.tokens and done.steps > end.steps and done.waste < end.waste


def test_doubling_waits_until_the_critical_batch_is_twice_the_batch():
    made = progress.doubling(COURSE, USEFUL, 1, 1e5, 1e9)
    assert_allclose(made.first[1:] / made.first[:-1], 2)
    useful = [progress.through(made, COURSE, seen).useful_tokens for seen in made.tokens[1:]]
    assert_allclose(COURSE.at(np.array(useful)), made.first[1:], rtol=2e-2)


def test_doubling_stops_at_the_highest_batch():
    assert progress.doubling(COURSE, USEFUL, 1, 1e5, 3e5).end == 3e5
