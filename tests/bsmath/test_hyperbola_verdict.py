import numpy as np
import pytest

from bsmath import hyperbola_verdict as words
from bsmath.critical import steps_to_target
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.hyperbola_verdict import kind, verdict

BATCHES = np.array([0.1, 0.3, 1, 3, 10, 30]) * 1e6
NOISE = np.array([1.02, 0.98, 1.01, 0.99, 1.0])
SPANS = [  # batches, B_crit, what they show
    (BATCHES[:5], 1e6, words.BRACKETED),
    (np.array([1e3, 2e3, 4e3, 8e3, 16e3]), 1e7, words.BELOW),
    (np.array([1e8, 2e8, 4e8, 8e8, 16e8]), 1e5, words.ABOVE),
    (np.array([1e5, 2e5, 4e5, 8e5, 16e5]), 3e6, words.BEYOND),
    (np.array([1e6, 2e6, 4e6, 8e6, 16e6]), 6e5, words.BEFORE),
]


def swept(batch, knee, noise=NOISE):
    return fit_hyperbola(batch, steps_to_target(batch, knee, 1e4) * noise)


@pytest.mark.parametrize("batch, knee, expected", SPANS, ids=[span[2] for span in SPANS])
def test_where_the_knee_lies_is_told(batch, knee, expected):
    assert kind(swept(batch, knee)) == expected


def test_batches_below_the_knee_bound_both_numbers_from_one_side():
    fit = swept(*SPANS[1][:2])
    identified, sentence = verdict(fit)
    assert not identified and "S_min is not identified, it is at most" in sentence
    assert f"{fit.interval()['min_steps'][1]:,.0f} steps" in sentence
    assert f"at least {fit.interval()['critical_batch_size'][0]:,.0f} tokens" in sentence


def test_batches_above_the_knee_give_an_upper_bound():
    fit = swept(*SPANS[2][:2])
    identified, sentence = verdict(fit)
    assert not identified and f"at most {fit.interval()['critical_batch_size'][1]:,.0f} tokens" in sentence


def test_falling_tokens_are_refused_with_the_cause():
    batch = np.array([1e5, 2e5, 4e5, 8e5])
    fit = fit_hyperbola(batch, 1e10 / batch**1.3)
    identified, sentence = verdict(fit)
    assert kind(fit) == words.RATE_HELD
    assert not identified and sentence.startswith("Refused") and "learning rate was held fixed" in sentence


def test_scatter_below_the_knee_is_not_taken_for_a_rate_held_fixed():
    batch, random = np.array([1e4, 2e4, 4e4, 8e4, 16e4]), np.random.default_rng(0)
    fits = (swept(batch, 1e7, np.exp(random.normal(0, 0.08, 5))) for _ in range(300))
    assert sum(kind(fit) == words.RATE_HELD for fit in fits) <= 12


def test_u_shaped_tokens_are_fitted_right_of_the_minimum_and_explained():
    steps = steps_to_target(BATCHES, 2e6, 1e4)
    steps[0] *= 1.5
    fit = fit_hyperbola(BATCHES, steps)
    identified, sentence = verdict(fit)
    assert kind(fit) == words.U_SHAPED and identified
    assert "U-shaped" in sentence and "300,000 tokens per step" in sentence and "held fixed" in sentence


def test_a_u_with_too_few_batches_to_its_right_is_not_fitted():
    batch = np.array([1e5, 2e5, 4e5, 8e5])
    fit = fit_hyperbola(batch, np.array([3e10, 2e10, 1.4e10, 2.2e10]) / batch)
    assert not verdict(fit)[0] and "measure larger ones" in verdict(fit)[1]


@pytest.mark.parametrize("exponent", [0.5, 0.6])
def test_another_exponent_is_shown_beside_the_hyperbola_it_rejects(exponent):
    batch = 2.0 ** np.arange(-4, 6) * 1e6
    steps = 1e4 * (1 + (1e6 / batch) ** exponent) * np.exp(np.random.default_rng(2).normal(0, 0.02, 10))
    fit = fit_hyperbola(batch, steps)
    identified, sentence = verdict(fit)
    assert kind(fit) == words.REJECTED and not identified
    assert "rejected" in sentence and f"alpha = {fit.power.exponent:.2f}" in sentence and "Both are drawn" in sentence


def test_a_sweep_no_curve_describes_is_said_with_its_worst_point():
    batch = 2.0 ** np.arange(7) * 1e5
    fit = fit_hyperbola(batch, steps_to_target(batch, 1e6, 1e4) * np.array([1, 1.5, 0.7, 1.4, 0.8, 1.5, 0.9]))
    identified, sentence = verdict(fit)
    assert not identified and ("does not describe" in sentence or "do not tell" in sentence)


def test_two_batches_ask_for_a_third():
    identified, sentence = verdict(fit_hyperbola([1e5, 1e6], [1e5, 2e4]))
    assert not identified and "third" in sentence


def test_three_batches_are_said_to_leave_one_degree_of_freedom():
    batch = np.array([1e5, 1e6, 1e7])
    assert "single degree of freedom" in verdict(swept(batch, 1e6, np.array([1.001, 1, 0.999])))[1]


def test_close_batches_identify_nothing_however_well_they_fit():
    batch = np.array([1e6, 1.1e6, 1.2e6])
    fit = fit_hyperbola(batch, np.round(steps_to_target(batch, 1e6, 1e4), -2), np.full(3, 100))
    assert kind(fit) == words.UNTOLD


def test_every_kind_has_its_sentence():
    assert set(words._SENTENCES) == set(words.KINDS)
