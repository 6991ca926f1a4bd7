"""Loaded loss curves and the target that makes a sweep of them; the sweep then is the loaded one on every page."""

from dataclasses import dataclass, field, replace

from bsmath.logs.curves import LossCurves, Reading
from bsmath.sweeps import Question
from pages.ui import loaded, state


@dataclass(frozen=True, kw_only=True)
class Crossed:
    """Loss curves, and how they are read."""

    record: LossCurves
    """The curves."""
    reading: Reading = field(default_factory=Reading)
    """The user's answers."""
    target: float | None = None
    """The loss to which steps are counted [nats/token]; None where no curve has one."""
    edits: int = 0
    """Corrections of the table of runs so far."""


def now() -> Crossed | None:
    """What is loaded; None where the loaded sweep is no such thing."""
    return loaded.memory()["curves"]


def take(record: LossCurves) -> None:
    """New curves at their own target; where the sequence length is open, the scenario's is taken and shown as a question."""
    asked = any(question.key == "seq_len" for question in record.questions())
    _cross(Crossed(record=record, reading=Reading(seq_len=state.scenario().seq_len if asked else None)))


def _cross(new: Crossed) -> None:
    """Make the sweep anew; a target out of reach gives way to the default."""
    found = new.record.targets(new.reading)
    if new.target is None or not (found and found.low <= new.target <= found.high):
        new = replace(new, target=found and found.default)
    made = new.record.sweep(new.target, new.reading) if found else None
    series = made.series if made else ()
    shown = tuple(name for name in loaded.shown_series() if name in series) or series[:1]
    loaded.memory().update(sweep=made, source=None, answers={}, questions={}, shown=shown, fits={}, curves=new)


def target(key: str) -> dict:
    """A slider or number field that holds the target."""
    return state.tie(f"target_{key}", now().target, _read_target)


def _read_target(key: str) -> None:
    if loaded.held(key) is not None:
        _cross(replace(now(), target=float(loaded.held(key))))


def click(key: str) -> None:
    """Take the loss of the point that was clicked on, as far as it can be a target."""
    points = loaded.held(key)["selection"]["points"]
    if points:
        found = now().record.targets(now().reading)
        readable = float(f"{points[0]['y']:.4g}")
        _cross(replace(now(), target=min(max(readable, found.low), found.high)))


def choice(name: str) -> dict:
    """A widget that holds one field of the reading."""
    return state.tie(f"reading_{name}", getattr(now().record.resolved(now().reading), name), _read_choice, name)


def answer(question: Question) -> dict:
    """A widget that answers a question about the files."""
    given = getattr(now().reading, question.key) or question.default
    return state.tie(f"answer_{question.key}", given, _read_choice, question.key)


def _read_choice(key: str, name: str) -> None:
    value = loaded.held(key)
    _cross(replace(now(), reading=replace(now().reading, **{name: value})))


def editor() -> dict:
    """A data editor over the runs; after each edit it begins anew from what was made of it."""
    key = f"runs_{now().edits}"
    return {"key": key, "on_change": _read_runs, "args": (key,)}


def _read_runs(key: str) -> None:
    edited = now().record.runs.copy()
    for row, cells in loaded.held(key)["edited_rows"].items():
        for name, value in cells.items():
            edited.loc[int(row), name] = value
    _cross(replace(now(), record=now().record.with_runs(edited), edits=now().edits + 1))
