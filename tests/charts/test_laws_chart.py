from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath.law_curves import AXES, lines
from pages.charts.laws import DASHES, STYLES, UNVERIFIED, laws_figure

N, D, L, B = 8e8, 5e10, 3.0, 1e5
AT = {"tokens": D, "parameters": N, "loss": L}


def figure(over="tokens", loss=L, measured=()):
    run = AT[over] if (over, loss) != ("loss", None) else None
    return laws_figure(lines(N, D, loss, over), over, run, B, measured)


def laws_in(drawn):
    return [trace for trace in drawn.data if trace.legendgroup]


@pytest.mark.parametrize("over", AXES)
def test_every_law_has_one_entry_in_the_legend(over):
    shown = [trace.name for trace in laws_in(figure(over)) if trace.showlegend]
    assert len(shown) == len(set(shown)) == len(lines(N, D, L, over))


@pytest.mark.parametrize("over", AXES)
def test_solid_inside_dashed_outside_dotted_where_not_stated(over):
    drawn = laws_in(figure(over))
    for line in lines(N, D, L, over):
        parts = {trace.line.dash: trace for trace in drawn if trace.legendgroup == line.name}
        states = {dash: np.array([one is state for one in line.inside.tolist()]) for state, dash in DASHES.items()}
        assert set(parts) == {dash for dash, rows in states.items() if rows.any()}
        for dash, trace in parts.items():
            own, shown = set(line.x[states[dash]]), {x for x in trace.x if x is not None}
            assert own == shown if dash == "solid" else own <= shown
            assert all(y == line.tokens_per_step[line.x == x] for x, y in zip(trace.x, trace.y, strict=True) if x)


def test_a_law_outside_on_both_sides_of_its_range_has_a_gap_there():
    solid, dashed = (trace for trace in laws_in(figure()) if trace.legendgroup == "zhang_data")
    left, right = (list(part) for part in (dashed.x[: dashed.x.index(None)], dashed.x[dashed.x.index(None) + 1 :]))
    assert left == sorted(left) and right == sorted(right)
    assert left[-1] == solid.x[0] == 1.741e9 and right[0] == solid.x[-1] == 2.4576e10
    assert dashed.y[len(left)] is None and dashed.customdata[len(left)] is None


def test_critical_laws_are_thicker_and_of_other_colors_than_optimal_ones():
    kinds = {line.name: line.law.kind for line in lines(N, D, L)}
    looks = {kind: set() for kind in STYLES}
    for trace in laws_in(figure()):
        looks[kinds[trace.legendgroup]].add((trace.line.color, trace.line.width))
    (critical, optimal) = (looks["critical"], looks["optimal"])
    assert min(width for _, width in critical) > max(width for _, width in optimal)
    assert not {color for color, _ in critical} & {color for color, _ in optimal}


def test_no_two_laws_look_the_same():
    looks = {(t.legendgroup, t.line.color, t.line.width, t.marker.symbol) for t in laws_in(figure())}
    assert len({look[1:] for look in looks}) == len(looks)


def test_a_law_looks_the_same_with_and_without_a_loss():
    looks = [{t.legendgroup: (t.line.color, t.marker.symbol) for t in laws_in(figure(loss=loss))} for loss in (L, None)]
    assert looks[1].items() < looks[0].items()


def test_unverified_laws_say_so_in_the_legend():
    doubted = {trace.legendgroup for trace in laws_in(figure()) if trace.name.endswith(UNVERIFIED)}
    assert doubted == {"power_lines_critical", "power_lines_optimal", "porian"}


@pytest.mark.parametrize("over", AXES)
def test_this_run_stands_at_its_batch_and_its_place_on_the_axis(over):
    drawn = figure(over)
    mark = next(trace for trace in drawn.data if trace.name == "this run")
    assert (mark.x[0], mark.y[0]) == (AT[over], B)
    assert drawn.layout.shapes[0].x0 == AT[over]
    level = next(trace for trace in drawn.data if trace.name == "this run's batch")
    assert set(level.y) == {B}


def test_without_a_loss_the_axis_of_the_loss_has_no_place_for_this_run():
    drawn = figure("loss", None)
    assert not drawn.layout.shapes and "this run" not in {trace.name for trace in drawn.data}


def test_measured_values_are_levels_with_a_band():
    drawn = figure(measured=[("mine", 2e6, 1e6, 4e6)])
    level = next(trace for trace in drawn.data if trace.name == "measured, mine")
    band = next(trace for trace in drawn.data if trace.name == "mine")
    assert set(level.y) == {2e6} and set(band.y) == {1e6, 4e6} and band.fill == "toself"


def test_every_measured_series_is_drawn_however_many():
    drawn = figure(measured=[(f"model {at}", 1e6 * 2.0**at, 1e6, 4e6) for at in range(9)])
    assert sum(trace.name.startswith("measured, ") for trace in drawn.data) == 9


def test_an_open_interval_ends_with_the_chart():
    drawn = figure(measured=[("mine", 2e6, 0.0, np.inf)])
    band = next(trace for trace in drawn.data if trace.name == "mine")
    low, high = 10 ** np.array(drawn.layout.yaxis.range)
    assert_allclose((min(band.y), max(band.y)), (low, high))


def test_all_levels_lie_within_the_chart():
    drawn = laws_figure(lines(N, D, L), "tokens", D, 10.0, [("mine", 1e11, 1e11, 1e11)])
    low, high = 10 ** np.array(drawn.layout.yaxis.range)
    assert low < 10 and high > 1e11


def test_hovering_names_the_law_and_its_unit():
    trace = laws_in(figure())[0]
    assert trace.customdata[0].endswith(" tokens") and trace.name in trace.hovertemplate


def test_axes_are_logarithmic_and_name_their_unit():
    for over, unit in (("tokens", "[tokens]"), ("parameters", "N"), ("loss", "[nats/token]")):
        layout = figure(over).layout
        assert layout.xaxis.type == layout.yaxis.type == "log"
        assert unit in layout.xaxis.title.text and "[tokens per step]" in layout.yaxis.title.text


def test_any_line_can_be_drawn():
    law = SimpleNamespace(short="A", kind="optimal", unverified="")
    x, y, inside = np.array([1.0, 10.0]), np.array([2.0, 3.0]), np.array([True, True])
    line = SimpleNamespace(name="a", law=law, place=0, x=x, tokens_per_step=y, inside=inside)
    drawn = laws_figure([line], "tokens", 3.0, 2.0)
    assert [trace.name for trace in drawn.data] == ["A", "this run's batch", "this run"]
