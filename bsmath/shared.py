"""Measured sweeps in a link: aggregated, so that they are short, and so that the receiver's fit is the sender's.

A row is the median of one batch (for steps also how coarse its evaluations are, or where its runs were stopped); of a sweep over batch
and learning rate whose best rate is taken it is a run, as long as there is room, then the best rate of each batch alone. What is written
is read back and fitted before it is handed out: points, fitted numbers and verdict must be the same.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from bsmath import measured, shared_checks, shared_rows, sweeps
from bsmath.measured import Measurement
from bsmath.shared_checks import Written, plain, wrong
from bsmath.shared_same import same
from bsmath.shared_text import packed, unpacked
from bsmath.sweeps import ALL_ROWS, MEANINGS, Column, Sweep, SweepError
from bsmath.sweeps.mlperf_units import ENTRY

MAX_TEXT = 4_000
"""Longest text of a link. [characters]"""
DIGITS = (6, 9, 17)
"""Significant digits of fractions; more only where the fit would not be the same."""
MARKS = {
    "medians": "shared in a link: medians, not the runs themselves",
    "runs": "shared in a link: the runs, without other columns of the file",
    "best rates": "shared in a link: medians at the best learning rate of each batch, not the other rates tried",
}
"""Comment on a sweep that came in a link, by the kind of its rows."""


class TooLarge(ValueError):
    """Sweeps that do not fit into a link: one sentence that says how large they are and what to do instead."""


def to_text(chosen: Sequence[tuple[str, Sweep, Sequence[str]]]) -> str:
    """The text of some sweeps for a link.

    Parameters
    ----------
    chosen : sequence of (name, sweep, series)
        Sweeps by name, and the series of each that are shown.

    Raises
    ------
    TooLarge
        Where the text is longer than MAX_TEXT, however it is aggregated.
    SweepError
        Where nothing is shown, or a series that the sweep does not have.
    """
    if not 1 <= len(chosen) <= shared_checks.MOST_SWEEPS:
        raise wrong(f"hold 1 to {shared_checks.MOST_SWEEPS} sweeps", len(chosen))
    names = unique([name for name, _, _ in chosen])
    found = [_written(name, sweep, series) for name, (_, sweep, series) in zip(names, chosen, strict=True)]
    if _fits(text := _packed(found), found):
        return text
    shorter = [_shorter(name, *one[1:], before) for name, one, before in zip(names, chosen, found, strict=True)]
    if _fits(short := _packed(shorter), shorter):
        return short
    raise _too_large(short, shorter)


def from_text(text: str) -> list[Sweep]:
    """The sweeps of a link.

    Raises
    ------
    SweepError
        For any other text; the sentence says why.
    """
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise wrong(f"be at most {MAX_TEXT:,} characters", len(text) if isinstance(text, str) else text)
    return [as_sweep(one) for one in unpacked(text)]


def as_sweep(one: Written) -> Sweep:
    """What a text holds as a sweep like any other."""
    table = one.table.copy()
    table.insert(0, "row", np.arange(1, len(table) + 1))
    for name in ("tokens_per_second", "step_time", "steps"):
        table[name] = table[name] if name in table else np.nan
    if "censored" in table:
        table["censored"] = table["censored"].eq(1)
    return Sweep(
        name=one.name,
        table=table,
        batch_unit=one.unit,
        columns=_columns(one),
        questions=(),
        problems=(),
        comments=(MARKS[one.kind],),
    )


def shortened(sweep: Sweep) -> Sweep:
    """A sweep as its medians, or the best rate of each batch where rates were tried; without a limit on its length."""
    kind, rows = ("medians", shared_rows.medians) if sweep.tuning is None else ("best rates", shared_rows.best_rates)
    table = pd.concat([rows(sweep, one).assign(series=one) for one in sweep.series], ignore_index=True)
    return as_sweep(Written(name=sweep.name, unit=sweep.batch_unit, kind=kind, source=_source(sweep), table=table))


def unique(names: Sequence[str]) -> list[str]:
    """Names as a text keeps them, each a different one."""
    found: list[str] = []
    for name in names:
        kept, count = plain(name) or "sweep", 1
        while kept in found:
            count += 1
            end = f" ({count})"
            kept = (plain(name) or "sweep")[: shared_checks.MOST_LETTERS - len(end)] + end
        found.append(kept)
    return found


def _packed(found: list[tuple[Written, int]]) -> str:
    return packed([one for one, _ in found], max(digits for _, digits in found))


def _fits(text: str, found: list[tuple[Written, int]]) -> bool:
    return len(text) <= MAX_TEXT and sum(len(one.table) for one, _ in found) <= shared_checks.MOST_ROWS


def _too_large(text: str, found: list[tuple[Written, int]]) -> TooLarge:
    rows = sum(len(one.table) for one, _ in found)
    return TooLarge(
        f"A link must hold at most {MAX_TEXT:,} characters of data in {shared_checks.MOST_ROWS} rows, got {len(text):,} in {rows:,}: show fewer "
        "series, or save a scenario file, which holds them all."
    )


def _written(name: str, sweep: Sweep, series: Sequence[str], best: bool = False) -> tuple[Written, int]:
    """A sweep as a link holds it, and the digits that its fits need."""
    missing = [one for one in series if one not in sweep.series]
    if missing or not series:
        raise wrong(f"have series of {name[:40]!r}", missing[0] if missing else "none")
    found = [_of_series(sweep, one, best) for one in series]
    if not best and any(kind == "best rates" for kind, _, _ in found):  # runs and best rates cannot stand in one table
        return _written(name, sweep, series, best=True)
    kind = next((one for one in ("best rates", "medians") if any(each == one for each, _, _ in found)), "runs")
    tables = [table.assign(series=one) for one, (_, table, _) in zip(unique(series), found, strict=True)]
    table = _stacked(tables)
    if table.empty:
        raise wrong(f"have measurements of {name[:40]!r}", "none")
    written = Written(name=name, unit=sweep.batch_unit, kind=kind, source=_source(sweep), table=table)
    return written, max(digits for _, _, digits in found)


def _stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several tables under all their columns; without a word, a run arrived."""
    table = pd.concat(tables, ignore_index=True)
    return table.assign(censored=table["censored"].eq(1)) if "censored" in table else table


def _shorter(name: str, sweep: Sweep, series: Sequence[str], before: tuple[Written, int]) -> tuple[Written, int]:
    """The same with the best rate of each batch alone, where rates were tried."""
    return before if sweep.tuning is None else _written(name, sweep, series, best=True)


def _of_series(sweep: Sweep, series: str, best: bool) -> tuple[str, pd.DataFrame, int]:
    """Kind, rows and digits of one series: the first way to write it that keeps its fits."""
    ours, largest = _measured(sweep, series), 0
    for kind, rows in _ways(sweep, best):
        table = rows(sweep, series)
        largest = len(table)
        for digits in DIGITS if 0 < largest <= shared_checks.MOST_ROWS else ():
            if _keeps(sweep, kind, table.assign(series=plain(series) or "series"), digits, ours):
                return kind, table, digits
        if table.empty:
            return kind, table, DIGITS[0]
    name = sweep.name if series == ALL_ROWS else series
    raise TooLarge(
        f"A link must hold {name[:40]!r} in at most {shared_checks.MOST_ROWS} rows with the same fit, got {largest:,}: save a scenario file, which "
        "holds it all."
    )


def _ways(sweep: Sweep, best: bool) -> Iterator[tuple[str, Callable[[Sweep, str], pd.DataFrame]]]:
    if sweep.tuning is None:
        yield "medians", shared_rows.medians
    if not best:
        yield "runs", shared_rows.runs
    if sweep.tuning is not None:
        yield "best rates", shared_rows.best_rates


def _keeps(sweep: Sweep, kind: str, table: pd.DataFrame, digits: int, ours: list[Measurement]) -> bool:
    """Whether a series written like this gives the same measurements; best rates alone say less of how sure they are."""
    one = Written(name="sweep", unit=sweep.batch_unit, kind=kind, source=_source(sweep), table=table)
    try:
        read = as_sweep(unpacked(packed([one], digits))[0])
    except SweepError:
        return False
    theirs = _measured(read, read.series[0])
    return all(same(*pair, verdict=kind != "best rates") for pair in zip(ours, theirs, strict=True))


def _measured(sweep: Sweep, series: str) -> list[Measurement]:
    return [measured.measurement(sweep, series, quantity) for quantity in sweeps.QUANTITIES]


def _source(sweep: Sweep) -> str:
    """Where a sweep was read: the verdict on its steps depends on it."""
    if any(
        column.header == ENTRY or column.meaning == "learning_rate" and "base" in column.header.lower()
        for column in sweep.columns
    ):
        return "base rates"
    return "table" if sweep.columns else "logs"


def _columns(one: Written) -> tuple[Column, ...]:
    """The columns of a sweep that came in a link; what was read from logs had none."""
    if one.source == "logs":
        return ()
    headers = {name: name for name in one.table if name in MEANINGS} | {"tokens_per_step": "tokens_per_step"}
    if one.source == "base rates":
        headers["learning_rate"] = "base learning rate"
    return tuple(
        Column(
            header=header,
            meaning="batch_" + one.unit if name == "tokens_per_step" else name,
            unit=one.unit if name == "tokens_per_step" else "",
            first_values=_first(one.table, name),
            note="from the link",
        )
        for name, header in headers.items()
    )


def _first(table: pd.DataFrame, name: str) -> tuple[str, ...]:
    return tuple("" if pd.isna(value) else f"{value:g}" for value in table[name].head(3)) if name in table else ()
