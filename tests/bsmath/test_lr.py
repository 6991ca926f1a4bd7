import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import lr
from bsmath.scenario import CHOICES, Scenario

BATCHES = np.array([2.5e5, 5e5, 1e6, 2e6, 4e6])
REFERENCE = 3e-4, 524_288.0
PEAK = 1e6  # saturation batch of the published rows
PLAIN = [lr.constant, lr.square_root, lr.linear]
RULES = sorted(lr.RULES)


def rate(name, batch, saturation=PEAK):
    return lr.RULES[name].function(batch, *REFERENCE, saturation)


@pytest.mark.parametrize("batch, expected", [*zip(BATCHES, [0.8, 0.942809, 1, 0.942809, 0.8], strict=True)])
def test_surge_in_units_of_its_peak(batch, expected):
    assert_allclose(lr.surge(batch, 1.0, PEAK, PEAK), expected, rtol=1e-6)  # Li et al. 2024


@pytest.mark.parametrize("batch, expected", [*zip(BATCHES, [0.2, 1 / 3, 0.5, 2 / 3, 0.8], strict=True)])
def test_saturating_in_units_of_its_limit(batch, expected):
    assert_allclose(lr.saturating(batch, 0.5, PEAK, PEAK), expected)  # McCandlish et al. 2018, eq. 2.6


@pytest.mark.parametrize(
    "function, expected",
    [(lr.constant, 1), (lr.linear, 4), (lr.square_root, 2), (lr.saturating, 2.5), (lr.surge, 1.25)],
)
def test_four_times_the_batch_by_every_rule(function, expected):
    assert_allclose(function(2e6, 1.0, 5e5, 2e6), expected)


def test_linear_rule_gives_goyals_rate_for_8192_images():
    assert_allclose(lr.linear(8192, 0.1, 256), 3.2)


@pytest.mark.parametrize("ratio, expected", [(0.01, 0.0995), (0.1, 0.3015), (1, 0.7071), (10, 0.9535)])
def test_noise_shrinks_adams_mean_step_by_the_half_power(ratio, expected):
    at_infinity = lr.saturating(ratio, 1.0, np.inf, 1.0, exponent=0.5)
    assert_allclose(at_infinity, expected, rtol=0, atol=5.01e-5)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_keeps_the_reference_rate_at_the_reference_batch(name):
    assert_allclose(rate(name, REFERENCE[1]), REFERENCE[0])


@pytest.mark.parametrize("name", RULES)
def test_going_to_another_reference_changes_no_rule(name):
    moved = lr.RULES[name].function(8e6, rate(name, 2e6), 2e6, PEAK)
    assert_allclose(moved, rate(name, 8e6))


@pytest.mark.parametrize("name", RULES)
def test_series_arrays_and_scalars_agree(name):
    expected = [rate(name, batch) for batch in BATCHES]
    assert_allclose(rate(name, BATCHES), expected)
    series = rate(name, pd.Series(BATCHES, index=list("abcde")))
    assert list(series.index) == list("abcde")
    assert_allclose(series, expected)


@pytest.mark.parametrize("function", PLAIN)
def test_plain_rules_ignore_a_saturation_batch(function):
    assert_allclose(function(BATCHES, *REFERENCE), function(BATCHES, *REFERENCE, 123.0))


def test_limits_of_the_saturating_rule_are_linear_and_constant():
    assert_allclose(lr.saturating(BATCHES, 1.0, 1e6, 1e15), lr.linear(BATCHES, 1.0, 1e6), rtol=1e-6)
    assert_allclose(lr.saturating(BATCHES, 1.0, 1e6, 1e-3), lr.constant(BATCHES, 1.0, 1e6), rtol=1e-6)
    assert_allclose(lr.saturating(np.inf, 0.5, PEAK, PEAK), 1)


def test_surge_is_the_square_root_far_below_its_peak_and_falls_above():
    assert_allclose(lr.surge(BATCHES, 1.0, 1e6, 1e15), lr.square_root(BATCHES, 1.0, 1e6), rtol=1e-6)
    assert_allclose(lr.surge(1.0, 1.0, PEAK, PEAK), 2 * np.sqrt(1 / PEAK), rtol=1e-5)
    sizes = np.geomspace(PEAK / 100, PEAK * 100, 201)
    assert sizes[np.argmax(lr.surge(sizes, 1.0, 1e6, PEAK))] == pytest.approx(PEAK)


@pytest.mark.parametrize("name", ["square_root", "linear", "saturating_sgd", "saturating_adamw"])
def test_larger_batch_never_lowers_a_monotone_rate(name):
    assert (np.diff(rate(name, np.geomspace(1, 1e12, 200))) >= 0).all()


def test_square_root_keeps_variance_and_signal_per_token_where_noise_dominates():
    rates = lr.square_root(BATCHES, *REFERENCE)
    variance_per_token = rates**2 / BATCHES  # a noise-dominated Adam step has variance eta^2 at every batch
    signal_per_token = rates * np.sqrt(BATCHES) / BATCHES
    assert_allclose(variance_per_token, variance_per_token[0])
    assert_allclose(signal_per_token, signal_per_token[0])
    assert (np.diff(rates**2) > 0).all()  # the variance of one update is not what is kept


def test_swapped_batch_and_saturation_give_another_number():
    assert lr.saturating(2e6, 1.0, 5e5, 1e6) != lr.saturating(1e6, 1.0, 5e5, 2e6)
    assert lr.saturating(2e6, 1.0, 5e5, 1e6) != lr.saturating(5e5, 1.0, 2e6, 1e6)
    assert lr.surge(2e6, 1.0, 5e5, 2e6) != lr.surge(5e5, 1.0, 2e6, 2e6)


@pytest.mark.parametrize("name, slope", [("constant", 0), ("square_root", 0.5), ("linear", 1)])
def test_power_rules_have_their_exponent_as_slope(name, slope):
    assert_allclose(lr.local_slope(lr.RULES[name].function, BATCHES, *REFERENCE), slope, atol=1e-9)


def test_slopes_of_saturating_and_surge_have_closed_forms():
    ratio = BATCHES / PEAK
    assert_allclose(lr.local_slope(lr.saturating, BATCHES, *REFERENCE, PEAK), 1 / (1 + ratio), atol=1e-7)
    closed = (1 - ratio) / (2 * (1 + ratio))
    assert_allclose(lr.local_slope(lr.surge, BATCHES, *REFERENCE, PEAK), closed, atol=1e-7)


@pytest.mark.parametrize("slope", [0.65, 0.17])
def test_measured_adamw_slopes_lie_on_one_saturating_curve(slope):
    batch = PEAK * (1 / slope - 1)
    assert_allclose(lr.local_slope(lr.saturating, batch, *REFERENCE, PEAK), slope, atol=1e-7)


def test_adamw_timescale_in_steps_tokens_and_share_of_the_run():
    assert_allclose(lr.adamw_timescale_steps(3e-4, 0.1), 33_333, rtol=2e-5)
    tokens = lr.adamw_timescale_tokens(4e6, 3e-4, 0.1)
    assert_allclose(tokens, 1.333e11, rtol=3e-4)
    assert_allclose(tokens / 2e12, 0.06667, rtol=1e-4)


def test_without_decay_adamw_never_forgets():
    assert lr.adamw_timescale_steps(3e-4, 0.0) == np.inf


@pytest.mark.parametrize("rate_ratio, expected", [(1, 0.4), (2, 0.2), (4, 0.1)])
def test_decay_for_four_times_the_batch_at_constant_square_root_and_linear_rate(rate_ratio, expected):
    assert_allclose(lr.weight_decay_keeping_timescale(0.1, 4, rate_ratio), expected)


def test_scaled_decay_keeps_the_timescale_in_tokens():
    decay = lr.weight_decay_keeping_timescale(0.1, BATCHES / 1e6, 1.7)
    kept = lr.adamw_timescale_tokens(BATCHES, 1.7 * 3e-4, decay)
    assert_allclose(kept, lr.adamw_timescale_tokens(1e6, 3e-4, 0.1))


@pytest.mark.parametrize(
    "beta, ratio, expected",
    [
        (0.95, 8, 0.66342),  # Marek et al. 2025: 0.5M to 4M tokens
        (0.9, 8, 0.43047),
        (0.999, 8, 0.992028),
        (0.999, 4, 0.996006),  # Busbridge et al. 2023, EMA
    ],
)
def test_beta_that_keeps_its_half_life(beta, ratio, expected):
    assert_allclose(lr.beta_keeping_half_life(beta, ratio), expected, rtol=1e-5)


def test_half_life_of_beta_two_in_tokens():
    assert_allclose(lr.beta_half_life_tokens(0.5e6, 0.95), 6.7567e6, rtol=1e-5)
    assert_allclose(lr.beta_half_life_tokens(4e6, lr.beta_keeping_half_life(0.95, 8)), 6.7567e6, rtol=1e-5)


def test_beta_of_zero_forgets_at_once():
    assert lr.beta_half_life_tokens(1e6, 0.0) == 0


@pytest.mark.parametrize("batch, expected", [(524_288, 0.964312), (512, 0.99996451), (4_194_304, 0.747720)])
def test_beta_of_a_half_life_of_ten_million_tokens(batch, expected):
    assert_allclose(lr.beta_from_half_life(batch, 1e7), expected, rtol=1e-6)
    assert_allclose(lr.beta_half_life_tokens(batch, lr.beta_from_half_life(batch, 1e7)), 1e7)


@pytest.mark.parametrize("beta, ratio, expected", [(0.9, 4, 0.6), (0.95, 4, 0.8), (0.9, 8, 0.2), (0.999, 8, 0.992)])
def test_malladis_beta(beta, ratio, expected):
    assert_allclose(lr.beta_malladi(beta, ratio), expected)


@pytest.mark.parametrize("ratio", [10, 10.5, 100])
def test_malladis_beta_does_not_exist_from_ten_times_the_batch_at_0_9(ratio):
    assert np.isnan(lr.beta_malladi(0.9, ratio))


def test_malladis_beta_broadcasts_and_prints_as_a_number():
    assert_allclose(lr.beta_malladi(0.9, np.array([1, 4, 20])), [0.9, 0.6, np.nan])
    assert isinstance(lr.beta_malladi(pd.Series([0.9, 0.95]), 4), pd.Series)
    assert f"{lr.beta_malladi(0.9, 4):.2f}" == "0.60"


def test_both_beta_rules_agree_for_small_changes():
    assert_allclose(lr.beta_malladi(0.9999, 8), lr.beta_keeping_half_life(0.9999, 8), rtol=1e-6)


def test_malladis_rate_and_epsilon_for_four_times_the_batch():
    assert_allclose(lr.square_root(4.0, 3e-4, 1.0), 6e-4)
    assert_allclose(lr.epsilon_malladi(1e-8, 4), 5e-9)


def test_warmup_has_fewer_steps_at_a_larger_batch():
    assert_allclose(lr.warmup_steps(1e9, np.array([0.5e6, 4e6])), [2000, 250])


@pytest.mark.parametrize("batch, expected", [(64e3, 4.077), (1e6, 1.414), (4e6, 1.118)])
def test_gradient_norm_against_that_of_an_infinite_batch(batch, expected):
    assert_allclose(lr.clip_norm_ratio(batch, np.inf, 1e6), expected, rtol=3e-4)


def test_clip_ratio_is_one_without_a_change_and_inverts_with_it():
    assert lr.clip_norm_ratio(1e6, 1e6, 1e6) == 1
    assert_allclose(lr.clip_norm_ratio(4e6, 64e3, 1e6) * lr.clip_norm_ratio(64e3, 4e6, 1e6), 1)
    assert lr.clip_norm_ratio(4e6, 64e3, 1e6) < 1


@pytest.mark.parametrize("rule", lr.RULES.values(), ids=list(lr.RULES))
def test_every_rule_says_what_it_rests_on_and_names_real_fields(rule):
    assert rule.label and rule.validity and rule.source
    assert rule.status.startswith(("derived", "empirical", "rule of thumb"))
    assert rule.saturation is None or hasattr(Scenario(), rule.saturation)
    assert rule.optimizers and set(rule.optimizers) <= set(CHOICES["optimizer"])


def test_rules_are_listed_by_name_with_their_saturation():
    assert {name: rule.saturation for name, rule in lr.RULES.items()} == {
        "constant": None,
        "square_root": None,
        "linear": None,
        "saturating_sgd": "noise_scale",
        "saturating_adamw": "adam_saturation_batch",
        "surge": "surge_peak_batch",
    }
