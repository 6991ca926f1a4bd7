"""Reader of expert loads in three shapes: all counts of a group in one cell (the harness's own), one row an expert, one
column an expert.

Rows are one group of tokens in one layer. What else tells them apart (a model, a data set, a seed, a weight) names the
setting; a column that only counts groups (step, group, micro-batch) does not.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import expert_counts
from bsmath.kept import kept
from bsmath.sweeps import SweepError, cells

JOINED = "expert_counts"
EXPERTS = ("expert", "expert_id", "expert_idx", "expert_index")
COUNTS = ("count", "counts", "load", "tokens", "num_tokens", "tokens_per_expert")
ALIASES = {
    **dict.fromkeys(("top_k_counted", "topk", "moe_top_k", "num_experts_per_tok", "moe_router_topk"), "top_k"),
    **dict.fromkeys(("n_experts", "moe_num_experts", "num_local_experts"), "num_experts"),
    **dict.fromkeys(("layer_id", "layer_idx", "layer_number"), "layer"),
    **dict.fromkeys(("aux_loss_weight", "load_balancing_loss_weight"), "balancing_loss"),
}
SETTINGS = ("balancing_loss", "top_k", "seed")
"""Numbers that make another setting; text columns do too."""
GROUPS = ("group", "step", "_step", "global_step", "iteration", "iter", "micro_batch", "microbatch", "batch", "batch_idx",
          "rank", "epoch", "timestamp", "time", "datetime", "date")  # fmt: skip
"""Columns that only count groups of tokens, and name no setting."""
MOST_SETTINGS = 100
"""A text column with more values names rows, not settings."""
SIZES = ("routed_tokens", "num_experts", "top_k")
_BETWEEN = str.maketrans(",;[]()", " " * 6)
_WIDE = re.compile(r"expert[ _-]?(\d{1,5})(?:[ _-](?:count|tokens|load))?")
MOST_SIZES = 200
"""Sizes of groups that are summed up each by itself."""
LARGEST = 10_000
"""Experts of one layer; a larger number is a mistake in the file."""
MOST = 20_000_000
"""Groups times experts that are put together from rows, to bound the memory."""
MOST_TOKENS = 1e15
"""A larger load is a mistake in the file."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RouterLog:
    """The loads of one file."""

    name: str
    """The file's name."""
    table: pd.DataFrame
    """One row a group and layer: setting, layer, group, routed_tokens [tokens], num_experts, top_k, counts (array)."""
    problems: tuple[str, ...]
    """Rows that could not be used, and why; what was assumed."""

    @kept
    def summary(self, capacity_factors: tuple[float, ...]) -> pd.DataFrame:
        """One row a setting and size of the group, see `expert_counts.summary`; sizes within a tenth together where many."""
        table, keys = self.table, ["setting", "num_experts", "top_k"]
        if len(table[[*keys, "routed_tokens"]].drop_duplicates()) > MOST_SIZES:
            near = (np.log(table["routed_tokens"]) / np.log(1.1)).round()
            middle = table["routed_tokens"].groupby([*(table[key] for key in keys), near]).transform("median")
            table = table.assign(routed_tokens=middle.round())
        return expert_counts.summary(table, capacity_factors)


def recognizes(headers: list[str]) -> bool:
    """Whether a table with these headers holds loads of experts."""
    names = {header.strip().lower() for header in headers}
    joined = JOINED in names
    long = bool(names & set(EXPERTS) and names & set(COUNTS))
    return joined or long or len(_wide(names)) > 1


def is_long(frame: pd.DataFrame) -> bool:
    """Whether only columns such as expert and tokens make the table loads: a sweep over batch may have them too."""
    names = [header.strip().lower() for header in frame.columns]
    return JOINED not in names and len(_wide(names)) < 2


def read(frame: pd.DataFrame, name: str) -> RouterLog:
    """The loads in a table of text or numbers."""
    frame = frame.rename(columns=lambda header: header.strip().lower()).rename(columns=ALIASES)
    frame = frame.loc[:, ~frame.columns.duplicated()]
    problems: list[str] = []
    if JOINED in frame:
        keys, counts = frame.drop(columns=JOINED), _joined(frame[JOINED], problems)
    elif len(_wide(frame.columns)) > 1:
        keys, counts = _from_wide(frame, problems)
    else:
        keys, counts = _from_long(frame, name, problems)
    table = _table(keys, counts, name, problems)
    if table.empty:
        raise SweepError(f"{name} must have loads of experts, got none that is usable" + _first(problems))
    return RouterLog(name=name, table=table, problems=tuple(problems))


def _first(problems: list[str]) -> str:
    """The first reason for which rows were left out, in brackets."""
    return next((f" ({problem})" for problem in problems if "left out" in problem), "")


def _wide(headers) -> dict[str, int]:
    """Columns of one expert each, with its number."""
    found = {header: _WIDE.fullmatch(header) for header in headers}
    return {header: int(match[1]) for header, match in found.items() if match}


def _left_out(bad, what: str, problems: list[str]) -> None:
    """Name the rows that are left out, with the first of them."""
    bad = np.asarray(bad)
    if bad.any():
        rows = f"{bad.sum()} rows are" if bad.sum() > 1 else "1 row is"
        problems.append(f"{rows} left out, the first is row {np.flatnonzero(bad)[0] + 1}: {what}.")


def _joined(cells_: pd.Series, problems: list[str]) -> list[np.ndarray | None]:
    """Counts between spaces or commas, with or without brackets."""
    found = []
    for cell in cells_.astype(str):
        parts = cell.translate(_BETWEEN).split()
        fine = len(parts) > 1 and all(part.isascii() and part.isdigit() for part in parts)
        found.append(np.array(parts, float) if fine else None)
    _left_out([one is None for one in found], "expert_counts must be whole numbers between spaces or commas", problems)
    return found


def _counts(column: pd.Series) -> np.ndarray:
    """Loads as numbers, nan where a cell is none."""
    found = cells.numbers(column, cells.COUNTS)
    return np.where((found >= 0) & (found < MOST_TOKENS), found, np.nan)


def _from_wide(frame: pd.DataFrame, problems: list[str]) -> tuple[pd.DataFrame, list]:
    """One row a group already."""
    every = _wide(frame.columns)
    columns = sorted({number: header for header, number in reversed(every.items())}.items())  # the first of each
    columns = [(header, number) for number, header in columns]
    if len(columns) < len(every):
        problems.append(f"Experts have several columns each; the first was read, such as {columns[0][0]}.")
    loads = np.stack([_counts(frame[header]) for header, _ in columns], axis=1)
    bad = np.isnan(loads).any(axis=1)
    _left_out(bad, "every expert's load must be a number of tokens", problems)
    counts = [None if lost else row for row, lost in zip(loads, bad, strict=True)]
    return frame.drop(columns=list(every)), counts


def _from_long(frame: pd.DataFrame, name: str, problems: list[str]) -> tuple[pd.DataFrame, list]:
    """One row an expert, put together to groups; an expert without a row has no token."""
    number = next((column for column in EXPERTS if column in frame), None)
    load = next((column for column in COUNTS if column in frame), None)
    if number is None or load is None:
        raise SweepError(f"{name} must have a column expert and a column count, got {', '.join(frame.columns)}")
    expert, counts = cells.numbers(frame[number], {}), _counts(frame[load])
    bad = np.isnan(counts) | ~((expert >= 0) & (expert < LARGEST) & (expert == np.floor(expert)))
    _left_out(bad, f"{number} must be a whole number from 0 and {load} a number of tokens", problems)
    good = frame[~bad].drop(columns=[number, load])
    keys = good[[column for column in good if _is_key(good, column)]]
    if not len(keys):
        return keys, []
    group = (
        keys.groupby(list(keys), dropna=False, sort=False).ngroup().to_numpy() if len(keys.columns) else [0] * len(keys)
    )
    group, expert = np.asarray(group), expert[~bad].astype(int)
    first = np.unique(group, return_index=True)[1]
    start = expert.min() if expert.min() <= 1 else 0  # numbered from 0 or from 1
    if "num_experts" in keys:
        known = cells.numbers(keys["num_experts"], {})[first]
        start = 1 if start == 1 and (expert <= known[group]).all() and (expert == known[group]).any() else 0
        sizes = np.where((known > 1) & (known < LARGEST), known, 0).astype(int)
    else:
        alike = [column for column in keys if column not in (*GROUPS, *SIZES[:1], "layer")]
        same = keys.groupby(alike, dropna=False).ngroup().to_numpy() if alike else np.zeros(len(keys), int)
        largest = np.zeros(same.max() + 1, int)
        np.maximum.at(largest, same, expert - start + 1)  # any layer and group of a setting has all its experts
        sizes = largest[same][first]
    experts = max(sizes.max(), (expert - start).max() + 1)
    if len(first) * experts > MOST:
        raise SweepError(f"{name} must have at most {MOST:,} groups x experts, got {len(first):,} x {experts:,}")
    if again := int(pd.DataFrame({"group": group, "expert": expert}).duplicated().sum()):
        problems.append(f"{again:,} rows name an expert again in the same layer and group; the counts were added.")
    loads = np.zeros((len(first), experts))
    np.add.at(loads, (group, expert - start), counts[~bad])
    beyond = [bool(row[size:].any()) for row, size in zip(loads, sizes, strict=True)]
    _left_out(beyond, "expert must be below num_experts", problems)
    _left_out((sizes < 2) & ~np.array(beyond, bool), "a layer must have at least two experts", problems)
    each = [None if lost or size < 2 else row[:size] for row, size, lost in zip(loads, sizes, beyond, strict=True)]
    return keys.iloc[first].reset_index(drop=True), each


def _is_key(frame: pd.DataFrame, column: str) -> bool:
    """Whether a column tells groups apart: text, or a number that is known to."""
    return column in (*SETTINGS, *GROUPS, *SIZES, "layer") or _is_text(frame[column])


def _is_text(column: pd.Series) -> bool:
    """Whether most cells are no numbers; a loss with one "nan" among them is none that names a setting."""
    return bool(np.isnan(cells.numbers(column, cells.COUNTS)).mean() > 0.5 and not column.isna().all())


def _table(keys: pd.DataFrame, counts: list, name: str, problems: list[str]) -> pd.DataFrame:
    """One row a group, with its setting, its size and its loads, checked against each other."""
    have = np.array([one is not None and one.sum() > 0 for one in counts], bool)
    _left_out([one is not None and not one.sum() > 0 for one in counts], "no expert has a token", problems)
    keys, loads = keys[have].reset_index(drop=True), [one for one in counts if one is not None and one.sum() > 0]
    if not loads:
        return keys[:0]
    keys, problems_ = _few_settings(keys)
    problems += problems_
    sizes = np.array([len(one) for one in loads])
    total = np.array([one.sum() for one in loads])
    top_k = _size(keys, "top_k")
    routed = _size(keys, "routed_tokens")
    if np.isnan(top_k).all() and np.isnan(routed).all():
        problems.append("Neither top_k nor routed_tokens is given; one expert a token is assumed.")
        top_k = np.ones(len(keys))
    top_k = np.where(np.isnan(top_k), total / routed, top_k)
    routed = np.where(np.isnan(routed), total / top_k, routed)
    whole = np.round(top_k)
    fits = np.isclose(total, routed * top_k, rtol=1e-6) & (whole > 0) & (whole <= sizes)
    fits &= np.isclose(top_k, whole, rtol=1e-6)
    _left_out(~fits, "the loads must sum to routed_tokens x top_k, none cut at a capacity", problems)
    shares = np.isclose(total, 1, atol=0.01) & np.array([(one % 1 > 0).any() for one in loads])
    _left_out(fits & shares, "the loads must be numbers of tokens, not shares of them", problems)
    fits, top_k = fits & ~shares, whole
    given = _size(keys, "num_experts")
    _left_out(fits & (given > 0) & (given != sizes), "there must be num_experts loads", problems)
    fits &= ~((given > 0) & (given != sizes))
    table = pd.DataFrame({"setting": _settings(keys, name)})
    different = pd.Series(sizes).groupby(table["setting"]).transform("nunique") > 1
    table.loc[different, "setting"] += pd.Series([f", {size} experts" for size in sizes])[different]
    table["layer"] = keys["layer"] if "layer" in keys else 0
    group = next((column for column in GROUPS if column in keys), None)
    table["group"] = keys[group] if group else 0
    table = table.assign(routed_tokens=routed, num_experts=sizes, top_k=top_k, counts=pd.Series(loads, dtype=object))
    return table[fits].reset_index(drop=True)


def _few_settings(keys: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The keys without text columns that have another value in nearly every row, and a sentence on each."""
    many = [name for name in keys if name not in (*GROUPS, "layer") and keys[name].nunique() > MOST_SETTINGS]
    many = [name for name in many if name not in SIZES and (name in SETTINGS or _is_text(keys[name]))]
    said = [
        f"Column {name} has {keys[name].nunique():,} values; it was not taken to tell settings apart." for name in many
    ]
    return keys.drop(columns=many), said


def _size(keys: pd.DataFrame, column: str) -> np.ndarray:
    """A column of sizes, nan where there is none."""
    return cells.numbers(keys[column], cells.COUNTS) if column in keys else np.full(len(keys), np.nan)


def _settings(keys: pd.DataFrame, name: str) -> pd.Series:
    """The name of each row's setting: what varies, and the weight of the balancing loss always."""
    parts = []
    for column in keys:
        text = column not in (*SETTINGS, *GROUPS, *SIZES, "layer") and _is_text(keys[column])
        named = column == "balancing_loss" or keys[column].nunique(dropna=False) > 1
        if named and (text or column in SETTINGS):
            values = keys[column].map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
            parts.append(values if text else column.replace("_", " ") + " " + values)
    if not parts:
        return pd.Series([name] * len(keys))
    return parts[0].str.cat(parts[1:], sep=", ") if len(parts) > 1 else parts[0]
