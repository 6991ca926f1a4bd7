"""Pinned scenarios: the section that pins and compares, and the link and file that carry them."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from bsmath import pins, scenario_file
from bsmath.link import View
from bsmath.outlook import outlook
from bsmath.pins import Pin
from bsmath.scenario import Scenario
from pages.ui import text
from tests.pages.test_curves import said
from tests.pages.test_smoke import opened

PINNED = (
    Pin(name="Seven", scenario=Scenario(num_params=7e9, data_parallel_size=64)),
    Pin(scenario=Scenario(seq_len=4096)),
)


def page() -> None:
    """A page of the section alone, with what the shell does at the end of every run."""
    import streamlit as st

    from bsmath.outlook import outlook
    from pages.ui import pins, state

    scenario = state.scenario()
    state.enter("pages/planner.py")
    for sentence in sum(state.take_sentences(), []):
        st.info(sentence)
    st.button("Undo", on_click=state.undo)
    st.button("Reset", on_click=state.reset)
    pins.section(scenario, outlook(scenario))
    st.code(state.address())


def shown(query: dict | None = None) -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    app.query_params.update(query or {})
    return clean(app.run())


def clean(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    return app


def with_pins(count: int, **fields) -> AppTest:
    return shown(pins.to_query([Pin(name=f"p{number}", scenario=Scenario(**fields)) for number in range(count)]))


def pin(app: AppTest, name: str = "") -> AppTest:
    app.text_input(key="pin_name").set_value(name)
    return clean(app.button(key="pin_this").click().run())


def linked(app: AppTest) -> dict[str, str]:
    """The parameters of the link as it is shown."""
    query = urlsplit(app.code[-1].value).query
    return {name: found[0] for name, found in parse_qs(query, keep_blank_values=True, strict_parsing=True).items()}


# --- the link


@pytest.mark.parametrize("name", ["app.py", "pages/throughput.py", "pages/upload.py"])
def test_every_page_keeps_the_pins_of_a_link_in_its_link(name):
    app = opened(name, {"mfu": "0.5", **pins.to_query(PINNED)})
    assert not app.exception and not app.warning
    assert app.session_state["pins"] == PINNED
    addresses = [code.value for code in app.code if "mfu=0.5" in code.value]
    assert addresses and all("pin1=Seven~num_params=7e9~data_parallel_size=64" in one for one in addresses)
    assert all("pin2=~seq_len=4096" in one for one in addresses)


def test_pins_outlive_a_change_of_page_a_preset_and_reset():
    app = opened("app.py", pins.to_query(PINNED))
    app.selectbox(key="pick_run").set_value("llama_3_1_405b").run()
    next(button for button in app.button if button.label == "Reset").click().run()
    app.switch_page("pages/throughput.py").run()
    assert not app.exception and app.session_state["pins"] == PINNED


def test_what_a_pin_of_a_link_got_wrong_is_said_and_the_rest_is_kept():
    app = opened("app.py", {"pin1": "a~mfu=7~seq_len=4096", "pin3": "<b>~colour=red"})
    sentences = " ".join(warning.value for warning in app.warning)
    assert "pin1: mfu must be from 0.01 to 1, got 7" in sentences and "pin3: Unknown field 'colour'" in sentences
    assert [one.scenario for one in app.session_state["pins"]] == [Scenario(seq_len=4096), Scenario()]


def test_pins_and_shared_data_do_not_count_against_each_other():
    app = opened("app.py", {"data": "x" * 5000, **pins.to_query(PINNED)})
    assert not app.exception and len(app.warning) == 1 and app.session_state["pins"] == PINNED


# --- the section


def test_without_pins_one_sentence_says_what_pinning_does():
    app = shown()
    assert len(app.markdown) == 1 and "both stand side by side here" in app.markdown[0].value
    assert not app.table and not app.get("plotly_chart")


def test_pinning_shows_the_pin_beside_this_scenario_and_puts_it_into_the_link():
    app = pin(shown({"num_params": "7e9"}), "Seven")
    assert app.session_state["pins"] == (Pin(name="Seven", scenario=Scenario(num_params=7e9)),)
    assert linked(app) == {"v": "1", "num_params": "7e9", "pin1": "Seven~num_params=7e9"}
    assert list(app.table[0].value.columns) == ["this scenario", "Seven"]
    assert "No field differs between them." in said(app)


def test_a_name_of_any_characters_is_shown_as_it_is_and_survives_the_link():
    app = pin(shown(), "*a* ~ [b](c) $d$ <e> & f=1%")
    assert r"\*a\* \~ \[b\](c) \$d\$ \<e\> & f=1%" in app.table[0].value.columns
    assert pins.from_query(linked(app))[0] == app.session_state["pins"]


def test_an_empty_name_is_a_summary():
    app = pin(shown(), "  ")
    assert list(app.table[0].value.columns)[1] == "796M on 1 x NVIDIA H200 SXM, 98.3k tokens per step"


def test_the_table_says_what_each_run_comes_to():
    table = shown(pins.to_query(PINNED)).table[0].value
    run = outlook(PINNED[0].scenario)
    assert table["Seven"].to_dict() == {
        "Model": "7B dense",
        "Devices": "64 x NVIDIA H200 SXM",
        "Tokens per step": text.count(run.tokens_per_step),
        "Whole job [tok/s]": text.count(run.tokens_per_second, 4),
        "MFU": text.percent(run.mfu),
        "Steps": text.whole(run.steps),
        "Tokens": text.count(run.tokens),
        "Time to the goal": text.duration(run.seconds),
        "Device-hours": text.count(run.device_hours),
    }


def test_cost_is_shown_once_one_has_a_price():
    priced = Pin(name="priced", scenario=Scenario(price_per_device_hour=2.0))
    table = shown(pins.to_query([priced])).table[0].value
    assert table.loc["Cost"].tolist() == ["no price", text.money(outlook(priced.scenario).cost)]


def test_up_to_three_scenarios_are_columns_and_more_are_rows():
    assert with_pins(2).table[0].value.shape == (9, 3)
    assert with_pins(3).table[0].value.shape == (4, 9)


def test_only_fields_that_differ_are_listed_with_each_value():
    table = shown({"mfu": "0.5", **pins.to_query(PINNED)}).table[1].value
    assert table.index.tolist() == ["`num_params`", "`seq_len`", "`mfu`", "`data_parallel_size`"]
    assert table.loc["`num_params`"].tolist() == ["796M", "7B", "796M"]
    assert table.loc["`seq_len`"].tolist() == ["2048", "2048", "4096"]


def test_the_chart_has_a_curve_and_a_diamond_for_each():
    app = shown(pins.to_query(PINNED))
    drawn = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    assert [trace["mode"] for trace in drawn] == ["lines"] * 3 + ["markers"] * 3


def test_batches_are_in_tokens_where_sequences_differ():
    def title(query: dict) -> str:
        app = shown({"batch_unit": "sequences", **query})
        return json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["xaxis"]["title"]["text"]

    assert title(pins.to_query(PINNED)) == "Batch size [tokens per step]"
    assert title(pins.to_query(PINNED[:1])) == "Batch size [sequences per step]"


def test_the_fastest_and_the_cheapest_are_named():
    app = shown(pins.to_query([Pin(name="fast", scenario=Scenario(data_parallel_size=8))]))
    assert "**Fastest: fast**" in said(app) and "**Fewest device-hours: this scenario**" in said(app)
    app = shown(pins.to_query([Pin(name="better", scenario=Scenario(mfu=0.9))]))
    assert "**Fastest, and with the fewest device-hours: better**" in said(app)


def test_different_goals_are_said():
    assert "They do not have one goal (goal differs)" in said(with_pins(1, goal="budget"))
    assert "They do not have one goal" not in said(with_pins(1, token_budget=1e9))


def test_a_pin_opens_and_undo_takes_it_back():
    app = shown({"mfu": "0.5", **pins.to_query(PINNED)})
    clean(app.button(key="pin_open_1").click().run())
    assert app.session_state["scenario"] == PINNED[0].scenario and "Seven was opened" in app.info[0].value
    next(button for button in app.button if button.label == "Undo").click().run()
    assert app.session_state["scenario"] == Scenario(mfu=0.5) and app.session_state["pins"] == PINNED


def test_a_pin_is_removed_and_the_others_move_up():
    app = shown(pins.to_query(PINNED))
    clean(app.button(key="pin_remove_1").click().run())
    assert linked(app) == {"v": "1", "pin1": "~seq_len=4096"}
    clean(app.button(key="pin_remove_1").click().run())
    assert linked(app) == {"v": "1"} and not app.table


def test_at_four_the_button_is_disabled_with_the_reason_until_one_is_removed():
    app = with_pins(4)
    assert app.button(key="pin_this").disabled and "4 scenarios are kept at most" in app.caption[0].value
    clean(app.button(key="pin_remove_4").click().run())
    assert not app.button(key="pin_this").disabled


def test_pins_of_a_link_that_take_too_much_room_can_be_removed():
    stages = " ".join(f"{size}:1" for size in range(0, 6400, 100))
    app = with_pins(4, ramp_stages=stages)
    for count in (3, 2):
        clean(app.button(key="pin_remove_1").click().run())
        assert len(app.session_state["pins"]) == count


@pytest.mark.parametrize(
    "fields",
    [
        {"num_params": 1e13, "data_parallel_size": 1_000_000, "grad_accum_steps": 1_000_000, "accelerator": "1e6"},
        {"critical_batch_size": 1e10, "min_steps": 1, "seq_len": 16, "micro_batch_size": 1},
        {"fixed_time": 0, "padding_fraction": 0.95, "goal": "budget"},
        {"architecture": "llama_3_1_8b", "ramp_stages": "0:768 250B:1536", "other_offers": "h100_sxm 2.5"},
    ],
)
def test_odd_pins_are_compared(fields):
    with_pins(1, **fields)


# --- the file


def opened_file(kept: tuple[Pin, ...], saved: tuple[Pin, ...]) -> AppTest:
    def load(data: bytes) -> None:
        import streamlit as st

        from bsmath import scenario_file
        from pages.ui import state

        state.scenario()
        found = scenario_file.from_json(data, "scenario.json")
        state.open_saved(found.scenario, found.view, found.pins)
        for sentence in state.take_sentences()[0]:
            st.warning(sentence)

    data = scenario_file.to_json(Scenario(num_params=7e9), View(), (), saved).encode()
    app = AppTest.from_function(load, args=(data,), default_timeout=30)
    app.query_params.update(pins.to_query(kept))
    return clean(app.run())


def test_pins_of_a_file_join_those_of_the_session():
    app = opened_file(PINNED[:1], PINNED)
    assert app.session_state["pins"] == PINNED and not app.warning
    assert app.session_state["scenario"] == Scenario(num_params=7e9)


def test_pins_of_a_file_without_room_are_counted():
    kept = tuple(Pin(name=name, scenario=Scenario()) for name in "abcd")
    app = opened_file(kept, PINNED)
    assert (
        app.session_state["pins"] == kept and "2\u00a0pinned scenarios of the file had no room" in app.warning[0].value
    )
