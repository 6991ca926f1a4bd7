import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.critical import (
    doubling_step_ratio,
    doubling_token_ratio,
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
