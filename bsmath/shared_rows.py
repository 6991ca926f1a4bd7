"""The rows of one series as a link holds them: medians of its batches, its runs, or the best learning rate of each batch.

A row has either a rate or steps, so that low, high and count are those of one quantity.
"""

import numpy as np
import pandas as pd

from bsmath import hyperbola_search, hyperbola_verdict, measured_steps, sweeps, tuned
from bsmath.sweeps import Sweep

MOVING = {
    "tokens_per_second": ("num_devices", "num_params", "micro_batch_size", "grad_accum_steps"),
    "steps": ("num_params", "learning_rate"),
}
"""Settings whose change inside a series its verdict tells."""
FIXED = ("num_devices", "num_params", "seq_len", "learning_rate", "micro_batch_size", "grad_accum_steps")
"""Settings that a row has where they are the same in all that it sums up."""
NO_GRID = 0.001
"""Spacing that says that steps were not read off a grid, where their medians alone look like one. [steps]"""
_SPREAD = ("low", "high", "count")


def medians(sweep: Sweep, series: str) -> pd.DataFrame:
    """One row per batch and quantity."""
    return _stacked([_rates(sweep, series), _steps(sweep, series)])


def runs(sweep: Sweep, series: str) -> pd.DataFrame:
    """One row per run to the target; of a sweep of which no best rate is taken also one row per rate, else those as medians."""
    table = sweep.table[sweep.table["series"] == series]
    kept = [name for name in (*_SPREAD, *FIXED, "resolution") if name in table]
    timed = table.dropna(subset="tokens_per_second")
    if sweep.tuning is None:
        stopped = table["stopped_at"] if "stopped_at" in table else pd.Series(np.nan, table.index)
        arrived = table.assign(stopped_at=stopped.where(table["steps"].isna())).dropna(
            subset=["steps", "stopped_at"], how="all"
        )
        arrived = _without_spread_of_rates(
            arrived[["tokens_per_step", "tokens_per_second", "steps", "stopped_at", *kept]]
        )
        return _stacked(
            [timed[["tokens_per_step", "tokens_per_second", *(name for name in kept if name != "resolution")]], arrived]
        )
    tried = sweep.tuning
    tried = tried[tried["series"] == series].drop(columns=["row", "series"])
    tried = tried.join(table[[name for name in (*FIXED, "resolution") if name in table and name not in tried]])
    if "seed" in tried:
        tried["seed"] = pd.factorize(tried["seed"], sort=True)[0]
    return _stacked([_rates(sweep, series), tried.assign(censored=tried["censored"].astype(float))])


def best_rates(sweep: Sweep, series: str) -> pd.DataFrame:
    """The rates as medians, and the steps at the best learning rate of each batch."""
    table = sweep.table[sweep.table["series"] == series]
    best = sweeps.best_rates(sweep, series)
    points = best.dropna(subset="steps")[["tokens_per_step", "steps", *_SPREAD, "learning_rate"]]
    refused = measured_steps.steps_of(sweep, series).verdict.startswith(hyperbola_verdict.REFUSED)
    if points["learning_rate"].nunique() == 1 and not refused:
        points = points.drop(columns="learning_rate")  # one rate at every batch would look as if it had not been tuned
    arrived = table.dropna(subset="steps")
    points = _with_resolution(_with_settings(points, arrived, ("num_params",), ("num_devices", "seq_len")), arrived)
    lost = tuned.least_steps(sweeps.runs(table), best)
    lost = pd.DataFrame({"tokens_per_step": lost.index.to_numpy(float), "stopped_at": lost.to_numpy(float)})
    return _stacked([_rates(sweep, series), points, lost])


def _rates(sweep: Sweep, series: str) -> pd.DataFrame:
    """One row per batch with a rate; two where a setting that its verdict tells changes there."""
    rows = sweep.table[sweep.table["series"] == series].dropna(subset="tokens_per_second")
    points = sweeps.aggregate(sweep, series, "tokens_per_second").rename(columns={"median": "tokens_per_second"})
    moving = MOVING["tokens_per_second"]
    return _with_settings(points, rows, moving, [name for name in FIXED if name not in moving])


def _steps(sweep: Sweep, series: str) -> pd.DataFrame:
    """One row per batch with steps, per run that is left out as a mistake, and per batch where most runs were stopped."""
    table = sweep.table[sweep.table["series"] == series]
    arrived = table.dropna(subset="steps")
    wrong = hyperbola_search.absurd(arrived["tokens_per_step"], arrived["steps"])
    mistakes, arrived = arrived[wrong], arrived[~wrong]
    points = measured_steps.steps_of(sweep, series).points
    if "median" not in points:
        return _lost(table)
    moving = MOVING["steps"] if _rate_is_known(arrived) else ("num_params",)
    fixed = [name for name in FIXED if name not in MOVING["steps"]]
    points = _with_settings(points.rename(columns={"median": "steps"}), arrived, moving, fixed)
    kept = [name for name in (*moving, *fixed) if name in mistakes]
    return _stacked([_with_resolution(points, arrived), mistakes[["tokens_per_step", "steps", *kept]], _lost(table)])


def _rate_is_known(arrived: pd.DataFrame) -> bool:
    """Whether the learning rate is known of most runs, or of runs at several rates."""
    rates = arrived["learning_rate"].dropna() if "learning_rate" in arrived else ()
    return 2 * len(rates) > len(arrived) or len(rates) > 0 and rates.nunique() > 1


def _lost(table: pd.DataFrame) -> pd.DataFrame:
    """Batches where half of the runs or more were stopped, and the steps that it takes there at least."""
    if "stopped_at" not in table:
        return pd.DataFrame()
    told = table["steps"].notna() | table["stopped_at"].notna() | table["tokens_per_second"].isna()
    runs = table[told]
    batches = runs["tokens_per_step"]
    stopped = (runs["steps"].isna() & runs["stopped_at"].notna()).groupby(batches).mean()
    least = runs["steps"].fillna(runs["stopped_at"]).groupby(batches).median()
    least = least[stopped >= 0.5].dropna()
    return pd.DataFrame({"tokens_per_step": least.index.to_numpy(float), "stopped_at": least.to_numpy(float)})


def _with_resolution(points: pd.DataFrame, arrived: pd.DataFrame) -> pd.DataFrame:
    """The steps between evaluations at each batch, as the runs say or show."""
    if "resolution" in arrived and arrived["resolution"].notna().any():
        each = arrived.groupby("tokens_per_step")["resolution"].median()
        return points.assign(resolution=each.reindex(points["tokens_per_step"]).to_numpy(float))
    spacing = hyperbola_search.resolution(arrived["steps"])
    if spacing > 1:
        return points.assign(resolution=spacing)
    return points.assign(resolution=NO_GRID) if hyperbola_search.resolution(points["steps"]) > 1 else points


def _with_settings(points: pd.DataFrame, rows: pd.DataFrame, moving, fixed) -> pd.DataFrame:
    """Points with their settings. A batch where one of `moving` changes has two rows of one median: for its least and its largest."""
    known = [
        name
        for name in dict.fromkeys((*moving, *fixed))
        if name in rows and name not in points and rows[name].notna().any()
    ]
    if not known or points.empty:
        return points
    batches = rows.groupby("tokens_per_step")[known]
    least, most = (
        each.reindex(points["tokens_per_step"]).reset_index(drop=True) for each in (batches.min(), batches.max())
    )
    varied = (least != most) & least.notna()
    least[[name for name in known if name in fixed]] = least.where(~varied)[[name for name in known if name in fixed]]
    points = points.reset_index(drop=True)
    twice = varied[[name for name in known if name in moving]].any(axis=1) & (points["count"] > 1)
    one = points.assign(count=points["count"] - twice, **least)
    other = points.assign(count=1, **most.where(~varied | [name in moving for name in known]))[twice]
    return pd.concat([one, other]).sort_index(kind="stable").reset_index(drop=True)


def _without_spread_of_rates(arrived: pd.DataFrame) -> pd.DataFrame:
    """Steps without low, high and count where those are of a rate in the same row."""
    spread = [name for name in _SPREAD if name in arrived]
    own = arrived["tokens_per_second"].isna()
    return arrived.assign(**{name: arrived[name].where(own) for name in spread}).drop(columns="tokens_per_second")


def _stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several tables under all their columns; a low or high that is the value itself is left out."""
    tables = [table for table in tables if len(table)]
    if not tables:
        return pd.DataFrame()
    table = pd.concat(tables, ignore_index=True)
    value = table["tokens_per_second"] if "tokens_per_second" in table else pd.Series(np.nan, table.index)
    value = value.fillna(table["steps"]) if "steps" in table else value
    return table.assign(**{name: table[name].where(table[name] != value) for name in ("low", "high") if name in table})
