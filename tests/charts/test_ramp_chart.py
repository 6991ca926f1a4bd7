"""Charts of batch ramps: what they are given is what they draw, every schedule apart from the others."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import ramp_kinds
from pages.charts import ramp

TOKENS = np.geomspace(1e6, 1e10, 5)
CRITICAL = pd.DataFrame({"tokens": TOKENS, "critical_batch_size": [1e5, 2e5, 4e5, 8e5, 1.6e6]})
MOST = ramp_kinds.MOST_NAMES + 2  # the chosen one, the flat one and as many as may be compared


def curves(number: int = 2) -> list:
    return [
        (f"ramp {place}", pd.DataFrame({"tokens": TOKENS, "tokens_per_step": [1e4, 1e4, 2e4, 4e4, 1e5 + place]}))
        for place in range(number)
    ]


def test_the_batch_chart_draws_the_critical_batch_and_every_schedule_as_given():
    figure = ramp.batch_figure(curves(), CRITICAL, 1e3)
    assert [trace.name for trace in figure.data] == ["B_crit", "ramp 0", "ramp 1"]
    assert_allclose(figure.data[0].y, CRITICAL["critical_batch_size"])
    for trace, (_, table) in zip(figure.data[1:], curves(), strict=True):
        assert_allclose(trace.x, table["tokens"])
        assert_allclose(trace.y, table["tokens_per_step"])
    assert figure.data[1].customdata[0] == "10k tokens per step"
    assert figure.data[1].line.width > figure.data[2].line.width
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert figure.layout.yaxis.title.text == "Batch size [tokens per step]"


def test_the_batch_chart_shows_all_that_is_drawn():
    figure = ramp.batch_figure(curves(), CRITICAL, 1e3)
    low, high = 10 ** np.array(figure.layout.yaxis.range)
    assert low < 1e4 and high > 1.6e6
    assert figure.layout.xaxis.range[0] <= 6 and figure.layout.xaxis.range[1] >= 10


@pytest.mark.parametrize("smallest, marked", [(9e3, True), (5e4, True), (1e3, False)])
def test_one_sequence_per_replica_is_marked_where_a_curve_comes_near(smallest, marked):
    figure = ramp.batch_figure(curves(), CRITICAL, smallest)
    assert bool(figure.layout.shapes) == bool(figure.layout.annotations) == marked
    if marked:
        assert figure.layout.shapes[0].y0 == figure.layout.shapes[0].y1 == smallest
        assert_allclose(figure.layout.annotations[0].y, np.log10(smallest))


def test_as_many_schedules_as_may_be_compared_are_drawn_apart():
    lines = ramp.batch_figure(curves(MOST), CRITICAL, 1e3).data[1:]
    assert len({(trace.line.color, trace.line.dash) for trace in lines}) == MOST
    points = pd.DataFrame({"label": range(MOST + 1), "steps": 1e4, "tokens": 1e9})
    marks = ramp.pareto_figure(points, points, points).data[2:]
    assert len({(trace.marker.color, trace.marker.symbol) for trace in marks}) == MOST + 1


def test_the_tradeoff_has_two_curves_and_one_point_for_each_schedule():
    flat = pd.DataFrame({"steps": [1e4, 2e4, 9e5], "tokens": [9e10, 5e10, 2e10]})
    best = flat.assign(steps=flat["steps"] * 0.9)
    points = pd.DataFrame({"label": ["mine", "flat", "start"], "steps": [2e4, 1e4, 3e5], "tokens": [6e10, 9e10, 3e10]})
    figure = ramp.pareto_figure(flat, best, points)
    assert [trace.name for trace in figure.data] == ["flat batches", "best possible ramps", "mine", "flat", "start"]
    for trace, table in zip(figure.data, (flat, best), strict=False):
        assert_allclose(trace.x, table["steps"])
        assert_allclose(trace.y, table["tokens"])
    assert [(*trace.x, *trace.y) for trace in figure.data[2:]] == [(2e4, 6e10), (1e4, 9e10), (3e5, 3e10)]
    assert figure.data[2].marker.symbol == "diamond" and figure.data[2].marker.size > figure.data[3].marker.size
    low, high = 10 ** np.array(figure.layout.xaxis.range)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert 1e4 / 2 < low < 1e4 and 3e5 < high < 6e5  # the points are in sight, the ends of the curves need not be


def test_rates_are_drawn_from_zero_on_linear_axes():
    rates = np.array([0, 1e-4, 3e-4, 1e-4, 0])
    figure = ramp.rate_figure([("mine", TOKENS, rates), ("flat", TOKENS, rates / 2), ("third", TOKENS, rates)])
    assert [trace.name for trace in figure.data] == ["mine", "flat", "third"]
    assert_allclose(figure.data[1].y, rates / 2)
    assert_allclose(figure.data[0].x, TOKENS)
    assert figure.layout.yaxis.rangemode == "tozero" and figure.layout.xaxis.type == "linear"
    assert [trace.line.dash for trace in figure.data] == ["solid", "solid", "dash"]


def test_the_trap_has_the_batch_as_meant_and_as_it_comes():
    table = pd.DataFrame({"tokens": TOKENS, "meant": [1e4, 1e4, 2e4, 4e4, 1e5], "in_steps": [1e4, 2e4, 4e4, 1e5, 1e5]})
    meant, in_steps = ramp.trap_figure(table).data
    assert (meant.name, in_steps.name) == ("as meant, in tokens", "written in steps")
    assert_allclose(meant.y, table["meant"])
    assert_allclose(in_steps.y, table["in_steps"])
    assert_allclose(meant.x, in_steps.x)
    assert meant.line.color != in_steps.line.color
