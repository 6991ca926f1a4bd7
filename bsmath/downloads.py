"""What leaves the dashboard as a file: an import as a tidy CSV, a table that no spreadsheet runs, and fits as JSON.

A text cell that a spreadsheet would take for a formula is written with an apostrophe in front (OWASP, CSV Injection), which `plain_cell`
takes away again; numbers stay numbers.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from bsmath.measured import Measurement
from bsmath.scenario import Scenario
from bsmath.sweeps import Sweep, cells

SCHEMA = "batch-size fits, version 1"
"""What the key `schema` of a file of fits says."""
LEVEL = 0.90
"""Level of the intervals."""
HEADERS = {
    "num_params": "num_params",
    "seq_len": "seq_len",
    "num_devices": "n_gpus",
    "micro_batch_size": "micro_batch",
    "grad_accum_steps": "accum",
    "tokens_per_second": "tokens_per_s",
    "step_time": "step_time_s",
    "learning_rate": "learning_rate",
    "seed": "seed",
    "steps": "steps_to_target",
    "steps_run": "steps_run",
    "low": "low",
    "high": "high",
    "count": "count",
    "resolution": "steps_between_evaluations",
}
"""Headers of a tidy CSV by column of a sweep's table; as in `sweeps.TEMPLATE`."""
STATES = ("reached", "stopped", "diverged")
"""How a run to a target ended."""
METHODS = {
    "tokens_per_second": "Step time t = t_fixed + B/R by least squares on log t over the batches' medians; intervals by profile likelihood.",
    "curve": "Step time t = (t_fixed^g + (B/R)^g)^(1/g) by least squares on log t over the batches' medians; intervals by profile likelihood.",
    "steps": "Steps S = S_min + E_min/B by least squares on log S over the batches' medians; B_crit = E_min/S_min; intervals by profile likelihood.",
}
"""How the numbers were fitted."""
_FORMULA = re.compile(
    "[\\x00-\\x20\\x7f-\\xa0\\s\"'`‘’“”\u200b-\u200f\u2060\ufeff]*[=+\\-@＝＋－＠−﹢﹣﹦﹫]|'*[\\t\\r\\n]"
)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def tidy_csv(sweep: Sweep) -> str:
    """The import as a CSV that reads back as the same sweep: a line a row, base units, empty where nothing was measured.

    What only a log or a link has (low, high, count, steps between evaluations) is written beside it, and not read back.
    """
    table = sweep.table
    numbers = [cells.is_number(name) for name in sweep.series]
    run = (
        "model" if 2 * sum(numbers) > len(numbers) else "run"
    )  # a column of numbers is read as a name under this header alone
    frame = pd.DataFrame({run: table["series"].astype(str)})
    frame["batch_tokens" if sweep.batch_unit == "tokens" else "batch_seqs"] = table["tokens_per_step"]
    for name, header in HEADERS.items():
        if name in table and table[name].notna().any():
            frame[header] = table[name].to_numpy()
    if "censored" in table or "stopped_at" in table:
        _say_ends(frame, table)
    return csv_safe(frame.replace([np.inf, -np.inf], np.nan))


def _say_ends(frame: pd.DataFrame, table: pd.DataFrame) -> None:
    """Add how the run to a target of each row ended, and the steps that it was given."""
    stopped = table["stopped_at"].notna() if "stopped_at" in table else pd.Series(False, table.index)
    lost = table["censored"].astype(bool) if "censored" in table else stopped
    given = table["steps_run"] if "steps_run" in table else table["stopped_at"]
    state = np.where(
        lost, np.where(np.isinf(given), STATES[2], STATES[1]), np.where(table["steps"].notna(), STATES[0], "")
    )
    if "steps_to_target" not in frame:
        frame["steps_to_target"] = np.nan
    frame["steps_run"] = given.where(lost & np.isfinite(given)).to_numpy()
    frame["state"] = state


def csv_safe(frame: pd.DataFrame) -> str:
    """A table as CSV, without its index; text cells and headers that a spreadsheet would run have an apostrophe in front."""
    safe = pd.DataFrame({position: _safe_column(frame.iloc[:, position]) for position in range(frame.shape[1])})
    safe.columns = [safe_cell(str(header)) for header in frame.columns]
    return safe.to_csv(index=False, lineterminator="\n")


def _safe_column(column: pd.Series) -> pd.Series:
    column = column.reset_index(drop=True)
    if pd.api.types.is_numeric_dtype(column.dtype):
        whole = (
            pd.api.types.is_float_dtype(column.dtype)
            and (column.dropna() % 1 == 0).all()
            and (column.abs().max() or 0) < 2**53
        )
        return column.astype("Int64") if whole else column
    return column.astype(object).map(lambda cell: safe_cell(cell) if isinstance(cell, str) else cell)


def safe_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula; a plain number is none."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def plain_cell(text: str) -> str:
    """The text of which `safe_cell` made this one; any other apostrophe stays."""
    bare = text.removeprefix("'")
    return bare if bare != text and safe_cell(bare) == text else text


def fits_json(found: Sequence[Measurement], scenario: Scenario) -> str:
    """Every fit as JSON: numbers with units and intervals, verdict, points, what was left out, and how it was fitted."""
    record = {
        "schema": SCHEMA,
        "interval_level": LEVEL,
        "note": "An end of an interval that is 0 or null says that the data set no bound on that side; null: none or infinite.",
        "scenario": asdict(scenario),
        "fits": [_fit(one) for one in found],
    }
    return json.dumps(record, indent=1, allow_nan=False)


def _fit(one: Measurement) -> dict:
    kind = "curve" if getattr(one.fit, "curved", False) else one.quantity
    return {
        "series": one.series,
        "label": one.label,
        "quantity": one.quantity,
        "batch_unit": one.batch_unit,
        "identified": bool(one.identified),
        "verdict": one.verdict,
        "method": None if one.fit is None else METHODS[kind],
        "parameters": {} if one.fit is None else _parameters(one),
        "num_params": _finite(one.num_params),
        "left_out": [] if one.fit is None else [_finite(size) for size in one.fit.left_out],
        "points": _points(one),
    }


def _parameters(one: Measurement) -> dict:
    units = {
        "fixed_time": "s",
        "plateau": "tokens/s" if one.batch_unit == "tokens" else "sequences/s or tokens/s, as the file counts",
        "half_batch": one.batch_unit,
        "critical_batch_size": one.batch_unit,
        "min_steps": "steps",
        "min_tokens": one.batch_unit,
    }
    return {
        name: {
            "value": _finite(value),
            "unit": units[name],
            "interval": [_finite(end) for end in one.bounds[name]] if one.bounds else None,
        }
        for name, value in one.fit.parameters.items()
    }


def _points(one: Measurement) -> list[dict]:
    """The points with what the fit says there, and the residual: measured over fitted less 1."""
    if not len(one.points) or "median" not in one.points:
        return []
    table = one.points if one.fit is None else one.residuals()
    if one.fit is not None:
        table = table.assign(
            residual=table["median"] / table["fit"] - 1, used=~table["tokens_per_step"].isin(one.fit.left_out)
        )
    return [{name: _finite(value) for name, value in row.items()} for row in table.to_dict("records")]


def _finite(value):
    """A value for strict JSON: null where there is none or it is infinite."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if value is None or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, int | np.integer) else float(value)
