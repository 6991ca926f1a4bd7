"""Reader of tables of runs with a batch, a learning rate and a final loss each: a grid of rates, of which the best of each batch is sought."""

import re

import numpy as np
import pandas as pd

from bsmath.logs import curve_headers
from bsmath.rate_grid import RateGrid, is_grid
from bsmath.sweeps import cells, columns

LEAST_STATED = 3
"""Different rates from which one row a batch names the best rate of each."""
LARGEST = 1e15
"""No batch is larger."""
MOST_HEADERS = 1000
"""Columns among which these are looked for."""
LOSSES = frozenset("loss nll".split())
NO_RESULT = frozenset(
    "target threshold goal std sem scale aux auxiliary balancing balance load z router moe expert mtp weight time diff delta kl".split()
)
"""Words of a header of a loss, and those by which it is none that a run came to."""
HELD_OUT = frozenset("val valid validation eval evaluation test dev heldout".split())
"""Words of a header by which a loss is the one to take, where a table has several."""


def recognizes(headers: list[str]) -> bool:
    """Whether a table with these headers has a batch, a rate and a loss, and no place in a run and no result of a sweep."""
    if not has_columns(headers):
        return False
    meanings = {columns.recognize(str(header), is_number=True).meaning for header in headers}
    return not meanings & columns.RESULTS and not any(
        curve_headers.meaning(str(header)) in curve_headers.PLACES for header in headers
    )


def has_columns(headers: list[str]) -> bool:
    """Whether there are a batch, a rate and a loss."""
    return len(headers) <= MOST_HEADERS and all(_columns(headers).values())


def read(frame: pd.DataFrame, name: str) -> RateGrid | None:
    """The runs in a table of text or numbers; None where they tell no best rates: several at a batch, or one for each of several batches."""
    found, said = _columns(list(frame.columns)), []
    values = {kind: cells.numbers(frame[header[0]], cells.COUNTS) for kind, header in found.items()}
    batch, rate = values["batch"], values["learning_rate"]
    usable = (batch > 0) & (batch < LARGEST) & (rate > 0) & (rate < np.inf)
    if lost := int((~usable).sum()):
        said.append(f"{lost} of {len(frame)} rows have no positive batch and rate and are left out.")
    loss = np.where((values["loss"] > 0) & np.isfinite(values["loss"]), values["loss"], np.nan)
    if broken := int(np.isnan(loss[usable]).sum()):
        said.append(f"{broken} runs have no finite loss and count as diverged.")
    said += [f"Of {len(found['loss'])} losses {found['loss'][0]!r} was taken."] if len(found["loss"]) > 1 else []
    length, unit = _unit(frame, found, batch[usable])
    table = pd.DataFrame(
        {
            "tokens_per_step": (batch * length)[usable],
            "learning_rate": rate[usable],
            "value": loss[usable],
            "group": _groups(frame)[usable],
        }
    )
    stated = (
        table["learning_rate"].nunique() >= LEAST_STATED and not table.duplicated(["group", "tokens_per_step"]).any()
    )
    if not is_grid(table) and not stated:
        return None
    return RateGrid(
        name=name,
        table=table.reset_index(drop=True),
        value=str(found["loss"][0]),
        batch_unit=unit,
        problems=tuple(said),
    )


def _columns(headers: list[str]) -> dict[str, list[str]]:
    """Headers of the batch, the rate and the loss, the preferred one of each first."""
    meanings = {header: columns.recognize(str(header), is_number=True).meaning for header in headers}
    wanted = ("batch_tokens", "batch_sequences", "batch")
    batches = [header for kind in wanted for header in headers if meanings[header] == kind]
    rates = [header for header in headers if meanings[header] == "learning_rate"]
    losses = [header for header in headers if _is_loss(str(header))]
    losses.sort(key=lambda header: not _words(str(header)) & HELD_OUT)
    return {"batch": batches, "learning_rate": rates, "loss": losses}


def _words(header: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", header.lower()))


def _is_loss(header: str) -> bool:
    return bool(_words(header) & LOSSES) and not _words(header) & NO_RESULT


def _unit(frame: pd.DataFrame, found: dict, batch: np.ndarray) -> tuple[np.ndarray | float, str]:
    """Tokens of one unit of the batch, and the unit of what comes out."""
    header = found["batch"][0]
    if columns.recognize(str(header), is_number=True).meaning == "batch_tokens":
        return 1.0, "tokens"
    for other in frame.columns:
        if columns.recognize(str(other), is_number=True).meaning == "seq_len":
            return cells.numbers(frame[other], cells.COUNTS), "tokens"
    return 1.0, "sequences"


def _groups(frame: pd.DataFrame) -> np.ndarray:
    """What tells grids apart: the model, by its name or its parameters."""
    named = [
        header for header in frame.columns
        if columns.recognize(str(header), is_number=bool(pd.api.types.is_numeric_dtype(frame[header].dtype))).meaning in ("model", "num_params")
    ]  # fmt: skip
    if not named:
        return np.full(len(frame), "", object)
    return frame[named[0]].astype(str).str[:40].to_numpy(object)
