import numpy as np
from numpy.testing import assert_allclose

from bsmath import memory_outlook, model_shape, step_costs
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from pages.charts.step_time import memory_figure, step_time_figure
from pages.charts.theme import BatchAxis

SCENARIO = Scenario(data_parallel_size=64, accelerator="h100_sxm", micro_batch_size=1, micro_batch_time=0.01)
RUN = outlook(SCENARIO)
TABLE = step_costs.over_batch(SCENARIO, np.geomspace(1e3, 1e8, 40))
POINT = {"tokens_per_step": RUN.tokens_per_step}


def test_shares_of_a_step_add_up_to_a_hundred_percent():
    figure = step_time_figure(TABLE, step_costs.TERMS, POINT, (), BatchAxis())
    assert_allclose(np.sum([trace.y for trace in figure.data], axis=0), 100)


def test_parts_that_cost_nothing_are_left_out():
    one = step_costs.over_batch(Scenario(), [1e3, 1e6])
    names = [trace.name for trace in step_time_figure(one, step_costs.TERMS, POINT, (), BatchAxis()).data]
    assert names == ["fixed per step", "compute at the plateau's rate"]


def test_hovering_says_seconds_with_their_unit():
    figure = step_time_figure(TABLE, step_costs.TERMS, POINT, (), BatchAxis())
    assert figure.data[0].customdata[0].endswith(" ms")


def test_this_run_stands_where_its_batch_is_in_either_unit():
    figure = step_time_figure(TABLE, step_costs.TERMS, POINT, (), BatchAxis("sequences", "linear", 2048))
    assert figure.layout.annotations[0].text == "this run"
    assert_allclose(figure.layout.annotations[0].x, RUN.tokens_per_step / 2048)


def test_bars_of_memory_add_up_to_both_estimates_and_show_the_device():
    found = memory_outlook.outlook(SCENARIO, model_shape.of(SCENARIO))
    figure = memory_figure(*found.parts, found.available)
    assert_allclose(np.sum([trace.x for trace in figure.data], axis=0) * 1e9, [found.estimate.low, found.estimate.high])
    assert_allclose(figure.layout.shapes[0].x0, 80)


def test_without_known_memory_there_is_no_line():
    found = memory_outlook.outlook(SCENARIO, model_shape.of(SCENARIO))
    assert not memory_figure(*found.parts, None).layout.shapes
