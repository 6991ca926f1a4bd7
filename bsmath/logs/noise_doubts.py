"""What makes the average or the interval of a noise-scale log doubtful, in sentences."""

import numpy as np
import pandas as pd

from bsmath.logs.noise_log import LATE, OWN

ONE_ROW = 0.5
"""Share of a sum that one row may hold before the average is said to be that row's."""
LEAST_ROWS = 4
"""Rows of a second half below which one of them may well hold half of a sum."""
ABSURD = 1e8
"""Squared norm, of a norm of 10,000, beyond which a factor must still multiply the gradient: BERT's logs of AdaptDL hold 1e10 to
1e14, an fp16 loss scale."""


def sentences(table: pd.DataFrame, source: set[str], unit: str) -> list[str]:
    """What is to be said of the rows of all groups, read from these columns."""
    said = []
    if source == {"ratio"}:
        said.append(
            "The file holds the ratio alone: without its parts it has neither an average over the run nor an interval."
        )
    if "small_root" in source:
        said.append(
            "The norms were squared. Where a row's norm is itself a mean over small batches or steps, its square is too small, and so is "
            "the noise: log the mean of the squared norms instead."
        )
    if "initial_variance" in source:
        said.append(
            "AdaptDL logs moving averages over many steps: its rows are not independent, intervals are too narrow."
        )
    if unit == OWN:
        said.append("The file does not say the unit of its noise scale: it is shown as logged.")
    rows = table[table["group"] == table["group"].iloc[0]]
    return said + _scale(rows) + _spikes(rows)


def _scale(rows: pd.DataFrame) -> list[str]:
    size = rows["grad_sq_norm"].abs().median()
    if not size > ABSURD:
        return []
    return [
        f"Squared norms are about {size:.0e}: a loss scale or a loss summed over tokens still multiplies the gradient. It multiplies both "
        "parts alike, so the noise scale is right while that factor stays the same; rows with a larger one weigh more."
    ]


def _spikes(rows: pd.DataFrame) -> list[str]:
    """Rows that own an average, of the run or of its second half."""
    said = []
    late = rows[rows["tokens"] >= LATE * rows["tokens"].max()]
    for name, column in (("|G|^2", "grad_sq_norm"), ("tr(Sigma)", "trace")):
        for part, found, least in (("", rows, 3), (" over the second half", late, LEAST_ROWS)):
            size = found[column].abs().to_numpy() * found["steps_averaged"].to_numpy()
            share = np.max(size, initial=0) / size.sum() if size.sum() > 0 else 0.0
            if len(found) >= least and share > ONE_ROW:
                said.append(_spike(f"{name}{part}", share, found.iloc[size.argmax()], bool(part)))
    return said


def _spike(what: str, share: float, row: pd.Series, late: bool) -> str:
    cure = f"look at step {row['step']:,.0f}" if late and row["step"] == row["step"] else "take a later part of the run"
    return f"One row holds {100 * share:.0f} % of the sum of {what}: the average is that row's, {cure}."
