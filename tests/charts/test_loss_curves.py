"""The chart of loss curves: one line a run, one color a batch, the target across, no more points than a browser likes."""

from dataclasses import dataclass

import numpy as np
import pytest

from pages.charts import theme
from pages.charts.loss_curves import MOST_POINTS, curves_figure


@dataclass
class Run:
    label: str
    steps: np.ndarray
    loss: np.ndarray
    tokens_per_step: float


def runs(*sizes: float, rows: int = 5) -> list[Run]:
    steps = np.arange(rows, dtype=float)
    return [Run(f"run {size:g}", steps, 5 - steps / rows, size) for size in sizes]


def test_each_run_is_a_thin_line_colored_by_its_batch_with_the_target_across():
    figure = curves_figure(runs(256, 1024, 256), 4.5, "tokens", "steps")
    small, large, target = figure.data
    assert [small.name, large.name] == ["256 tokens per step", "1.024k tokens per step"]
    assert small.line.color != large.line.color and small.line.width == 1
    assert list(target.y) == [4.5, 4.5] and target.name == "target 4.5"
    assert list(large.x) == [1, 2, 3, 4], "a logarithmic axis has no step 0"
    assert figure.layout.xaxis.type == "log" and figure.layout.xaxis.title.text == "Optimizer steps"


def test_the_runs_of_a_batch_are_one_trace_with_a_gap_between_them_and_each_place_has_its_run_s_name():
    first, second = runs(256, 256, rows=3)
    second.label = "other"
    (trace,) = curves_figure([first, second], None, "tokens", "steps").data
    assert list(trace.text) == ["run 256"] * 3 + ["other"] * 2 and trace.marker.opacity == 0
    assert np.isnan(trace.y).tolist() == [False, False, True, False, False] and list(trace.x) == [1, 2, 2, 1, 2]


def test_a_run_of_one_place_is_a_dot_beside_lines_that_have_none():
    first, second = runs(256, 256, rows=3)
    second.steps, second.loss = second.steps[:2], second.loss[:2]
    (trace,) = curves_figure([first, second], None, "tokens", "steps").data
    assert list(trace.marker.opacity) == [0, 0, 0, 1] and trace.x[-1] == 1


def test_over_tokens_steps_are_multiplied_by_the_batch_and_runs_without_one_are_left_out():
    figure = curves_figure(runs(256, np.nan), None, "tokens", "tokens")
    assert len(figure.data) == 1 and list(figure.data[0].x) == [256, 512, 768, 1024]
    assert len(curves_figure(runs(256, np.nan), None, "tokens", "steps").data) == 2


def test_long_curves_are_thinned_and_keep_their_ends():
    figure = curves_figure(runs(*range(1, 41), rows=10_000), 4.5, "tokens", "steps")
    assert sum(len(line.x) for line in figure.data) <= MOST_POINTS + 2
    assert figure.data[0].x[0] == 1 and figure.data[0].x[-1] == 9999
    assert len(figure.data) == 41 and (np.diff(figure.data[0].x) > 0).all()


def test_a_loss_that_is_no_number_is_a_gap_and_stretches_no_axis():
    (one,) = runs(256)
    one.loss = np.array([9, 4, np.inf, np.nan, 3.0])
    figure = curves_figure([one], 3.5, "tokens", "steps")
    assert np.isnan(figure.data[0].y[1]) and np.isnan(figure.data[0].y[2])
    assert 10 ** figure.layout.yaxis.range[1] < 10


@pytest.mark.parametrize("empty", [[], [Run("a", np.array([0.0]), np.array([3.0]), 5.0)]])
def test_nothing_to_draw_is_a_figure_with_axes(empty):
    figure = curves_figure(empty, 3.0, "tokens", "steps")
    assert not figure.data and figure.layout.yaxis.title.text == "Loss [nats/token]"


def test_one_batch_has_one_color_and_a_name_brings_no_markup():
    (one,) = runs(256)
    one.label = '<a href="http://example.org">x</a>%{x}'
    trace = curves_figure([one], None, "tokens", "steps").data[0]
    assert (
        trace.line.color == theme.BLUE
        and all("<a" not in label and "%{x}" not in label for label in trace.text)
        and "http" not in trace.hovertemplate
    )


def test_a_loss_before_the_first_step_takes_no_room_on_the_axes():
    one = Run("a", np.array([1.0, 1000, 2000]), np.array([9.0, 4.0, 3.0]), 256.0)
    figure = curves_figure([one], 3.5, "tokens", "steps")
    assert 10 ** figure.layout.xaxis.range[0] == pytest.approx(500)
    assert 10 ** figure.layout.yaxis.range[1] == pytest.approx(4 * 1.3) and len(figure.data[0].x) == 3
