"""Reader of the branches of a run: one row a branch, with its checkpoint, its batch and its loss at the end."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import branching
from bsmath.branching import Branch
from bsmath.sweeps import SweepError, cells

NEEDED = ("checkpoint_step", "batch_factor", "tokens_per_step", "loss")
"""Columns without which no row is a branch."""
OPTIONAL = ("checkpoint_tokens", "seed", "learning_rate", "tolerance")
DIVERGED = ("nan", "inf", "+inf", "infinity", "diverged", "divergence", "overflow", "overflowed")
"""How a loss is written that is no number any more."""
LARGEST = 1e15
"""No step, factor or batch is larger."""
RULES = {
    "checkpoint_step": ("a whole number from 0", lambda step: (step >= 0) & (step < LARGEST) & (step % 1 == 0)),
    "batch_factor": ("a number from 1", lambda factor: (factor >= 1) & (factor < LARGEST)),
    "tokens_per_step": ("a number above 0", lambda size: (size > 0) & (size < LARGEST)),
    "checkpoint_tokens": ("a number from 0", lambda tokens: (tokens >= 0) & (tokens < np.inf)),
}
"""What a value must be, in words and as a test; of the others, a number."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BranchLog:
    """The branches of one file."""

    name: str
    """The file's name."""
    table: pd.DataFrame
    """One row a branch: run where the file names it, checkpoint_step, checkpoint_tokens [tokens], batch_factor,
    tokens_per_step [tokens], learning_rate, seed, loss [nats/token], inf where it diverged."""
    tolerance: float
    """Loss above the unchanged branch that counts as recovered. [nats/token]"""
    branches: tuple[Branch, ...]
    """One record a checkpoint."""
    problems: tuple[str, ...]
    """Rows and checkpoints that could not be used, and why; what was assumed."""


def recognizes(headers: list[str]) -> bool:
    """Whether a table with these headers holds branches of a run."""
    return {"checkpoint_step", "batch_factor"} <= {header.strip().lower() for header in headers}


def read(frame: pd.DataFrame, name: str) -> BranchLog:
    """The branches in a table of text or numbers."""
    frame = frame.rename(columns=lambda header: header.strip().lower())
    if missing := [column for column in NEEDED if column not in frame]:
        raise SweepError(f"{name} must have a column {missing[0]}, got {', '.join(frame.columns)}")
    table, problems = _table(frame)
    tolerance, assumed = _tolerance(table)
    table = table.drop(columns="tolerance", errors="ignore")
    found = branching.branches(table, tolerance)
    problems += _alone(table, tolerance)
    if not found:
        raise SweepError(
            f"{name} must have branches with batch_factor 1 and a larger one from the same checkpoint, got none"
            + (f" ({problems[0]})" if problems else "")
        )
    return BranchLog(name=name, table=table, tolerance=tolerance, branches=found, problems=(*problems, *assumed))


def _table(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The usable rows as numbers, and sentences about the others."""
    table = pd.DataFrame({"run": frame["run"].astype(str)} if "run" in frame else {}, index=frame.index)
    for column in (*NEEDED, *OPTIONAL):
        if column in frame:
            table[column] = cells.numbers(frame[column], cells.COUNTS)
    table.loc[frame["loss"].astype(str).str.strip().str.lower().isin(DIVERGED), "loss"] = np.inf
    if "checkpoint_tokens" not in table:
        table["checkpoint_tokens"] = table["checkpoint_step"] * table["tokens_per_step"] / table["batch_factor"]
    if "seed" not in table:
        table["seed"] = 0
    elif table["seed"].isna().all():  # names
        table["seed"] = pd.factorize(frame["seed"])[0]
    problems, usable = [], np.ones(len(table), bool)
    for column in (*NEEDED, "checkpoint_tokens", "seed"):
        rule, holds = RULES.get(column, ("a number", pd.Series.notna))
        bad = usable & ~holds(table[column]).to_numpy(bool)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            got = (frame if column in frame else table)[column].iloc[first]
            got = getattr(got, "item", lambda got=got: got)()  # without numpy's own way of writing a number
            problems.append(f"{_rows(bad)} left out: {column} must be {rule}, got {got!r} in row {first + 1}.")
        usable &= ~bad
    table = table[usable]
    again = table.duplicated([key for key in ("run", "checkpoint_step", "batch_factor", "seed") if key in table])
    if again.any():
        problems.append(f"{_rows(again)} left out: the same branch is there before.")
    return table[~again].reset_index(drop=True), problems


def _alone(table: pd.DataFrame, tolerance: float) -> list[str]:
    """Sentences on the checkpoints without a pair, and on the seeds whose unchanged branch diverged."""
    said, unchanged = [], table[table["batch_factor"] == 1]
    if lost := int(np.isinf(unchanged["loss"]).sum()):
        said.append(f"Nothing can be compared with an unchanged branch that diverged: {lost} of {len(unchanged)} did.")
    keys = [key for key in ("run", "checkpoint_step") if key in table]
    several = "run" in table and table["run"].nunique() > 1
    for key, rows in table.groupby(keys, sort=True):
        if not branching.branches(rows, tolerance):
            where = f" of {key[0]}" if several else ""
            said.append(
                f"Checkpoint step {key[-1]:.0f}{where} has no pair of an unchanged and a larger batch and is left out."
            )
    return said


def _rows(bad) -> str:
    """Their number in words."""
    return f"{bad.sum()} rows are" if bad.sum() > 1 else "1 row is"


def _tolerance(table: pd.DataFrame) -> tuple[float, list[str]]:
    """The file's tolerance, and a sentence where it has none or several."""
    given = table["tolerance"].dropna().unique() if "tolerance" in table else np.array([])
    given = given[(given > 0) & (given < np.inf)]
    if not len(given):
        return branching.PUBLISHED_TOLERANCE, [
            f"No tolerance above 0 is given; {branching.PUBLISHED_TOLERANCE:g} nats is assumed."
        ]
    if len(given) > 1:
        return float(given[0]), [f"Tolerances differ; {given[0]:g} nats, the first, is taken for all."]
    return float(given[0]), []
