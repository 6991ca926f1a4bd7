"""How data come in: files, pasted text, the shipped measurements; each goes to its reader, or leaves a sentence."""

from bsmath import logs, published, shipped
from bsmath.logs.curves import joined
from bsmath.sweeps import Question, SweepError
from bsmath.sweeps.mlperf_units import ENTRY
from pages.ui import crossed, loaded, state, text

LISTED = 5
"""Files that are named in one sentence."""


def upload() -> dict:
    """The arguments of the file uploader."""
    return {"key": "upload_file", "on_change": _read_upload}


def _read_upload() -> None:
    files = [(file.name, file.getvalue()) for file in loaded.held("upload_file")]
    if len(files) == 1:
        _load(*files[0])
    elif files:
        _load_several(files)


def pasted() -> None:
    """Read the pasted text like a file."""
    _load("pasted text", loaded.held("pasted").encode())


def example(kind: str) -> None:
    """Read a measurement that ships with the project, or the published steps of five models."""
    if kind == "zhang":
        return _load(published.ZHANG.name, published.zhang_csv())
    path = shipped.path(kind)
    if kind in logs.READERS:
        return loaded.keep(shipped.log(kind))
    return _load(path.name, path.read_bytes())


def _load(name: str, data: bytes) -> None:
    try:
        one = logs.read(data, name)
    except SweepError as error:
        return state.say(str(error))
    if one is None:
        _load_sweep(name, data)
    elif one.kind == "curves":
        crossed.take(one.record)
    else:
        loaded.keep(one)


def _load_several(files: list[tuple[str, bytes]]) -> None:
    """Loss curves of several files are the runs of one sweep; of other tables the first is read."""
    found, others = [], []
    for name, data in files:
        try:
            one = logs.read(data, name)
        except SweepError as error:
            state.say(str(error))
            continue
        if one is None:
            others.append((name, data))
        elif one.kind == "curves":
            found.append(one.record)
        else:
            loaded.keep(one)
    if found:
        crossed.take(joined(found))
    elif others:
        _load_sweep(*others.pop(0))
    if others:
        listed = ", ".join(text.plain(name) for name, _ in others[:LISTED])
        more = f" and {text.plural(len(others) - LISTED, 'other')}" if len(others) > LISTED else ""
        why = "no loss curves" if found else "one sweep is read at a time; put the rows of several into one file"
        state.note(f"Not read: {listed}{more} ({why}).")


def _load_sweep(name: str, data: bytes) -> None:
    """Read a sweep; where it leaves the sequence length open, the scenario's is taken and shown as a question.

    Not that of MLPerf's reference points: their samples are mostly images or records.
    """
    asked: dict[str, Question] = {}
    found = loaded.read_sweep(name, data, {}, asked)
    samples = found and any(column.header == ENTRY for column in found.columns)
    if found and found.batch_unit == "sequences" and "seq_len" in asked and not samples:
        loaded.read_sweep(name, data, {"seq_len": state.scenario().seq_len}, asked)
