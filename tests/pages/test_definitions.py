"""The section on what "critical" means, drawn alone, and the lists of disputes."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from bsmath import published
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from pages.ui import definitions, disagreements
from tests.pages.test_smoke import opened


def drawn() -> AppTest:
    def page():
        import streamlit as st

        from bsmath.outlook import outlook
        from bsmath.scenario import Scenario
        from pages.ui import definitions

        scenario = Scenario()
        st.caption(f"{definitions.section(scenario, outlook(scenario), []):.0f}")

    return AppTest.from_function(page, default_timeout=30)


def test_the_scenario_s_critical_batch_stands_in_every_definition():
    app = drawn().run()
    assert not app.exception
    assert "from 200k to 1M\u00a0tokens" in app.markdown[0].value and "below all of them" in app.markdown[0].value
    table = app.table[0].value
    assert table["Batch [tokens]"].tolist() == ["1M", "357k", "200k", "measured only", "1M (set equal to B_crit)"]
    assert table["Definition"][1] == "20 % CBS (Zhang et al. 2024)"
    assert "steps 3.8x, tokens 1.36x the least" in table["What happens there"][1]
    assert table["What happens there"][4].endswith("B_crit 55.6k to 2.5M")
    assert app.caption[-1].value == "131072"


def test_another_reference_moves_the_overhead_batch_and_a_wrong_one_is_named():
    app = drawn().run()
    app.text_input(key="cbs_optimal_batch").set_value("512k").run()
    assert app.table[0].value["Batch [tokens]"][1] == "814k"
    assert "choose a smaller B_opt" in " ".join(one.value for one in app.caption)
    for wrong in ("soon", "1e30", ""):
        app.text_input(key="cbs_optimal_batch").set_value(wrong).run()
        assert not app.exception and f"got '{wrong}'" in app.warning[0].value
        assert app.caption[-1].value == "131072"


def test_intervals_of_measured_fits_are_carried_through():
    table = definitions.measured_table(published.zhang_measurements(), definitions.ZHANG_OPTIMAL_BATCH).set_index(
        "Series"
    )
    assert table.loc["85M", "Hyperbola, 2x/2x [tokens]"] == "1.12M (1M to 1.26M)"
    assert table.loc["85M", "20 % CBS [tokens]"] == "382k (358k to 409k)"


def test_the_published_models_open_with_a_table_and_a_chart():
    def page():
        from pages.ui import definitions, state

        definitions._published(state.scenario())

    app = AppTest.from_function(page, default_timeout=30).run()
    assert not app.exception
    assert "2.94x to 4.39x" in app.markdown[0].value and "D^0.47 and not D^0.62" in app.markdown[0].value
    assert app.table[0].value["B_crit / CBS"].tolist() == ["2.94x", "3.39x", "3.9x", "4.19x", "4.39x"]
    names = {trace["name"] for trace in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]}
    assert set(definitions.DRAWN) <= names


@pytest.mark.parametrize(
    "knee, place", [(1e6, "below all"), (2e5, "among them"), (1e4, "among them"), (100, "among them")]
)
def test_the_run_is_placed_among_the_definitions(knee, place):
    scenario = Scenario(critical_batch_size=knee)
    assert place in definitions.verdict(scenario, outlook(scenario), definitions.ZHANG_OPTIMAL_BATCH)


def test_charts_get_both_definitions_to_mark():
    (knee, _), (overhead, label) = definitions.marks(Scenario())
    assert (knee, label) == (1e6, "20 % CBS") and overhead == pytest.approx(357_286.4)


def test_the_reference_lists_all_disputes_in_two_sentences_each():
    said = [one.value for one in opened("pages/reference.py").markdown if "Does the noise scale predict" in one.value]
    assert said and said[0].count("\n- ") == 11 and said[0].count("*Here*:") == 12


def test_a_page_without_disputes_shows_nothing():
    def page(name):
        from pages.ui import disagreements

        disagreements.show(name)

    assert not AppTest.from_function(page, args=("upload",)).run().expander
    assert AppTest.from_function(page, args=("throughput",)).run().expander[0].label == "What is disputed"
    assert disagreements.sentence(disagreements.disagreements.ITEMS[0]).startswith("**Does the noise scale")
