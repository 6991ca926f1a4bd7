"""A sweep over batch and learning rate: whether it is one, which runs never arrived, and what `bsmath.tuned` needs of it.

A run that did not arrive is one whose cell says so (inf, nan, 0, OOM, "did not converge", "> 4000"), whose outcome says so, or
whose cell is empty although it ran. In a file that names neither an outcome nor the steps that each run was given, an empty
cell is a run that did not arrive, unless the row has measured a throughput: then nothing says that a target was meant.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import tuned
from bsmath.sweeps import cells, columns, series, targets
from bsmath.sweeps.draft import CHOICES, Draft

BEST, EACH = CHOICES["tuning"]
"""Answers: the best rate of each batch is one series; each rate is a series by itself."""

MOST_LISTED = 8
"""Batches that are named in one sentence."""

NEVER = r"(?i)\b(?:not?|never|false|fail\w*|unreached|diver\w+|nan|inf|oom|time\w*|crash\w*|kill\w*|prun\w*|abort\w*|cancel\w*|dnf|max)\b|^0(?:\.0*)?$"
"""Words of an outcome that says that the run did not arrive, whatever stands in the column of the steps."""

OPEN = r"(?i)\b(?:running|pending|queued|scheduled|waiting|reached|converged|arrived|true|yes)\b|^1(?:\.0*)?$"
"""Words of an outcome with which an empty cell is a result that is missing, and no run that did not arrive."""

_DIVERGED = r"(?i)\b(?:diver\w+|nan|inf)\b"
_WORDS = r"[-–—]*|[^\W\d_].*"
_BOUND = r"^[>≥]=?\s*|\s*\+$"


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuning:
    """A sweep over batch and rate of which the best rate is taken."""

    chosen: list[str]
    """Headers that tell its series apart."""
    censored: np.ndarray
    """Whether the run of each row did not arrive."""
    columns: dict[str, np.ndarray]
    """What the table gets besides: learning_rate, censored, steps_run, and seed where the file has one."""


def found(draft: Draft, header: str | None, batch: np.ndarray, unit: str, rate: np.ndarray) -> Tuning | None:
    """The tuning of a sweep whose steps are in column `header`; None where no batch has several rates, or none is wanted."""
    if header is None or not draft.headers("learning_rate"):
        return None
    censored, given = _never(draft, header, targets.per_step(draft, header, batch, unit), rate)
    runs = (batch > 0) & (np.isfinite(draft.numbers(header)) | censored)
    tried, chosen = _grid(draft, batch, runs, censored)
    if tried is None:
        return None
    text = f"{tried!r} was tried at several values for one batch. Take the best at each batch, as the hyperbola needs?"
    if draft.ask("tuning", text, (BEST, EACH), BEST) != BEST:
        return None
    learning_rate = draft.used(tried, "steps ignored", "the learning rate; the best at each batch is taken")
    without = np.flatnonzero(runs & np.isnan(learning_rate) & cells.blank(draft.raw.frame[tried]))
    draft.report(without, tried, "the row has no learning rate", "steps ignored")
    censored = censored & runs & (learning_rate > 0)
    given = np.where(censored, given, np.nan)
    extra = {"learning_rate": _rounded(learning_rate), "censored": censored, "steps_run": given}
    for name in draft.headers("outcome", "steps_run"):
        draft.notes[name] = "tells which runs did not arrive, and what they were given"
    for seeds in draft.headers("seed")[:1]:
        draft.notes[seeds] = "the seed; runs of different rates are compared seed by seed"
        extra["seed"] = pd.factorize(draft.raw.frame[seeds].astype(str))[0]
    return Tuning(chosen=chosen, censored=censored, columns=extra)


def stopped(
    draft: Draft, header: str | None, batch: np.ndarray, unit: str, rate: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Which runs of a sweep without several rates did not arrive, and at which steps each was stopped; None where none is known.

    A bound is known as in "> 4000" or from a column of the steps that a run was given. A run whose outcome says that it never
    arrived is no result either, whatever stands in its cell.
    """
    if header is None:
        return None
    censored, given = _never(draft, header, targets.per_step(draft, header, batch, unit), rate)
    known = censored & np.isfinite(given) & (given > 0)
    lost = censored & ~known & ~cells.blank(draft.raw.frame[header]) & (draft.numbers(header) > 0)
    if not (known | lost).any():
        return None
    for count, what, action in (
        (known.sum(), "stopped before the target was reached", "kept: each bounds the steps from below"),
        (lost.sum(), "said not to have reached the target", "left out"),
    ):
        if count:
            draft.warn(f"{count:,} {'run was' if count == 1 else 'runs were'} {what}", action, header)
    return known | lost, np.where(known, given, np.nan)


def name_censored(draft: Draft, header: str, table: pd.DataFrame, unit: str) -> None:
    """Say how many runs did not arrive and where, and at which batches there are no steps for that."""
    censored, runs = table[table["censored"]], table[table["censored"] | table["steps"].notna()]
    if censored.empty:
        return
    counts = censored.groupby("tokens_per_step").size()
    listed = _listed([f"{count:,} at {size:,.0f}" for size, count in counts.items()])
    what = f"{len(censored):,} of {len(runs):,} runs did not arrive ({listed} {unit} per step)"
    draft.warn(what, "kept: each counts as more steps than any run that arrived", header)
    least = tuned.medians(runs, ["series", "tokens_per_step", "learning_rate"]).groupby(level=[0, 1]).min()
    for name, lost in least[np.isinf(least)].groupby(level=0):
        sizes = _listed([f"{size:,.0f}" for size in lost.index.get_level_values(1)])
        where = f" in {name}" if table["series"].nunique() > 1 else ""
        what = f"at {sizes} {unit} per step{where} no learning rate brought more than half of its runs to the target"
        draft.warn(what, "left out of the fit", header)


def _grid(
    draft: Draft, batch: np.ndarray, runs: np.ndarray, censored: np.ndarray
) -> tuple[str | None, list[str] | None]:
    """The column of rates of which some batch of some series has several, and the headers that tell the series apart.

    The series come from the runs that arrived, so that a column on how runs ended does not make one of those that did not.
    """
    frame = draft.raw.frame
    for tried in draft.headers("learning_rate"):
        rates = draft.numbers(tried)
        rows = runs & (rates > 0)
        chosen = series.telling(draft, batch, rows & ~censored, apart=tried)
        if chosen is None:
            continue
        keys = [batch, *(pd.factorize(frame[name], use_na_sentinel=False)[0] for name in chosen)]
        pairs = pd.DataFrame(dict(enumerate([*(key[rows] for key in keys), _rounded(rates[rows])]))).drop_duplicates()
        if pairs.duplicated(list(range(len(keys)))).any():
            return tried, chosen
    return None, None


def _rounded(learning_rate: np.ndarray) -> np.ndarray:
    """Rates to nine digits: 0.0003 and 0.00030000000000000003 are one."""
    codes, different = pd.factorize(learning_rate)
    return np.array([*(float(f"{rate:.9g}") for rate in different), np.nan])[codes]


def _never(draft: Draft, header: str, per_step, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose run did not arrive, and the steps that it was given: nan where not known, inf where it diverged."""
    empty, values = cells.blank(draft.raw.frame[header]), draft.numbers(header)
    marked, bound = _marked(draft, header)
    outcomes, ran = draft.headers("outcome"), draft.headers("steps_run")
    given = draft.numbers(ran[0]) if ran else np.full(len(values), np.nan)
    never, diverged = np.zeros((2, len(values)), bool)
    ended = np.isfinite(given) if outcomes or ran else np.isnan(rate)
    for name in outcomes:
        says = _outcome(draft.raw.frame[name])
        never, ended, diverged = never | says["never"], ended | says["ended"], diverged | says["diverged"]
    bound = np.fmax(bound, np.where(never, values, np.nan)) / per_step
    censored = empty & ended | marked | never & (values > 0)
    return censored, np.where(diverged, np.inf, np.fmax(given, bound))


def _outcome(column: pd.Series) -> dict[str, np.ndarray]:
    """What each cell of an outcome says: that the run did not arrive, that it ended without a result, that it diverged."""
    codes, different = pd.factorize(column, use_na_sentinel=False)
    different = pd.Series(different)
    text, blank = different.astype(str).str.strip().str.replace("_", " "), cells.blank(different)
    never, is_open, diverged = (text.str.contains(words).to_numpy(bool) & ~blank for words in (NEVER, OPEN, _DIVERGED))
    says = {"never": never, "ended": never | ~(is_open | blank), "diverged": diverged}
    return {name: each[codes] for name, each in says.items()}


def _marked(draft: Draft, header: str) -> tuple[np.ndarray, np.ndarray]:
    """Cells that are no positive number and say that the run did not arrive, and the bound that "> 4000" names."""
    column, values, found = draft.raw.frame[header], draft.numbers(header), draft.found[header]
    bound = np.full(len(values), np.nan)
    marked = np.isnan(values) & ~cells.blank(column)
    if pd.api.types.is_numeric_dtype(column.dtype) or not marked.any():
        return marked, bound
    text = column[marked].astype(str).str.strip()
    bare = text.str.replace(_BOUND, "", regex=True)
    numbers = cells.numbers(bare, columns.units(found.meaning), found.scale, draft.raw.decimal)
    at_least = (bare != text).to_numpy() & (numbers > 0)
    bound[marked] = np.where(at_least, numbers, np.nan)
    unusable = pd.to_numeric(text, errors="coerce").notna().to_numpy()  # inf, 0, -1
    marked[marked] = at_least | unusable | text.str.fullmatch(_WORDS).to_numpy(bool)
    return marked, bound


def _listed(parts: list[str]) -> str:
    more = [f"{len(parts) - MOST_LISTED} other batches"] if len(parts) > MOST_LISTED else []
    return ", ".join(parts[:MOST_LISTED] + more)
