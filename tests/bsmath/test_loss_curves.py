"""Crossing a target: exact places, noise, spikes, losses that are no number, runs that never arrive, ranges of targets."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bsmath import loss_curves
from bsmath.loss_curves import begins_below, crossing, diverged, lowest, smoothed, target_range

STEPS = np.array([100.0, 200, 400, 800, 1600])
LOSS = np.array([5.0, 4.0, 3.0, 2.0, 1.0])  # linear in the logarithm of the step


def power_law(steps, exponent=0.3):
    return 2 + 8 * np.asarray(steps, float) ** -exponent


def test_the_crossing_of_a_line_in_the_logarithm_is_exact():
    found = crossing(STEPS, LOSS, 2.5)
    assert found.steps == pytest.approx(400 * 2**0.5)
    assert found.resolution == 400  # from 400 to 800; halfway in the step itself would be 600


def test_a_target_that_is_a_logged_loss_is_reached_there():
    assert crossing(STEPS, LOSS, 3.0).steps == pytest.approx(400)
    assert crossing(STEPS, LOSS, 1.0).steps == pytest.approx(1600)


def test_a_curve_that_stays_above_never_arrives():
    found = crossing(STEPS, LOSS, 0.999)
    assert math.isnan(found.steps) and math.isnan(found.resolution)


def test_a_denser_power_law_is_crossed_where_it_says():
    steps = np.geomspace(10, 1e5, 200)
    assert crossing(steps, power_law(steps), 2.5).steps == pytest.approx((8 / 0.5) ** (1 / 0.3), rel=1e-4)


@pytest.mark.parametrize("broken", [1.0, 0.0, -np.inf])
def test_one_loss_below_the_target_fakes_no_crossing(broken):
    loss = np.insert(LOSS, 2, broken)
    steps = np.insert(STEPS, 2, 300)
    assert crossing(steps, loss, 2.5).steps == pytest.approx(400 * 2**0.5)


def test_a_loss_that_is_no_number_neither_reaches_nor_confirms_a_target():
    loss = np.array([5.0, 2.0, np.nan, 2.0, 1.9])
    assert crossing(STEPS, loss, 2.5).steps > 200
    assert math.isnan(crossing(STEPS, [5, 4, np.nan, np.nan, np.nan], 2.5).steps)
    assert math.isnan(crossing(STEPS, [5, 4, 2, np.nan, np.nan], 2.5).steps)


def test_a_run_that_overfits_after_it_reached_the_target_has_reached_it():
    assert crossing(STEPS, [5.0, 3.0, 2.0, 2.4, 3.5], 2.5).steps == pytest.approx(200 * 2**0.5)


def test_a_run_that_ends_at_the_target_has_reached_it():
    assert crossing(STEPS[:3], [5.0, 4.0, 2.0], 3.0).steps == pytest.approx(200 * 2**0.5)


def test_from_step_0_the_loss_is_taken_as_linear_in_the_step():
    found = crossing([0, 100, 200], [9.0, 5.0, 4.0], 7.0)
    assert (found.steps, found.resolution) == (50, 100)


def test_a_curve_that_begins_below_the_target_gives_a_bound_with_its_whole_length_as_resolution():
    found = crossing([100, 200], [2.0, 1.0], 3.0)
    assert (found.steps, found.resolution) == (100, 100)


def test_the_error_of_a_grid_is_that_of_a_uniform_place():
    spread = np.random.default_rng(0).uniform(0, 60, 100_000).std()
    assert_allclose(loss_curves.grid_error(60.0), spread, rtol=0.01)
    assert_allclose(loss_curves.grid_error(np.array([12.0, 24.0])), [12**0.5, 2 * 12**0.5])


@given(st.lists(st.floats(0.1, 20), min_size=2, max_size=40), st.sampled_from(["window", "EMA"]), st.floats(0.01, 2))
def test_smoothing_keeps_a_falling_curve_falling(loss, kind, width):
    falling = np.sort(loss)[::-1]
    found = smoothed(np.arange(1, len(loss) + 1) * 7, falling, kind, width)
    assert (np.diff(found) <= 1e-9).all()
    assert found.min() >= falling.min() - 1e-9 and found.max() <= falling.max() + 1e-9


@pytest.mark.parametrize("kind, within", [("window", 0.06), ("EMA", 0.12)])
def test_noise_hardly_moves_the_crossing_of_a_smoothed_curve(kind, within):
    steps, generator = np.arange(10.0, 20_000, 10), np.random.default_rng(1)
    truth = (8 / 0.5) ** (1 / 0.3)
    raw, found = [], []
    for _ in range(20):
        loss = power_law(steps) + 0.1 * generator.standard_normal(len(steps))
        raw.append(crossing(steps, loss, 2.5).steps)
        found.append(crossing(steps, smoothed(steps, loss, kind), 2.5).steps)
    assert abs(np.log(np.mean(found) / truth)) < within
    assert np.mean(raw) < truth / 2, "the raw curve is crossed by luck, far too early"


def test_an_average_that_lags_is_late_by_the_same_factor_at_every_batch():
    late = []
    for scale in (1, 4, 64):
        steps = np.geomspace(10, 1e5, 4000) * scale
        loss = power_law(steps / scale)
        late.append(crossing(steps, smoothed(steps, loss, "EMA", 0.2), 2.5).steps / crossing(steps, loss, 2.5).steps)
    assert_allclose(late, late[0], rtol=1e-6)
    assert 1.1 < late[0] < 1.3


@pytest.mark.parametrize("kind", ["window", "EMA"])
def test_a_spike_of_two_rows_is_not_averaged_in(kind):
    steps = np.arange(1.0, 400)
    loss = power_law(steps)
    spiked = loss.copy()
    spiked[200:202] = [0.0, 900.0]
    assert_allclose(smoothed(steps, spiked, kind), smoothed(steps, loss, kind), atol=0.01)


def test_losses_that_are_no_number_stay_so_and_smooth_nothing():
    steps, loss = np.arange(1.0, 30), power_law(np.arange(1.0, 30))
    broken = loss.copy()
    broken[[5, 12]] = np.nan, np.inf
    found = smoothed(steps, broken, "window", 0.5)
    assert np.isnan(found[5]) and np.isinf(found[12]) and np.isfinite(np.delete(found, [5, 12])).all()
    assert np.array_equal(smoothed(steps, broken, "none"), broken, equal_nan=True)


def test_the_lowest_target_is_one_that_is_held():
    assert lowest(LOSS) == 2.0
    assert lowest([5.0, 1.0, 4.0, 3.0]) == 4.0
    assert lowest([np.nan, 3.0, np.inf]) == math.inf and lowest([]) == math.inf
    assert crossing(STEPS, LOSS, lowest(LOSS)).steps == pytest.approx(800)


def test_a_run_diverges_where_it_ends_as_no_number_or_above_its_start():
    assert diverged([9.0, 3.0, np.nan]) and diverged([9.0, 3.0, np.inf]) and diverged([9.0, 8.0, 11.0])
    assert not diverged(LOSS) and not diverged([9.0, np.nan, 3.0]) and not diverged([3.0])


def test_the_range_of_targets_is_what_three_batches_reach_and_the_default_what_most_do():
    ends = {64: 1.4, 128: 1.5, 256: 1.6, 512: 1.7, 1024: 3.0}
    found = target_range((size, [9.0 + size / 1e3, end, end]) for size, end in ends.items())
    assert (found.low, found.default) == (1.6, 1.7)  # of five batches three quarters are four
    assert found.high == 9.064


def test_the_better_of_two_runs_at_a_batch_decides():
    found = target_range([(1, [9, 4, 4]), (1, [9, 2.011, 2.011]), (2, [9, 3, 3])])
    assert (found.low, found.default, found.high) == (3, 3, 9)


def test_the_lowest_target_names_how_many_batches_reach_it():
    lost = [(size, [9.0, np.nan, np.nan]) for size in (3, 4, 5)]
    assert target_range([(1, [9, 4, 4]), (2, [9, 3, 3]), *lost]).batches == 2
    assert target_range([(size, [9.0, 4.0, 4.0]) for size in range(1, 6)]).batches == 3


def test_a_default_is_rounded_up_so_that_it_stays_reached():
    curves = [(size, [9.0, 2.0111, 2.0111]) for size in (1, 2, 3)]
    found = target_range(curves)
    assert (found.low, found.default) == (2.0111, 2.02)


def test_curves_without_two_numbers_have_no_target():
    assert target_range([]) is None
    assert target_range([(1, [np.nan, np.inf]), (2, [])]) is None


def test_the_places_of_a_slider_are_readable_and_inside_the_range():
    found = target_range((size, [9.3, 1.3721, 1.3721]) for size in (1, 2, 3))
    places = loss_curves.places(found, 40)
    assert len(places) > 30 and found.low <= places[0] and places[-1] <= found.high
    assert all(place == float(f"{place:.3g}") for place in places)


def test_one_run_that_begins_low_or_at_zero_does_not_close_the_range_of_targets():
    falling = [(size, np.linspace(9, 2 + size / 10, 20)) for size in range(1, 7)]
    plain = target_range(falling)
    for odd in (np.full(20, 2.0), np.append(0.0, np.linspace(9, 2.5, 19))):
        found = target_range([*falling, (7, odd)])
        assert found.high == plain.high and found.low < found.default < found.high


def test_a_curve_that_begins_at_the_target_or_below_is_told():
    assert begins_below([2.0, 1.9], 2.0) and not begins_below([2.1, 1.9], 2.0)
    assert not begins_below([np.nan, 0.0, 5.0], 2.0)  # no loss is 0
