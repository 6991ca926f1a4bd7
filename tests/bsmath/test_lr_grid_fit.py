import json
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import lr, lr_grid, lr_grid_fit
from bsmath.lr_grid_laws import GRID_LAWS
from tests.bsmath.test_lr_grid import BATCHES, made

REAL = Path(__file__).parents[3] / "shared" / "data"
needs_real_data = pytest.mark.skipif(not REAL.is_dir(), reason="the public data sets are not beside this checkout")


def law(name, shape, rate=1e-3, middle=np.sqrt(1e4 * 1e7)):
    return lambda batch: GRID_LAWS[name].function(batch, rate, middle, shape)


def exact(name, shape, batches=BATCHES):
    return lr_grid_fit.fit(lr_grid.stated(batches, law(name, shape)(batches)))


def standing(fit):
    return dict(fit.table[["law", "standing"]].to_numpy())


@pytest.mark.parametrize(
    "name, shape", [("power", 0.3), ("power", -0.2), ("saturating", 3e5), ("saturating_root", 3e5), ("surge", 4e5)]
)
def test_exact_optima_give_back_their_law(name, shape):
    fit = exact(name, shape)
    assert fit.best == name
    found = fit.laws[name]
    assert_allclose(found.parameters[found.law.shape], shape, rtol=2e-3)
    assert_allclose(found.parameters["reference_learning_rate"], 1e-3, rtol=1e-3)
    assert_allclose(fit.predict(BATCHES), law(name, shape)(BATCHES), rtol=2e-3)
    assert all(low <= found.parameters[key] <= high for key, (low, high) in found.interval.items())


@pytest.mark.parametrize("name", ["square_root", "linear", "constant"])
def test_a_law_without_shape_wins_over_those_that_contain_it(name):
    fit = exact(name, None)
    assert fit.best == name
    assert_allclose(fit.exponent[0], {"square_root": 0.5, "linear": 1, "constant": 0}[name], atol=1e-3)


def test_largest_rates_are_the_laws_own_limits():
    found = exact("saturating", 3e5).laws["saturating"].parameters["largest_rate"]
    assert_allclose(found, lr.saturating(1e15, 1e-3, np.sqrt(1e11), 3e5), rtol=2e-3)
    assert_allclose(
        exact("surge", 4e5).laws["surge"].parameters["largest_rate"], lr.surge(4e5, 1e-3, np.sqrt(1e11), 4e5), rtol=2e-3
    )


def test_the_exponent_is_the_weighted_line_through_the_logarithms():
    found = lr_grid.optima(made(law("power", 0.3), noise=0.015, seed=3))
    x, y = np.log(found["tokens_per_step"]), np.log(found["learning_rate"])
    (slope, _), covariance = np.polyfit(x, y, 1, w=1 / found["log_sd"], cov="unscaled")
    fit = lr_grid_fit.fit(found)
    assert_allclose(fit.exponent[0], slope, atol=1e-4)
    residuals = (y - np.polyval(np.polyfit(x, y, 1, w=1 / found["log_sd"]), x)) / found["log_sd"]
    scale = np.sqrt(((residuals**2).sum() + 4) / (10 - 2 + 4))  # the stated errors count as four observations
    assert_allclose(fit.laws["power"].scale, scale, rtol=1e-3)
    half = 1.7823 * scale * np.sqrt(covariance[0, 0])  # Student's t, 95 %, 12 degrees of freedom
    assert_allclose(fit.exponent[1:], [slope - half, slope + half], atol=2e-4)


@pytest.mark.parametrize("noise", [0.012, 0.02])
def test_intervals_hold_the_exponent_about_nine_times_in_ten(noise):
    hits = []
    for seed in range(200):
        fit = lr_grid_fit.fit(lr_grid.optima(made(law("power", 0.3), noise=noise, seed=seed)))
        hits.append(fit.exponent[1] <= 0.3 <= fit.exponent[2])
    assert 0.80 < np.mean(hits) < 0.97


def test_saturation_is_told_from_a_power_over_a_wide_range():
    right, hits = 0, 0
    for seed in range(60):
        fit = lr_grid_fit.fit(lr_grid.optima(made(law("saturating", 3e5), noise=0.01, rates=20, seed=seed)))
        low, high = fit.laws["saturating"].interval["saturation_batch"]
        right += standing(fit)["saturating"] == "supported" and standing(fit)["power"] == "rejected"
        hits += low <= 3e5 <= high
    assert right > 54 and hits > 48


def test_slopes_fall_along_a_saturating_law_and_the_verdict_says_so():
    fit = exact("saturating", 3e5)
    assert np.all(np.diff(fit.slopes["slope"]) < 0)
    middles = np.sqrt(fit.slopes["low"] * fit.slopes["high"])
    local = [lr.local_slope(lr.saturating, middle, 1e-3, 1e5, 3e5) for middle in middles]
    assert_allclose(fit.slopes["slope"], local, atol=0.06)
    assert "the slope falls from 0.78 at small batches to 0.10 at large ones" in fit.verdict


def test_the_unit_of_the_batch_changes_nothing_but_the_batches():
    optima = lr_grid.optima(made(law("saturating", 3e5), rates=20, noise=0.01))
    here = lr_grid_fit.fit(optima)
    there = lr_grid_fit.fit(optima.assign(tokens_per_step=1000 * optima["tokens_per_step"]))
    assert_allclose(there.table["aicc"], here.table["aicc"], atol=1e-4)
    ratio = (
        there.laws["saturating"].parameters["saturation_batch"] / here.laws["saturating"].parameters["saturation_batch"]
    )
    assert_allclose(ratio, 1000, rtol=1e-3)


def test_bounds_pull_the_law_only_where_it_contradicts_them():
    rates = law("power", 0.3)(BATCHES)
    optima = lr_grid.stated(BATCHES, rates)
    last = optima.index == 9
    free = lr_grid_fit.fit(optima[~last]).exponent[0]
    ends = {"edge": "highest", "low": rates[9] / 10, "high": np.inf}
    agreeing = optima.assign(**{key: optima[key].where(~last, value) for key, value in ends.items()})
    assert_allclose(lr_grid_fit.fit(agreeing).exponent[0], free, atol=1e-3)
    contradicting = agreeing.assign(low=agreeing["low"].where(~last, rates[9] * 3))
    assert lr_grid_fit.fit(contradicting).exponent[0] > free + 0.03


def test_treating_edges_as_optima_would_flatten_the_law_and_bounds_do_not():
    grid = made(law("power", 0.6), rates=16, noise=0.01)
    cut = grid[grid["learning_rate"] <= 4.1e-3]  # the optimum leaves these rates at the three largest batches
    optima = lr_grid.optima(cut)
    assert 2 <= (optima["edge"] == "highest").sum() <= 4
    fit = lr_grid_fit.fit(optima)
    assert fit.exponent[1] <= 0.6 <= fit.exponent[2]
    naive = np.polyfit(np.log(optima["tokens_per_step"]), np.log(optima["learning_rate"]), 1)[0]
    assert naive < fit.exponent[1]
    assert "are bounds" in fit.verdict


def test_a_grid_whose_optima_lie_at_its_edge_is_refused():
    grid = made(law("power", 0.6), rates=16)
    with pytest.raises(
        ValueError, match="edge of the rates tried at [5-9] of 10 batches; widen the grid to higher rates"
    ):
        lr_grid_fit.fit(lr_grid.optima(grid[grid["learning_rate"] <= 0.9e-3]))
    with pytest.raises(ValueError, match="on both sides of the optimum at most batches.*widen the grid to lower rates"):
        lr_grid_fit.fit(lr_grid.optima(grid[grid["learning_rate"] >= 1.1e-3]))


def test_too_few_batches_rates_or_groups_are_refused():
    grid = made(law("power", 0.3))
    with pytest.raises(ValueError, match="optima must hold 3 batches with 3 rates tried each, got 2 of 2"):
        lr_grid_fit.fit(lr_grid.optima(grid[grid["tokens_per_step"] < 3e4]))
    two = grid[grid["learning_rate"].isin(np.sort(grid["learning_rate"].unique())[6:8])]
    with pytest.raises(ValueError, match="got 0 of 10"):
        lr_grid_fit.fit(lr_grid.optima(two))
    groups = pd.concat([grid.assign(group="a"), grid.assign(group="b")])
    with pytest.raises(ValueError, match="group must be a single one, got a, b"):
        lr_grid_fit.fit(lr_grid.optima(groups))


def test_three_batches_give_an_exponent_but_compare_only_laws_without_a_shape():
    fit = lr_grid_fit.fit(lr_grid.stated([1e4, 1e5, 1e6], [1e-4, 3.2e-4, 1e-3]))
    assert fit.best == "square_root" and standing(fit)["power"] == "left out"
    assert_allclose(fit.exponent[0], 0.5, atol=5e-3)
    assert "Not compared, for want of batches: power" in fit.verdict.replace("not", "Not")


def test_a_law_that_nothing_follows_is_called_so():
    fit = lr_grid_fit.fit(lr_grid.stated(BATCHES, np.tile([1e-4, 1e-2], 5)))
    assert "none describes them" in fit.verdict


def test_a_fit_takes_less_than_a_tenth_of_a_second():
    optima = lr_grid.optima(made(law("power", 0.6), rates=16, noise=0.01).query("learning_rate < 4.1e-3"))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        lr_grid_fit.fit(optima)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.1


def finished_runs() -> pd.DataFrame:
    """Final losses of the runs of the public grid that saw all their tokens; sequences of 256 tokens."""
    rows = []
    for path in sorted((REAL / "1_hyperbola/lenardst_lr_batch_grid").glob("*.jsonl")):
        sequences, rate = re.search(r"-b(\d+)-lr(\de-\d)-", path.name).groups()
        last = json.loads(path.read_text().splitlines()[-1])
        rows.append((256 * int(sequences), float(rate), last["val_loss"], last["tokens_seen"]))
    runs = pd.DataFrame(rows, columns=["tokens_per_step", "learning_rate", "value", "tokens"])
    return runs[runs["tokens"] == runs["tokens"].max()]


@needs_real_data
def test_a_public_grid_saturates():
    optima = lr_grid.optima(finished_runs())
    assert optima["rates"].tolist() == [5, 8, 8, 8, 8] and (optima["edge"] == "").all()
    assert optima["best_learning_rate"].tolist() == [1e-4, 1e-2, 3e-3, 1e-2, 1e-2]
    assert_allclose(optima["learning_rate"], [1.50e-4, 5.89e-3, 5.44e-3, 7.55e-3, 6.04e-3], rtol=5e-3)
    fit = lr_grid_fit.fit(optima)
    slope = np.polyfit(np.log(optima["tokens_per_step"]), np.log(optima["learning_rate"]), 1, w=1 / optima["log_sd"])[0]
    assert_allclose(fit.exponent[0], slope, atol=1e-4)
    assert_allclose(fit.exponent, [0.512, 0.272, 0.752], atol=2e-3)
    assert fit.best == "saturating" and (fit.table["standing"][1:] == "rejected").all()
    assert_allclose(fit.table["difference"][1], 7.08, atol=0.05)
    assert_allclose(fit.laws["saturating"].parameters["saturation_batch"], 10_600, rtol=0.01)
    assert "No batch lies between 256 and 16.4k tokens" in fit.verdict


@needs_real_data
def test_the_same_grid_without_its_higher_rates_is_refused():
    runs = finished_runs()
    with pytest.raises(ValueError, match="edge of the rates tried at 4 of 5 batches; widen the grid to higher rates"):
        lr_grid_fit.fit(lr_grid.optima(runs[runs["learning_rate"] < 2e-3]))


@needs_real_data
def test_public_best_rates_from_one_sequence_up_rise_and_fall():
    table = pd.read_csv(REAL / "3_lr_vs_batch/martin-marek_lm11m_best_per_batch.csv")
    fit = lr_grid_fit.fit(lr_grid.stated(table["batch_size"], table["peak_lr"]))  # batches in sequences
    slope = np.polyfit(np.log(table["batch_size"]), np.log(table["peak_lr"]), 1)[0]
    assert_allclose(fit.exponent[0], slope, atol=1e-4)
    assert_allclose(fit.exponent, [0.092, -0.012, 0.195], atol=2e-3)
    assert fit.best == "surge" and (fit.table["standing"][1:] == "rejected").all()
    assert_allclose(fit.laws["surge"].parameters["peak_batch"], 138, rtol=0.01)
    assert_allclose(fit.table["difference"][1], 12.3, atol=0.1)
    assert_allclose(fit.slopes["slope"].iloc[[0, -1]], [0.29, -0.22], atol=0.01)
