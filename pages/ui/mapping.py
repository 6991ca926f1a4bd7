"""Corrections of the chosen sweep: answers to what its file leaves open, what each column is taken for, and in which unit."""

from dataclasses import replace

from bsmath import intake
from bsmath.intake import Refused
from bsmath.sweeps import Question, SweepError
from pages.ui import crossed, loaded, state

IGNORED = "not used"
"""A column's meaning in the editor where it has none."""


def choice() -> dict:
    """A select box that chooses the sweep which is looked at, by its name."""
    named = {one.sweep.name: key for key, one in loaded.entries().items()}
    return {"options": list(named)} | state.tie("chosen_sweep", loaded.sweep().name, _read_choice, named)


def _read_choice(widget: str, named: dict[str, str]) -> None:
    loaded.choose(named[state.held(widget)])


def name() -> dict:
    """A text field with the name of the chosen sweep."""
    key = loaded.chosen()
    return state.tie(f"name_{key}", loaded.sweep(key).name, _read_name, key)


def _read_name(widget: str, key: str) -> None:
    loaded.rename(key, state.held(widget))


def questions() -> list[Question]:
    """What the files of the chosen sweep left open, answered or not."""
    one = loaded.entries().get(loaded.chosen())
    return list(one.questions.values()) if one and one.files else []


def possible() -> bool:
    """Whether the chosen sweep can be read again with other meanings of its columns."""
    return bool(loaded.entries()[loaded.chosen()].files)


def answer(question: Question) -> dict:
    """A widget that answers a question about the files of the chosen sweep."""
    key = loaded.chosen()
    given = loaded.entries()[key].answers.get(question.key, question.default)
    if given is not None and not question.choices:
        given = int(given)
    return state.tie(f"answer_{key}_{question.key}", given, _read_answer, key, question.key)


def _read_answer(widget: str, key: str, name: str) -> None:
    read_again(key, **{name: state.held(widget)})


def editor() -> dict:
    """A data editor over the columns of the chosen sweep; after each edit it begins anew from what was made of it."""
    key = loaded.chosen()
    edits = len(loaded.entries()[key].answers.get("columns", {})) + len(loaded.entries()[key].answers.get("units", {}))
    widget = f"mapping_{key}_{edits}_{loaded.memory()['count']}"
    return {"key": widget, "on_change": _read_columns, "args": (widget, key)}


def _read_columns(widget: str, key: str) -> None:
    one = loaded.entries()[key]
    headers = [column.header for column in one.sweep.columns]
    columns, units = dict(one.answers.get("columns", {})), dict(one.answers.get("units", {}))
    for row, cells in state.held(widget)["edited_rows"].items():
        header = headers[int(row)]
        if "meaning" in cells:
            columns[header] = None if cells["meaning"] in (None, IGNORED) else cells["meaning"]
        if "unit" in cells:
            units[header] = cells["unit"] or ""
    read_again(key, columns=columns, units=units)


def unmapped() -> list[Refused]:
    """Tables of the last upload that are neither a sweep nor a log by their headers."""
    return list(loaded.memory()["unmapped"])


def rescue(one: Refused) -> dict:
    """A data editor over the columns of such a table; once they are enough it is read."""
    widget = f"rescue_{one.name}_{loaded.memory()['count']}"
    return {"key": widget, "on_change": _read_rescue, "args": (widget, one)}


def _read_rescue(widget: str, one: Refused) -> None:
    mapped = dict(one.mapped)
    for row, cells in state.held(widget)["edited_rows"].items():
        mapped[one.columns[int(row)].header] = None if cells["meaning"] in (None, IGNORED) else cells["meaning"]
    told = tuple(replace(column, meaning=mapped.get(column.header, column.meaning)) for column in one.columns)
    new = replace(one, mapped=mapped, columns=told)
    has = loaded.memory()
    has["count"] += 1
    try:
        found = intake.read_mapped(new)
    except SweepError as error:
        new = replace(new, sentence=str(error))
        has["unmapped"] = tuple(new if each is one else each for each in has["unmapped"])
        return
    has["unmapped"] = tuple(each for each in has["unmapped"] if each is not one)
    if isinstance(found, intake.RunFile):
        return crossed.take((found,))
    asked = {question.key: question for question in found.sweep.questions}
    loaded.put(loaded.Loaded(sweep=found.sweep, files=found.files, answers={"columns": mapped}, questions=asked))


def read_again(key: str, **answers) -> None:
    """Read a sweep with these answers as well, or keep it and say why not."""
    one = loaded.entries()[key]
    wanted = one.answers | answers
    loaded.memory()["count"] += 1  # an editor keeps its edits until it has another key
    try:
        found = intake.read_again(one.files, wanted)
    except SweepError as error:
        return state.say(f"{error}; what it was taken for before is kept.")
    asked = one.questions | {question.key: question for question in found.questions}
    named = replace(found, name=one.sweep.name)
    loaded.put(replace(one, sweep=named, answers=wanted, questions=asked), key)
