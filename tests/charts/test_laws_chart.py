import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.law_curves import AXES, curves
from pages.charts.laws import DASHES, STYLES, UNVERIFIED, laws_figure

N, D, L, B = 8e8, 5e10, 3.0, 1e5
AT = {"tokens": D, "parameters": N, "loss": L}


def figure(over="tokens", loss=L, measured=()):
    run = AT[over] if (over, loss) != ("loss", None) else None
    return laws_figure(curves(N, D, loss, over), over, run, B, measured)


def laws_in(drawn):
    return [trace for trace in drawn.data if trace.legendgroup]


@pytest.mark.parametrize("over", AXES)
def test_every_law_has_one_entry_in_the_legend(over):
    shown = [trace.name for trace in laws_in(figure(over)) if trace.showlegend]
    assert len(shown) == len(set(shown)) == curves(N, D, L, over)["law"].nunique()


@pytest.mark.parametrize("over", AXES)
def test_solid_inside_dashed_outside_dotted_where_not_stated(over):
    table = curves(N, D, L, over)
    named = dict(zip(DASHES.values(), DASHES, strict=True))
    for name, law in table.groupby("law"):
        parts = {trace.line.dash: trace for trace in laws_in(figure(over)) if trace.legendgroup == name}
        states = {"solid": law["inside"] == True, "dash": law["inside"] == False, "dot": law["inside"].isna()}  # noqa: E712
        assert set(parts) == {dash for dash, rows in states.items() if rows.any()}
        for dash, trace in parts.items():
            drawn = np.isfinite(np.asarray(trace.y, float))
            if named[dash] is True:
                assert list(drawn) == list(states[dash])
            assert drawn[states[dash].to_numpy(bool)].all()


def test_parts_of_a_law_meet():
    solid, dashed = (trace for trace in laws_in(figure()) if trace.legendgroup == "zhang_data")
    shared = np.isfinite(np.asarray(solid.y, float)) & np.isfinite(np.asarray(dashed.y, float))
    assert shared.sum() == 2  # both ends of the range


def test_critical_laws_are_thicker_and_of_other_colors_than_optimal_ones():
    kinds = curves(N, D, L).drop_duplicates("law").set_index("law")["kind"]
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


def test_an_open_interval_ends_with_the_chart():
    drawn = figure(measured=[("mine", 2e6, 0.0, np.inf)])
    band = next(trace for trace in drawn.data if trace.name == "mine")
    low, high = 10 ** np.array(drawn.layout.yaxis.range)
    assert_allclose((min(band.y), max(band.y)), (low, high))


def test_all_levels_lie_within_the_chart():
    drawn = laws_figure(curves(N, D, L), "tokens", D, 10.0, [("mine", 1e11, 1e11, 1e11)])
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


def test_any_table_of_laws_can_be_drawn():
    table = pd.DataFrame(
        {"law": "a", "place": 0, "short": "A", "kind": "optimal", "x": [1.0, 10.0], "tokens_per_step": [2.0, 3.0]}
    )
    drawn = laws_figure(table.assign(inside=True, unverified=""), "tokens", 3.0, 2.0)
    assert [trace.name for trace in drawn.data] == ["A", "this run's batch", "this run"]
