"""Which columns tell the runs of a sweep apart, and the name of each run.

A column tells runs apart where one batch was measured under several of its values, or where each of its values has
batches of its own. What merely moves along with the batch does not: it is named as a confounder. All of it is decided
on the different combinations of batch and settings, of which even a long log has few.
"""

import numpy as np
import pandas as pd

from bsmath.sweeps import cells
from bsmath.sweeps.draft import Draft
from bsmath.sweeps.model import ALL_ROWS

IDENTITY = ("model", "hardware", "precision", "seq_len", "text", "num_params", "target_loss")
"""Meanings that make another run of a row, in the order in which they are tried."""

SCALE = (
    "placement",
    "num_devices",
    "data_parallel_size",
    "num_nodes",
    "model_parallel_size",
    "micro_batch_size",
    "learning_rate",
)
"""Settings that people also move along with the batch: they split only where sweeps over the batch remain."""

CONFOUNDERS = ("hardware", "precision", "seq_len", "placement", "num_devices", "data_parallel_size", "micro_batch_size")
"""Meanings that must not change within one run."""

SHARE_LEFT = 0.5
"""Share of the (run, batch) pairs in runs of several batches that a split by one of SCALE must leave."""

LEAST_MEETINGS = 0.1
"""Share of (run, batch) pairs with several values from which a text column of unknown meaning splits a sweep."""

LEAST_BATCHES = {"identity": 2, "scale": 3}
"""Batches that every value must have of its own for a split where no batch was measured under two values."""

MOST_DIFFERENT = 0.5
"""Share of different values from which a column names rows, not runs."""

FORMS = {
    "num_devices": "{} GPUs",
    "data_parallel_size": "{} replicas",
    "num_nodes": "{} nodes",
    "seq_len": "seq {}",
    "placement": "placement {}",
    "target_loss": "loss {}",
    "micro_batch_size": "micro {}",
    "learning_rate": "lr {}",
}
"""How numbers are worded in a name."""


def telling(draft: Draft, batch: np.ndarray, rows: np.ndarray, apart: str) -> list[str] | None:
    """Headers that tell the runs of some rows apart, `apart` aside; None where the user wants that one to."""
    if "series_columns" in draft.answers:
        answered = list(draft.answers["series_columns"])
        return None if apart in answered else answered
    frame = draft.raw.frame[rows]
    if frame.empty:
        return None
    codes, _ = _combinations(draft, frame, batch[rows], [])
    return _chosen(draft, codes.drop(columns=f"/{apart}", errors="ignore"), len(frame))


def names(draft: Draft, batch: np.ndarray, usable: np.ndarray, chosen: list[str] | None = None) -> pd.Series:
    """The series of each usable row; the headers that tell them apart are found unless they are given."""
    frame = draft.raw.frame if usable.all() else draft.raw.frame[usable]
    if chosen is None and "series_columns" in draft.answers:
        chosen = list(draft.answers["series_columns"])
    codes, combination = _combinations(draft, frame, batch[usable], chosen or [])
    if chosen is None:
        chosen = _chosen(draft, codes, len(frame))
        if codes["batch"].nunique() == 1 and not chosen and (others := _others(draft, frame)):
            chosen = others
            codes, combination = _combinations(draft, frame, batch[usable], others)
    key = _key(codes, chosen)
    _name_confounders(draft, codes, key, chosen)
    if codes.groupby(key)["batch"].nunique().max() == 1:
        draft.warn("every series has one batch size only", "shown; one batch size cannot be fitted")
    for header in chosen:
        note = draft.notes.get(header)
        draft.notes[header] = f"{note}; tells the series apart" if note else "tells the series apart"
    by_row = key[combination]
    first = np.zeros(key.max() + 1, int)
    first[by_row[::-1]] = np.arange(len(by_row))[::-1]
    labels = [_label(draft, frame.iloc[position], chosen) for position in first]
    return pd.Series(pd.array(labels, dtype="str").take(by_row))


def _others(draft: Draft, frame: pd.DataFrame) -> list[str]:
    """Columns that tell rows of one batch apart: other models and other hardware are no repeats."""
    return [header for header in draft.headers("model", "hardware", "precision") if frame[header].nunique() > 1]


def _combinations(
    draft: Draft, frame: pd.DataFrame, batch: np.ndarray, answered: list[str]
) -> tuple[pd.DataFrame, np.ndarray]:
    """The different combinations of batch and settings as integer codes, and which of them each row is."""
    codes = {"batch": pd.factorize(batch)[0]}
    for header in dict.fromkeys([*draft.headers(*IDENTITY, *SCALE), *answered]):
        code, different = pd.factorize(frame[header], use_na_sentinel=False)
        loose = draft.found[header].meaning not in CONFOUNDERS and header not in answered
        if len(different) > 1 and not (loose and len(different) > MOST_DIFFERENT * len(frame)):
            codes[f"/{header}"] = code
    for header in draft.headers("micro_batch_size")[:1]:
        micros = (batch / draft.numbers(header)[frame.index]).round(6)
        codes["micro-batches"] = pd.factorize(micros, use_na_sentinel=False)[0]
    combination = np.zeros(len(frame), int)
    for code in codes.values():
        combination = pd.factorize(combination * (int(code.max(initial=0)) + 1) + code)[0]
    first = np.zeros(combination.max() + 1, int)
    first[combination[::-1]] = np.arange(len(combination))[::-1]
    return pd.DataFrame({name: code[first] for name, code in codes.items()}), combination


def _key(codes: pd.DataFrame, headers: list[str]) -> np.ndarray:
    """One integer per different values of some columns, numbered as they come in the file."""
    present = [f"/{header}" for header in headers if f"/{header}" in codes]
    return codes.groupby(present, sort=False).ngroup().to_numpy() if present else np.zeros(len(codes), int)


def _chosen(draft: Draft, codes: pd.DataFrame, rows: int) -> list[str]:
    chosen: list[str] = []
    for meaning in (*IDENTITY, *SCALE):
        for header in draft.headers(meaning):
            if f"/{header}" not in codes or codes[f"/{header}"].nunique() > MOST_DIFFERENT * rows:
                continue
            key, finer = _key(codes, chosen), _key(codes, [*chosen, header])
            if finer.max() > key.max() and _tells_apart(key, finer, codes["batch"].to_numpy(), meaning):
                chosen.append(header)
    return chosen


def _tells_apart(key: np.ndarray, finer: np.ndarray, batch: np.ndarray, meaning: str) -> bool:
    """Whether the finer key separates runs rather than points of one run."""
    pairs = pd.DataFrame({"key": key, "batch": batch, "finer": finer}).drop_duplicates()
    batches = pairs.groupby("finer").size()
    left = batches[batches > 1].sum() / len(pairs.drop_duplicates(["key", "batch"]))
    meetings = pairs.duplicated(["key", "batch"], keep=False).mean()
    if meetings <= (LEAST_MEETINGS if meaning == "text" else 0):
        return batches.min() >= LEAST_BATCHES["scale" if meaning in SCALE else "identity"]
    return left >= SHARE_LEFT if meaning in SCALE else left > 0


def _name_confounders(draft: Draft, codes: pd.DataFrame, key: np.ndarray, chosen: list[str]) -> None:
    """Say which settings change inside a run. A micro-batch that is all that changes is the batch itself."""
    changing = []
    several = codes.groupby(key).nunique() > 1
    for header in draft.headers(*CONFOUNDERS):
        if f"/{header}" in codes and header not in chosen:
            varied = several[f"/{header}"]
            if draft.found[header].meaning == "micro_batch_size":
                varied = varied & several["micro-batches"]
            if varied.any():
                changing.append(f"{header} (in {varied.sum()} series)")
    if changing:
        said = f"{', '.join(changing)} changes within a series besides the batch"
        draft.warn(f"the sweep is confounded: {said}", "kept; a fit mixes their effects")


def _label(draft: Draft, row: pd.Series, chosen: list[str]) -> str:
    return " · ".join(_part(draft.found[header].meaning, header, row[header]) for header in chosen) or ALL_ROWS


def _part(meaning: str | None, header: str, value) -> str:
    text = "" if cells.blank(pd.Series([value]))[0] else str(value).strip()
    text = f"{value:g}" if isinstance(value, float) and text else text
    text = text.removesuffix(".0")[:40] or f"no {header}"
    if meaning in FORMS:
        worded = FORMS[meaning].format(text)
        return worded.removesuffix("s") if text == "1" else worded
    return f"{header} {text}" if text.lower() in ("true", "false", "yes", "no", "y", "n") or text.isdigit() else text
