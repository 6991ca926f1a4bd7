"""URL <-> scenario <-> widgets: with `loaded`, the one place that reads and writes session state and the address.

Widgets are drawn from the scenario in every run, so they survive Streamlit's forgetting them on a page change; a widget's
callback replaces the scenario, or keeps it and leaves a sentence: `tied` has the widgets of fields, `actions` what buttons do. The
address is replaced, not pushed, so that the back button leads to the page before rather than through every slider step.
"""

import dataclasses
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from bsmath import link, pins
from bsmath.link import View
from bsmath.pins import Pin
from bsmath.scenario import Scenario
from pages.ui import text

MOST_UNDO = 50

_ADDRESS = st.components.v2.component(
    "address",
    js="""
export default function (component) {
  const url = new URL(window.location.href)
  if (url.search.slice(1) === component.data.query) return
  url.search = component.data.query
  window.history.replaceState(window.history.state, "", url)
}
""",
)


def scenario() -> Scenario:
    """The scenario of this session; the first run reads it from the address."""
    if "scenario" not in st.session_state:
        first, view_first, problems = link.from_query(st.query_params)
        pinned_first, pin_problems = pins.from_query(st.query_params)
        st.session_state.update(
            scenario=first,
            view=view_first,
            data=st.query_params.get(link.DATA, ""),
            pins=pinned_first,
            sentences=problems + pin_problems,
            history=[],
            notes=[],
            open_sections={},
            texts={},
            tied={},
        )
    return st.session_state.scenario


def enter(path: str) -> None:
    """Note which page is drawn."""
    st.session_state.page = path


def view() -> View:
    """What is looked at."""
    return st.session_state.view


def look(**changes) -> None:
    """Change some of what is looked at."""
    st.session_state.view = dataclasses.replace(view(), **changes)


def take_sentences() -> tuple[list[str], list[str]]:
    """What is to be said on top of the page, once: values that could not be used, and notes."""
    said = st.session_state.sentences, st.session_state.notes
    st.session_state.update(sentences=[], notes=[])
    return said


def say(sentence: str) -> None:
    """Leave a sentence about something that could not be done for the next drawing of the page."""
    st.session_state.sentences = [*st.session_state.sentences, sentence]


def note(sentence: str) -> None:
    """Leave a note for the next drawing of the page."""
    st.session_state.notes = [*st.session_state.notes, sentence]


def write_address() -> None:
    """Put the link into the address bar without adding to its history."""
    _ADDRESS(data={"query": _query()}, key="address")


def address() -> str:
    """The link that shows a teammate this page as it is now."""
    parts = urlsplit(st.context.url or "")
    return urlunsplit(parts._replace(path=parts.path or "/", query=_query()))


def query() -> dict[str, str]:
    """The link as parameters."""
    return link.to_query(scenario(), view(), shared_text(), pins.to_query(pinned()))


def _query() -> str:
    return urlencode(query(), safe="=")


def pinned() -> tuple[Pin, ...]:
    """The pinned scenarios, which the link carries."""
    return st.session_state.pins


def keep_pins(kept: tuple[Pin, ...]) -> None:
    """Make these the pinned scenarios."""
    st.session_state.pins = kept


def shared_text() -> str:
    """The data in the link, as they came or were put there; empty without."""
    return st.session_state.data


def share(data: str) -> None:
    """Put data into the link, or take them out."""
    st.session_state.data = data


# --- changing the scenario


def assign(new: Scenario) -> None:
    """Make this the scenario, and remember the old one for undo."""
    if new != scenario():
        st.session_state.history = [*st.session_state.history, scenario()][-MOST_UNDO:]
        st.session_state.scenario = new


def change(**changes) -> bool:
    """Change some fields, or keep the scenario and say why not; whether it was done."""
    try:
        assign(scenario().change(**changes))
    except (TypeError, ValueError) as error:  # a number field that was emptied holds None
        say(f"{error}; the value before is kept.")
        return False
    return True


def undo() -> None:
    """Take back the last change."""
    *st.session_state.history, st.session_state.scenario = st.session_state.history


def reset() -> None:
    """The default scenario and views."""
    assign(Scenario())
    st.session_state.view = View()


def open_saved(new: Scenario, new_view: View, new_pins: tuple[Pin, ...] = ()) -> None:
    """Make a saved scenario and its views those of this session; its pins join those that are there, as far as there is room."""
    assign(new)
    st.session_state.view = new_view
    st.session_state.pins, left_out = pins.joined(pinned(), new_pins)
    if left_out:
        say(f"{text.plural(left_out, 'pinned scenario')} of the file had no room beside the pins of this session.")


def can_undo() -> bool:
    """Whether there is a change to take back."""
    return bool(st.session_state.history)


# --- widgets


def held(key: str):
    """What a widget holds."""
    return st.session_state[key]


def open_sections() -> dict[str, bool]:
    """Which sections are open, by name, from page to page; to be written too."""
    return st.session_state.open_sections


def texts() -> dict[str, str]:
    """Texts that are no part of the scenario, by name, while their widgets come and go; to be written too."""
    return st.session_state.texts


def tie(key: str, value, read, *args) -> dict:
    """Arguments that make a widget show this value and hand its key and these arguments to `read` when it is edited."""
    tied, page = st.session_state.tied, st.session_state.page
    if tied.get(key) != page or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value  # only where it must be, on a new page always: each costs the browser an update
        tied[key] = page
    return {"key": key, "on_change": read, "args": (key, *args)}
