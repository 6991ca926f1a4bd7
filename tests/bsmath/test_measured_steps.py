import dataclasses

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from bsmath import sweeps
from bsmath.critical import steps_to_target
from bsmath.measured import measurement, refusal
from bsmath.measured_steps import steps_of

BATCHES = np.array([0.1, 0.3, 1, 3, 10, 30]) * 1e6


def read(lines, header="batch_tokens,steps_to_target"):
    return sweeps.read("\n".join([header, *lines]).encode(), "own.csv")


def noisy(repeats=1):
    random = np.random.default_rng(4)
    return [
        (batch, steps_to_target(batch, 2e6, 1e4) * np.exp(random.normal(0, 0.03)))
        for batch in np.repeat(BATCHES, repeats)
    ]


def test_a_ten_fold_typing_error_in_one_of_two_seeds_does_not_move_the_fit():
    runs = noisy(2)
    lines = [f"{batch:.0f},{steps:.0f}" for batch, steps in runs]
    clean = steps_of(read(lines), "all rows")
    lines[3] += "0"
    found = steps_of(read(lines), "all rows")
    assert_allclose(found.fit.critical_batch_size, clean.fit.critical_batch_size, rtol=0.1)
    assert "1 run left out as a likely mistake" in found.verdict and "at 300,000" in found.verdict
    assert found.points["count"].tolist() == [2, 1, 2, 2, 2, 2]


def test_a_run_that_was_stopped_bounds_the_fit_from_below():
    lines = [f"{batch:.0f},{steps:.0f}" for batch, steps in noisy()]
    plain = steps_of(read(lines), "all rows").fit
    found = steps_of(read([*lines, "10000,>4000000"]), "all rows")  # the curve says 2,000,000 there
    assert "No run arrived at one more batch" in found.verdict and "4,000,000 at 10,000" in found.verdict
    assert found.fit.min_tokens > 1.2 * plain.min_tokens
    assert len(found.points) == 6


def test_a_bound_that_the_curve_keeps_changes_nothing():
    lines = [f"{batch:.0f},{steps:.0f}" for batch, steps in noisy()]
    plain, found = (steps_of(read(given), "all rows").fit for given in (lines, [*lines, "10000,> 1000"]))
    assert_allclose(found.critical_batch_size, plain.critical_batch_size)


def test_a_batch_of_a_tuned_sweep_where_no_rate_arrived_bounds_the_fit():
    header = "batch_tokens,learning_rate,steps_to_target,steps_run"
    lines = [
        f"{batch:.0f},{rate},{steps * slow:.0f},1e9"
        for batch, steps in noisy()
        for rate, slow in ((1e-3, 1), (2e-3, 1.2))
    ]
    lost = ["100000000,0.001,,30000", "100000000,0.002,,40000"]
    found = steps_of(read([*lines, *lost], header), "all rows")
    assert "30,000 at 100,000,000" in found.verdict
    assert found.fit.predict(1e8) > 1.2 * steps_of(read(lines, header), "all rows").fit.predict(1e8)


def test_steps_on_an_evaluation_grid_widen_the_interval():
    exact = [f"{batch:.0f},{steps_to_target(batch, 2e6, 1e4):.0f}" for batch in BATCHES]
    grid = [f"{batch:.0f},{round(steps_to_target(batch, 2e6, 1e4), -3):.0f}" for batch in BATCHES]
    widths = [
        np.divide(*steps_of(read(lines), "all rows").fit.interval()["critical_batch_size"]) for lines in (exact, grid)
    ]
    assert widths[1] < widths[0]  # lower over upper end


def test_points_left_out_are_told_from_those_used():
    lines = [f"{batch:.0f},{steps:.0f}" for batch, steps in noisy()]
    lines[0] = f"{BATCHES[0]:.0f},{1.6 * steps_to_target(BATCHES[0], 2e6, 1e4):.0f}"
    found = measurement(read(lines), "all rows", "steps")
    used, out = found.split_points
    assert out["tokens_per_step"].tolist() == [1e5] and len(used) == 5
    assert "U-shaped" in found.verdict and found.identified


def test_a_rejected_hyperbola_is_drawn_with_its_rival():
    batch = 2.0 ** np.arange(-4, 6) * 1e6
    steps = 1e4 * (1 + (1e6 / batch) ** 0.5) * np.exp(np.random.default_rng(2).normal(0, 0.02, 10))
    found = measurement(read([f"{b:.0f},{s:.0f}" for b, s in zip(batch, steps, strict=True)]), "all rows", "steps")
    assert "rejected" in found.verdict and not found.identified
    assert_allclose(found.curve["other"], found.fit.power.predict(found.curve["tokens_per_step"]))


def test_one_batch_is_not_fitted():
    found = steps_of(read(["100000,5", "100000,6"]), "all rows")
    assert found.fit is None and "measure another" in found.verdict


def test_one_learning_rate_for_all_batches_is_refused_whatever_the_curve_looks_like():
    lines = [f"{batch:.0f},0.001,{steps:.0f}" for batch, steps in noisy()]
    found = steps_of(read(lines, "batch_tokens,learning_rate,steps_to_target"), "all rows")
    assert not found.identified and found.verdict.startswith("Refused: the learning rate is 0.001 at every batch")


def test_rates_that_follow_the_batch_are_not_refused():
    lines = [f"{batch:.0f},{1e-3 * (batch / 1e6) ** 0.5:.3g},{steps:.0f}" for batch, steps in noisy()]
    assert steps_of(read(lines, "batch_tokens,learning_rate,steps_to_target"), "all rows").identified


def test_tokens_that_fall_at_one_rate_are_refused_once_and_with_that_rate():
    lines = [f"{batch:.0f},0.001,{1e12 / batch**1.3:.0f}" for batch in BATCHES]
    verdict = steps_of(read(lines, "batch_tokens,learning_rate,steps_to_target"), "all rows").verdict
    assert verdict.count("Refused") == 1 and verdict.endswith("In this file it is 0.001 at every batch.")


def test_a_fit_in_sequences_does_not_enter_a_scenario_in_tokens():
    sweep = read([f"{batch / 8192:.0f},{steps:.0f}" for batch, steps in noisy()], "batch_size,steps_to_target")
    found = measurement(sweep, "all rows", "steps")
    assert found.identified and found.batch_unit == "sequences" and "how many tokens one holds" in refusal(found)
    known = read(
        [f"{batch / 8192:.0f},8192,{steps:.0f}" for batch, steps in noisy()], "batch_size,seq_len,steps_to_target"
    )
    assert refusal(measurement(known, "all rows", "steps")) == ""


def test_a_run_stopped_absurdly_far_above_the_others_is_left_out_and_named():
    lines = [f"{batch:.0f},{steps:.0f}" for batch, steps in noisy()]
    plain, found = (steps_of(read(given), "all rows") for given in (lines, [*lines, "100000000,>400000"]))
    assert found.fit.critical_batch_size == plain.fit.critical_batch_size
    assert "stopped far above the curve" in found.verdict and "400,000 at 100,000,000" in found.verdict


def test_the_same_outermost_rate_at_every_batch_is_refused():
    header = "batch_tokens,learning_rate,steps_to_target"
    lines = [
        f"{b:.0f},{rate},{s * slow:.0f}" for b, s in noisy() for rate, slow in ((1e-3, 1), (5e-4, 1.2), (2e-4, 1.5))
    ]
    found = steps_of(read(lines, header), "all rows")
    assert (
        not found.identified
        and "at every batch the best rate is an outermost one of those tried (mostly 0.001)" in found.verdict
    )


def test_one_rate_at_each_batch_is_neither_called_tuned_nor_refused():
    runs = [(b, 1e-3 * (b / 1e6) ** 0.5, s) for b, s in noisy(2)]
    table = pd.DataFrame(runs, columns=["tokens_per_step", "learning_rate", "steps"]).assign(
        series="all rows", censored=False, row=1
    )
    sweep = dataclasses.replace(read(["100000,1", "1000000,1"]), table=table.assign(steps_run=np.nan))
    found = steps_of(sweep, "all rows")
    assert found.identified and "nothing says whether that is the best there" in found.verdict


def test_a_rate_known_at_some_batches_only_refuses_nothing():
    lines = [f"{batch:.0f},{'0.001' if batch == 1e5 else ''},{steps:.0f}" for batch, steps in noisy()]
    assert steps_of(read(lines, "batch_tokens,learning_rate,steps_to_target"), "all rows").identified


def test_a_base_rate_that_trainers_multiply_refuses_nothing():
    lines = [f"{batch:.0f},0.001,{steps:.0f}" for batch, steps in noisy()]
    assert steps_of(read(lines, "batch_tokens,base_lr,steps_to_target"), "all rows").identified


def test_a_coarse_grid_of_evaluations_is_said():
    lines = [f"{batch:.0f},{np.ceil(steps_to_target(batch, 2e6, 1e4) / 5e3) * 5e3:.0f}" for batch in BATCHES]
    assert "rounded up to the next one, B_crit comes out too low" in steps_of(read(lines), "all rows").verdict


def test_steps_without_a_scale_do_not_enter_a_scenario():
    sweep = read([f"{batch:.0f},{steps / 1e5:.5f}" for batch, steps in noisy()])
    assert "scale of this file's steps" in refusal(measurement(sweep, "all rows", "steps"))


def test_one_low_value_amid_the_others_is_no_minimum_of_a_u():
    batch = 8192 * 2.0 ** np.arange(8)
    steps = np.round(steps_to_target(batch, 1e5, 2000))
    steps[3] = np.round(steps[3] / 2)
    found = steps_of(read([f"{b:.0f},{s:.0f}" for b, s in zip(batch, steps, strict=True)]), "all rows")
    assert found.fit.left == () and found.fit.broken == (65536.0,)
    assert_allclose(found.fit.critical_batch_size, 1e5, rtol=0.02)


def test_a_lucky_seed_is_no_median_where_most_runs_were_stopped():
    lines = [f"{batch:.0f},{steps:.0f}" for batch, steps in noisy(3)]
    lucky = ["100000000,6000", "100000000,>10200", "100000000,>10200"]
    found = steps_of(read([*lines, *lucky]), "all rows")
    assert 1e8 not in found.points["tokens_per_step"].tolist()
    assert "10,200 at 100,000,000" in found.verdict
    assert found.fit.predict(1e8) > 9_000


def test_runs_that_diverged_are_no_results():
    lines = [f"{batch:.0f},{steps:.0f},finished" for batch, steps in noisy()]
    sweep = read([*lines, "100000000,900,diverged"], "batch_tokens,steps_to_target,status")
    assert 1e8 not in steps_of(sweep, "all rows").points["tokens_per_step"].tolist()
    assert any("said not to have reached the target" in problem.what for problem in sweep.problems)


def test_outermost_rates_of_both_ends_are_refused_too():
    header = "batch_tokens,learning_rate,steps_to_target"
    lines = [
        f"{b:.0f},{rate},{s * (1 if (rate == 1e-3) == (b > 2e5) else 1.3):.0f}"
        for b, s in noisy()
        for rate in (1e-3, 5e-4)
    ]
    found = steps_of(read(lines, header), "all rows")
    assert not found.identified and "an outermost one of those tried" in found.verdict


def test_one_empty_cell_does_not_hide_that_the_rate_was_held():
    lines = [f"{batch:.0f},{'' if batch == 1e6 else '0.001'},{steps:.0f}" for batch, steps in noisy()]
    assert not steps_of(read(lines, "batch_tokens,learning_rate,steps_to_target"), "all rows").identified
