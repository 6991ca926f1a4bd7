import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from pages.charts.lr_grid import heat_figure
from pages.charts.theme import BatchAxis

CELLS = pd.DataFrame(
    {
        "tokens_per_step": [1e4, 1e4, 1e4, 1e5, 1e5, 1e6, 1e6],
        "learning_rate": [1e-4, 3e-4, 1e-3, 2e-4, 1e-3, 5e-4, 4e-3],
        "excess": [0.01, 0.0, np.nan, 0.02, 0.0, 0.0, 3.0],
    }
)
OPTIMA = pd.DataFrame(
    {
        "tokens_per_step": [1e4, 1e5, 1e6],
        "learning_rate": [3e-4, 1e-3, 5e-4],
        "low": [2e-4, 7e-4, 0.0],
        "high": [5e-4, np.inf, 1.4e-3],
        "edge": ["", "highest", "lowest"],
    }
)
RULES = {"square root": ([1e4, 1e6], [3e-4, 3e-3])}


def traces(*args, **more):
    return {trace.name: trace for trace in heat_figure(*args, **more).data}


def test_every_cell_is_drawn_once_and_diverged_ones_as_crosses():
    drawn = traces(CELLS, OPTIMA, {}, BatchAxis())
    assert len(drawn["measured"].x) == 6
    assert_allclose(drawn["diverged"].y, [1e-3])
    assert drawn["diverged"].marker.symbol == "x"


def test_colors_stop_at_the_median_excess_so_that_one_bad_run_does_not_drown_the_valley():
    marker = traces(CELLS, OPTIMA, {}, BatchAxis())["measured"].marker
    assert_allclose([marker.cmin, marker.cmax], [0, 2])
    assert_allclose(traces(CELLS, OPTIMA, {}, BatchAxis(), cap=0.05)["measured"].marker.cmax, 5)


def test_optima_have_bars_and_bounds_point_to_where_the_optimum_may_lie():
    drawn = traces(CELLS, OPTIMA, {}, BatchAxis())
    assert_allclose(drawn["optimum, 90 %"].error_y.array, [2e-4])
    assert_allclose(drawn["optimum, 90 %"].error_y.arrayminus, [1e-4])
    assert drawn["optimum here or higher"].marker.symbol == "triangle-up-open"
    assert drawn["optimum here or lower"].marker.symbol == "triangle-down-open"
    assert_allclose(drawn["optimum here or lower"].x, [1e6])


def test_rules_and_axes_follow_the_unit():
    figure = heat_figure(CELLS, OPTIMA, RULES, BatchAxis("sequences", "log", 100))
    rule = {trace.name: trace for trace in figure.data}["square root"]
    assert_allclose(rule.x, [1e2, 1e4])
    assert figure.layout.xaxis.title.text == "Batch size [sequences per step]"
    assert_allclose(10 ** np.array(figure.layout.xaxis.range), [1e2 / 1.3, 1e4 * 1.3])
    assert figure.layout.yaxis.type == "log"


def test_no_data_gives_empty_axes():
    figure = heat_figure(CELLS.iloc[:0], OPTIMA.iloc[:0], {}, BatchAxis())
    assert len(figure.data) == 0 and figure.layout.xaxis.type == "log"


def test_hovering_says_rate_and_excess():
    assert traces(CELLS, OPTIMA, {}, BatchAxis())["measured"].customdata[0] == "rate 0.0001: 1.00 % above the best"
