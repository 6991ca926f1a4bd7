import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import next_run
from bsmath.critical import steps_to_target, tokens_to_target
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.step_fit import fit_step_time
from tests.benchmarks.next_run import simulate

KNEE, LEAST = 1e6, 1e4
NOISE = np.exp(0.06 * np.array([1, -1, 0.5, 0.5, -1, 1]))
AROUND = KNEE * 4.0 ** np.arange(-3, 3)


def swept(batch, noise=NOISE):
    batch = np.asarray(batch, float)
    return fit_hyperbola(batch, steps_to_target(batch, KNEE, LEAST) * noise[: batch.size])


def timed(batch):
    batch = np.asarray(batch, float)
    return fit_step_time(batch, batch / (0.05 * (1 + batch / 1e4) * NOISE[: batch.size]))


def test_below_the_knee_a_larger_batch_is_advised():
    advice = next_run.hyperbola(swept(KNEE / 2.0 ** np.arange(4, 8)))
    assert advice.tokens_per_step > KNEE / 16
    assert "larger" in advice.reason


def test_above_the_knee_a_smaller_batch_is_advised():
    advice = next_run.hyperbola(swept(KNEE * 2.0 ** np.arange(3, 7)))
    assert advice.tokens_per_step < KNEE * 8
    assert "smaller" in advice.reason


def test_cost_is_the_predicted_tokens_of_the_run():
    fit = swept(AROUND)
    advice = next_run.hyperbola(fit)
    assert_allclose(advice.cost, tokens_to_target(advice.tokens_per_step, fit.critical_batch_size, fit.min_steps))
    assert_allclose(
        advice.table["cost"], advice.table["tokens_per_step"] * fit.predict(advice.table["tokens_per_step"])
    )


def test_cost_of_a_timing_run_is_its_steps_and_warmup_times_the_step_time():
    fit = timed([1e3, 4e3, 16e3, 64e3])
    advice = next_run.throughput(fit, steps=30, warmup=5)
    assert_allclose(advice.cost, 35 * advice.tokens_per_step / fit.predict(advice.tokens_per_step))


@pytest.mark.parametrize("candidate", [KNEE / 300, 30 * KNEE])
def test_expected_interval_is_that_of_a_fit_with_the_predicted_point(candidate):
    fit = swept(AROUND)
    advice = next_run.hyperbola(fit, [candidate])
    steps = np.append(steps_to_target(AROUND, KNEE, LEAST) * NOISE, fit.predict(candidate))
    low, high = fit_hyperbola(np.append(AROUND, candidate), steps).interval()["critical_batch_size"]
    error = np.sqrt(1 + 0.455 * advice.scatter**2 / fit.line.ssr)  # of one more run: the median of chi-square
    assert_allclose(np.log(advice.expected[1] / advice.expected[0]), error * np.log(high / low), rtol=0.02)
    assert_allclose(np.prod(advice.expected), low * high, rtol=0.1)


def test_a_new_run_narrows_the_interval_more_than_a_repeat():
    advice = next_run.hyperbola(swept(AROUND))
    now, after = (np.log(ends[1] / ends[0]) for ends in (advice.now, advice.expected))
    assert after < np.log(advice.repeat["high"] / advice.repeat["low"]) < now
    assert advice.repeat["information"] < 1


def test_a_repeat_is_cheapest_at_the_smallest_batch():
    advice = next_run.hyperbola(swept(AROUND))
    assert_allclose(advice.repeat["tokens_per_step"], AROUND[0])


def test_the_advised_batch_has_the_largest_information_for_its_cost():
    table = next_run.hyperbola(swept(AROUND)).table
    advice = next_run.hyperbola(swept(AROUND))
    assert table.loc[table["information"].idxmax(), "tokens_per_step"] == advice.tokens_per_step
    assert_allclose(table["information"].max(), 1)


def test_batches_close_to_measured_ones_are_not_new():
    advice = next_run.hyperbola(swept(AROUND), [1.1 * AROUND[0], 0.9 * AROUND[-1], 1.5 * AROUND[2]])
    assert advice.tokens_per_step == 1.5 * AROUND[2]
    assert next_run.hyperbola(swept(AROUND), [1.1 * AROUND[0]]) is None


def test_candidates_are_whole_sequences_at_most_four_times_beyond_the_measured_batches():
    batch = 65_536 * np.array([1, 4, 16, 64])
    sizes = next_run.hyperbola(swept(batch), sequence=65_536).table["tokens_per_step"]
    assert sizes.min() == 65_536 and sizes.max() == 4 * 64 * 65_536
    assert not (sizes % 65_536).any()
    assert next_run.hyperbola(swept(batch)).table["tokens_per_step"].min() == 65_536 / 4


def test_where_every_batch_lies_on_one_side_of_the_knee_only_the_other_side_is_advised():
    below = swept(2048 * np.array([1, 2, 4, 8]))
    assert np.isinf(below.interval()["critical_batch_size"][1])
    fresh = next_run.hyperbola(below).table.query("not repeat")
    assert fresh["tokens_per_step"].min() > 8 * 2048


def test_a_batch_at_which_a_run_was_stopped_is_not_advised_again():
    batch = 65_536 * np.array([1.0, 4, 16, 64])
    fit = fit_hyperbola(batch, steps_to_target(batch, KNEE, LEAST), stopped=([65_536 / 4], [100_000]))
    assert 65_536 / 4 not in next_run.hyperbola(fit).table["tokens_per_step"].tolist()


def test_units_of_the_batch_do_not_matter():
    few = next_run.hyperbola(swept(AROUND))
    many = next_run.hyperbola(fit_hyperbola(512 * AROUND, steps_to_target(AROUND, KNEE, LEAST) * NOISE), sequence=512)
    assert_allclose(many.tokens_per_step, 512 * few.tokens_per_step)
    assert_allclose(many.expected, 512 * np.array(few.expected), rtol=1e-4)


def test_step_times_are_the_same_line_with_the_batch_turned_over():
    batch = np.array([1e3, 4e3, 16e3, 64e3])
    candidates = np.array([3e2, 8e3, 2e5])
    steps = next_run.hyperbola(fit_hyperbola(1e9 / batch, (1 + batch / 1e4) * NOISE[:4]), 1e9 / candidates)
    times = next_run.throughput(timed(batch), candidates=candidates)
    of_steps, of_times = (one.table[~one.table["repeat"]] for one in (steps, times))
    assert_allclose(of_times["low"], 1e9 / of_steps["high"][::-1], rtol=1e-4)
    assert_allclose(of_times["high"], 1e9 / of_steps["low"][::-1], rtol=1e-4)


def test_two_batches_are_advised_on_by_an_assumed_scatter():
    advice = next_run.hyperbola(swept([1e5, 1e6]))
    assert advice.assumed and advice.repeat is None
    assert_allclose(advice.scatter, next_run.SCATTER, rtol=1e-2)
    assert advice.now == (0, np.inf)


def test_left_of_a_minimum_of_the_tokens_nothing_is_advised():
    steps = steps_to_target(AROUND, KNEE, LEAST)
    steps[0] *= 1.6
    advice = next_run.hyperbola(fit_hyperbola(AROUND, steps))
    assert advice.table["tokens_per_step"].min() >= AROUND[1]


def test_falling_tokens_get_no_advice():
    batch = np.array([1e5, 2e5, 4e5, 8e5])
    assert next_run.hyperbola(fit_hyperbola(batch, 1e10 / batch**1.3)) is None


def test_a_rate_that_falls_is_not_measured_farther_out():
    batch = 1e3 * 2.0 ** np.arange(7)
    rate = batch / (0.05 * (1 + batch / 1e4))
    rate[-1] *= 0.6
    fit = fit_step_time(batch, rate)
    assert fit.fall
    assert next_run.throughput(fit).tokens_per_step < batch[-1]


def test_a_curve_gets_no_advice():
    batch = 1e3 * 2.0 ** np.arange(10)
    fit = fit_step_time(batch, batch / np.maximum(0.05, batch / 3e5))
    assert fit.curved
    assert next_run.throughput(fit) is None


def test_followed_twice_the_advice_beats_uniform_spacing_for_the_same_tokens():
    rows, _ = simulate("around", 12, [("middles", "near", "same")])
    assert rows["wins"].mean() >= 0.75  # 200 of them: see the benchmark


def test_a_repeat_takes_at_most_half_of_one_batch_s_variance_from_the_mean_over_all():
    fit = swept(AROUND)
    profile = next_run._Profile(fit.line, 0.90)
    before = np.diff(profile._ends(profile.ssr, AROUND.size - 2))
    _, low, high = profile.with_repeat()
    assert_allclose(((high - low) / before) ** 2, 1 - 1 / 12, rtol=0.02)


def test_where_the_rate_falls_no_larger_batch_is_tried():
    batch = 2.0 ** np.arange(12, 22)
    rate = batch / (0.05 + batch / 1e5) * np.where(batch > 3e5, 0.6, 1)
    fit = fit_step_time(batch, rate)
    assert fit.fall and fit.line.x[-1] < 3e5
    new = next_run.throughput(fit).table.query("not repeat")
    assert new["tokens_per_step"].max() < 3e5
