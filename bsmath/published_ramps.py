"""The batch ramps of published runs, read from `data/ramps.toml` and checked once.

Everything is in tokens, as in `ramp`. A table gives the numbers that its kind of ramp needs (`SHAPES`); a wrong entry raises an
error that names the file, the entry and the field. To add a ramp, add a table to the file; no code changes.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from bsmath import checks, presets, ramp_kinds
from bsmath import ramp as shapes
from bsmath.ramp import Ramp

SHAPES = {
    "flat": (shapes.flat, ("tokens_per_step",)),
    "linear_tokens": (shapes.linear_tokens, ("start", "end", "over")),
    "linear_steps": (shapes.linear_steps, ("start", "end", "over")),
    "staircase": (shapes.rampup, ("start", "increment", "end", "over")),
    "stages": (shapes.staircase, ("thresholds", "batches")),
}
"""Kinds of `ramp_kinds.KINDS` that a run may have, each with its function and the fields that it takes, in order. [tokens]"""


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRamp:
    """The batch of a published run over the tokens seen."""

    label: str
    """Name for people."""
    source: str
    """Address of the paper, repository or configuration."""
    note: str
    """What is published, what is read into it, and from what text."""
    kind: str
    """Its kind, a name of `SHAPES`."""
    ramp: Ramp
    """The batch over the tokens seen. [tokens]"""
    total_tokens: float
    """Tokens of the whole run. [tokens]"""
    seq_len: int
    """Tokens of one sequence for most of the run. [tokens]"""
    run: str | None = None
    """Its name in `data/runs.toml`; None where it has none."""

    @property
    def steps(self) -> float:
        """Steps of the whole run. [steps]"""
        return float(self.ramp.steps(self.total_tokens))

    @property
    def steps_at_start(self) -> float:
        """Steps of the same tokens at the first batch. [steps]"""
        return self.total_tokens / float(self.ramp.first[0])

    @property
    def steps_at_end(self) -> float:
        """Steps of the same tokens at the final batch. [steps]"""
        return self.total_tokens / self.ramp.end

    @property
    def steps_saved(self) -> float:
        """Share of the steps at the first batch that the run does without. [0-1]"""
        return 1 - self.steps / self.steps_at_start

    @property
    def steps_saved_at_end(self) -> float:
        """The same of a run at the final batch from its first token on. [0-1]"""
        return 1 - self.steps_at_end / self.steps_at_start

    def stages_text(self, seq_len: int | None = None) -> str | None:
        """The stages as `ramp_kinds.read_stages` takes them, in sequences of the run's own length unless another is given.

        Sequences are rounded to whole ones. None for a ramp without stages, or with more of them than that function reads.
        """
        length, ramp = seq_len or self.seq_len, self.ramp
        if len(ramp.tokens) > ramp_kinds.MOST_STAGES or not np.array_equal(ramp.first, ramp.last):
            return None
        sizes = np.maximum(np.rint(ramp.first / length), 1)
        return ramp_kinds.write_stages(ramp.tokens, sizes.astype(int))


def _list(name: str, value, rule) -> list[float]:
    if not isinstance(value, list) or not value:
        raise TypeError(f"{name} must be a list of numbers, got {value!r}")
    return [rule(f"{name}[{i}]", each) for i, each in enumerate(value)]


# The ranges catch a wrong unit (sequences, thousands, billions), not an unusual run.
_batch = partial(checks.between, low=1e4, high=1e10)
_tokens = partial(checks.between, low=1e6, high=1e15)

RULES = {
    **presets.RUN_RULES,
    "kind": partial(checks.one_of, known=SHAPES),
    "total_tokens": _tokens,
    "seq_len": partial(checks.whole, low=16, high=2**20),
    "run": lambda name, value: checks.one_of(name, value, presets.runs()),
}
SHAPE_RULES = {
    "tokens_per_step": _batch,
    "start": _batch,
    "end": _batch,
    "increment": _batch,
    "over": _tokens,
    "thresholds": partial(_list, rule=partial(checks.between, low=0, high=1e15)),
    "batches": partial(_list, rule=_batch),
}


def _given(where: str, table: Mapping) -> dict:
    """The values of a table: every one has a rule, every one that its kind needs is there."""
    if "kind" not in table:
        raise ValueError(f"{where}kind must be given, got nothing")
    kind = RULES["kind"](f"{where}kind", table["kind"])
    rules = RULES | {name: SHAPE_RULES[name] for name in SHAPES[kind][1]}
    for name in table:
        checks.one_of(f"{where}{name}", name, rules)
    for name in rules:
        if name not in table and name != "run":
            raise ValueError(f"{where}{name} must be given, got nothing")
    return {name: rules[name](f"{where}{name}", value) for name, value in table.items()}


def _check_rise(where: str, given: Mapping) -> None:
    """A ValueError if the numbers do not describe a ramp that is over before its run is."""
    if "start" in given and given["end"] <= given["start"]:
        raise ValueError(f"{where}end must be above start ({given['start']:g}), got {given['end']!r}")
    if "increment" in given and (given["end"] - given["start"]) % given["increment"]:
        raise ValueError(f"{where}increment must divide end - start, got {given['increment']!r}")
    seen = given.get("thresholds", [0])
    if seen[0] != 0 or any(after <= before for before, after in zip(seen, seen[1:], strict=False)):
        raise ValueError(f"{where}thresholds must begin at 0 and rise, got {seen!r}")
    if "batches" in given and len(given["batches"]) != len(seen):
        raise ValueError(f"{where}batches must be as many as thresholds ({len(seen)}), got {len(given['batches'])}")
    if given["total_tokens"] <= max(seen[-1], given.get("over", 0)):
        raise ValueError(f"{where}total_tokens must be above the tokens of the ramp, got {given['total_tokens']!r}")


def _published(where: str, table: Mapping) -> PublishedRamp:
    given = _given(where, table)
    _check_rise(where, given)
    make, names = SHAPES[given["kind"]]
    ramp = make(*(given.pop(name) for name in names))
    for array in (ramp.tokens, ramp.first, ramp.last):
        array.setflags(write=False)
    return PublishedRamp(ramp=ramp, **given)


def read_ramps(path: Path) -> Mapping[str, PublishedRamp]:
    """Published ramps of a TOML file, by id."""
    found = {}
    for entry, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if not isinstance(table, dict):
            raise TypeError(f"{path.name}: {entry} must be a table, got {table!r}")
        found[entry] = _published(f"{path.name}: {entry}.", table)
    return MappingProxyType(found)


@cache
def ramps() -> Mapping[str, PublishedRamp]:
    """The ramps of `data/ramps.toml`, by id."""
    return read_ramps(presets.DATA / "ramps.toml")
