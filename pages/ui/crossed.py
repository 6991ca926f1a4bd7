"""Loaded logs of runs and the target that makes a sweep of their losses; the sweep is then one of those that are loaded."""

from dataclasses import dataclass, field, replace

from bsmath import logs
from bsmath.intake import RunFile
from bsmath.logs import curve_columns
from bsmath.logs.curves import LossCurves, Reading, joined
from bsmath.sweeps import Question, SweepError
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
    target_chosen: bool = False
    """Whether the user set it; until then it follows the runs."""
    length_filled: bool = False
    """Whether the scenario's sequence length was filled in where the files leave it open."""
    files: tuple[RunFile, ...] = ()
    """Where they came from."""
    columns: dict[str, str | None] = field(default_factory=dict)
    """What the user says that columns of their tables hold."""
    edits: int = 0
    """Corrections of the tables so far."""


def now() -> Crossed | None:
    """What is loaded; None where the loaded sweep is no such thing."""
    return loaded.memory()["curves"]


def take(files: tuple[RunFile, ...]) -> None:
    """Further runs beside those that are loaded; a file of a known name takes the place of the old one."""
    names = {one.name for one in files}
    kept = now().files if now() else ()
    _join((*(one for one in kept if one.name not in names), *files))


def _join(files: tuple[RunFile, ...], wanted: dict[str, str | None] | None = None) -> None:
    """The runs of these files at their own target."""
    record, edits = joined(one.record for one in files), now().edits + 1 if now() else 0
    _cross(Crossed(record=record, files=files, columns=wanted or {}, edits=edits))


def mapping() -> dict:
    """A data editor over the columns of the tables of runs; each edit reads these tables again."""
    key = f"run_columns_{now().edits}"
    return {"key": key, "on_change": _read_columns, "args": (key,)}


def _read_columns(key: str) -> None:
    headers = [column.header for column in now().record.columns]
    wanted = dict(now().columns)
    for row, cells in state.held(key)["edited_rows"].items():
        wanted[headers[int(row)]] = cells["meaning"] if cells["meaning"] in curve_columns.HEADERS else None
    try:
        files = tuple(
            replace(one, record=logs.runs_of(one.data, one.name, wanted)) if one.data else one for one in now().files
        )
    except SweepError as error:
        loaded.memory()["curves"] = replace(now(), edits=now().edits + 1)
        return state.say(f"{error}; what it was taken for before is kept.")
    _join(files, wanted)


def _cross(new: Crossed) -> None:
    """Make the sweep anew. A target that the user did not set, or that is out of reach, is the default; where the sequence length is
    open, the scenario's is taken and shown as a question."""
    if not new.length_filled and any(question.key == "seq_len" for question in new.record.questions(new.reading)):
        new = replace(new, length_filled=True, reading=replace(new.reading, seq_len=state.scenario().seq_len))
    found = new.record.targets(new.reading)
    if not (new.target_chosen and found and found.low <= new.target <= found.high):
        new = replace(new, target=found and found.default, target_chosen=False)
    loaded.memory()["curves"] = new
    try:
        made = new.record.sweep(new.target, new.reading)
    except SweepError:  # no batch, or neither losses nor rates: the table of runs says what is missing
        if loaded.RUNS in loaded.entries():
            loaded.remove(loaded.RUNS)
            loaded.memory()["curves"] = new
        return
    loaded.put(loaded.Loaded(sweep=made, rates_name=new.record.name), loaded.RUNS)


def target(key: str) -> dict:
    """A slider or number field that holds the target."""
    return state.tie(f"target_{key}", now().target, _read_target)


def _read_target(key: str) -> None:
    if state.held(key) is not None:
        _cross(replace(now(), target=float(state.held(key)), target_chosen=True))


def click(key: str) -> None:
    """Take the loss of the point that was clicked on, as far as it can be a target."""
    points = state.held(key)["selection"]["points"]
    if points:
        found = now().record.targets(now().reading)
        readable = float(f"{points[0]['y']:.4g}")
        _cross(replace(now(), target=min(max(readable, found.low), found.high), target_chosen=True))


def choice(name: str) -> dict:
    """A widget that holds one field of the reading."""
    return state.tie(f"reading_{name}", getattr(now().record.resolved(now().reading), name), _read_choice, name)


def answer(question: Question) -> dict:
    """A widget that answers a question about the files."""
    given = getattr(now().reading, question.key) or question.default
    if given is not None and not question.choices:
        given = int(given)
    return state.tie(f"answer_{question.key}", given, _read_choice, question.key)


def _read_choice(key: str, name: str) -> None:
    value = state.held(key)
    _cross(replace(now(), reading=replace(now().reading, **{name: value})))


def editor() -> dict:
    """A data editor over the runs; after each edit it begins anew from what was made of it."""
    key = f"runs_{now().edits}"
    return {"key": key, "on_change": _read_runs, "args": (key,)}


def _read_runs(key: str) -> None:
    edited = now().record.runs.copy()
    for row, cells in state.held(key)["edited_rows"].items():
        for name, value in cells.items():
            edited.loc[int(row), name] = value
    _cross(replace(now(), record=now().record.with_runs(edited), edits=now().edits + 1))
