"""Reader of noise-scale logs: the harness's and the meter's own, and any table with the noise scale by step.

The parts are made from squared gradient norms at two batch sizes where the file has them, else taken as they are
logged: |G|^2 and tr(Sigma), or AdaptDL's grad_sqr and grad_var. A logged ratio alone is read too, but has neither
average nor interval. All in tokens where the file says how many; else in its own unit.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bsmath import checks, noise
from bsmath.logs import noise_headers
from bsmath.logs.kept import kept
from bsmath.noise import NoiseScaleEstimate
from bsmath.sweeps import SweepError, cells

ALL = "all"
"""The group of all parameters."""
OWN = "the log's own unit"
LARGEST = 1e100
"""A larger number has overflowed or is a mistake, and its square would overflow."""
LATE = 0.5
"""Share of a run after which its second half begins: early on |G|^2 is so large that it would decide a mean over all."""
WINDOWS = 10
"""Windows of a long log that do not overlap, over which the curve is averaged."""
ONE_ROW = 0.5
"""Share of a sum that one row may hold before the average is said to be that row's."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseLog:
    """Both parts of the noise scale through a run, for all parameters and for each layer group that was logged."""

    name: str
    """The file's name."""
    table: pd.DataFrame
    """One row for each group and row of the log: group, step, tokens, tokens_per_step [unit], steps_averaged [steps],
    grad_sq_norm, trace, noise_scale (where the file has it alone) [unit], loss [nats/token]; nan where unknown."""
    unit: str
    """Of the noise scale and of tokens_per_step: "tokens", "sequences", "initial batches" or "the log's own unit"."""
    place: str
    """What `tokens` counts: "tokens"; "steps" or "steps at the initial batch" where the file has no tokens."""
    problems: tuple[str, ...]
    """What could not be used and what makes the result doubtful, in sentences."""

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Layer groups, all parameters first."""
        return tuple(self.table["group"].unique())

    @property
    def has_parts(self) -> bool:
        """Whether the file has both parts, or the ratio alone."""
        return bool(self.table["trace"].notna().any())

    def rows(self, group: str = ALL, since: float = 0.0) -> pd.DataFrame:
        """The rows of one group in the order of training, from this share of the run on."""
        checks.between("since", since, 0, 1)
        checks.one_of("group", group, self.groups)
        last = self.table["tokens"].max()
        return self.table[(self.table["group"] == group) & (self.table["tokens"] >= since * last)]

    @kept
    def estimate(self, group: str = ALL, since: float = 0.0) -> NoiseScaleEstimate:
        """The noise scale over the run, or over what comes after the share `since` of it; see bsmath.noise.estimate."""
        rows = self.rows(group, since).dropna(subset=["trace", "grad_sq_norm"])
        return noise.estimate(rows["trace"], rows["grad_sq_norm"], rows["steps_averaged"])

    @property
    def batches(self) -> tuple[float, ...]:
        """Different batch sizes of the run, ascending; empty where they are not known. [unit]"""
        return tuple(sorted(self.table["tokens_per_step"].dropna().unique().tolist()))

    @kept
    def smoothed(self, group: str = ALL, rows: int | None = None) -> pd.DataFrame:
        """The noise scale along training; see bsmath.noise.smoothed. By default `rows` is a tenth of them, five at least.

        Besides its columns: noise (trace over the batch), and unsmoothed raw_grad_sq_norm and raw_noise. Where
        the file has the ratio alone, noise_scale is that and all else nan.
        """
        table = self.rows(group).reset_index(drop=True)
        rows = max(5, len(table) // WINDOWS | 1) if rows is None else rows
        if self.has_parts:
            drawn = noise.smoothed(table, rows)
        else:
            drawn = table[["tokens", "noise_scale"]].assign(low=np.nan, high=np.nan, grad_sq_norm=np.nan, trace=np.nan)
        batch = table["tokens_per_step"]
        raw = {"raw_grad_sq_norm": table["grad_sq_norm"], "raw_noise": table["trace"] / batch}
        return drawn.assign(noise=drawn["trace"] / batch, **raw)


def recognizes(headers: list[str]) -> bool:
    """Whether the columns hold a noise scale and the place in the run."""
    meanings = set(noise_headers.meanings(headers))
    return bool(meanings & noise_headers.PLACE.keys()) and noise_headers.source_of(meanings) is not None


def has_ratio_alone(frame: pd.DataFrame) -> bool:
    """Whether nothing but a logged ratio makes the table a log: a sweep may have measured one beside its result."""
    return noise_headers.source_of(set(noise_headers.meanings(list(frame.columns)))) == {"ratio"}


def is_ramp(frame: pd.DataFrame, batch: np.ndarray) -> bool:
    """Whether a batch of these rows only grows through the first run, as in a log; a sweep starts anew with each."""
    headers = noise_headers.meanings(list(frame.columns))
    if "run" in headers:
        first = (frame[headers["run"]] == frame[headers["run"]].iloc[0]).to_numpy()
        frame, batch = frame[first], batch[first]
    place = _place(headers, {name: _numbers(frame, headers.get(name)) for name in noise_headers.PLACE})
    found = pd.DataFrame({"place": _numbers(frame, headers[place]).to_numpy(), "batch": batch}).dropna()
    found = found.sort_values("place", kind="stable")
    again = found.groupby("place")["batch"].nunique().max() > 1
    return len(found) > 1 and not again and bool(found["batch"].is_monotonic_increasing)


def _place(headers: dict[str, str], found: dict[str, pd.Series]) -> str:
    """The column that tells the place in the run: the first of PLACE that changes through it."""
    known = [name for name in noise_headers.PLACE if name in headers]
    return next((name for name in known if found[name].nunique() > 1), known[0])


def read(frame: pd.DataFrame, name: str) -> NoiseLog:
    """The log in a table whose headers `recognizes` accepts; SweepError where no row of it can be used."""
    headers = noise_headers.meanings(list(frame.columns))
    source = noise_headers.source_of(set(headers))
    if source is None or not noise_headers.PLACE.keys() & set(headers):
        raise SweepError(
            f"{name} must have columns of a noise scale and a step, got {', '.join(map(str, frame.columns))}"
        )
    also = noise_headers.others(frame, headers, source)
    frame, problems = _one_run(frame, headers)
    problems += also
    found = {
        meaning: _numbers(frame, headers.get(meaning))
        for meaning in noise_headers.HEADERS
        if meaning not in ("group", "run")
    }
    unit, batch = _unit(found, source)
    if unit == OWN and re.search(r"[\[(]\s*tokens?\b", headers.get("ratio", "").lower()):
        unit = "tokens"
    place = _place(headers, found)
    columns = {"group": _groups(frame, headers), "step": found["step"], "tokens": found[place].where(found[place] >= 0)}
    columns |= {
        "tokens_per_step": batch,
        "steps_averaged": found["steps_averaged"].where(found["steps_averaged"] > 0, 1.0),
    }
    table = pd.DataFrame(columns | _parts(found, source, unit) | {"loss": found["loss"]})
    measured = ["tokens", "noise_scale"] if source == {"ratio"} else ["tokens", "grad_sq_norm", "trace"]
    bad = int(table[measured].isna().any(axis=1).sum())
    table = table.dropna(subset=measured)
    used = ", ".join(headers[meaning] for meaning in noise_headers.HEADERS if meaning in source | {place})
    if table.empty:
        rows = f"none of {len(frame):,} with usable numbers in {used}"
        raise SweepError(f"{name} must have usable rows below its header line, got {rows}")
    if bad:
        problems.append(f"{_rows(bad)} left out, without usable numbers in {used}.")
    ordered = _ordered(table)
    if len(ordered) < len(table):
        problems.append(
            f"{_rows(len(table) - len(ordered))} left out, with a place in the run that a later row has again."
        )
    if place == "step" and unit == "tokens" and ordered["tokens_per_step"].notna().all():
        place, ordered = "tokens", _in_tokens(ordered)
    ordered = _with_all(ordered)
    return NoiseLog(
        name=name,
        table=ordered,
        unit=unit,
        place=noise_headers.PLACE[place],
        problems=(*problems, *_doubts(ordered, source, unit)),
    )


def _one_run(frame: pd.DataFrame, headers: dict[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows of the first run in the file, and what is to be said about the others."""
    runs = frame[headers["run"]].dropna() if "run" in headers else pd.Series(dtype=object)
    if runs.nunique() < 2:
        return frame, []
    first = runs.iloc[0]
    only = frame[frame[headers["run"]] == first].reset_index(drop=True)
    return only, [f"The file holds {runs.nunique()} runs; only {str(first)!r} was read."]


def _numbers(frame: pd.DataFrame, header: str | None) -> pd.Series:
    """A column as finite floats, nan elsewhere and where they are too large."""
    found = np.full(len(frame), np.nan) if header is None else cells.numbers(frame[header], cells.COUNTS)
    return pd.Series(np.where(np.abs(found) < LARGEST, found, np.nan), index=frame.index)


def _groups(frame: pd.DataFrame, headers: dict[str, str]) -> pd.Series:
    if "group" not in headers:
        return pd.Series(ALL, index=frame.index)
    names = frame[headers["group"]].fillna(ALL).astype(str).str.strip()
    return names.where(~names.str.lower().isin(("", "all", "total", "global", "model")), ALL)


def _unit(found: dict[str, pd.Series], source: set[str]) -> tuple[str, pd.Series]:
    """Unit of the noise scale, and the batch of each row in it."""
    if "sequences_big" in source:
        in_tokens = found["seq_len"].notna().any()
        return (
            ("tokens", found["sequences_big"] * found["seq_len"])
            if in_tokens
            else ("sequences", found["sequences_big"])
        )
    if "tokens_big" in source:
        return "tokens", found["tokens_per_step"].fillna(found["tokens_big"])
    if "initial_variance" in source:
        return "initial batches", found["tokens_per_step"] * np.nan
    return ("tokens" if found["tokens_per_step"].notna().any() else OWN), found["tokens_per_step"]


def _parts(found: dict[str, pd.Series], source: set[str], unit: str) -> dict[str, pd.Series]:
    """Both parts and the logged ratio, nan where they are not known."""
    nothing = found["step"] * np.nan
    if source == {"ratio"}:
        return {"grad_sq_norm": nothing, "trace": nothing, "noise_scale": found["ratio"].where(found["ratio"] > 0)}
    if "small" not in source:
        variance = found["initial_variance" if "initial_variance" in source else "trace"]
        return {"grad_sq_norm": found["grad_sq_norm"], "trace": variance, "noise_scale": nothing}
    kind = "tokens" if "tokens_big" in source else "sequences"
    each = found["seq_len"] if (kind, unit) == ("sequences", "tokens") else 1.0
    small, big = found[f"{kind}_small"] * each, found[f"{kind}_big"] * each
    usable = (small > 0) & (big > small) & (found["small"] >= 0) & (found["big"] >= 0)
    four = (small.where(usable), big, found["small"], found["big"])
    return {"grad_sq_norm": noise.grad_sq_norm(*four), "trace": noise.trace(*four), "noise_scale": nothing}


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order of training, the last of those at one place; all parameters first."""
    names = sorted(table["group"].unique(), key=lambda group: group != ALL)
    table = table.assign(group=pd.Categorical(table["group"], names)).drop_duplicates(["group", "tokens"], keep="last")
    ordered = table.sort_values(["group", "tokens"], kind="stable", ignore_index=True)
    return ordered.assign(group=ordered["group"].astype(object))


def _in_tokens(table: pd.DataFrame) -> pd.DataFrame:
    """The table with `tokens` in tokens instead of steps."""
    taken = table.groupby("group", sort=False)["tokens"].diff().fillna(table["tokens"])
    trained = (taken * table["tokens_per_step"]).groupby(table["group"], sort=False).cumsum()
    return table.assign(tokens=trained)


def _with_all(table: pd.DataFrame) -> pd.DataFrame:
    """The table with rows of all parameters: sums over the layers where those alone were logged."""
    groups = table["group"].nunique()
    if (table["group"] == ALL).any() or table["trace"].isna().all():
        return table
    both = table.groupby("tokens")[["grad_sq_norm", "trace"]].agg(["sum", "count"])
    whole = table.drop_duplicates("tokens").set_index("tokens").sort_index()
    for part in ("grad_sq_norm", "trace"):
        whole[part] = both[part]["sum"]
    whole = whole[both["trace"]["count"] == groups].reset_index().assign(group=ALL)
    return pd.concat([whole[table.columns], table], ignore_index=True)


def _doubts(table: pd.DataFrame, source: set[str], unit: str) -> list[str]:
    """What makes an average or an interval doubtful."""
    said = []
    if source == {"ratio"}:
        said.append(
            "The file holds the ratio alone: without its parts it has neither an average over the run nor an interval."
        )
    if "initial_variance" in source:
        said.append(
            "AdaptDL logs moving averages over many steps: its rows are not independent, intervals are too narrow."
        )
    if unit == OWN:
        said.append("The file does not say the unit of its noise scale: it is shown as logged.")
    rows = table[table["group"] == table["group"].iloc[0]]
    size = rows["grad_sq_norm"].abs()
    share = size.max() / size.sum()
    if len(rows) > 2 and share > ONE_ROW:
        said.append(
            f"One row holds {share:.0%} of the sum of |G|^2: the average is that row's, take a later part of the run."
        )
    return said


def _rows(count: int) -> str:
    return "1 row was" if count == 1 else f"{count:,} rows were"
