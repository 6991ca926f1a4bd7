"""The noise scale: published formulas and the sourced variances of one step."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import noise
from tests.bsmath.noise_model import SPREAD, gradients

BIG, SMALL = 1_024, 64
TRACE, GRAD_SQ_NORM = 68.0, 1.0


def test_two_squared_norms_give_both_parts_back():
    norms = (SMALL, BIG, GRAD_SQ_NORM + TRACE / SMALL, GRAD_SQ_NORM + TRACE / BIG)
    assert norms[2:] == (2.0625, 1.06640625)
    assert_allclose(noise.grad_sq_norm(*norms), GRAD_SQ_NORM)
    assert_allclose(noise.trace(*norms), TRACE)
    assert_allclose(noise.noise_scale(noise.trace(*norms), noise.grad_sq_norm(*norms)), 68)


def test_one_example_a_small_batch_is_the_unbiased_sample_variance():
    rng = np.random.default_rng(0)
    shards = rng.standard_normal((12, 5)) + 1
    small, big = (shards**2).sum(axis=1).mean(), (shards.mean(axis=0) ** 2).sum()
    assert_allclose(noise.trace(1, 12, small, big), shards.var(axis=0, ddof=1).sum())


def test_formulas_broadcast():
    big = np.array([[1.1], [1.2]])
    found = noise.trace(SMALL, BIG, np.array([2.0, 3.0, 4.0]), big)
    assert found.shape == (2, 3)
    assert_allclose(found[1, 2], noise.trace(SMALL, BIG, 4.0, 1.2))
    frame = pd.DataFrame({"trace": [2.0, 6.0], "grad_sq_norm": [1.0, 2.0]})
    assert noise.noise_scale(frame["trace"], frame["grad_sq_norm"]).tolist() == [2, 3]


@pytest.mark.parametrize(
    "tokens_per_step, gain", [(64e3, 0.064 / 1.064), (250e3, 0.2), (1e6, 0.5), (4e6, 0.8), (16e6, 16 / 17)]
)
def test_a_step_gains_half_of_the_most_at_the_noise_scale(tokens_per_step, gain):
    """The inverse of S/S_min in the worked table of the hyperbola with B_crit = 1e6."""
    assert_allclose(noise.improvement(tokens_per_step, 1e6), gain)
    assert_allclose(1 / noise.improvement(tokens_per_step, 1e6) - 1, noise.relative_error(tokens_per_step, 1e6))


def test_the_relative_error_is_one_at_the_noise_scale_and_falls_with_the_batch():
    assert noise.relative_error(1e6, 1e6) == 1
    assert noise.relative_error(4e6, 1e6) == 0.25


def test_deviations_of_one_step_are_the_sourced_ones():
    """d = 200, Sigma = diag(linspace(.2, 1.8)), G along the axis of .2, 16 batches of 8: derived."""
    squares = (SPREAD**2).sum()
    assert_allclose(noise.trace_variance(squares, 16) ** 0.5, 5.693, rtol=1e-3)
    assert_allclose(noise.grad_sq_norm_variance(squares, 16, 128, SPREAD[0]) ** 0.5, 0.1947, rtol=1e-3)
    assert_allclose(noise.covariance(squares, 16, 128), -0.2532, rtol=1e-3)


def test_drawn_gradients_have_these_means_and_deviations():
    small, big = gradients(np.random.default_rng(3), 4_000)
    trace, grad_sq_norm = noise.trace(8, 128, small, big), noise.grad_sq_norm(8, 128, small, big)
    assert_allclose(trace.mean(), 200, rtol=0.002)
    assert_allclose(grad_sq_norm.mean(), 1, rtol=0.012)
    assert_allclose([trace.std(), grad_sq_norm.std()], [5.693, 0.1947], rtol=0.05)
    assert_allclose(np.cov(trace, grad_sq_norm)[0, 1], -0.2532, rtol=0.25)


def test_steps_for_a_wanted_deviation_are_the_sourced_ones():
    """r = 16, n = 8, d_eff = 1,000: the deviation of |G|^2 is 80.57 %, and 10 % takes 64.9 steps."""
    variance = noise.grad_sq_norm_relative_variance(16, 8, 1_000)
    assert_allclose(variance**0.5, 0.8057, rtol=1e-4)
    assert_allclose(noise.steps_needed(variance, 0.10), 64.9, rtol=1e-3)


def test_the_relative_variances_are_the_absolute_ones_where_the_gradient_lies_like_the_noise():
    trace, squares, n, tokens = 200.0, 250.0, 16, 128
    dimension, r = trace**2 / squares, trace / tokens  # |G|^2 = 1
    along = squares / trace
    first, second = noise.trace_variance(squares, n), noise.grad_sq_norm_variance(squares, n, tokens, along)
    assert_allclose(noise.grad_sq_norm_relative_variance(r, n, dimension), second)
    delta = first / trace**2 + second - 2 * noise.covariance(squares, n, tokens) / trace
    assert_allclose(noise.relative_variance(r, n, dimension), delta)


def test_a_smaller_small_batch_makes_the_estimate_surer():
    """Gray et al. 2024: one example a small batch gives the least variance."""
    found = noise.relative_variance(4.0, np.array([2, 4, 8, 64]), 1_000)
    assert (np.diff(found) < 0).all()


@pytest.mark.parametrize("tokens_per_step, ratio", [(64e3, 4.077), (1e6, 1.414), (4e6, 1.118)])
def test_noise_makes_a_gradient_longer_by_the_sourced_ratios(tokens_per_step, ratio):
    """B_simple = 1e6: the numbers by which a clip threshold moves."""
    assert_allclose(noise.norm_ratio(tokens_per_step, 1e6), ratio, rtol=2e-4)


def test_both_parts_follow_from_the_expected_lengths_at_two_batches():
    lengths = noise.norm_ratio(np.array([64e3, 1e6]), 1e6) ** 2
    assert_allclose(noise.grad_sq_norm(64e3, 1e6, *lengths), 1)
    assert_allclose(noise.trace(64e3, 1e6, *lengths), 1e6)


def test_the_gain_and_the_best_rate_minimize_the_expected_loss_of_a_step():
    """Equation 2.5 with |G|^2 = 3, G'HG = 2, tr(H Sigma) = 8, B = 16: B_noise = 4."""
    rates = np.linspace(0, 6, 60_001)
    gain = rates * 3 - rates**2 / 2 * (2 + 8 / 16)
    best, most = 3 / 2, 3**2 / (2 * 2)  # of a noiseless step
    share = noise.improvement(16, 8 / 2)
    assert_allclose(rates[gain.argmax()], best * share, rtol=1e-4)
    assert_allclose(gain.max(), most * share, rtol=1e-6)
    assert_allclose(gain, gain.max() * noise.improvement_at_step(rates / (best * share)), atol=1e-9)


def test_a_step_above_twice_the_best_raises_the_loss():
    assert noise.improvement_at_step(1) == 1 and noise.improvement_at_step(2) == 0
    assert (noise.improvement_at_step(np.array([2.01, 3, 10])) < 0).all()


def test_the_gain_is_proportional_to_a_small_batch_and_saturates():
    assert_allclose(noise.improvement(2.0, 1e9) / noise.improvement(1.0, 1e9), 2, rtol=1e-8)
    assert_allclose(noise.improvement(1e15, 1e6), 1, rtol=1e-8)


def test_parts_add_up_over_layers_but_their_ratios_do_not():
    layers = [(SMALL, BIG, 2.0625, 1.06640625), (SMALL, BIG, 5.0, 1.5)]
    whole = (SMALL, BIG, 2.0625 + 5.0, 1.06640625 + 1.5)
    for part in (noise.trace, noise.grad_sq_norm):
        assert_allclose(part(*whole), sum(part(*layer) for layer in layers))


def test_an_undivided_micro_batch_is_scaled_back_by_the_square_of_their_number():
    """A loss divided by a = 4 micro-batches makes each gradient 4 times too small, its squared norm 16 times."""
    assert_allclose(noise.trace(1, 4, 16 * (2.0 / 16), 0.8), noise.trace(1, 4, 2.0, 0.8))
    assert noise.trace(1, 4, 2.0 / 16, 0.8) < 0


@pytest.mark.parametrize("averaged", [1, 4, 16])
def test_fewer_averaged_small_norms_have_the_variance_of_drawn_ones(averaged):
    rng, d, n, b = np.random.default_rng(11), 200, 16, 8
    shards = rng.standard_normal((20_000, n, d)).astype("float32") * np.float32(b**-0.5)
    shards += np.float32(d**-0.5)  # |G| = 1, Sigma = 1: G lies like the noise, d_eff = 200
    small = (shards[:, :averaged] ** 2).sum(axis=-1).mean(axis=-1).astype(float)
    big = (shards.mean(axis=1) ** 2).sum(axis=-1).astype(float)
    trace, signal = noise.trace(b, n * b, small, big), noise.grad_sq_norm(b, n * b, small, big)
    r = d / (n * b)
    assert_allclose(trace.var() / d**2, noise.trace_relative_variance(r, n, d, averaged), rtol=0.05)
    assert_allclose(signal.var(), noise.grad_sq_norm_relative_variance(r, n, d, averaged), rtol=0.05)
    delta = (trace / d - signal).var()
    assert_allclose(delta, noise.relative_variance(r, n, d, averaged), rtol=0.05)


def test_with_all_small_norms_the_variances_are_the_closed_forms():
    r, n, d = np.array([0.1, 1, 16]), 8, 1_000
    assert_allclose(noise.trace_relative_variance(r, n, d), 2 / ((n - 1) * d))
    assert_allclose(noise.grad_sq_norm_relative_variance(r, n, d), (4 * r + 2 * r**2 * n / (n - 1)) / d)
    for formula in (noise.trace_relative_variance, noise.grad_sq_norm_relative_variance, noise.relative_variance):
        assert_allclose(formula(r, n, d), formula(r, n, d, averaged=n))
        assert (formula(r, n, d, averaged=1) > formula(r, n, d)).all()
