"""How data come in: files, pasted text, the shipped measurements; each goes to its reader, or leaves a sentence.

A small upload is read before the page is drawn. A large one is read while the page shows how far it is, and can be stopped: the
reading then ends at its next report.
"""

import streamlit as st

from bsmath import intake, logs, published, shipped
from bsmath.intake import Intake
from bsmath.sweeps.mlperf_units import ENTRY
from pages.ui import actions, crossed, loaded, state, text

AT_ONCE = 2 * 10**6
"""Bytes of files that are read before the page is drawn: a fraction of a second."""
MOST_UNMAPPED = 3
"""Refused tables whose columns can be mapped by hand at once."""
LISTED = 8
"""Sentences about files that are said."""


def upload() -> dict:
    """The arguments of the file uploader."""
    key = f"upload_file_{loaded.uploader()}"
    return {"key": key, "on_change": _read_upload, "args": (key,)}


def _read_upload(key: str) -> None:
    files = [(file.name, file.getvalue()) for file in state.held(key)]
    loaded.empty_uploader()
    take(files)


def take(files: list[tuple[str, bytes]]) -> None:
    """Read files now, or leave them for the page where they are large."""
    if sum(len(data) for _, data in files) <= AT_ONCE:
        keep(intake.read(files))
    else:
        loaded.memory()["pending"] = files


def work() -> None:
    """Read what waits, with a bar and a button that stops it."""
    files = loaded.memory()["pending"]
    if not files:
        return
    names = ", ".join(text.plain(name) for name, _ in files[:LISTED])
    st.button("Stop reading", on_click=stop)
    bar = st.progress(0.0, text=f"Reading {names}")
    found = intake.read(files, lambda share: bar.progress(min(share, 1.0), text=f"Reading {names}"))
    loaded.memory()["pending"] = None
    keep(found)
    st.rerun()


def stop() -> None:
    """Leave what waits unread."""
    loaded.memory()["pending"] = None
    state.note("Stopped: the upload was not read.")


def pasted() -> None:
    """Read the pasted text like a file."""
    take([("pasted text", state.held("pasted").encode())])


def example(kind: str) -> None:
    """Read a measurement that ships with the project, or the published steps of five models."""
    if kind == "zhang":
        return take([(published.ZHANG.name, published.zhang_csv())])
    path = shipped.path(kind)
    if kind in logs.READERS:
        return loaded.keep(shipped.log(kind))
    return take([(path.name, path.read_bytes())])


def together() -> None:
    """The small run whose throughput and steps were measured together, as the scenario, with both sweeps laid over it."""
    actions.load_run("cpu_thread")
    take(
        [(path.name, path.read_bytes()) for path in map(shipped.path, ("together_throughput", "together_convergence"))]
    )


def keep(found: Intake) -> None:
    """Keep what was found, and say what was not."""
    loaded.memory()["unmapped"] = found.unmapped[:MOST_UNMAPPED]
    told = [one.sentence for one in found.unmapped[:MOST_UNMAPPED]]  # these stand over their columns
    for sentence in _few([sentence for sentence in found.refused if sentence not in told]):
        state.say(sentence)
    for sentence in _few(found.notes):
        state.note(text.plain(sentence))
    for one in found.logs:
        loaded.keep(one)
    if found.run_files:
        crossed.take(found.run_files)
    for one in found.sweeps:
        _keep_sweep(one)
    if found.saved is not None:
        _keep_saved(found.saved)


def _few(sentences) -> list[str]:
    more = len(sentences) - LISTED
    return [*sentences[:LISTED], *([f"{more:,} more files of this kind."] if more > 0 else [])]


def _keep_sweep(one: intake.SweepFile) -> None:
    """Keep a sweep; where it leaves the sequence length open, the scenario's is taken and shown as a question.

    Not that of MLPerf's reference points: their samples are mostly images or records.
    """
    asked = {question.key: question for question in one.sweep.questions}
    sweep, answers = one.sweep, {}
    samples = any(column.header == ENTRY for column in sweep.columns)
    if sweep.batch_unit == "sequences" and "seq_len" in asked and not samples:
        answers = {"seq_len": state.scenario().seq_len}
        sweep = intake.read_again(one.files, answers)
        asked = {question.key: question for question in sweep.questions} | asked
    same = next((key for key, each in loaded.entries().items() if each.files == one.files), None)
    loaded.put(loaded.Loaded(sweep=sweep, files=one.files, answers=answers, questions=asked), same)


def _keep_saved(saved) -> None:
    """Take a saved scenario with its data."""
    state.open_saved(saved.scenario, saved.view, saved.pins)
    for sentence in saved.problems:
        state.say(sentence)
    for sweep in saved.sweeps:
        loaded.put(loaded.Loaded(sweep=sweep))
    state.note("The saved scenario was opened; Undo takes back its numbers.")
