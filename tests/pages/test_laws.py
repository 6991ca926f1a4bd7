"""The section on published laws: how far they are apart, where this run stands, and how many were fitted on runs like it."""

import json

import numpy as np
import pytest

from bsmath import laws
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from pages.ui import laws as section
from pages.ui import text
from tests.pages.test_logs import pasted, said
from tests.pages.test_smoke import opened


def drawn(app) -> dict:
    charts = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return next(chart for chart in charts if any(trace["name"] == "this run's batch" for trace in chart["data"]))


def answer(**fields) -> str:
    scenario = Scenario(goal="budget", **fields)
    run = outlook(scenario)
    found = laws.predict(scenario.active_params, run.tokens, scenario.target_loss)
    return section.answer(list(found.values()), scenario.active_params, run)


def test_the_spread_of_both_kinds_is_that_of_the_laws_whose_constants_were_read():
    words = answer(num_params=1e9, token_budget=2e10)
    found = laws.predictions(1e9, 2e10)
    sure = found[found["unverified"] == ""]
    for kind, meaning in section.KINDS.items():
        batches = sure.loc[sure["kind"] == kind, "tokens_per_step"]
        spread = f"{text.count(batches.min())} to {text.tokens(batches.max())} per step, {text.spread(batches)} apart"
        assert f"{meaning} at {spread}" in words


@pytest.mark.parametrize(
    "sequences, place", [(1, "below all of them"), (1_000_000, "above all of them"), (500, "below 6 of these 8")]
)
def test_the_run_is_placed_among_them(sequences, place):
    words = answer(num_params=1e9, token_budget=2e10, seq_len=2048, micro_batch_size=sequences)
    assert f"per step are {place}.**" in words


def test_laws_that_hold_for_a_run_like_this_are_counted():
    assert "inside the stated range of none of the 11 laws: take the order of magnitude" in answer(num_params=1e13)
    # both laws of Zhang et al.
    assert "inside the stated range of 2 of the 11 laws" in answer(num_params=5e8, token_budget=1e10)
    # and Kaplan's in the loss
    assert "inside the stated range of 3 of the 13 laws" in answer(num_params=5e8, token_budget=1e10, target_loss=3.0)


def test_without_a_target_loss_the_laws_in_it_are_missed_and_over_it_they_are_drawn():
    app = opened("pages/critical_batch.py")
    assert "need a target loss: type one in the sidebar" in said(app)
    assert "need a target loss" not in said(opened("pages/critical_batch.py", {"target_loss": "3"}))
    assert "need a target loss" not in said(opened("pages/critical_batch.py", {"laws_over": "loss"}))


def test_unverified_constants_are_named_where_the_laws_are_listed():
    found = laws.predictions(1e9, 2e10, 3.0)
    table = section.table(found).set_index("Law")
    assert table.loc["Power Lines 2025, B_crit in D", "Constants verified?"] == "no"
    assert table.loc["Kaplan et al. 2020, in L", "Batch [tokens]"] == "1.07M"
    assert section.notes(found).count(" Unverified: ") == (found["unverified"] != "").sum() == 3


def test_active_parameters_and_not_all_of_them_enter_the_laws():
    words = said(opened("pages/critical_batch.py", {"num_params": "1e12", "active_params": "3e10"}))
    assert "**For 30B active parameters and 54.9B\u00a0tokens, " in words


def test_the_table_waits_for_its_expander():
    app = opened("pages/critical_batch.py")
    assert not any("Inside its range?" in table.value for table in app.table)
    assert "Every law at this run, and where it was fitted" in [one.label for one in app.expander]


def test_exponents_stand_beside_what_twice_the_variable_means():
    steep = section.steepness().set_index("Law")
    assert steep.loc["Step Law, Li et al. 2025, in D", ["Exponent", "Batch at twice that"]].tolist() == [
        "D^0.571",
        "1.49x",
    ]
    assert steep.loc["Kaplan et al. 2020, in L", "Exponent"] == "L^-4.76"


def test_a_measured_critical_batch_is_a_level_of_the_chart():
    app = opened("pages/upload.py")
    app.button(key="example_zhang").click().run()
    app.switch_page("pages/critical_batch.py").run()
    level = next(trace for trace in drawn(app)["data"] if trace["name"] == "measured, 85M")
    assert level["customdata"][0] == "1.122M tokens"


def test_a_sweep_in_sequences_is_not_drawn_among_tokens():
    off = (1.02, 0.98, 1, 1.01, 0.99, 1.02, 0.99)
    rows = [
        f"{size},{1000 * (1 + 500 / size) * one:.0f}" for size, one in zip(64 * 2 ** np.arange(7), off, strict=True)
    ]
    app = pasted("\n".join(["global_batch_size,steps_to_target", *rows]))
    app.number_input(key="answer_1_seq_len").set_value(None).run()
    assert "B_crit" in said(app)
    app.switch_page("pages/critical_batch.py").run()
    assert "count the batch in sequences, not in tokens, and are not in the chart" in said(app)
    assert not any(trace["name"].startswith("measured, ") for trace in drawn(app)["data"])


def test_a_run_stands_on_the_axis_of_the_loss_where_it_has_one():
    app = opened("pages/critical_batch.py", {"laws_over": "loss"})
    assert "this run" not in {trace["name"] for trace in drawn(app)["data"]}
    chart = drawn(opened("pages/critical_batch.py", {"laws_over": "loss", "target_loss": "0.5"}))
    mark = next(trace for trace in chart["data"] if trace["name"] == "this run")
    assert mark["x"] == [0.5] and 10 ** chart["layout"]["xaxis"]["range"][0] < 0.5
