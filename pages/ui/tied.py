"""Widgets tied to what they show: each function returns the arguments of a widget, and its reader takes what was edited."""

from bsmath import link, presets
from bsmath.scenario import OPTIONAL
from pages.ui import actions, state, text


def typed(name: str) -> dict:
    """A text field that takes an exact value such as 7.3B; empty clears a field that may be empty."""
    value = getattr(state.scenario(), name)
    shown = "" if value is None else value if isinstance(value, str) else text.exact(value)
    return state.tie(f"typed_{name}", shown, _read_typed, name)


def slider(name: str, options: list[float]) -> dict:
    """A slider over readable values; a value of the field that is not among them stands in its place between them."""
    value = getattr(state.scenario(), name)
    labels = {text.exact(option): option for option in sorted({*options, value})}
    return {"options": list(labels)} | state.tie(f"slider_{name}", text.exact(value), _read_slider, name, labels)


def choice(name: str) -> dict:
    """A widget whose own value is the field's."""
    return state.tie(f"choice_{name}", getattr(state.scenario(), name), _read_choice, name)


def names_choice(name: str) -> dict:
    """A widget of several choices whose field holds their names between spaces."""
    return state.tie(f"names_{name}", getattr(state.scenario(), name).split(), _read_names, name)


def pasted(name: str) -> dict:
    """A text that is no part of the scenario, and stays while its widget is folded away or on another page."""
    return state.tie(f"text_{name}", state.texts().get(name, ""), _read_pasted, name)


def view_choice(name: str) -> dict:
    """A segmented control that sets a view switch."""
    tied = state.tie(f"view_{name}", getattr(state.view(), name), _read_view, name)
    return {"options": link.VIEW_CHOICES[name], "required": True} | tied


def section(name: str) -> dict:
    """An expander whose closed body is not run, and which stays open from page to page."""
    return state.tie(f"section_{name}", state.open_sections().get(name, False), _read_section, name)


def _read_section(key: str, name: str) -> None:
    state.open_sections()[name] = state.held(key)


def _read_typed(key: str, name: str) -> None:
    written = state.held(key).strip()
    if not written and name in OPTIONAL:
        return state.change(**{name: None})
    try:
        value = link.parse_field(name, written)
    except ValueError as error:
        return state.say(f"{error}; the value before is kept.")
    return state.change(**{name: value})


def _read_slider(key: str, name: str, labels: dict[str, float]) -> None:
    state.change(**{name: labels[state.held(key)]})


def _read_choice(key: str, name: str) -> None:
    state.change(**{name: state.held(key)})


def _read_names(key: str, name: str) -> None:
    state.change(**{name: " ".join(state.held(key))})


def _read_pasted(key: str, name: str) -> None:
    state.texts()[name] = state.held(key)


def _read_view(key: str, name: str) -> None:
    state.look(**{name: state.held(key)})


def picker(kind: str) -> dict:
    """A select box that loads a preset and then stands empty again."""
    known, load = (presets.runs(), actions.load_run) if kind == "run" else (presets.models(), actions.load_model)
    tied = state.tie(f"pick_{kind}", None, _read_pick, load)
    return {"options": list(known), "format_func": lambda name: known[name].label, "placeholder": "Choose one"} | tied


def _read_pick(key: str, load) -> None:
    if state.held(key):
        load(state.held(key))
