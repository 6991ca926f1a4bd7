"""Which columns tell the runs of a sweep apart, and the name of each run.

A column tells runs apart where one batch was measured under several of its values, or where each of its values has
batches of its own. What merely moves along with the batch does not: it is named as a confounder. All of it is decided
on the different combinations of batch and settings, of which even a long log has few.
"""

import numpy as np
import pandas as pd

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

MOST_CODES = 2**40
"""Numbers of combinations up to which they are not numbered anew."""

LONG = 100_000
"""Rows from which a column is long."""

FEW_CODES = 2**18
"""Numbers of combinations up to which a table of all of them is small."""

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
    codes = _combinations(draft, frame, batch[rows], [])[0]
    return _chosen(draft, codes.drop(columns=f"/{apart}", errors="ignore"), len(frame))


def names(draft: Draft, batch: np.ndarray, usable: np.ndarray, chosen: list[str] | None = None) -> pd.Series:
    """The series of each usable row; the headers that tell them apart are found unless they are given."""
    frame = draft.raw.frame if usable.all() else draft.raw.frame[usable]
    if chosen is None and "series_columns" in draft.answers:
        chosen = list(draft.answers["series_columns"])
    batch = batch if usable.all() else batch[usable]
    codes, combination, place = _combinations(draft, frame, batch, chosen or [])
    if chosen is None:
        chosen = _chosen(draft, codes, len(frame))
        if codes["batch"].nunique() == 1 and not chosen and (others := _others(draft, frame)):
            chosen = others
            codes, combination, place = _combinations(draft, frame, batch, others)
    key = _key(codes, chosen)
    _name_confounders(draft, codes, key, chosen)
    if codes.groupby(key)["batch"].nunique().max() == 1:
        draft.warn("every series has one batch size only", "shown; one batch size cannot be fitted")
    for header in chosen:
        note = draft.notes.get(header)
        draft.notes[header] = f"{note}; tells the series apart" if note else "tells the series apart"
    first = place[np.unique(key, return_index=True)[1]]
    labels = [_label(draft, {header: frame[header].iloc[position] for header in chosen}, chosen) for position in first]
    names = pd.Index(dict.fromkeys(labels), dtype="str")
    numbers = names.get_indexer(labels).astype(np.int16 if len(names) < 2**15 else np.int32)
    return pd.Series(pd.Categorical.from_codes(numbers[key][combination], categories=names, validate=False))


def _others(draft: Draft, frame: pd.DataFrame) -> list[str]:
    """Columns that tell rows of one batch apart: other models and other hardware are no repeats."""
    return [header for header in draft.headers("model", "hardware", "precision") if frame[header].nunique() > 1]


def _combinations(
    draft: Draft, frame: pd.DataFrame, batch: np.ndarray, answered: list[str]
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The different combinations of batch and settings as integer codes, which of them each row is, and the row that each is met
    first in."""
    parts = {"batch": pd.Series(batch, copy=False)}
    combination, many = _coded(parts["batch"])
    for header in dict.fromkeys([*draft.headers(*IDENTITY, *SCALE), *answered]):
        code, different = _coded(frame[header])
        loose = draft.found[header].meaning not in CONFOUNDERS and header not in answered
        if different > 1 and not (loose and different > MOST_DIFFERENT * len(frame)):
            parts[f"/{header}"] = frame[header]
            combination, many = _finer(combination, many, code, different)
    for header in draft.headers("micro_batch_size")[:1]:
        parts["micro-batches"] = pd.Series((batch / draft.numbers(header)[frame.index]).round(6))
        combination, many = _finer(combination, many, *_coded(parts["micro-batches"]))
    combination, first = _numbered(combination, many)
    codes = {name: pd.factorize(part.iloc[first], use_na_sentinel=False)[0] for name, part in parts.items()}
    return pd.DataFrame(codes), combination, first


def _finer(combination: np.ndarray, many: int, code: np.ndarray, different: int) -> tuple[np.ndarray, int]:
    """Combinations told apart by one more column, and the number that they stay below."""
    if different == 1:
        return combination, many
    if many * different > MOST_CODES:
        combination = pd.factorize(combination)[0]
        many = int(combination.max(initial=0)) + 1
    if many * different >= 2**31:
        combination = combination.astype(np.int64)
    combination = combination * combination.dtype.type(different)
    combination += code
    return combination, many * different


def _coded(column: pd.Series) -> tuple[np.ndarray, int]:
    """The different cells of a column as small whole numbers, and the number that these stay below; a long column that has such
    numbers already, or few categories, keeps them."""
    if len(column) > LONG and isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy() + np.int32(1), len(column.cat.categories) + 1
    values = column.to_numpy()
    if (
        len(column) > LONG
        and values.dtype.kind == "i"
        and (span := int(values.max()) - int(least := values.min())) < 2**16
    ):
        return (values - least).astype(np.int32), span + 1
    if values.dtype.kind not in "if":
        code, different = pd.factorize(column, use_na_sentinel=False)
        return code.astype(np.int32), len(different)
    return _in_parts(values)


def _in_parts(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The different numbers of a column numbered as they come; of a long column part by part, as few are different."""
    if len(values) > 1 and values[0] == values[-1] and (values == values[0]).all():
        return np.broadcast_to(np.int32(0), len(values)), 1
    known: dict = {}
    codes = np.empty(len(values), np.int32)
    for start in range(0, len(values), LONG):
        code, different = pd.factorize(values[start : start + LONG], use_na_sentinel=False)
        if len(different) > LONG / 100 and len(values) > LONG:
            code, different = pd.factorize(values, use_na_sentinel=False)
            return code.astype(np.int32), len(different)
        keys = [None if value != value else value for value in different.tolist()]
        codes[start : start + LONG] = np.array([known.setdefault(key, len(known)) for key in keys], np.int32)[code]
    return codes, len(known)


def _numbered(combination: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Combinations below `many` numbered as they come in the file, and the place where each is met first."""
    if many == 1 and len(combination):
        return combination, np.zeros(1, int)
    if many > FEW_CODES:
        combination, different = pd.factorize(combination)
        return combination, _first(combination, len(different))
    first = np.full(many, len(combination))
    first[combination[::-1]] = np.arange(len(combination) - 1, -1, -1, dtype=np.int32)
    present = np.argsort(first, kind="stable")[: (first < len(combination)).sum()]
    number = np.zeros(many, np.int32)
    number[present] = np.arange(len(present))
    return number[combination], first[present]


def _first(codes: np.ndarray, different: int) -> np.ndarray:
    """The place where each code is met first."""
    first = np.zeros(different, int)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1, dtype=np.int64)
    return first


def _key(codes: pd.DataFrame, headers: list[str]) -> np.ndarray:
    """One integer per different values of some columns, numbered as they come in the file."""
    key = np.zeros(len(codes), int)
    for header in headers:
        if f"/{header}" in codes:
            key = _joint(key, codes[f"/{header}"].to_numpy())
    return key


def _joint(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The different pairs of two codes, numbered as they come."""
    return pd.factorize(first * (int(second.max(initial=0)) + 1) + second)[0]


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
    _, first = np.unique(_joint(finer, batch), return_index=True)
    batches = np.bincount(finer[first])
    met = np.bincount(shared := _joint(key[first], batch[first]))
    left = batches[batches > 1].sum() / len(met)
    meetings = (met[shared] > 1).mean()
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


def _label(draft: Draft, row: dict[str, object], chosen: list[str]) -> str:
    return " · ".join(_part(draft.found[header].meaning, header, row[header]) for header in chosen) or ALL_ROWS


def _part(meaning: str | None, header: str, value) -> str:
    text = "" if value is None or value != value else str(value).strip()
    text = f"{value:g}" if isinstance(value, float) and text else text
    text = text.removesuffix(".0")[:40] or f"no {header}"
    if meaning in FORMS:
        worded = FORMS[meaning].format(text)
        return worded.removesuffix("s") if text == "1" else worded
    return f"{header} {text}" if text.lower() in ("true", "false", "yes", "no", "y", "n") or text.isdigit() else text
