"""A table of losses -> its runs, and the losses of each run by step.

Runs are told apart by columns (name, batch, seed, model; the rate where several stand at one step) and by steps that start
anew. Steps that go back inside a run are those of a run that was resumed: the later rows stand.
"""

import numpy as np
import pandas as pd

from bsmath.logs import curve_headers, run_names, run_rates
from bsmath.logs.curve_described import Cells, described
from bsmath.logs.curve_headers import LOSSES, PLACES
from bsmath.sweeps import cells

LEAST_ROWS, MOST_RESULTS = 3, 100
"""Rows of a run from which its losses can be a curve, and runs without a curve that are looked at."""
RUN = (
    "label",
    "batch",
    "batch_in",
    "tokens_per_step",
    "learning_rate",
    "seed",
    "seq_len",
    "model",
)
"""Columns of the table of runs, beside those of `run_rates.BESIDE`."""
POINT = ("run", *PLACES, *LOSSES)
"""Columns of the table of losses."""


def tables(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, list[str]]:
    """One row a run with the columns RUN; one row a run and step with the columns POINT, of which a loss is nan where it was not
    logged and inf where it was no number; the rates of the runs (see `run_rates`); and sentences on what was assumed."""
    if curve_headers.SCALAR in frame and (tag := run_names.tag(name)):
        frame = frame.rename(columns={curve_headers.SCALAR: tag})
    headers = curve_headers.meanings(list(frame.columns))
    logged = Cells(frame, headers)
    losses = _losses(logged)
    place = next(
        (
            each
            for each in map(logged.of, PLACES)
            if len(each) and np.nanmin(each, initial=np.inf) < np.nanmax(each, initial=-np.inf)
        ),
        logged.of(PLACES[0]) if headers.get(PLACES[0]) else np.full(len(frame), np.nan),
    )
    has_loss = np.zeros(len(frame), bool)
    for loss in losses.values():
        has_loss |= ~np.isnan(loss)
    keys = _keys(frame, headers, place)
    logged = _with_rates(logged, keys, has_loss)
    keep = (place >= 0) & (has_loss if has_loss.all() else has_loss | run_rates.logs_rate(frame))
    said, runs, members = _columns_said(headers), [], []
    for group in _groups(keys, keep):
        parts = _parts(place, group)
        for number, rows in enumerate(parts, start=1):
            found, problem = described(logged, rows, name)
            found["label"] += f" #{number}" if len(parts) > 1 else ""
            said += [f"{found['label']}: {problem}"] if problem else []
            members.append(rows)
            runs.append(found)
    if not runs:
        empty = [pd.DataFrame(columns=list(names)) for names in (RUN, POINT, run_rates.COLUMNS)]
        return *empty, said
    rates = run_rates.rates(logged.frame, members, logged.of("step"))
    return (
        _completed(pd.DataFrame(runs), logged.frame, members, rates),
        _points(logged, losses, place, members),
        rates,
        said,
    )


def _losses(logged: Cells) -> dict[str, np.ndarray]:
    """Each kind of loss that has a column: nan where it was not logged, inf where it was no number."""
    found = {}
    for kind in LOSSES:
        for header in logged.headers.get(kind, ())[:1]:
            loss = logged.numbers(header)
            broken = np.isnan(loss) & ~cells.blank(logged.frame[header])
            found[kind] = np.where(broken, np.inf, loss) if broken.any() else loss
    if len(found) == 2 and (gap := np.isinf(found["validation"]) & np.isfinite(found["training"])).any():
        found["validation"] = np.where(gap, np.nan, found["validation"])  # a gap that was written as nan
    return found


def _groups(keys: np.ndarray, keep: np.ndarray) -> list[np.ndarray | slice]:
    """The places of the rows of each key, in the order of the keys; of results of runs, which are no curves, only some."""
    if keep.all() and len(keys) and (keys[1:] >= keys[:-1]).all():
        ends = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
        if len(ends) <= MOST_RESULTS:
            return list(map(slice, ends[:-1], ends[1:]))
    places = np.flatnonzero(keep)
    keys = keys[places]
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable") if (np.diff(keys) < 0).any() else np.arange(len(keys))
    ends = np.flatnonzero(np.diff(keys[order])) + 1
    groups = np.split(places[order], ends)
    if len(groups) > MOST_RESULTS and max(map(len, groups)) < LEAST_ROWS:
        return groups[:MOST_RESULTS]
    return groups


def _points(logged: Cells, losses: dict, place: np.ndarray, members: list) -> pd.DataFrame:
    """The losses of every run by step; of each loss its last value at a step."""
    columns = {name: logged.of(name) for name in PLACES if logged.headers.get(name)} | losses
    if (found := _side_by_side(columns, losses, place, members)) is not None:
        return found
    parts = []
    for run, rows in enumerate(members):
        own = {name: values[rows] for name, values in columns.items()}
        lost = np.ones(len(place[rows]), bool)
        for kind in losses:
            lost &= np.isnan(own[kind])
        own = {name: values[~lost] for name, values in own.items()} if lost.any() else own
        at = place[rows][~lost] if lost.any() else place[rows]
        table = pd.DataFrame(own, copy=False)
        if not (at[1:] > at[:-1]).all():
            table = table.groupby(at, as_index=False, sort=True).last()
        parts.append(table.assign(run=run))
    found = pd.concat(parts, ignore_index=True)
    return found.assign(**{name: np.nan for name in POINT if name not in found})[list(POINT)]


def _side_by_side(columns: dict, losses: dict, place: np.ndarray, members: list) -> pd.DataFrame | None:
    """The same without a copy, where every row is one of a run that goes on; None where it is not so."""
    ends = [rows.stop for rows in members if isinstance(rows, slice)]
    starts = [rows.start for rows in members if isinstance(rows, slice)]
    if len(ends) < len(members) or starts != [0, *ends[:-1]] or ends[-1] != len(place):
        return None
    rises = place[1:] > place[:-1]
    rises[np.array(ends[:-1], int) - 1] = True
    lost = np.ones(len(place), bool)
    for kind in losses:
        lost &= np.isnan(columns[kind])
    if lost.any() or not rises.all():
        return None
    runs = np.repeat(np.arange(len(members), dtype=np.int32), np.diff([0, *ends]))
    empty = np.broadcast_to(np.nan, len(place))
    return pd.DataFrame({"run": runs} | {name: columns.get(name, empty) for name in POINT[1:]}, copy=False)


def _completed(runs: pd.DataFrame, frame: pd.DataFrame, members: list, rates: pd.DataFrame) -> pd.DataFrame:
    """The runs with names that differ, what their log says besides, and the batch that their rates imply."""
    runs = _named_apart(runs)
    beside = run_rates.beside(frame, members)
    beside["num_devices"] = runs["num_devices"].where(np.isnan(beside["num_devices"]), beside["num_devices"])
    runs = runs[list(RUN)].assign(**beside)
    implied = rates.groupby("run")["implied"].median().reindex(runs.index)
    unknown = runs["batch"].isna() & runs["tokens_per_step"].isna()
    return runs.assign(tokens_per_step=runs["tokens_per_step"].where(~unknown, implied))


def _with_rates(logged: Cells, keys: np.ndarray, has_loss: np.ndarray) -> Cells:
    """The log with the learning rate in the rows of the losses too, where it is logged in rows of its own, as Lightning does."""
    for header in logged.headers.get("learning_rate", ())[:1]:
        column = logged.frame[header]
        told = column.notna().to_numpy()
        if told.any() and not (told & has_loss).any():
            own = column.groupby(keys)
            filled = logged.frame.assign(**{header: own.ffill().fillna(own.bfill())})
            return Cells(filled, logged.headers)
    return logged


def _named_apart(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of one name with what tells them apart behind it."""
    again = runs["label"].duplicated(keep=False)
    for name, word in (("batch", "batch"), ("learning_rate", "rate"), ("seed", "seed")):
        if again.any() and runs.loc[again, name].nunique() > 1:
            runs.loc[again, "label"] += runs.loc[again, name].map(lambda value, word=word: f", {word} {value:g}")
    return runs


def _keys(frame: pd.DataFrame, headers: dict, place: np.ndarray) -> np.ndarray:
    """A number for each row that is the same in all rows of a run, as far as columns tell."""
    telling = [header for kind in ("run", "seed", "model") for header in headers.get(kind, ())]
    goes_on = place[1:] > place[:-1]
    for header in [header for kind in ("batch_tokens", "batch_sequences", "batch") for header in headers.get(kind, ())]:
        column = frame[header].ffill().bfill() if frame[header].isna().any() else frame[header]  # not every line has it
        values = column.to_numpy() if column.dtype.kind in "if" else pd.factorize(column)[0]
        changes = values[1:] != values[:-1]
        if (changes & ~goes_on).any():  # else a batch that is raised during one run
            frame = frame.assign(**{header: column})
            telling.append(header)
    keys = _codes(frame, telling)
    changes = keys[1:] != keys[:-1]
    if (goes_on | changes).all() and changes.sum() == keys.max(initial=0):
        return keys  # no run has two rows at one place
    for header in headers.get("learning_rate", ())[:1]:
        rates = pd.Series(pd.factorize(frame[header])[0])
        at_once = pd.DataFrame({"key": keys, "place": place, "rate": rates.where(rates >= 0)}).groupby(["key", "place"])
        if len(at_once) and (at_once["rate"].transform("nunique") > 1).mean() > 0.5 and not _stacked(keys, place):
            keys = _codes(frame, [*telling, header])
    return keys


def _codes(frame: pd.DataFrame, headers: list[str]) -> np.ndarray:
    """Numbers of the different values of some columns together, as they come in the file."""
    found = None
    for header in headers:
        code, count = _numbered(frame[header])
        found = code if found is None else pd.factorize(found.astype(int) * count + code)[0]
    if found is None:
        return np.zeros(len(frame), np.int8)
    return found.astype(np.min_scalar_type(-int(found.max(initial=0)) - 1))  # rows are many, runs few


def _numbered(column: pd.Series) -> tuple[np.ndarray, int]:
    """Numbers of the different cells of a column, as they come in the file, and how many there are."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        code, different = pd.factorize(column, use_na_sentinel=False)
        return code, len(different)
    code = column.cat.codes.to_numpy()
    starts = np.flatnonzero(np.diff(code, prepend=code[:1] - 1))  # rows of one run follow each other as a rule
    different = pd.unique(code[starts])
    places = np.empty(len(column.cat.categories) + 1, code.dtype)  # the last is that of -1, an empty cell
    places[different] = np.arange(len(different))
    return np.repeat(places[code[starts]], np.diff(starts, append=len(code))), len(different)


def _stacked(keys: np.ndarray, place: np.ndarray) -> bool:
    """Whether runs stand below each other, so that few steps fall from row to row; sorted by step, they lie side by side."""
    same = keys[1:] == keys[:-1]
    rises = place[1:] > place[:-1]
    return bool((rises | ~same).mean() > 0.5)


def _parts(place: np.ndarray, rows: np.ndarray | slice) -> list[np.ndarray | slice]:
    """The runs among rows that no column tells apart: a new one where the steps start anew, the same where they go back."""
    at = place[rows]
    falls = np.flatnonzero(at[1:] < at[:-1]) + 1
    if not len(falls):
        return [rows if isinstance(rows, slice) else _compact(rows)]
    rows = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    if len(falls) > len(at) / 4:  # in no order
        return [_compact(rows[np.argsort(at, kind="stable")])]
    parts, current, start = [], np.arange(0), 0
    for end in [*falls.tolist(), len(at)]:
        piece = np.arange(start, end)
        if len(current) and at[piece[0]] <= at[current].min():
            parts.append(current)
            current = piece
        else:
            current = np.append(current[at[current] < at[piece[0]]], piece) if len(current) else piece
        start = end
    return [_compact(rows[part]) for part in [*parts, current]]


def _compact(rows: np.ndarray) -> np.ndarray | slice:
    """Rows that follow each other as a slice, which copies nothing."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _columns_said(headers: dict) -> list[str]:
    """A sentence for each further column of a kind of which one is read."""
    more = {kind: headers[kind] for kind in LOSSES if len(headers.get(kind, ())) > 1}
    return [
        f"Of {LOSSES[kind]}es only {names[0]} was read, not {', '.join(names[1:5])}." for kind, names in more.items()
    ]
