import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from pages.charts import theme
from pages.charts.pins import times_figure
from pages.charts.theme import BatchAxis

SIZES = np.geomspace(1e4, 1e8, 30)


def runs_of(*labels: str) -> list[dict]:
    return [
        {"label": label, "tokens_per_step": 1e6 * place, "days": float(place)} for place, label in enumerate(labels, 1)
    ]


def table_of(*labels: str) -> pd.DataFrame:
    parts = [
        {"label": label, "tokens_per_step": SIZES, "days": 1e6 / SIZES + place} for place, label in enumerate(labels)
    ]
    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


def figure(*labels: str, axis: BatchAxis = BatchAxis()):
    return times_figure(table_of(*labels), runs_of(*labels), axis)


def test_each_scenario_has_a_curve_and_a_diamond_at_its_run():
    drawn = figure("this scenario", "a", "b").data
    assert [one.mode for one in drawn] == ["lines"] * 3 + ["markers"] * 3
    assert_allclose([one.x[0] for one in drawn[3:]], [1e6, 2e6, 3e6])
    assert_allclose([one.y[0] for one in drawn[3:]], [1, 2, 3])
    assert drawn[3].hovertemplate == "%{customdata}" and drawn[3].customdata[0] == "1 days"


def test_this_run_looks_as_everywhere_and_a_pin_s_diamond_has_its_curve_s_color():
    drawn = figure("this scenario", "a").data
    usual = theme.this_run(1e6, 1.0, "days")
    assert drawn[2].name == "this run" and drawn[2].marker.color == usual["marker"]["color"]
    assert drawn[3].marker.color == drawn[1].line.color != usual["marker"]["color"]
    assert drawn[3].showlegend is False and drawn[3].marker.symbol == "diamond"


def test_five_curves_differ_in_color_and_in_dash():
    drawn = figure("this scenario", "a", "b", "c", "d").data[:5]
    assert len({one.line.color for one in drawn}) == len({one.line.dash for one in drawn}) == 5


def test_axes_name_their_units_and_hold_every_run():
    made = figure("this scenario", "a", axis=BatchAxis("sequences", "log", 1000.0))
    assert made.layout.xaxis.title.text == "Batch size [sequences per step]"
    assert made.layout.yaxis.title.text == "Wall-clock to the goal [days]"
    assert_allclose(made.data[0].x, SIZES / 1000)
    low, high = made.layout.yaxis.range
    assert 10**low < 1 and 10**high > 2


def test_a_run_far_above_the_rest_stays_on_the_axis():
    runs = runs_of("this scenario", "slow")
    runs[1] |= {"tokens_per_step": 1e4, "days": 101.0}
    table = table_of("this scenario", "slow")
    assert 10 ** times_figure(table, runs, BatchAxis()).layout.yaxis.range[1] > 101


def test_a_name_is_no_markup_and_is_cut_for_a_phone():
    drawn = figure("this scenario", "<b>x</b> & y", "n" * 60).data
    assert drawn[1].name == "&lt;b&gt;x&lt;/b&gt; &amp; y"
    assert drawn[2].name == "n" * 25 + "..."
