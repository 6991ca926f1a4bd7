"""The heat map of expert loads."""

import numpy as np
import pytest

from pages.charts.expert_heat import heat_figure

LOADS = np.array([[4.0, 8.0, 2.0, 2.0], [16.0, 4.0, 8.0, 4.0]])


def test_color_is_the_load_over_the_mean_in_doublings_and_white_is_the_mean():
    trace = heat_figure(LOADS).data[0]
    assert trace.z.tolist() == [[0, 1, -1, -1], [1, -1, 0, -1]]
    assert trace.zmid == 0 and trace.zmin == -trace.zmax == -1
    assert trace.colorbar.ticktext[2] == "1" and trace.colorscale[2] == (0.5, "#f7f7f7")


def test_experts_are_sorted_by_their_load_in_the_chosen_layer():
    figure = heat_figure(LOADS, layers=[0, 15], sort_layer=15)
    trace = figure.data[0]
    assert trace.customdata[0, :, 1].tolist() == [0, 2, 1, 3]
    assert trace.z[1].tolist() == [1, 0, -1, -1] and trace.z[0].tolist() == [0, -1, 1, -1]
    assert figure.layout.xaxis.title.text == "Expert, by load in layer 15"
    assert list(figure.layout.xaxis.ticktext) == ["0", "2", "1", "3"]


def test_hovering_names_layer_expert_and_ratio():
    trace = heat_figure(LOADS, layers=[3, 7]).data[0]
    assert trace.customdata[1, 0].tolist() == ["7", 0, 2.0]
    assert all(f"customdata[{part}]" in trace.hovertemplate for part in range(3))


def test_an_idle_expert_has_the_lowest_color_and_ratio_zero():
    trace = heat_figure([[0.0, 64.0, 64.0]]).data[0]
    assert np.isfinite(trace.z).all() and trace.z[0, 0] <= trace.zmin and trace.customdata[0, 0, 2] == 0


@pytest.mark.parametrize("layers, experts", [(1, 2), (1, 512), (100, 2), (100, 512)])
def test_any_size_is_drawn_with_few_ticks_and_bounded_height(layers, experts):
    figure = heat_figure(np.random.default_rng(0).poisson(20, (layers, experts)))
    assert figure.data[0].z.shape == (layers, experts)
    assert len(figure.layout.xaxis.tickvals) <= 16 and len(figure.layout.yaxis.tickvals) <= 25
    assert 400 <= figure.layout.height <= 900


def test_layers_with_fewer_experts_leave_gaps():
    trace = heat_figure([[1.0, 1.0, np.nan], [1.0, 2.0, 3.0]]).data[0]
    assert np.isnan(trace.z[0, 2]) and trace.z[0, 0] == 0


def test_no_loads_give_an_empty_figure_with_axes():
    figure = heat_figure(np.empty((0, 8)))
    assert not figure.data and figure.layout.yaxis.title.text == "Layer"
