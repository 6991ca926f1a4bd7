import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.critical import (
    doubling_step_ratio,
    doubling_token_ratio,
    fit_hyperbola,
    min_tokens,
    steps_to_target,
    token_overhead,
    tokens_to_target,
    tradeoff,
)

KNEE, LEAST = 1e6, 5e4
WORKED = [  # B, S, E at B_crit 1e6, S_min 5e4: McCandlish et al. 2018 eq. 2.11, by hand
    (64e3, 831_250, 5.32e10),
    (250e3, 250_000, 6.25e10),
    (1e6, 100_000, 1.0e11),
    (4e6, 62_500, 2.5e11),
    (16e6, 53_125, 8.5e11),
]
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


@pytest.mark.parametrize("batch, steps, tokens", WORKED)
def test_worked_example(batch, steps, tokens):
    assert_allclose(steps_to_target(batch, KNEE, LEAST), steps)
    assert_allclose(tokens_to_target(batch, KNEE, LEAST), tokens)


@pytest.mark.parametrize("batch, steps, tokens", WORKED)
def test_both_overheads_multiply_to_one(batch, steps, tokens):
    assert_allclose((steps / LEAST - 1) * (tokens / min_tokens(KNEE, LEAST) - 1), 1)


def test_tokens_are_steps_times_batch():
    assert_allclose(tokens_to_target(BATCHES, KNEE, LEAST), BATCHES * steps_to_target(BATCHES, KNEE, LEAST))


def test_swapped_batch_and_knee_give_another_number():
    assert steps_to_target(250e3, KNEE, LEAST) != steps_to_target(KNEE, 250e3, LEAST)


def test_at_the_knee_both_budgets_are_doubled():
    assert_allclose(steps_to_target(KNEE, KNEE, LEAST), 2 * LEAST)
    assert_allclose(tokens_to_target(KNEE, KNEE, LEAST), 2 * min_tokens(KNEE, LEAST))


def test_limits_are_least_steps_and_least_tokens():
    assert_allclose(steps_to_target(1e15, KNEE, LEAST), LEAST, rtol=1e-6)
    assert_allclose(tokens_to_target(1e-3, KNEE, LEAST), min_tokens(KNEE, LEAST), rtol=1e-6)
    assert steps_to_target(np.float64(np.inf), KNEE, LEAST) == LEAST


def test_larger_batch_never_needs_more_steps_nor_fewer_tokens():
    batch = np.geomspace(1, 1e12, 200)
    assert (np.diff(steps_to_target(batch, KNEE, LEAST)) <= 0).all()
    assert (np.diff(tokens_to_target(batch, KNEE, LEAST)) >= 0).all()


def test_series_arrays_and_scalars_agree():
    expected = [steps_to_target(batch, KNEE, LEAST) for batch in BATCHES]
    assert_allclose(steps_to_target(BATCHES, KNEE, LEAST), expected)
    assert_allclose(steps_to_target(pd.Series(BATCHES), KNEE, LEAST), expected)


def test_doubling_far_below_the_knee_halves_steps_and_far_above_doubles_tokens():
    assert_allclose(doubling_step_ratio(1.0, KNEE), 0.5, rtol=1e-5)
    assert_allclose(doubling_token_ratio(1e12, KNEE), 2, rtol=1e-5)


def test_four_to_sixteen_million_saves_fifteen_percent_of_steps():
    saved = 1 - steps_to_target(16e6, KNEE, LEAST) / steps_to_target(4e6, KNEE, LEAST)
    assert_allclose(saved, 0.15)
    assert_allclose(token_overhead(16e6, KNEE) / token_overhead(4e6, KNEE), 3.4)


def test_tradeoff_holds_the_worked_example():
    table = tradeoff(KNEE, LEAST, [row[0] for row in WORKED])
    assert_allclose(table[["steps", "tokens"]], [row[1:] for row in WORKED])


@pytest.mark.parametrize("steps, knee, least", PUBLISHED)
def test_fit_reproduces_published_sweeps(steps, knee, least):
    fit = fit_hyperbola(SEQUENCES, steps)
    assert_allclose(fit.critical_batch_size, knee, rtol=5e-4)
    assert_allclose(fit.min_steps, least, rtol=5e-4)
    low, high = fit.interval(0.95)["critical_batch_size"]
    assert 0.80 < low / knee < 0.90 and 1.10 < high / knee < 1.25  # the width is about 15 %
    assert fit.verdict()[0]


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


def test_batches_far_below_the_knee_leave_min_steps_unidentified():
    batch = np.array([1e3, 2e3, 4e3, 8e3, 16e3])
    noise = np.array([1.02, 0.98, 1.01, 0.99, 1.0])
    fit = fit_hyperbola(batch, steps_to_target(batch, 1e7, 1e4) * noise)
    assert fit.interval()["critical_batch_size"][1] == np.inf
    assert fit.interval()["min_steps"][0] == 0
    identified, sentence = fit.verdict()
    assert not identified and "S_min is not identified" in sentence


def test_batches_far_above_the_knee_give_an_upper_bound():
    batch = np.array([1e8, 2e8, 4e8, 8e8, 16e8])
    noise = np.array([1.02, 0.98, 1.01, 0.99, 1.0])
    identified, sentence = fit_hyperbola(batch, steps_to_target(batch, 1e5, 1e4) * noise).verdict()
    assert not identified and "only an upper bound" in sentence


def test_falling_tokens_are_refused_with_the_cause():
    batch = np.array([1e5, 2e5, 4e5, 8e5])
    identified, sentence = fit_hyperbola(batch, 1e10 / batch**1.3).verdict()
    assert not identified and "learning rate" in sentence


def test_u_shaped_tokens_are_said():
    steps = steps_to_target(BATCHES, 2e6, 1e4)
    steps[0] *= 1.5
    identified, sentence = fit_hyperbola(BATCHES, steps).verdict()
    assert not identified and "U-shaped" in sentence and "300,000 tokens per step" in sentence


def test_two_batches_give_no_interval():
    fit = fit_hyperbola([1e5, 1e6], [1e5, 2e4])
    assert not fit.verdict()[0] and "third" in fit.verdict()[1]


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
