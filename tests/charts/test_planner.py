"""Charts of plans draw what they are given, in the unit that they name."""

import pandas as pd
from numpy.testing import assert_allclose

from pages.charts.planner import frontier_figure, goodput_figure, held_out_figure, job_figure
from pages.charts.theme import BatchAxis

PLANS = pd.DataFrame({"seconds": [3600.0, 7200.0], "cost": [20.0, 10.0], "num_devices": [2000, 1]})
JOB = pd.DataFrame(
    {
        "tokens_per_step": [1e3, 2e3, 4e3],
        "seconds": [60.0, 30.0, 45.0],
        "goodput": [1.0, 2.0, 1.5],
        "tokens_per_second": [1.0, 3.0, 4.0],
    }
)
CHOSEN = {"tokens_per_step": 2e3, "seconds": 30.0, "goodput": 2.0}


def traces(figure):
    return {trace.name: trace for trace in figure.data}


def test_time_is_drawn_in_its_unit_with_limits_and_intervals():
    table = PLANS.assign(low=[1800.0, 7200.0], high=[7200.0, 7200.0])
    found = frontier_figure(
        [("H100", table)], PLANS, (3600.0, 20.0), (7200.0, 15.0), "money", ("hours", 3600), 5400.0, 12.0
    )
    drawn = traces(found)
    assert_allclose(drawn["H100"].x, [1, 2])
    assert_allclose(drawn["H100"].error_x.array, [1, 0])
    assert_allclose(drawn["H100"].error_x.arrayminus, [0.5, 0])
    assert drawn["H100"].customdata[0] == "2,000 devices" and "hours" in found.layout.xaxis.title.text
    assert (drawn["this run"].x[0], drawn["the plan above"].x[0]) == (2, 1)
    assert {shape.x0 for shape in found.layout.shapes} >= {1.5} and {shape.y0 for shape in found.layout.shapes} >= {
        12.0
    }


def test_without_limits_none_is_drawn():
    found = frontier_figure([("H100", PLANS)], PLANS, None, None, "money", ("s", 1))
    assert not found.layout.shapes and set(traces(found)) == {"not beaten", "H100"}


def test_a_job_is_drawn_over_its_batch_with_the_nearly_best_shaded():
    table = JOB.assign(low=JOB["seconds"] / 2, high=JOB["seconds"] * 2)
    found = job_figure(
        table, (1500.0, 3000.0), CHOSEN, CHOSEN, ((4e3, "B_crit"),), BatchAxis("sequences", "log", 10.0), ("min", 60)
    )
    drawn = traces(found)
    assert_allclose(drawn["time to the goal"].x, [100, 200, 400])
    assert_allclose(drawn["time to the goal"].y, [1, 0.5, 0.75])
    assert_allclose(drawn["90 %"].y, [2, 1, 1.5, 0.375, 0.25, 0.5])
    assert {(shape.x0, shape.x1) for shape in found.layout.shapes} == {(400, 400), (150, 300)}
    assert drawn["this run"].y[0] == 0.5


def test_goodput_is_drawn_beside_the_rate():
    drawn = traces(goodput_figure(JOB, (1500.0, 3000.0), CHOSEN, None, (), BatchAxis()))
    assert_allclose(drawn["goodput"].y, JOB["goodput"])
    assert_allclose(drawn["rate"].y, JOB["tokens_per_second"])
    assert drawn["the plan above"].y[0] == 2 and "this run" not in drawn


def test_held_out_runs_stand_beside_their_predictions():
    table = pd.DataFrame(
        {
            "tokens_per_step": [1.0, 2.0],
            "predicted": [5.0, 6.0],
            "low": [4.0, 5.0],
            "high": [7.0, 8.0],
            "measured": [5.5, 9.0],
        }
    )
    drawn = traces(held_out_figure([("one", table), ("other", table)]))
    assert_allclose(drawn["measured"].y, table["measured"])
    assert_allclose(drawn["predicted, one"].error_y.array, [2, 2])
