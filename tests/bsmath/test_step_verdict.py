"""What is said of a fitted sweep: one kind for each thing that a sweep may show."""

import numpy as np
import pytest

from bsmath import step_verdict
from bsmath.step_fit import fit_step_time
from bsmath.throughput import tokens_per_second

FIXED, LIMIT = 0.05, 136_700
SWEEP = np.array([1, 2, 4, 8, 16, 32, 64]) * 2048.0
NOISE = np.array([1.02, 0.97, 1.01, 0.99, 1.02, 0.98, 1.0])


def swept(fixed=FIXED, noise=NOISE, sizes=SWEEP):
    return fit_step_time(sizes, tokens_per_second(sizes, fixed, LIMIT) * noise)


def broken(at: int, factor: float):
    rates = tokens_per_second(SWEEP, FIXED, LIMIT) * NOISE
    rates[at] *= factor
    return fit_step_time(SWEEP, rates)


CASES = {
    step_verdict.KNEE: (swept(), "knee"),
    step_verdict.PLATEAU: (swept(sizes=64 * SWEEP), "plateau is reached"),
    step_verdict.OVERHEAD: (swept(fixed=2.0), "lower bound"),
    step_verdict.FALLING: (broken(-1, 0.8), "falls by"),
    step_verdict.BROKEN: (broken(3, 0.4), "at 16,384 tokens per step contradicts"),
    step_verdict.UNEXPLAINED: (swept(noise=np.array([1, 1.5, 0.8, 1.6, 0.9, 1.3, 1.2])), "off by"),
    step_verdict.TWO_BATCHES: (fit_step_time([1, 2], [1, 1.5]), "third"),
    step_verdict.UNTOLD: (swept(fixed=0.4, sizes=np.array([100, 101, 102, 103, 104, 105, 106]) * 512.0), "do not tell"),
    step_verdict.OVERLAP: (
        fit_step_time(SWEEP, SWEEP / np.maximum(0.1, SWEEP / LIMIT) * NOISE),
        "hides the shorter",
    ),
    step_verdict.SLOW: (
        fit_step_time(SWEEP, SWEEP / (FIXED**0.5 + (SWEEP / LIMIT) ** 0.5) ** 2 * NOISE**0.3),
        "slowly",
    ),
    step_verdict.ROUGH: (swept(noise=1 + 4.2 * (NOISE - 1)), "roughly"),
}


@pytest.mark.parametrize("kind", step_verdict.KINDS)
def test_each_kind_of_sweep_gets_its_verdict(kind):
    fit, words = CASES[kind]
    assert step_verdict.kind(fit) == kind
    assert words in step_verdict.verdict(fit)[1]


@pytest.mark.parametrize("kind", step_verdict.KINDS)
def test_only_identified_sweeps_are_called_so(kind):
    assert step_verdict.verdict(CASES[kind][0])[0] == (kind in step_verdict.IDENTIFIED)


def test_a_sweep_that_never_saturates_gives_a_lower_bound_of_the_plateau():
    fit = swept(fixed=100.0)
    identified, sentence = step_verdict.verdict(fit)
    assert not identified and "or more" in sentence
    assert fit.interval()["plateau"][1] == np.inf


def test_what_describes_no_sweep_may_not_be_used():
    assert not step_verdict.usable(CASES[step_verdict.UNEXPLAINED][0])
    assert not step_verdict.usable(CASES[step_verdict.TWO_BATCHES][0])
    assert step_verdict.usable(CASES[step_verdict.BROKEN][0])


def test_a_rate_that_falls_from_the_start_has_no_usable_fit():
    fit = fit_step_time([16, 32, 64, 128], [40, 45, 20, 9])
    assert step_verdict.kind(fit) == step_verdict.FALLING and not step_verdict.usable(fit)
    assert "Measure smaller ones" in step_verdict.verdict(fit)[1]


def test_three_batches_leave_one_degree_of_freedom_and_it_is_said():
    fit = fit_step_time(SWEEP[[0, 3, 6]], tokens_per_second(SWEEP[[0, 3, 6]], FIXED, LIMIT) * [1.01, 0.99, 1])
    assert "a single degree of freedom" in step_verdict.verdict(fit)[1]
