"""A table of losses -> its runs, and the losses of each run by step.

Runs are told apart by columns (name, batch, seed, model; the rate where several stand at one step) and by steps that start
anew. Steps that go back inside a run are those of a run that was resumed: the later rows stand.
"""

import re

import numpy as np
import pandas as pd

from bsmath.logs import curve_headers, run_names
from bsmath.logs.curve_headers import LOSSES, PLACES
from bsmath.sweeps import cells

LARGEST = 1e15
"""No place, batch or loss is larger."""
RAMP = 0.02
"""Relative change of the tokens per step from which the batch of a run changes."""
RUN = (
    "label",
    "batch",
    "batch_in",
    "tokens_per_step",
    "learning_rate",
    "seed",
    "seq_len",
    "model",
    "tokens_per_second",
)
"""Columns of the table of runs."""
POINT = ("run", *PLACES, *LOSSES)
"""Columns of the table of losses."""


def runs_and_points(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """One row a run with the columns RUN; one row a run and step with the columns POINT, of which a loss
    is nan where it was not logged and inf where it was no number; and sentences on what was assumed."""
    headers = curve_headers.meanings(list(frame.columns))
    table = pd.DataFrame({place: _numbers(frame, headers.get(place, ())) for place in (*PLACES, *LOSSES)})
    for kind in LOSSES:
        for header in headers.get(kind, ())[:1]:
            broken = ~cells.blank(frame[header]) & ~(table[kind].abs() < LARGEST).to_numpy(bool)
            table.loc[broken, kind] = np.inf
    place = next((place for place in PLACES if table[place].nunique() > 1), PLACES[0])
    table["place"] = table[place]
    table["key"] = _keys(frame, headers, table)
    keep = table["place"].notna() & (table["place"] >= 0) & table[list(LOSSES)].notna().any(axis=1)
    table = table[keep]
    said = _columns_said(headers)
    runs, points = [], []
    for _, group in table.groupby("key", sort=True):
        parts = _parts(group)
        for number, rows in enumerate(parts, start=1):
            described, problem = _described(frame.loc[rows.index], headers, rows, name)
            described["label"] += f" #{number}" if len(parts) > 1 else ""
            said += [f"{described['label']}: {problem}"] if problem else []
            last = rows.groupby("place", as_index=False).last()  # of each loss its last value at a step
            points.append(last[list(POINT)[1:]].assign(run=len(runs)))
            runs.append(described)
    if not runs:
        return pd.DataFrame(columns=list(RUN)), pd.DataFrame(columns=list(POINT)), said
    return _named_apart(pd.DataFrame(runs)[list(RUN)]), pd.concat(points, ignore_index=True), said


def _named_apart(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of one name with what tells them apart behind it."""
    again = runs["label"].duplicated(keep=False)
    for name, word in (("batch", "batch"), ("learning_rate", "rate"), ("seed", "seed")):
        if again.any() and runs.loc[again, name].nunique() > 1:
            runs.loc[again, "label"] += runs.loc[again, name].map(lambda value, word=word: f", {word} {value:g}")
    return runs


def _numbers(frame: pd.DataFrame, headers) -> np.ndarray:
    """The first of these columns as floats, nan where it is no number or there is none."""
    if not headers:
        return np.full(len(frame), np.nan)
    found = cells.numbers(frame[headers[0]], cells.COUNTS)
    return np.where(np.abs(found) < LARGEST, found, np.nan)


def _keys(frame: pd.DataFrame, headers: dict, table: pd.DataFrame) -> np.ndarray:
    """A number for each row that is the same in all rows of a run, as far as columns tell."""
    telling = [header for kind in ("run", "seed", "model") for header in headers.get(kind, ())]
    place = table["place"].to_numpy()
    goes_on = np.append(False, place[1:] > place[:-1])
    for header in [header for kind in ("batch_tokens", "batch_sequences", "batch") for header in headers.get(kind, ())]:
        values = pd.factorize(frame[header], use_na_sentinel=False)[0]
        changes = np.append(False, values[1:] != values[:-1])
        if (changes & ~goes_on).any():  # else a batch that is raised during one run
            telling.append(header)
    keys = _codes(frame, telling)
    for header in headers.get("learning_rate", ())[:1]:
        at_once = pd.DataFrame({"key": keys, "place": place, "rate": frame[header].astype(str)}).groupby(
            ["key", "place"]
        )
        if len(at_once) and (at_once["rate"].transform("nunique") > 1).mean() > 0.5 and not _stacked(keys, place):
            keys = _codes(frame, [*telling, header])
    return keys


def _codes(frame: pd.DataFrame, headers: list[str]) -> np.ndarray:
    if not headers:
        return np.zeros(len(frame), int)
    return frame.groupby(headers, sort=False, dropna=False).ngroup().to_numpy()


def _stacked(keys: np.ndarray, place: np.ndarray) -> bool:
    """Whether runs stand below each other, so that few steps fall from row to row; sorted by step, they lie side by side."""
    same = keys[1:] == keys[:-1]
    rises = place[1:] > place[:-1]
    return bool((rises | ~same).mean() > 0.5)


def _parts(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The runs among rows that no column tells apart: a new one where the steps start anew, the same where they go back."""
    place = rows["place"].to_numpy()
    falls = np.flatnonzero(place[1:] < place[:-1]) + 1
    if len(falls) > len(place) / 4:  # in no order
        return [rows.sort_values("place", kind="stable")]
    parts, current, start = [], np.arange(0), 0
    for end in [*falls.tolist(), len(place)]:
        piece = np.arange(start, end)
        if len(current) and place[piece[0]] <= place[current].min():
            parts.append(current)
            current = piece
        else:
            current = np.append(current[place[current] < place[piece[0]]], piece)
        start = end
    return [rows.iloc[part] for part in [*parts, current]]


def _described(frame: pd.DataFrame, headers: dict, rows: pd.DataFrame, name: str) -> tuple[dict, str]:
    """What a run was, by its columns, else by its name, else by the file's; and a sentence on what is wrong."""
    label = " ".join(str(frame[header].iloc[0]) for header in headers.get("run", ())[:1]) or run_names.bare(name)
    named = run_names.settings(name) | run_names.settings(label)
    batch, unit = named.get("batch", np.nan), "tokens" if named.get("in_tokens") else ""
    for kind in ("batch", "batch_sequences", "batch_tokens"):
        for header in headers.get(kind, ())[:1]:
            values = _constant(_numbers(frame, [header]))
            batch, unit = (values, kind[6:]) if values > 0 else (batch, unit)
    per_step, changes = _slope(rows, "tokens")
    sequences, ramps = _slope(rows, "samples")
    if not batch > 0 and sequences > 0:
        batch, unit = sequences, "sequences"
    rate, problem = _rate(frame, headers, named)
    if changes or ramps:
        batch, per_step, problem = np.nan, np.nan, "its batch changes during the run, so it is no point of a sweep."
    found = {
        "label": label[:80],
        "batch": batch,
        "batch_in": unit,
        "tokens_per_step": per_step,
        "learning_rate": rate,
        "seed": _seed(frame, headers.get("seed", ()), named.get("seed", np.nan)),
        "seq_len": _constant(_numbers(frame, headers.get("seq_len", ()))),
        "model": str(frame[headers["model"][0]].iloc[0]) if headers.get("model") else "",
        "tokens_per_second": pd.Series(_numbers(frame, headers.get("tokens_per_second", ()))).median(),
    }
    return found, problem


def _seed(frame: pd.DataFrame, headers, named: float) -> float:
    """The first value of a column of seeds, else the name's; a seed that is a word counts by its digits."""
    if not headers:
        return named
    digits = re.sub(r"[^0-9]", "", str(frame[headers[0]].iloc[0]).split(".")[0])
    return float(digits[:15]) if digits else np.nan


def _constant(values: np.ndarray) -> float:
    """The median of a column that hardly changes; nan for one that does."""
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values) or values.max() > values.min() * (1 + RAMP):
        return np.nan
    return float(np.median(values))


def _slope(rows: pd.DataFrame, counted: str) -> tuple[float, bool]:
    """Tokens or samples per step, and whether they change during the run."""
    known = rows[["step", counted]].dropna()
    steps, counts = np.diff(known["step"]), np.diff(known[counted])
    usable = steps > 0
    each = counts[usable] / steps[usable]
    if len(each) < 2 or not (each >= 1).all():
        return np.nan, False
    changes = bool(np.quantile(each, 0.9) > np.quantile(each, 0.1) * (1 + RAMP))
    return float(np.median(each)), changes


def _rate(frame: pd.DataFrame, headers: dict, named: dict) -> tuple[float, str]:
    """The peak rate of a run: of a column that is constant, of the name, or the largest of a schedule."""
    logged = _numbers(frame, headers.get("learning_rate", ()))
    logged = logged[logged > 0]
    peak = float(f"{logged.max():.9g}") if len(logged) else np.nan
    said = named.get("learning_rate", np.nan)
    if said > 0 and peak > 0 and abs(said / peak - 1) > RAMP:
        if np.isnan(_constant(logged)):
            return said, f"its name says the rate {said:g}, the largest that it logged is {peak:g}; the name is taken."
        return peak, f"its name says the rate {said:g}, its column {peak:g}; the column is taken."
    return (said if said > 0 else peak), ""


def _columns_said(headers: dict) -> list[str]:
    """A sentence for each further column of a kind of which one is read."""
    more = {kind: headers[kind] for kind in LOSSES if len(headers.get(kind, ())) > 1}
    return [
        f"Of {LOSSES[kind]}es only {names[0]} was read, not {', '.join(names[1:5])}." for kind, names in more.items()
    ]
