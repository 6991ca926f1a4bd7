"""The section of pinned scenarios: pin this one, compare it with the others in tables and a chart, open one, remove one."""

import pandas as pd
import streamlit as st

from bsmath import pins
from bsmath.outlook import Outlook
from bsmath.pins import Entry, Pin
from bsmath.scenario import Scenario
from pages.charts.pins import times_figure
from pages.charts.theme import BatchAxis
from pages.ui import shell, state, text, words

IN_COLUMNS = 3
"""Scenarios up to which each is a column: more are rows, as a phone has no room for them."""
MOST_VALUE = 60
"""Characters that are shown of a field's text."""
SEQUENCE = ("seq_len", "padding_fraction")
"""Fields that say how many real tokens a sequence holds."""
FACTS = {
    "Model": lambda one: words.model(one.scenario),
    "Devices": lambda one: words.devices(one.scenario, one.run),
    "Tokens per step": lambda one: text.count(one.run.tokens_per_step),
    "Whole job [tok/s]": lambda one: text.count(one.run.tokens_per_second, 4),
    "MFU": lambda one: text.percent(one.run.mfu),
    "Steps": lambda one: text.whole(one.run.steps),
    "Tokens": lambda one: text.count(one.run.tokens),
    "Time to the goal": lambda one: text.duration(one.run.seconds),
    "Device-hours": lambda one: text.count(one.run.device_hours),
}
"""What is shown of each scenario."""
COST = {"Cost": lambda one: "no price" if one.run.cost is None else text.money(one.run.cost)}
"""What is shown as well once a price is typed."""


def section(scenario: Scenario, run: Outlook) -> None:
    """The form that pins this scenario, and how the pinned ones compare with it."""
    st.subheader("Pinned scenarios", anchor=False)
    _form(scenario)
    if not state.pinned():
        st.markdown(
            "Pin this scenario, then change it: both stand side by side here, in one table and one chart, and the link carries the pins "
            "to a teammate."
        )
        return
    entries = pins.compared(scenario, run, state.pinned())
    differences = pins.differences(entries)
    shell.paragraphs(verdict(entries), caveat(entries, differences))
    facts = FACTS | COST if any(one.run.cost is not None for one in entries) else FACTS
    _table({name: [write(one) for one in entries] for name, write in facts.items()}, entries, IN_COLUMNS)
    _buttons(entries)
    _chart(scenario, entries, differences)
    st.markdown("**Fields that differ**" if differences else "No field differs between them.")
    if differences:
        shown = {f"`{name}`": [value_text(value) for value in values] for name, values in differences.items()}
        _table(shown, entries, max(IN_COLUMNS, len(shown)))


def _form(scenario: Scenario) -> None:
    refused = pins.refusal((*state.pinned(), Pin(scenario=scenario)))
    with st.form("pin", border=False, clear_on_submit=True):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(
                "Name of the pin",
                max_chars=pins.MOST_NAME,
                placeholder="optional",
                width=260,
                help="Empty: size, devices and batch stand for it.",
                key="pin_name",
            )
            st.form_submit_button("Pin this scenario", on_click=_pin, disabled=bool(refused), key="pin_this")
    if refused:
        st.caption(refused)


def _pin() -> None:
    try:
        kept = (*state.pinned(), Pin(name=state.held("pin_name"), scenario=state.scenario()))
    except ValueError as error:
        return state.say(f"{error}; nothing was pinned.")
    if refused := pins.refusal(kept):
        return state.say(refused)
    return state.keep_pins(kept)


def verdict(entries: list[Entry]) -> str:
    """Which of them is the fastest, and which takes the fewest device-hours."""
    fastest = min(entries, key=lambda one: one.run.seconds)
    least = min(entries, key=lambda one: one.run.device_hours)
    time, hours = text.duration(fastest.run.seconds), text.count(least.run.device_hours)
    if fastest is least:
        return f"**Fastest, and with the fewest device-hours: {text.plain(fastest.label)}**, {time} and {hours} device-hours."
    return (
        f"**Fastest: {text.plain(fastest.label)}**, {time}. **Fewest device-hours: {text.plain(least.label)}**, {hours} in "
        f"{text.duration(least.run.seconds)}."
    )


def caveat(entries: list[Entry], differences: dict[str, tuple]) -> str:
    """Which part of the goal differs, so that the times are not to one end; empty where none does."""
    budgets = any(one.scenario.goal == "budget" for one in entries)
    aims = [name for name in ("goal", "target_loss", *["token_budget"] * budgets) if name in differences]
    named = text.listed(aims)
    return (
        f"They do not have one goal ({named} differ{'s' * (len(aims) == 1)}): compare their times with care."
        if aims
        else ""
    )


def _table(rows: dict[str, list[str]], entries: list[Entry], most_columns: int) -> None:
    """Each scenario a column, or a row where there are more of them than columns."""
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[text.plain(one.label) for one in entries])
    st.table(table if len(entries) <= most_columns else table.T)


def value_text(value) -> str:
    """A field's value, written like what one types."""
    if value is None or value == "":
        return "not set"
    if not isinstance(value, str):
        return text.exact(value)
    return text.plain(value if len(value) <= MOST_VALUE else f"{value[:MOST_VALUE]}...")


def _buttons(entries: list[Entry]) -> None:
    for number, (pin, entry) in enumerate(zip(state.pinned(), entries[1:], strict=True), 1):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(text.plain(entry.label), width="content")
            st.button("Open", key=f"pin_open_{number}", on_click=_open, args=(pin, entry.label))
            st.button("Remove", key=f"pin_remove_{number}", on_click=_remove, args=(pin,))


def _open(pin: Pin, label: str) -> None:
    state.assign(pin.scenario)
    state.note(f"{text.plain(label)} was opened; Undo takes it back.")


def _remove(pin: Pin) -> None:
    state.keep_pins(tuple(one for one in state.pinned() if one is not pin))


def _chart(scenario: Scenario, entries: list[Entry], differences: dict[str, tuple]) -> None:
    axis, curves = shell.batch_axis(scenario), pins.over_batch(entries)
    if axis.unit == "sequences" and any(name in differences for name in SEQUENCE):
        axis = BatchAxis(scale=axis.scale)
        st.caption("Batches in tokens, as a sequence does not hold as many of them in each.")
    shell.chart(
        times_figure(curves, [{"label": one.label} | shell.run_point(one.run) for one in entries], axis),
        key="pinned_times",
        alt=f"Days to the goal against batch size for this scenario and {text.plural(len(entries) - 1, 'pinned one')}.",
        table=curves,
    )
