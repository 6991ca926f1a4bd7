"""What a reader hands over (RawTable) and what the user gets (Sweep with its columns, questions and problems)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

ALL_ROWS = "all rows"
"""Name of the only series where nothing tells runs apart."""


class SweepError(ValueError):
    """A file that cannot be read as a sweep: one sentence that names the thing, the rule and the value."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of the source and what it was taken for."""

    header: str
    """As in the file."""
    meaning: str | None
    """A key of meanings.MEANINGS, or None for a column that was not recognized."""
    unit: str
    """Unit of the source's numbers, such as "ms" or "tokens"; empty where it has none or it is not known."""
    first_values: tuple[str, ...]
    """The first cells, as text."""
    note: str
    """How the column was used, or why it was not."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something that the file does not say; `read` takes the answer under `answers[key]`."""

    key: str
    """Key in `answers`."""
    text: str
    """The question in one sentence."""
    choices: tuple[str, ...]
    """Possible answers; empty for a number to type."""
    default: str | None
    """The answer taken meanwhile; None where the question is open."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that was not as it should be."""

    row: int | None
    """Line in the file, of JSON the number of the record; None where the whole file is meant."""
    column: str | None
    """Header; None where the whole row is meant."""
    what: str
    """What is wrong, with the value."""
    action: str
    """What was done about it."""


class Unmapped(SweepError):
    """A table that is no sweep by its headers; it may become one when its columns are mapped by hand."""

    def __init__(self, sentence: str, columns: tuple[Column, ...]):
        super().__init__(sentence)
        self.columns = columns
        """What each column was taken for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RawTable:
    """A table as the file has it, before anything is understood."""

    frame: pd.DataFrame
    """Text or number columns under unique headers."""
    rows: np.ndarray
    """Line in the file of each row; of JSON, the number of the record."""
    comments: tuple[str, ...] = ()
    """Comment lines above the header, without their mark."""
    decimal: str = "."
    """Decimal mark of the text cells."""
    questions: tuple[Question, ...] = ()
    """What the layout leaves open."""
    problems: tuple[Problem, ...] = ()
    """Rows that are not in the frame, and why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """Measurements over batch size from one file, in base units."""

    name: str
    """The file's name."""
    table: pd.DataFrame
    """One row per usable source row: row (line in the file; of JSON, number of the record), series, tokens_per_step
    [tokens], tokens_per_second [tokens/s, whole job], step_time [s], steps (to the target); num_devices, num_params, seq_len
    [tokens], learning_rate, micro_batch_size [sequences, of one replica] and grad_accum_steps where known; nan where the file has no value. Where the best rate of each batch is taken also censored (the run did not
    arrive), steps_run (what it was given; inf where it diverged) and, where known, seed."""
    batch_unit: str
    """"tokens"; or "sequences" where the tokens per sequence are not known: then tokens_per_step counts sequences,
    and so does tokens_per_second unless the file gives a rate in tokens."""
    columns: tuple[Column, ...]
    """Every source column, used or not."""
    questions: tuple[Question, ...]
    """What the file leaves open, each with the answer taken meanwhile."""
    problems: tuple[Problem, ...]
    """What could not be used, by row, and what makes the sweep doubtful."""
    comments: tuple[str, ...]
    """Comment lines above the header."""

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series in file order."""
        return tuple(self.table["series"].unique())

    @property
    def tuning(self) -> pd.DataFrame | None:
        """The runs of which the best rate of each batch is taken, as `bsmath.tuned.best_rates` wants them (with row, series
        and censored); None where the file has no such runs, or each rate is taken by itself."""
        return runs(self.table)

    @property
    def has_throughput(self) -> bool:
        """Whether any row has a rate."""
        return bool(self.table["tokens_per_second"].notna().any())

    @property
    def has_steps(self) -> bool:
        """Whether any row has steps to a target."""
        return bool(self.table["steps"].notna().any())


def runs(table: pd.DataFrame) -> pd.DataFrame | None:
    """The rows of a sweep's table that are runs to a target at one of several rates."""
    if "censored" not in table:
        return None
    wanted = ["row", "series", "tokens_per_step", "learning_rate", "seed", "steps", "steps_run", "censored"]
    return table.loc[table["censored"] | table["steps"].notna(), [name for name in wanted if name in table]]
