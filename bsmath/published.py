"""Published sweeps that ship with the project: the steps to a loss of five language models (Zhang et al. 2024).

    S = a + b/B, by least squares in log space: a = S_min [steps], b = E_min, b/a = B_crit
    B* = 1.2 B_opt + 0.2 b/a

The step counts are the authors' own, adjusted by them (arXiv 2410.21676 and its notebook; see the file's first lines). They
fit the same form, B in sequences of 512; this project's fit leaves nothing out here and gives their numbers to every
printed digit.
"""

import io
from functools import cache

import numpy as np
import pandas as pd

from bsmath import measured, presets, sweeps
from bsmath.cbs_definitions import ZHANG_OPTIMAL_BATCH, overhead_batch
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.measured import Measurement

FOLDER = presets.DATA / "published"
ZHANG = FOLDER / "zhang_2024_steps.csv"
SEQ_LEN = 512
"""Their sequence. [tokens]"""
MODEL = ["model", "num_params", "budget_tokens", "target_loss"]
"""Columns that tell what was trained, and to which loss."""


def zhang_csv() -> bytes:
    """The file, as a user would load it."""
    return ZHANG.read_bytes()


def zhang() -> pd.DataFrame:
    """The five series, one row a model and batch.

    Returns
    -------
    DataFrame
        model, num_params, budget_tokens [tokens], target_loss [nats/token], tokens_per_step [tokens], steps.
    """
    table = pd.read_csv(io.BytesIO(zhang_csv()), comment="#")
    table["tokens_per_step"] = table["batch_sequences"] * table["seq_len"]
    named = table.rename(columns={"steps_to_target": "steps"})
    return named[[*MODEL, "tokens_per_step", "steps"]]


@cache
def zhang_fits(optimal_batch: float = ZHANG_OPTIMAL_BATCH) -> pd.DataFrame:
    """Both definitions of the critical batch for each model, from one fit of its steps; made once, not to be changed.

    Parameters
    ----------
    optimal_batch : float
        B_opt, from which the 20 % are counted. [tokens]

    Returns
    -------
    DataFrame
        model, num_params, budget_tokens, target_loss, min_steps (a) [steps], min_tokens (b) [tokens], critical_batch_size
        (b/a) with low and high of its 90 % interval, overhead20_batch (B*) [tokens], and ratio, b/a over B*.
    """
    rows = []
    for keys, series in zhang().groupby(MODEL, sort=False):
        fit = fit_hyperbola(series["tokens_per_step"], series["steps"])
        low, high = fit.interval()["critical_batch_size"]
        row = dict(zip(MODEL, keys, strict=True)) | fit.parameters | {"low": low, "high": high}
        row["overhead20_batch"] = overhead_batch(fit.critical_batch_size, optimal_batch)
        row["ratio"] = fit.critical_batch_size / row["overhead20_batch"]
        rows.append(row)
    return pd.DataFrame(rows)


def growth(fits: pd.DataFrame, column: str, against: str = "budget_tokens") -> float:
    """Exponent with which a column of `zhang_fits` grows, by least squares in log space."""
    return float(np.polyfit(np.log(fits[against]), np.log(fits[column]), 1)[0])


@cache
def zhang_measurements() -> tuple[Measurement, ...]:
    """The five series as this project reads and fits any sweep; made once, as they ship with it."""
    found = sweeps.read(zhang_csv(), ZHANG.name)
    return tuple(measured.measurement(found, series, "steps") for series in found.series)
