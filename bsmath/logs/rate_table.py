"""Reader of tables of runs with a batch, a learning rate and a final loss each: a grid of rates, of which each batch's best is sought.

The batch is that of `bsmath.sweeps`, from whatever columns or names of runs tell it. A column of steps or tokens is the length of
the runs, and no result, where it is the same at all rates of a batch, or where each rate ran for several lengths.
"""

import re

import numpy as np
import pandas as pd

from bsmath.logs import curve_headers, rate_groups, rate_runs
from bsmath.rate_grid import RateGrid, is_grid
from bsmath.sweeps import RawTable, columns

LEAST_STATED = 3
"""Different rates from which one row a batch names the best rate of each."""
MOST_HEADERS, MOST_ROWS = 1000, 10_000
"""Columns among which these are looked for, and rows of a table whose lengths are."""
LOSSES = frozenset("loss nll".split())
WEIGHTS = frozenset("scale weight coef coefficient type fn".split())
NO_RESULT = WEIGHTS | set(
    "target threshold goal std sem aux auxiliary balancing balance load z router moe expert mtp time diff delta kl".split()
)
"""Words of a header of a loss, those by which it is a setting, and those by which it is none that a run came to."""
HELD_OUT = frozenset("val valid validation eval evaluation test dev heldout".split())
"""Words of a header by which a loss is the one to take, where a table has several."""
NOT_LENGTHS = frozenset("to target until till needed reach reached".split())
"""Words by which steps or tokens are a result."""
LENGTHS = frozenset("steps tokens_to_target samples_to_target step_index".split())
"""Meanings of columns that may be the length of the runs."""
MODELS = ("model", "num_params")
AVERAGED = frozenset(
    "hardware placement num_devices num_nodes data_parallel_size model_parallel_size micro_batch_size".split()
)
"""Meanings of settings over which runs are averaged, as they change no loss where the batch is the same."""
UNFINISHED, ALIKE = 0.95, 0.8
"""Share of the longest run at a batch below which a run is short; and share of the runs that are as long as the median, where a
length is no result."""
SAME = 0.002
"""Relative difference up to which two runs are as long: trackers number the last step differently."""


def recognizes(headers: list[str]) -> bool:
    """Whether a table with these headers has a batch, a rate and a loss, and no place in a run and no result of a sweep."""
    if not has_columns(headers):
        return False
    results = [header for header in headers if _meaning(header) in columns.RESULTS and not _is_length(header)]
    return not results and not any(curve_headers.meaning(str(header)) in curve_headers.PLACES for header in headers)


def has_columns(headers: list[str]) -> bool:
    """Whether there are a loss, and a batch and a rate or names of runs that may tell them."""
    if len(headers) > MOST_HEADERS or not any(map(_is_loss, headers)):
        return False
    meanings = set(map(_meaning, headers))
    named = any(map(rate_runs.is_name, headers))
    return bool(meanings & columns.BATCHES or named) and ("learning_rate" in meanings or named)


def is_of_ends(raw: RawTable, name: str, lengths: bool) -> bool:
    """Whether a table that has a column of steps or tokens has one row for the end of each run, at several rates of one batch.

    `lengths` allows for runs of several lengths at each batch and rate, as the log of a run has them too.
    """
    headers = [str(header) for header in raw.frame.columns]
    ends = [header for header in headers if _is_length(header)]
    results = {_meaning(header) for header in headers if header not in ends} & columns.RESULTS
    if not ends or results or not has_columns(headers) or len(raw.frame) > MOST_ROWS:
        return False
    found = rate_runs.read(raw, name)
    if found is None or not is_grid(found.table):
        return False
    table, frame = found.table, found.frame
    key = pd.Series(_groups(found, ends if lengths else [])[0], index=table.index)
    loss = pd.Series(_losses(found)[0], index=table.index)
    varies = loss.groupby([key, table["tokens_per_step"]]).nunique().max() > 1
    rates = table["learning_rate"].groupby([key, table["tokens_per_step"]]).transform("nunique")
    alike = all(_alike(found, header, key)[rates > 1].mean() >= ALIKE for header in ends if header in frame)
    return bool(varies and (rates > 1).any() and alike)


def read(raw: RawTable, name: str) -> RateGrid | None:
    """The runs in a table; None where they tell no best rates: several at a batch, or one for each of several batches."""
    found = rate_runs.read(raw, name)
    if found is None:
        return None
    value, losses = _losses(found)
    ends = [str(header) for header in raw.frame.columns if _is_length(str(header))]
    group, said = _groups(found, ends)
    table = found.table.assign(value=value, group=group)
    short = np.zeros(len(table), bool)
    for header in ends:
        short |= (_short(found, header, table["group"]) & table["value"].notna()).to_numpy()
    broken = int(table.loc[~short, "value"].isna().sum())
    table = table[~short].reset_index(drop=True)
    rates = table.groupby(["group", "tokens_per_step"]).size()
    if not is_grid(table) and not (table["learning_rate"].nunique() >= LEAST_STATED and rates.max() == 1):
        return None
    problems = [
        *found.problems,
        f"{short.sum()} of {len(short)} runs stopped early and are left out." if short.any() else "",
        f"{broken} runs have no finite loss and count as diverged." if broken else "",
        f"Of {len(losses)} losses {losses[0]!r} was taken." if len(losses) > 1 else "",
        said,
    ]
    return RateGrid(
        name=name, table=table, value=losses[0], batch_unit=found.unit, problems=tuple(filter(None, problems))
    )


def _meaning(header: str) -> str | None:
    return columns.recognize(str(header), is_number=True).meaning


def _words(header: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", str(header).lower()))


def _is_loss(header: str) -> bool:
    return bool(_words(header) & LOSSES) and not _words(header) & NO_RESULT


def _is_length(header: str) -> bool:
    """Whether steps, tokens or samples may be those that the runs were given."""
    meant = _meaning(header) in LENGTHS or curve_headers.meaning(str(header)) in curve_headers.PLACES
    return meant and not _words(header) & NOT_LENGTHS


def _losses(found: rate_runs.Runs) -> tuple[np.ndarray, list[str]]:
    """The loss of each run, nan where it is not finite, and the headers of losses, that which was taken first."""
    values = {str(header): found.numbers(header) for header in found.frame.columns if _is_loss(header)}
    values = {header: np.where((one > 0) & np.isfinite(one), one, np.nan) for header, one in values.items()}
    order = sorted(values, key=lambda header: (np.isnan(values[header]).all(), not _words(header) & HELD_OUT))
    return values[order[0]], order


def _short(found: rate_runs.Runs, header: str, key: pd.Series) -> pd.Series:
    """Which runs ended before the others at their batch."""
    length = pd.Series(found.numbers(header), index=found.table.index)
    longest = length.groupby([key, found.table["tokens_per_step"]]).transform("max")
    return length < UNFINISHED * longest


def _alike(found: rate_runs.Runs, header: str, key: pd.Series) -> pd.Series:
    """Which runs are as long as most at their batch."""
    length = pd.Series(found.numbers(header), index=found.table.index)
    usual = length.groupby([key, found.table["tokens_per_step"]]).transform("median")
    return (length - usual).abs() <= SAME * usual


def _groups(found: rate_runs.Runs, ends: list[str]) -> tuple[np.ndarray, str]:
    """The name of the grid that each run is of, and what it was averaged over, in a sentence; `ends` are columns of lengths."""
    batch, rate = found.table["tokens_per_step"].to_numpy(), found.table["learning_rate"].to_numpy()
    meanings = {str(header): found.meaning(header) for header in found.frame.columns}
    models = [header for header, meaning in meanings.items() if meaning in MODELS][:1]
    beside = [header for header, meaning in meanings.items() if meaning in AVERAGED]
    wanted = [header for header, meaning in meanings.items() if _is_setting(header, meaning)]
    settings = {header: found.frame[header] for header in wanted + beside}
    settings |= found.lengths([header for header in ends if header in meanings])
    told = pd.DataFrame({header: rate_groups.texts(column) for header, column in settings.items()})
    told = told.reindex(found.table.index)
    own = rate_groups.names(told[models], models)
    chosen = rate_groups.telling(told.drop(columns=models + beside), batch, rate, pd.factorize(own)[0])
    group = rate_groups.names(told[models + chosen], models)
    parts = found.table.assign(group=group).groupby("group")
    if is_grid(found.table) and not any(is_grid(part) for _, part in parts):
        group = own
    mixed = ", ".join(map(repr, rate_groups.mixed(told, batch, rate, group)))
    return group, f"Runs at one batch and rate that differ in {mixed} are averaged." if mixed else ""


def _is_setting(header: str, meaning: str | None) -> bool:
    """Whether a column tells how a run was set up, beside its batch and its rate."""
    if _is_loss(header) or _is_length(header) or rate_runs.is_name(header):
        return False
    weighs = meaning == "loss" and bool(_words(header) & WEIGHTS)
    return weighs or meaning in (None, "text", "precision", "seq_len", *MODELS)
