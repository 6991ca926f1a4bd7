"""What is loaded in this session: a sweep with its bytes, the answers to its questions, its series and their fits; and logs.

Files come in through `loading`; loss curves, and the target that makes a sweep of them, are the business of `crossed`. The
bytes stay in memory, so that an answer or a correction reads them again; they leave with the session.
"""

import streamlit as st

from bsmath import logs, measured, shipped, sweeps
from bsmath.logs import Log
from bsmath.measured import Measurement
from bsmath.sweeps import Question, Sweep, SweepError
from pages.ui import state, text


def memory() -> dict:
    """Everything that is loaded, by name; other modules of this layer read and write it through this."""
    if "loaded" not in st.session_state:
        st.session_state.loaded = {
            "sweep": None,
            "source": None,
            "answers": {},
            "questions": {},
            "shown": (),
            "fits": {},
            "padding": 0.0,
            "logs": {},
            "curves": None,
        }
    return st.session_state.loaded


def held(key: str):
    """What a widget holds."""
    return st.session_state[key]


def forget() -> None:
    """Drop the loaded data."""
    del st.session_state["loaded"]


def sweep() -> Sweep | None:
    """The sweep that is loaded."""
    return memory()["sweep"]


def logs_loaded() -> list[Log]:
    """The logs that are loaded, one of a kind at most."""
    return list(memory()["logs"].values())


def log(kind: str) -> Log:
    """The loaded log of this kind (see bsmath.logs), or the one that ships with the project."""
    return memory()["logs"].get(kind) or shipped.log(kind)


def is_shipped(one: Log) -> bool:
    """Whether a log is the project's own and not the user's."""
    return one is shipped.log(one.kind)


def shown_series() -> tuple[str, ...]:
    """The series that lie over the theory."""
    return memory()["shown"]


def measurements(quantity: str) -> list[Measurement]:
    """The shown series of one quantity with their fits, in real tokens, ready to draw; empty without a sweep."""
    return _measured(shown_series(), (quantity,))


def fixed_time_is_fitted() -> bool:
    """Whether the scenario's fixed time is that of a shown fit; until then it is an assumption."""
    fits = (one.fit for one in measurements("tokens_per_second") if one.fit is not None)
    return any(fit.fixed_time == state.scenario().fixed_time for fit in fits)


def every_measurement() -> list[Measurement]:
    """Every series of the loaded sweep with every quantity that it measured."""
    return _measured(sweep().series, sweeps.QUANTITIES)


def _measured(series, quantities) -> list[Measurement]:
    """Fits cost milliseconds and a slider step does not change them: they are kept beside the sweep."""
    has, padding = memory(), state.scenario().padding_fraction
    if has["padding"] != padding:
        has.update(fits={}, padding=padding)
    kept = has["fits"]
    for wanted in ((name, quantity) for quantity in quantities for name in series):
        if wanted not in kept:
            kept[wanted] = measured.measurement(has["sweep"], *wanted, padding)
    found = (kept[name, quantity] for quantity in quantities for name in series)
    return [one for one in found if len(one.points)]


def beside(one: Measurement, name: str, make):
    """What follows from a fit alone, under a name of its own: made once and kept as long as the fit."""
    kept, key = memory()["fits"], (name, one.series, one.quantity)
    if key not in kept:
        kept[key] = make()
    return kept[key]


def keep(one: Log) -> None:
    """Keep a log, in the place of one of its kind."""
    memory()["logs"][one.kind] = one
    state.note(f"{text.plain(one.record.name)} is a {logs.NAMES[one.kind]}; it is drawn below.")


def _read_again(**answers) -> None:
    has = memory()
    read_sweep(*has["source"], has["answers"] | answers, has["questions"])


def read_sweep(name: str, data: bytes, answers: dict, asked: dict[str, Question]) -> Sweep | None:
    """Read and keep, or say why not; a question once asked stays on the page so that its answer can be changed."""
    try:
        found = sweeps.read(data, name, answers)
    except SweepError as error:
        return state.say(str(error))
    asked.update({question.key: question for question in found.questions})
    shown = tuple(series for series in shown_series() if series in found.series) or found.series[:1]
    memory().update(
        sweep=found, source=(name, data), answers=answers, questions=asked, shown=shown, fits={}, curves=None
    )
    return found


def questions() -> list[Question]:
    """What the file left open, answered or not."""
    return list(memory()["questions"].values())


def answer(question: Question) -> dict:
    """A widget that answers a question about the file."""
    given = memory()["answers"].get(question.key, question.default)
    if given is not None and not question.choices:
        given = int(given)
    return state.tie(f"answer_{question.key}", given, _read_answer, question.key)


def _read_answer(key: str, name: str) -> None:
    _read_again(**{name: st.session_state[key]})


def correct_column() -> None:
    """Read the file again with one column taken for something else."""
    corrected = {st.session_state.correct_header: st.session_state.correct_meaning}
    _read_again(columns=memory()["answers"].get("columns", {}) | corrected)


def series_choice() -> dict:
    """A multiselect of the series to show."""
    return {"options": sweep().series} | state.tie("series", list(shown_series()), _read_series)


def _read_series(key: str) -> None:
    memory()["shown"] = tuple(st.session_state[key])
