"""Ramps from elsewhere as fields of a scenario: pasted from a trainer, or of a published run.

What can be said in tokens is taken exactly: a flat batch, a linear rise, equal rises. Other stages are whole sequences of
the scenario's length, rounded to the nearest; by how much is said.
"""

from dataclasses import dataclass

import numpy as np

from bsmath import batch, published_ramps, ramp_import, ramp_kinds
from bsmath.numerals import GAP, count, significant
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

SHOWN = 3
"""Stages that a sentence names, beside the last."""
EQUAL = 1e-9
"""Relative difference below which rises, distances and batches are the same."""


@dataclass(frozen=True, kw_only=True)
class Takeover:
    """A ramp that the scenario can take."""

    changes: dict[str, float | int | str]
    """Fields of the scenario."""
    said: tuple[str, ...]
    """Sentences: the ramp in words, and what in it was assumed or is approximate."""


def pasted(scenario: Scenario, text: str) -> Takeover:
    """The ramp of a trainer's text; a ValueError with one sentence where there is none, or none that a scenario can hold."""
    run = outlook(scenario)
    read = ramp_import.read_schedule(text, scenario.seq_len, run.global_batch_size, scenario.padding_fraction)
    thresholds, batches = np.array(read.thresholds), np.array(read.batches)
    many = len(batches) > ramp_kinds.MOST_STAGES
    if read.form == ramp_import.RAMPUP or (many and _equal(np.diff(thresholds)) and _equal(np.diff(batches))):
        changes, said = _rises(thresholds, batches)
    else:
        changes, said = _stages(scenario, thresholds, batches)
    scenario.change(**changes)
    return Takeover(changes=changes, said=(f"Read as {read.form}: {said[0]}", *said[1:], *read.said))


def published(scenario: Scenario, name: str) -> Takeover:
    """A ramp of `published_ramps.ramps`, with its own batches and thresholds; a ValueError where a scenario cannot hold it."""
    one = published_ramps.ramps()[name]
    ramp = one.ramp
    if one.kind == "flat":
        changes, said = {"ramp": "flat", "ramp_end": ramp.end}, (f"{_tokens(ramp.end)} per step throughout.",)
    elif one.kind == "stages":
        changes, said = _stages(scenario, ramp.tokens, ramp.first)
    elif one.kind == "staircase":
        changes, said = _rises(ramp.tokens, ramp.first)
    else:
        start = float(ramp.first[0])
        changes = {"ramp": one.kind, "ramp_start": start, "ramp_end": ramp.end, "ramp_tokens": ramp.length}
        kind = ramp_kinds.KINDS[one.kind].lower()
        said = (f"{kind}, {count(start)} to {_tokens(ramp.end)} per step over {_tokens(ramp.length)}.",)
    scenario.change(**changes)
    return Takeover(changes=changes, said=(f"{one.label}: {said[0]}", *said[1:], one.note, f"Source: {one.source}"))


def _equal(distances: np.ndarray) -> bool:
    return len(distances) > 0 and bool(np.ptp(distances) <= EQUAL * np.abs(distances).max())


def _rises(thresholds, batches) -> tuple[dict, tuple[str, ...]]:
    """Fields of a staircase of equal rises, and the ramp in words. [real tokens]"""
    start, end, over = (float(each) for each in (batches[0], batches[-1], thresholds[-1]))
    levels = len(batches)
    changes = {"ramp": "staircase", "ramp_start": start, "ramp_end": end, "ramp_tokens": over, "ramp_levels": levels}
    rises = "one rise" if levels == 2 else f"{levels - 1} equal rises"
    return changes, (f"{count(start)} to {_tokens(end)} per step in {rises} over {_tokens(over)}.",)


def _stages(scenario: Scenario, thresholds, batches) -> tuple[dict, tuple[str, ...]]:
    """Fields of typed stages, the ramp in words, and what rounding to whole sequences does to it. [real tokens]"""
    if len(batches) > ramp_kinds.MOST_STAGES:
        raise ValueError(
            f"a ramp must have at most {ramp_kinds.MOST_STAGES} stages, or equal rises at equal distances, got {len(batches)} stages"
        )
    sequence = batch.tokens_per_step(1, scenario.seq_len, scenario.padding_fraction)
    sizes = np.maximum(np.rint(np.asarray(batches) / sequence), 1)
    changes = {"ramp": "stages", "ramp_stages": ramp_kinds.write_stages(thresholds, sizes.astype(int))}
    if thresholds[-1] > 0:
        changes["ramp_tokens"] = float(thresholds[-1])
    shown = [_stage(*each) for each in zip(thresholds, sizes * sequence, sizes, strict=True)]
    if len(shown) > SHOWN + 2:
        shown = [*shown[:SHOWN], f"{len(shown) - SHOWN - 1} more", shown[-1]]
    said = (f"{', '.join(shown)}.",)
    change = sizes * sequence / batches - 1
    worst = int(np.abs(change).argmax())
    if abs(change[worst]) > EQUAL:
        said += (
            f"Approximate: in whole sequences of {scenario.seq_len:,} tokens its batches change by up to "
            f"{significant(100 * abs(change[worst]), 2)}{GAP}%, {count(batches[worst], 6)} to {count(sizes[worst] * sequence, 6)}.",
        )
    return changes, said


def _stage(threshold: float, tokens: float, sequences: float) -> str:
    if threshold:
        return f"{sequences:,.0f} ({count(tokens)}) from {_tokens(threshold)} on"
    noun = "sequence" if sequences == 1 else "sequences"
    return f"{sequences:,.0f} {noun} ({_tokens(tokens)}) per step"


def _tokens(value: float) -> str:
    return f"{count(value)}{GAP}tokens"
