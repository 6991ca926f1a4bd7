"""Files as people drop them -> what was found in them: sweeps, logs of runs, other logs, a saved scenario; and what was refused.

Archives are unpacked, each file goes to the reader that knows its content, and the logs of several runs are joined. Files of which each
has one batch size are one sweep.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from bsmath import archives, logs, scenario_file, sweeps
from bsmath.logs import Log, curve_columns
from bsmath.logs.curves import LossCurves, joined
from bsmath.sweeps import Column, Problem, Sweep, SweepError, Unmapped

RUN_MEANINGS = {"step_index": "step", "loss": "training"}
"""Meanings of a sweep's columns under other names in the log of runs."""
MEANINGS = {
    **sweeps.MEANINGS,
    **{
        meaning: f"{said} (log of runs)"
        for meaning, (_, said) in curve_columns.HEADERS.items()
        if meaning not in sweeps.MEANINGS
    },
}
"""Every meaning that a column may be given by hand, in words."""
READING = 0.9
"""Share of the work that reading the bytes is; the rest is making sense of them. An estimate for the progress bar."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepFile:
    """A sweep and the files that it came from, from which it is read again when an answer changes."""

    name: str
    """What to call it."""
    files: tuple[tuple[str, bytes], ...]
    """Names and bytes; empty where it was not read from a table."""
    sweep: Sweep
    """What was read."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunFile:
    """The logs of runs in one file."""

    name: str
    """The file's name."""
    data: bytes
    """Its bytes, from which it is read again when its columns are mapped; empty where a trainer printed it."""
    record: LossCurves
    """What was read."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Refused:
    """A table that is neither by its headers."""

    name: str
    """The file's name."""
    data: bytes
    """Its bytes."""
    sentence: str
    """What is missing."""
    columns: tuple[Column, ...]
    """What each column was taken for."""
    mapped: Mapping[str, str | None] = field(default_factory=dict)
    """What the user says that columns hold: header -> a key of `MEANINGS`, None for not used."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Intake:
    """What some files hold."""

    sweeps: tuple[SweepFile, ...] = ()
    """Sweeps over batch size, one a file."""
    run_files: tuple[RunFile, ...] = ()
    """The logs of runs, one a file."""
    logs: tuple[Log, ...] = ()
    """Noise-scale logs, branches, router loads."""
    saved: scenario_file.Saved | None = None
    """A scenario file; the last, if there are several."""
    refused: tuple[str, ...] = ()
    """One sentence for each file that could not be read."""
    unmapped: tuple[Refused, ...] = ()
    """Those of the refused that are tables, and may be read once their columns are mapped."""
    notes: tuple[str, ...] = ()
    """What was skipped or joined."""

    @property
    def runs(self) -> LossCurves | None:
        """The runs of all files together."""
        return joined(one.record for one in self.run_files) if self.run_files else None


def read(files: Iterable[tuple[str, bytes]], progress: Callable[[float], None] | None = None) -> Intake:
    """What the files hold; nothing is raised: what could not be read is a sentence.

    Parameters
    ----------
    files : iterable of (name, bytes)
        As they were dropped.
    progress : callable, optional
        Gets the share of the work that was done, from 0 to 1, and may raise to stop.
    """
    unpacked, refused, unmapped, notes = [], [], [], []
    for name, data in files:
        try:
            inside = archives.files(data, name)
            unpacked += inside.files
            notes += inside.notes
        except SweepError as error:
            refused.append(str(error))
    found, done, whole = [], 0, sum(len(data) for _, data in unpacked) or 1
    for name, data in unpacked:
        try:
            found.append((name, data, read_one(data, name, _part(progress, done / whole, len(data) / whole))))
        except SweepError as error:
            refused.append(str(error))
            if isinstance(error, Unmapped):
                unmapped.append(Refused(name=sweeps.short(name), data=data, sentence=str(error), columns=error.columns))
        done += len(data)
    return replace(
        _gathered(found), refused=tuple(refused), unmapped=tuple(unmapped), notes=(*notes, *_joined_said(found))
    )


def read_file(data: bytes, name: str) -> list:
    """Everything in one file or archive: sweeps, logs or a saved scenario.

    Raises
    ------
    SweepError
        Where there is nothing to read; the sentence says why.
    """
    found = read([(name, data)])
    if found.refused and not (found.sweeps or found.logs or found.runs or found.saved):
        raise SweepError(found.refused[0])
    return [*(one.sweep for one in found.sweeps), *found.logs, *filter(None, (found.runs, found.saved))]


def read_one(data: bytes, name: str, progress: Callable | None = None) -> Log | Sweep | scenario_file.Saved:
    """What one file holds, which is no archive."""
    if scenario_file.recognizes(data):
        return scenario_file.from_json(data, name)
    log, rows = logs.read_rows(data, name, progress)
    if log is not None:
        return log
    name = sweeps.short(name)
    return sweeps.read(data, name, progress=progress) if rows is None else sweeps.of_table(rows, name)


def read_again(files: Iterable[tuple[str, bytes]], answers: dict) -> Sweep:
    """The sweep in these files with other answers (see `sweeps.read`)."""
    found = [sweeps.read(data, name, answers) for name, data in files]
    return found[0] if len(found) == 1 else together(found)


def together(found: list[Sweep]) -> Sweep:
    """The rows of several files as one sweep."""
    units = {one.batch_unit for one in found}
    if len(units) > 1:
        raise SweepError("files of one sweep must count their batch alike, got tokens and sequences")
    problems = [
        Problem(row=each.row, column=each.column, what=f"{one.name}: {each.what}", action=each.action)
        for one in found
        for each in one.problems
        if "one batch size only" not in each.what
    ]
    return replace(
        found[0],
        name=f"{len(found)} files",
        table=pd.concat([one.table for one in found], ignore_index=True),
        questions=tuple({each.key: each for one in found for each in one.questions}.values()),
        problems=tuple(problems),
        comments=tuple(f"{one.name}: {comment}" for one in found for comment in one.comments),
    )


def read_mapped(one: Refused) -> SweepFile | RunFile:
    """A table with the user's meanings of its columns: a sweep, or else the log of runs.

    Raises
    ------
    SweepError
        Where something is missing still.
    """
    known = {header: meaning for header, meaning in one.mapped.items() if meaning is None or meaning in sweeps.MEANINGS}
    columns = {header: RUN_MEANINGS.get(meaning, meaning) for header, meaning in one.mapped.items()}
    columns = {header: said for header, said in columns.items() if said is None or said in curve_columns.HEADERS}
    try:
        found = sweeps.read(one.data, one.name, {"columns": known})
        return SweepFile(name=found.name, files=((one.name, one.data),), sweep=found)
    except SweepError as error:
        try:
            return RunFile(name=one.name, data=one.data, record=logs.runs_of(one.data, one.name, columns))
        except SweepError:
            raise error from None


def _gathered(found: list[tuple]) -> Intake:
    """Each kind by itself; sweeps of one batch each together."""
    of_runs = [(name, data, one.record) for name, data, one in found if isinstance(one, Log) and one.kind == "curves"]
    saved = [one for _, _, one in found if isinstance(one, scenario_file.Saved)]
    tables = [
        SweepFile(name=one.name, files=((name, data),), sweep=one)
        for name, data, one in found
        if isinstance(one, Sweep)
    ]
    if single := _of_one_batch(found):
        files = tuple((name, data) for name, data, _ in single)
        joint = together([one for _, _, one in single])
        tables = [one for one in tables if one.files[0] not in files]
        tables.append(SweepFile(name=joint.name, files=files, sweep=joint))
    return Intake(
        sweeps=tuple(tables),
        run_files=tuple(
            RunFile(name=name, data=data if record.columns else b"", record=record) for name, data, record in of_runs
        ),
        logs=tuple(one for _, _, one in found if isinstance(one, Log) and one.kind != "curves"),
        saved=saved[-1] if saved else None,
    )


def _of_one_batch(found: list[tuple]) -> list[tuple]:
    """Sweeps of one batch size each that count it alike; none where there is one alone."""
    single = [each for each in found if isinstance(each[2], Sweep) and each[2].table["tokens_per_step"].nunique() == 1]
    return single if len(single) > 1 and len({one.batch_unit for _, _, one in single}) == 1 else []


def _joined_said(found: list[tuple]) -> list[str]:
    single = _of_one_batch(found)
    return [f"{len(single)} files of one batch size each were joined to one sweep."] if single else []


def _part(progress: Callable | None, start: float, share: float) -> Callable | None:
    """Progress inside one of several files."""
    return progress and (lambda done: progress(start + share * READING * done))
