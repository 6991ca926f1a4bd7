"""Charts of logs: a noise scale, a branched run, the loads of a router."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from pages.charts import branching, theme
from pages.charts import moe as moe_charts
from pages.charts import noise as noise_charts
from pages.charts.theme import BatchAxis

SMOOTHED = pd.DataFrame(
    {
        "tokens": [1e3, 2e3, 3e3, 4e3],
        "noise_scale": [10.0, 20.0, np.nan, 40.0],
        "low": [8.0, 15.0, np.nan, 30.0],
        "high": [12.0, np.inf, np.nan, 60.0],
        "grad_sq_norm": [4.0, 2.0, -0.5, 1.0],
        "noise": [2.0, 2.0, 2.0, 2.0],
        "raw_grad_sq_norm": [5.0, -1.0, 1.0, 1.0],
        "raw_noise": [2.0, 2.5, 1.5, 2.0],
    }
)


@dataclass
class Branched:
    label: str
    tokens_per_step: np.ndarray
    excess: np.ndarray
    error: np.ndarray


def branched(label: str, factor: float) -> Branched:
    sizes = np.array([256.0, 512.0, 1024.0])
    return Branched(label, sizes * factor, np.array([0.0, 0.02, 0.05]), np.array([0.0, 0.01, np.nan]))


def test_the_noise_scale_is_drawn_where_it_is_identified_with_the_batch_beside_it():
    figure = noise_charts.scale_figure(SMOOTHED, "tokens", ((16.0, "batch of the run"),), "Tokens trained [tokens]")
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn["noise scale"].y) == [10, 20, 40]
    assert list(drawn["batch of the run"].y) == [16, 16]
    assert set(drawn["90 % interval"].y) == {8, 12, 30, 60}
    assert figure.layout.yaxis.title.text == "Noise scale [tokens]"


def test_signal_and_noise_are_drawn_smoothed_and_row_by_row():
    figure = noise_charts.parts_figure(SMOOTHED, "2k tokens", "Training [steps]")
    lines = [trace.name for trace in figure.data if trace.mode == "lines"]
    assert lines == ["signal, |G|²", "noise at 2k tokens, tr(Σ)/B"]
    assert sum(trace.mode == "markers" for trace in figure.data) == 2
    assert figure.layout.xaxis.title.text == "Training [steps]"


def test_another_average_has_the_window_s_beside_it():
    figure = noise_charts.scale_figure(SMOOTHED, "tokens", (), "Training [steps]", beside=SMOOTHED * 2)
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn["by a window"].y) == [20, 40, 80] and list(drawn["noise scale"].y) == [10, 20, 40]


def curve(width: float) -> pd.DataFrame:
    """Three batches; ends of the interval at `width` times and one `width`-th of each value."""
    table = {"tokens_per_step": [1e5, 1e6, 1e7]}
    for name, values in {
        "noise_to_signal": [10.0, 1.0, 0.1],
        "improvement": [0.09, 0.5, 0.9],
        "clip_norm": [3.0, 1.0, 0.7],
    }.items():
        table |= {name: values, f"{name}_low": np.array(values) / width, f"{name}_high": np.array(values) * width}
    return pd.DataFrame(table)


POINT = {"tokens_per_step": 1e6, "noise_to_signal": 1.0, "improvement": 0.5, "clip_norm": 1.0}


def test_noise_over_signal_and_the_gain_of_a_step_share_the_batch_axis():
    figure = noise_charts.batch_figure(curve(1), POINT, ((1e6, "noise scale"),), BatchAxis())
    above = [trace.name for trace in figure.data if trace.yaxis != "y2"]
    below = [trace for trace in figure.data if trace.yaxis == "y2"]
    assert above == ["noise over signal, B_simple/B", "noise = signal", "this run"]
    assert list(below[0].y) == pytest.approx([9, 50, 90]) and list(below[1].y) == [50]
    assert list(figure.data[1].y) == [1, 1]
    assert figure.layout.xaxis.anchor == "y2" and figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert figure.layout.yaxis.type == "log" and figure.layout.annotations[0].text == "noise scale"


def test_an_interval_is_a_band_in_both_panels_and_an_assumption_has_none():
    figure = noise_charts.batch_figure(curve(1.5), POINT, (), BatchAxis())
    assert [trace.name for trace in figure.data].count("90 % interval") == 2
    assert "90 % interval" in [
        trace.name for trace in noise_charts.clip_figure(curve(1.5), POINT, POINT, (), BatchAxis()).data
    ]


def test_batches_are_drawn_in_the_unit_of_the_session():
    axis = BatchAxis("sequences", "log", 1_000)
    assert list(noise_charts.batch_figure(curve(1), POINT, (), axis).data[0].x) == [100, 1_000, 10_000]
    figure = noise_charts.clip_figure(curve(1), POINT, POINT, (), axis)
    assert list(figure.data[0].x) == [100, 1_000, 10_000] and [list(trace.x) for trace in figure.data[1:]] == [
        [1_000],
        [1_000],
    ]


@pytest.mark.parametrize("unknown", [np.nan, -1.0])
def test_a_log_without_one_positive_value_still_has_its_axes(unknown):
    nothing = SMOOTHED.assign(**dict.fromkeys(SMOOTHED.columns.drop("tokens"), unknown))
    assert noise_charts.scale_figure(nothing, "tokens", (), "Training [steps]").layout.yaxis.title.text
    assert noise_charts.parts_figure(nothing, "this batch", "Training [steps]").layout.yaxis.title.text


def test_every_checkpoint_is_a_curve_below_or_above_the_tolerance():
    figure = branching.branch_figure([branched("step 1", 1), branched("step 2", 2)], 0.03, BatchAxis())
    assert [trace.name for trace in figure.data] == ["step 1", "step 2", "tolerance"]
    assert list(figure.data[1].x) == [512, 1024, 2048] and set(figure.data[2].y) == {0.03}
    in_sequences = branching.branch_figure([branched("step 1", 1)], 0.03, BatchAxis("sequences", "log", 64))
    assert list(in_sequences.data[0].x) == [4, 8, 16]


def test_a_diverged_branch_does_not_stretch_the_axis():
    lost = branched("step 1", 1)
    lost.excess[-1] = np.inf
    figure = branching.branch_figure([lost], 0.03, BatchAxis())
    assert np.isfinite(np.asarray(figure.data[0].y, float)[:2]).all()


def test_more_checkpoints_than_colors_are_all_drawn():
    many = [branched(f"step {number}", 1) for number in range(12)]
    assert len(branching.branch_figure(many, 0.03, BatchAxis()).data) == 13


def test_measured_loads_lie_beside_uniform_routing():
    loads = pd.DataFrame({"setting": ["a", "a", "b", "b"], "routed_tokens": [64, 128, 64, 128]})
    loads = loads.assign(load_cv=[0.9, 0.8, 0.5, 0.3], uniform_cv=[0.33, 0.23, 0.33, 0.23])
    figure = moe_charts.router_figure(loads)
    assert [trace.name for trace in figure.data] == ["a", "b", "uniform routing"]
    assert list(figure.data[2].y) == [0.33, 0.23]
    assert figure.layout.xaxis.title.text == "Tokens routed together [tokens]"
    assert figure.data[0].line.color == theme.SERIES[0]


def test_loads_that_are_all_even_still_have_their_axes():
    loads = pd.DataFrame({"setting": ["a"], "routed_tokens": [8.0], "load_cv": [0.0], "uniform_cv": [0.0]})
    assert moe_charts.router_figure(loads).layout.yaxis.title.text == "Load CV"
