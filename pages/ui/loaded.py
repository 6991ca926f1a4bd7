"""What is loaded in this session: a sweep with its bytes, the answers to its questions, its series and their fits; and logs.

The bytes stay in memory, so that an answer or a correction reads them again; they leave with the session.
"""

import streamlit as st

from bsmath import logs, measured, shipped, sweeps
from bsmath.logs import Log
from bsmath.measured import Measurement
from bsmath.sweeps import Question, Sweep, SweepError
from pages.ui import state, text


def _memory() -> dict:
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
        }
    return st.session_state.loaded


def forget() -> None:
    """Drop the loaded data."""
    del st.session_state["loaded"]


def sweep() -> Sweep | None:
    """The sweep that is loaded."""
    return _memory()["sweep"]


def logs_loaded() -> list[Log]:
    """The logs that are loaded, one of a kind at most."""
    return list(_memory()["logs"].values())


def log(kind: str) -> Log:
    """The loaded log of this kind (see bsmath.logs), or the one that ships with the project."""
    return _memory()["logs"].get(kind) or shipped.log(kind)


def is_shipped(one: Log) -> bool:
    """Whether a log is the project's own and not the user's."""
    return one is shipped.log(one.kind)


def shown_series() -> tuple[str, ...]:
    """The series that lie over the theory."""
    return _memory()["shown"]


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
    memory, padding = _memory(), state.scenario().padding_fraction
    if memory["padding"] != padding:
        memory.update(fits={}, padding=padding)
    kept = memory["fits"]
    for wanted in ((name, quantity) for quantity in quantities for name in series):
        if wanted not in kept:
            kept[wanted] = measured.measurement(memory["sweep"], *wanted, padding)
    found = (kept[name, quantity] for quantity in quantities for name in series)
    return [one for one in found if len(one.points)]


def upload() -> dict:
    """The arguments of the file uploader."""
    return {"key": "upload_file", "on_change": _read_upload}


def _read_upload() -> None:
    if st.session_state.upload_file is not None:
        _load(st.session_state.upload_file.name, st.session_state.upload_file.getvalue())


def load_pasted() -> None:
    """Read the pasted text like a file."""
    _load("pasted text", st.session_state.pasted.encode())


def load_example(kind: str) -> None:
    """Read a measurement that ships with the project."""
    path = shipped.path(kind)
    if kind in logs.READERS:
        return _keep(shipped.log(kind))
    _load(path.name, path.read_bytes())


def _load(name: str, data: bytes) -> None:
    """Read a new source; where it leaves the sequence length open, the scenario's is taken and shown as a question."""
    try:
        one = logs.read(data, name)
    except SweepError as error:
        return state.say(str(error))
    if one is not None:
        return _keep(one)
    asked: dict[str, Question] = {}
    found = _read(name, data, {}, asked)
    if found and found.batch_unit == "sequences" and "seq_len" in asked:
        found = _read(name, data, {"seq_len": state.scenario().seq_len}, asked)


def _keep(one: Log) -> None:
    _memory()["logs"][one.kind] = one
    state.note(f"{text.plain(one.record.name)} is a {logs.NAMES[one.kind]}; it is drawn below.")


def _read_again(**answers) -> None:
    memory = _memory()
    _read(*memory["source"], memory["answers"] | answers, memory["questions"])


def _read(name: str, data: bytes, answers: dict, asked: dict[str, Question]) -> Sweep | None:
    """Read and keep, or say why not; a question once asked stays on the page so that its answer can be changed."""
    try:
        found = sweeps.read(data, name, answers)
    except SweepError as error:
        return state.say(str(error))
    asked.update({question.key: question for question in found.questions})
    shown = tuple(series for series in shown_series() if series in found.series) or found.series[:1]
    _memory().update(sweep=found, source=(name, data), answers=answers, questions=asked, shown=shown, fits={})
    return found


def questions() -> list[Question]:
    """What the file left open, answered or not."""
    return list(_memory()["questions"].values())


def answer(question: Question) -> dict:
    """A widget that answers a question about the file."""
    value = _memory()["answers"].get(question.key, question.default)
    if value is not None and not question.choices:
        value = int(value)
    return state.tie(f"answer_{question.key}", value, _read_answer, question.key)


def _read_answer(key: str, name: str) -> None:
    _read_again(**{name: st.session_state[key]})


def correct_column() -> None:
    """Read the file again with one column taken for something else."""
    corrected = {st.session_state.correct_header: st.session_state.correct_meaning}
    _read_again(columns=_memory()["answers"].get("columns", {}) | corrected)


def series_choice() -> dict:
    """A multiselect of the series to show."""
    return {"options": sweep().series} | state.tie("series", list(shown_series()), _read_series)


def _read_series(key: str) -> None:
    _memory()["shown"] = tuple(st.session_state[key])
