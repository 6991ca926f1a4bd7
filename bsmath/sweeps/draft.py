"""The state of one import while it is worked out: the raw table, what its columns mean, and what was found wrong."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import numpy as np
import pandas as pd

from bsmath import checks
from bsmath.sweeps import cells, columns
from bsmath.sweeps.columns import Found
from bsmath.sweeps.meanings import MEANINGS
from bsmath.sweeps.model import Column, Problem, Question, RawTable, SweepError

MOST_LOOKED_AT = 100_000
"""Cells at the beginning of a table from which it is seen whether a column holds numbers."""

MOST_PROBLEMS = 100
"""Problems that are listed one by one."""

ANSWERS = (
    "columns", "batch_unit", "batch_scope", "seq_len", "num_devices", "rate_scope", "throughput_column", "steps_column",
    "series_columns", "decimal", "tuning", "result_unit", "target_unit", "samples_per_epoch", "units", "runtime_rate", "time_unit",
)  # fmt: skip
"""Keys of `answers`."""

CHOICES = {
    "batch_unit": ("tokens", "sequences"),
    "batch_scope": ("global", "replica"),
    "rate_scope": ("job", "device"),
    "decimal": (".", ","),
    "result_unit": ("tokens/s", "samples/s", "steps/s", "s per step"),
    "target_unit": ("epochs", "samples", "tokens", "steps"),
    "time_unit": ("s", "ms"),
    "runtime_rate": ("no", "yes"),
    "tuning": ("best rate at each batch", "each rate by itself"),
}


UNITS = {unit: cells.TIMES[unit] for unit in columns.TIME_UNITS} | {
    "": 1.0,
    "thousands": 1e3,
    "millions": 1e6,
    "billions": 1e9,
}
"""Units that a column may be said to have, and their factors to base units."""


class Draft:
    """One import in the making; the steps of `assemble` read and fill it."""

    def __init__(self, raw: RawTable, name: str, answers: Mapping[str, object]):
        self.raw, self.name, self.answers = raw, name, answers
        self.questions: list[Question] = list(raw.questions)
        self.notes: dict[str, str] = {}
        self.problems: list[Problem] = list(raw.problems[:MOST_PROBLEMS])
        self.unlisted = len(raw.problems) - len(self.problems)
        looked_at = raw.frame.head(MOST_LOOKED_AT // max(raw.frame.shape[1], 100)).to_dict("list")
        self.found = {str(header): self._recognized(str(header), first) for header, first in looked_at.items()}
        self.named = np.zeros(len(raw.rows), bool)
        self.per_replica = False
        self._numbers: dict[str, np.ndarray] = {}
        self._checked: set[str] = set()

    def _recognized(self, header: str, first: list) -> Found:
        sample = list(islice((cell for cell in first if not _is_blank(cell)), 20))
        is_number = len(sample) > 0 and sum(cells.is_number(str(cell)) for cell in sample) > len(sample) / 2
        found = columns.recognize(header, is_number)
        corrected = self.answers.get("columns", {})
        if header in corrected and corrected[header] != found.meaning:
            found = columns.corrected(header, corrected[header])
        unit = self.answers.get("units", {}).get(header)
        return found if unit is None else replace(found, unit=unit, scale=UNITS[unit])

    def taken(self, header: str, found: Found) -> None:
        """Take a column for something else."""
        self.found[header] = found
        self._numbers.pop(header, None)

    def headers(self, *meanings: str) -> list[str]:
        """Headers with one of these meanings, in the order of the meanings, then of the file."""
        return [header for wanted in meanings for header, found in self.found.items() if found.meaning == wanted]

    def numbers(self, header: str) -> np.ndarray:
        """A column in base units, nan where a cell is empty or unusable; nothing is reported."""
        if header not in self._numbers:
            found = self.found[header]
            values = cells.numbers(self.raw.frame[header], columns.units(found.meaning), found.scale, self.raw.decimal)
            self._numbers[header] = cells.positive(values)
        return self._numbers[header]

    def used(self, header: str, action: str, note: str = "", known: np.ndarray | None = None) -> np.ndarray:
        """The same for a column that the sweep uses: each unusable cell becomes a problem, but those that are known."""
        values = self.numbers(header)
        if header not in self._checked:
            self._checked.add(header)
            column = self.raw.frame[header]
            bad = np.flatnonzero(np.isnan(values) if known is None else np.isnan(values) & ~known)
            bad = bad[~cells.blank(column.iloc[bad])] if len(bad) else bad
            what = [f"{_shown(cell)!r} is not a positive number" for cell in column.iloc[bad[:MOST_PROBLEMS]]]
            self.report(bad, header, what, action)
        if note:
            self.notes[header] = note
        return values

    def report(self, positions: np.ndarray, column: str | None, what: list[str] | str, action: str) -> None:
        """One problem per row, as long as the list is short enough to be read."""
        self.named[positions] = True
        room = max(MOST_PROBLEMS - len(self.problems), 0)
        for count, position in enumerate(positions[:room]):
            said = what if isinstance(what, str) else what[count]
            row = int(self.raw.rows[position])
            self.problems.append(Problem(row=row, column=column, what=said, action=action))
        self.unlisted += max(len(positions) - room, 0)

    def warn(self, what: str, action: str, column: str | None = None) -> None:
        """A problem of the whole file."""
        self.problems.append(Problem(row=None, column=column, what=what, action=action))

    def ask(self, key: str, text: str, choices: tuple[str, ...] = (), default: str | None = None) -> object:
        """The answer to a question if there is one, else the default; the question is then on the list."""
        if key in self.answers:
            return self.answers[key]
        if all(question.key != key for question in self.questions):
            self.questions.append(Question(key=key, text=text, choices=choices, default=default))
        return default

    def error(self, rule: str, got: str) -> SweepError:
        """The one sentence that ends an import."""
        return SweepError(f"{self.name} must {rule}, got {got}")

    def columns(self) -> tuple[Column, ...]:
        """What became of every source column."""
        result, beginning = [], self.raw.frame.head(3).to_dict("list")
        for header, found in self.found.items():
            note = self.notes.get(header, "not used")
            first = tuple("" if _is_blank(cell) else str(cell)[:60] for cell in beginning.get(header, ()))
            result.append(Column(header=header, meaning=found.meaning, unit=found.unit, first_values=first, note=note))
        return tuple(result)

    def all_problems(self) -> tuple[Problem, ...]:
        """The listed problems in file order, and the number of those that are not listed."""
        listed = sorted(self.problems, key=lambda problem: (problem.row is None, problem.row or 0))
        if self.unlisted:
            listed.append(
                Problem(
                    row=None, column=None, what=f"{self.unlisted:,} more problems of this kind", action="not listed"
                )
            )
        return tuple(listed)


def _is_blank(cell) -> bool:
    return cell is None or cell is pd.NA or cell != cell or not str(cell).strip()


def _shown(cell) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)[:40]


def checked(answers: Mapping[str, object] | None, headers: list[str]) -> dict[str, object]:
    """Answers that `read` can rely on, or a SweepError."""
    answers = {key: value for key, value in (answers or {}).items() if value is not None}
    try:
        for key, value in answers.items():
            checks.one_of("answer", key, ANSWERS)
            if key in CHOICES:
                checks.one_of(key, value, CHOICES[key])
            elif key in ("seq_len", "num_devices", "samples_per_epoch"):
                answers[key] = checks.whole(key, value)
            else:
                _check_headers(key, value, headers)
    except (TypeError, ValueError) as error:
        raise SweepError(str(error)) from None
    return answers


def _check_headers(key: str, value, headers: list[str]) -> None:
    for each in value.values() if key in ("columns", "units") else ():
        if each is not None:
            checks.one_of(*(("meaning", each, MEANINGS) if key == "columns" else ("unit", each, UNITS)))
    for header in [value] if isinstance(value, str) else value:
        checks.one_of(key, header, headers)
