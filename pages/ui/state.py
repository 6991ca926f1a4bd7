"""URL <-> scenario <-> widgets: with `loaded`, the one place that reads and writes session state and the address.

Widgets are drawn from the scenario in every run, so they survive Streamlit's forgetting them on a page change; a widget's
callback replaces the scenario, or keeps it and leaves a sentence. The address is replaced, not pushed, so that the back
button leads to the page before rather than through every slider step.
"""

import dataclasses
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from bsmath import (
    architecture,
    curves,
    expert_load,
    hf_config,
    imported_run,
    link,
    measured,
    model_shape,
    pins,
    presets,
    quantities,
)
from bsmath.link import View
from bsmath.measured import Measurement
from bsmath.outlook import Outlook
from bsmath.pins import Pin
from bsmath.scenario import OPTIONAL, Scenario
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
            tied={},
        )
    return st.session_state.scenario


def enter(path: str) -> None:
    """Note which page is drawn."""
    st.session_state.page = path


def view() -> View:
    """What is looked at."""
    return st.session_state.view


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


def load_run(name: str) -> None:
    """Take the scenario of a published run or example; the page then says what in it is published."""
    run = presets.runs()[name]
    assign(Scenario(**run.fields))
    note(f"{run.label}: {run.note} Source: {run.source}")


def load_model(name: str) -> None:
    """Take the size, dimensions and experts of a model, leaving the rest of the scenario."""
    model = presets.models()[name]
    if model.architecture is not None:
        fields = model_shape.fields_of(model.architecture) | {"architecture": name, "seq_len": model.seq_len}
    else:
        fields = {
            "architecture": "",
            "num_params": model.num_params,
            "active_params": model.active_params or model.num_params,
            "seq_len": model.seq_len,
            "num_experts": model.num_experts,
            "top_k": model.top_k,
        }
    change(**{field: value for field, value in fields.items() if value is not None})


def read_pasted_config() -> None:
    """Take the dimensions of the config.json pasted on the Throughput page."""
    _use_config(st.session_state.config_text, "the pasted config.json")


def read_dropped_config() -> None:
    """Take the dimensions of the config.json dropped there."""
    dropped = st.session_state.config_file
    if dropped is not None:
        _use_config(dropped.getvalue(), dropped.name)


def read_old_config() -> None:
    """Take the old run from the trainer's configuration pasted on the Change batch page."""
    try:
        new, said = imported_run.scenario_of(scenario(), st.session_state.old_config or "")
    except (TypeError, ValueError) as error:
        return say(f"{error}; the run before is kept.")
    assign(new)
    note(text.plain(" ".join(said)))
    return None


def _use_config(data: str | bytes, name: str) -> None:
    try:
        config = hf_config.read(data, name)
    except ValueError as error:
        return say(f"{error}; the dimensions before are kept.")
    if change(**model_shape.fields_of(config.architecture)):
        total = text.count(architecture.num_params(config.architecture), 4)
        note(text.plain(" ".join([f"{config.label}: {total} parameters by its dimensions.", *config.notes])))
    return None


def picker(kind: str) -> dict:
    """A select box that loads a preset and then stands empty again."""
    known, load = (presets.runs(), load_run) if kind == "run" else (presets.models(), load_model)
    tied = tie(f"pick_{kind}", None, _read_pick, load)
    return {"options": list(known), "format_func": lambda name: known[name].label, "placeholder": "Choose one"} | tied


def _read_pick(key: str, load) -> None:
    if st.session_state[key]:
        load(st.session_state[key])


# --- widgets of scenario fields: each returns the arguments that tie a widget to its field


def typed(name: str) -> dict:
    """A text field that takes an exact value such as 7.3B; empty clears a field that may be empty."""
    value = getattr(scenario(), name)
    shown = "" if value is None else value if isinstance(value, str) else text.exact(value)
    return tie(f"typed_{name}", shown, _read_typed, name)


def slider(name: str, options: list[float]) -> dict:
    """A slider over readable values; a value of the field that is not among them stands in its place between them."""
    value = getattr(scenario(), name)
    labels = {text.exact(option): option for option in sorted({*options, value})}
    return {"options": list(labels)} | tie(f"slider_{name}", text.exact(value), _read_slider, name, labels)


def choice(name: str) -> dict:
    """A widget whose own value is the field's."""
    return tie(f"choice_{name}", getattr(scenario(), name), _read_choice, name)


def names_choice(name: str) -> dict:
    """A widget of several choices whose field holds their names between spaces."""
    return tie(f"names_{name}", getattr(scenario(), name).split(), _read_names, name)


def view_choice(name: str) -> dict:
    """A segmented control that sets a view switch."""
    tied = tie(f"view_{name}", getattr(view(), name), _read_view, name)
    return {"options": link.VIEW_CHOICES[name], "required": True} | tied


def section(name: str) -> dict:
    """An expander whose closed body is not run, and which stays open from page to page."""
    return tie(f"section_{name}", st.session_state.open_sections.get(name, False), _read_section, name)


def _read_section(key: str, name: str) -> None:
    st.session_state.open_sections[name] = st.session_state[key]


def tie(key: str, value, read, *args) -> dict:
    """Arguments that make a widget show this value and hand its key and these arguments to `read` when it is edited."""
    tied, page = st.session_state.tied, st.session_state.page
    if tied.get(key) != page or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value  # only where it must be, on a new page always: each costs the browser an update
        tied[key] = page
    return {"key": key, "on_change": read, "args": (key, *args)}


def _read_typed(key: str, name: str) -> None:
    written = st.session_state[key].strip()
    if not written and name in OPTIONAL:
        return change(**{name: None})
    try:
        value = link.parse_field(name, written)
    except ValueError as error:
        return say(f"{error}; the value before is kept.")
    return change(**{name: value})


def _read_slider(key: str, name: str, labels: dict[str, float]) -> None:
    change(**{name: labels[st.session_state[key]]})


def _read_choice(key: str, name: str) -> None:
    change(**{name: st.session_state[key]})


def _read_names(key: str, name: str) -> None:
    change(**{name: " ".join(st.session_state[key])})


def _read_view(key: str, name: str) -> None:
    st.session_state.view = dataclasses.replace(view(), **{name: st.session_state[key]})


# --- measured numbers


def use_fit(found: Measurement) -> None:
    """Put a fit into the scenario."""
    try:
        changes, sentence = measured.fitted_changes(scenario(), found)
    except ValueError as error:
        return say(f"The fit does not go into this scenario: {error}; the values before are kept.")
    if change(**changes) and sentence:
        note(sentence)


def fit_skew() -> None:
    """Set the router's skew from the typed share of dropped tokens, in percent."""
    written = st.session_state.drop_rate.strip().removesuffix("%")
    try:
        found = expert_load.skew_for_dropped(scenario(), quantities.parse_number(written) / 100)
    except ValueError as error:
        return say(f"Drop rate: {error}; the skew before is kept.")
    change(router_skew=float(f"{found:.4g}"))
    return None


def calibrate(run: Outlook) -> None:
    """Set the plateau from the calibration form: a rate, or an MFU up to 1, at a batch size (by default this run's)."""
    try:
        rate = quantities.parse_number(st.session_state.calibrate_rate)
        batch = st.session_state.calibrate_batch.strip()
        size = quantities.parse_number(batch) if batch else run.tokens_per_step
        assign(curves.calibrated(scenario(), size, rate))
    except ValueError as error:
        say(f"Calibrate: {error}; the plateau before is kept. Is it the whole job's rate, and the dense peak?")
