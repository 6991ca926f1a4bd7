import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import lr_grid

BATCHES = np.geomspace(1e4, 1e7, 10)


def made(law, batches=BATCHES, factor=2.0, rates=14, curvature=0.01, noise=0.0, seed=0):
    """A loss of 3 nats at the law's rate, and a parabola in ln rate around it; the centre of the rates tried is 1e-3."""
    generator, tried = np.random.default_rng(seed), 1e-3 * float(factor) ** (np.arange(rates) - rates // 2)
    batch, rate = (values.ravel() for values in np.meshgrid(batches, tried, indexing="ij"))
    value = 3 * (1 + curvature * np.log(rate / law(batch)) ** 2) + noise * generator.standard_normal(batch.size)
    return pd.DataFrame({"tokens_per_step": batch, "learning_rate": rate, "value": value})


def one(values, rates=(1e-4, 2e-4, 4e-4, 8e-4, 16e-4)):
    grid = pd.DataFrame({"tokens_per_step": 1e5, "learning_rate": rates[: len(values)], "value": values})
    return lr_grid.optima(grid).iloc[0]


def test_the_vertex_of_an_exact_parabola_is_found_between_the_rates():
    found = lr_grid.optima(made(lambda batch: 1.3e-3 * (batch / 1e6) ** 0.3))
    assert_allclose(found["learning_rate"], 1.3e-3 * (BATCHES / 1e6) ** 0.3, rtol=1e-9)
    assert_allclose(found["value"], 3)
    assert (found["edge"] == "").all() and (found["rates"] == 14).all()


def test_three_points_give_the_parabola_by_hand():
    # x = 0, 1, 2 in ln 2: (3.2 - 3.1) / (3.2 - 2 * 3.0 + 3.1) / 2 = 1/6 of a spacing above the middle
    assert_allclose(one([3.2, 3.0, 3.1])["learning_rate"], 2e-4 * 2 ** (1 / 6))


def test_an_exact_grid_of_factor_two_still_knows_its_optima_to_a_third_only():
    found = lr_grid.optima(made(lambda batch: 1e-3 + 0 * batch))
    assert_allclose(found["log_sd"], np.log(2) / 4)
    assert_allclose(found["high"] / found["learning_rate"], 1.33, atol=0.01)  # exp(1.645 ln 2 / 4)


def test_tolerated_rates_are_those_within_two_thousandths():
    row = lr_grid.optima(made(lambda batch: 1e-3 + 0 * batch, curvature=0.01)).iloc[0]
    assert_allclose(row["tolerance_high"], 1e-3 * np.exp(np.sqrt(0.2)), rtol=1e-6)  # 0.01 u^2 = 0.002
    assert_allclose(row["tolerance_low"], 1e-3 / np.exp(np.sqrt(0.2)), rtol=1e-6)


def test_noise_widens_the_interval_and_it_then_holds_the_truth_nine_times_in_ten():
    hits, wide = [], []
    for seed in range(40):
        found = lr_grid.optima(made(lambda batch: 1e-3 + 0 * batch, noise=0.015, seed=seed))
        found = found[found["edge"] == ""]
        hits += ((found["low"] <= 1e-3) & (found["high"] >= 1e-3)).tolist()
        wide += found["log_sd"].tolist()
    assert np.mean(wide) > 1.02 * np.log(2) / 4
    assert 0.80 < np.mean(hits) < 0.97


def test_seeds_enter_as_their_mean_and_their_spread():
    grid = pd.concat(
        [made(lambda batch: 1e-3 + 0 * batch, factor=3).assign(value=lambda t: t["value"] + d) for d in (-0.2, 0.2)]
    )
    found = lr_grid.optima(grid)
    assert_allclose(found["learning_rate"], 1e-3)
    assert (found["log_sd"] > 2 * np.log(3) / 4).all()


@pytest.mark.parametrize(
    "values, edge, low, high",
    [
        ([3.0, 3.1, 3.2, 3.3, 3.4], "lowest", 0, 1e-4 * np.sqrt(2)),
        ([3.4, 3.3, 3.2, 3.1, 3.0], "highest", 8e-4 * np.sqrt(2), np.inf),
        ([3.4, 3.0], "highest", 1e-4 * np.sqrt(2), np.inf),
    ],
)
def test_a_best_rate_at_the_edge_is_a_bound_halfway_to_the_next(values, edge, low, high):
    row = one(values)
    assert row["edge"] == edge
    assert_allclose([row["low"], row["high"]], [low, high])


def test_a_vertex_beyond_the_rates_is_an_edge_even_where_noise_lifts_the_last_value():
    row = one([3.8, 3.5, 3.0, 2.9999, 3.0], (1e-4, 1.5e-4, 3e-4, 3.03e-4, 3.06e-4))
    assert row["edge"] == "highest" and row["learning_rate"] == 3.03e-4


def test_diverged_runs_are_no_points_but_end_the_interval():
    row = one([3.2, 3.1, 3.0, np.inf, np.nan])
    assert row["edge"] == "" and row["diverged"] == 2
    assert_allclose(row["learning_rate"], 4e-4)
    assert row["high"] <= 8e-4
    assert_allclose(row["log_sd"], 2 * np.log(2) / np.sqrt(12))


@pytest.mark.parametrize("far", [10.8, 4.1])
def test_a_value_far_above_the_best_bounds_the_optimum_and_is_no_point(far):
    row, diverged = one([3.2, 3.05, 3.0, 3.03, far]), one([3.2, 3.05, 3.0, 3.03, np.nan])
    names = ["learning_rate", "low", "high", "log_sd", "edge"]
    assert row[names].tolist() == diverged[names].tolist()
    assert (row["diverged"], diverged["diverged"]) == (0, 1)
    assert one([3.2, 3.1, 3.0, far])["high"] <= 8e-4


def test_steps_that_vary_by_factors_are_points_only_near_the_best_or_alike_on_both_sides():
    near = one([2800, 1250, 1000, 1250, 3600])  # the outer ones are left out, the inner ones are no wall
    assert_allclose(near["learning_rate"], 4e-4)
    assert_allclose(near["log_sd"], np.log(2) / 4)
    alike = one([1900, 1000, 1600], (1e-4, 4e-4, 16e-4))  # (0.9 - 0.6) / (2 * 1.5) of a spacing above the middle
    assert_allclose(alike["learning_rate"], 4e-4 * 4 ** (0.3 / 3.0))
    for apart in ([1900, 1000, 1400], [2100, 1000, 2100], [1100, 1000, 1500]):
        row = one(apart, (1e-4, 4e-4, 16e-4))
        assert_allclose([row["learning_rate"], row["log_sd"]], [4e-4, 2 * np.log(4) / np.sqrt(12)])


def test_one_seed_that_diverged_to_a_finite_loss_moves_neither_the_mean_nor_the_noise():
    grid = pd.concat([made(lambda batch: 1e-3 + 0 * batch, noise=0.001, seed=seed) for seed in range(3)])
    lost = grid.assign(value=grid["value"].where((np.arange(len(grid)) % 41) > 0, np.nan))
    assert_allclose(lr_grid.optima(lost.fillna({"value": 10.8})).iloc[:, :4], lr_grid.optima(lost).iloc[:, :4])


def test_a_blank_group_is_one_too():
    grid = made(lambda batch: 1e-3 + 0 * batch)
    found = lr_grid.optima(pd.concat([grid.assign(group=np.nan), grid.assign(group="a")]))
    assert found["group"].value_counts().to_dict() == {"": 10, "a": 10}


def test_a_rate_diverges_where_half_of_its_seeds_do():
    rates = [1e-4, 2e-4, 4e-4, 4e-4]
    grid = pd.DataFrame({"tokens_per_step": 1e5, "learning_rate": rates, "value": [3.0, 2.9, 2.8, np.nan]})
    assert lr_grid.optima(grid)["diverged"].item() == 1


def test_a_batch_where_all_diverged_bounds_the_rate_from_above():
    row = one([np.nan, np.inf, np.nan])
    assert row["edge"] == "lowest"
    assert_allclose([row["low"], row["high"]], [0, 1e-4])


def test_groups_have_optima_of_their_own_and_order_does_not_matter():
    small, large = made(lambda batch: 1e-3 + 0 * batch), made(lambda batch: 5e-4 + 0 * batch)
    grid = pd.concat([small.assign(group="small"), large.assign(group="large")])
    found = lr_grid.optima(grid.sample(frac=1, random_state=0))
    assert found.columns[0] == "group" and len(found) == 20
    own = lr_grid.optima(small)
    assert_allclose(found[found["group"] == "small"].iloc[:, 1:4].to_numpy(float), own.iloc[:, :3].to_numpy(float))


def test_the_optimum_does_not_depend_on_the_unit_of_the_value():
    grid = made(lambda batch: 1e-3 * (batch / 1e6) ** 0.2, noise=0.01)
    scaled = lr_grid.optima(grid.assign(value=1000 * grid["value"]))
    assert_allclose(scaled[["learning_rate", "log_sd"]], lr_grid.optima(grid)[["learning_rate", "log_sd"]])


def test_cells_are_measured_against_their_own_batch():
    cells = lr_grid.above_best(
        pd.DataFrame({"tokens_per_step": [1, 1, 2, 2], "learning_rate": [1, 2, 1, 2], "value": [2, 3, 5, np.inf]})
    )
    assert_allclose(cells["excess"], [0, 0.5, 0, np.nan])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"value": -1.0}, r"value must be positive, got -1.0"),
        ({"learning_rate": 0.0}, r"learning_rate must be positive, got 0.0"),
        ({"tokens_per_step": np.nan}, r"tokens_per_step must be positive, got nan"),
    ],
)
def test_wrong_values_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        lr_grid.optima(made(lambda batch: 1e-3 + 0 * batch).assign(**change))


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="grid must have the column value, got tokens_per_step, learning_rate"):
        lr_grid.optima(made(lambda batch: 1e-3 + 0 * batch).drop(columns="value"))
    with pytest.raises(ValueError, match="spacing must be more than 1, got 1"):
        lr_grid.stated([1e4], [1e-3], spacing=1)
