"""Pinned scenarios: up to four, each with a name, kept beside the one that is worked on, compared with it, and carried by the link.

In a link a pin is one parameter, `pin1` to `pin4`, of readable text: its name, then the fields that differ from the version's defaults,
`Small batch~num_params=7e9~seq_len=4096`. A tilde inside is written twice. Reading never raises: whatever cannot be used is named in a
sentence, the rest is kept.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from bsmath import curves, flops, link
from bsmath.numerals import count
from bsmath.outlook import Outlook, outlook, seconds_to_goal
from bsmath.scenario import FIELDS, FOLLOWERS, Scenario

MOST = len(link.PINS)
"""Pins that are kept."""
MOST_NAME = 60
"""Longest name. [characters]"""
MOST_TEXT = 3_000
"""Most that all pins may take of an address, so that with shared data it stays below the 8 kB that servers accept. [characters]"""
SEPARATOR = "~"
"""Between the parts of a pin: a character that an address need not encode."""
THIS = "this scenario"
"""Label of the scenario that is worked on."""


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One pinned scenario."""

    name: str = ""
    """What its user calls it, in plain text without control characters; empty where it is called by its summary."""
    scenario: Scenario
    """All of its fields."""

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise TypeError(f"name must be text, got {self.name!r}")
        name = plain(self.name)
        if len(name) > MOST_NAME:
            raise ValueError(f"name must have at most {MOST_NAME} characters, got {len(name):,}")
        object.__setattr__(self, "name", name)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One scenario of a comparison."""

    label: str
    """Its name, which no other of the comparison has."""
    scenario: Scenario
    """Its fields."""
    run: Outlook
    """What follows from them."""


def plain(name: str) -> str:
    """A name on one line: control and invisible characters are left out."""
    return " ".join("".join(one if one.isprintable() else " " * one.isspace() for one in name).split())


def refusal(pins: Sequence[Pin]) -> str:
    """Why these pins cannot all be kept; empty where they can."""
    if len(pins) > MOST:
        return f"{MOST} scenarios are kept at most: remove one to pin another."
    size = len(urlencode(to_query(pins), safe="="))
    if size > MOST_TEXT:
        return f"Pins may take at most {MOST_TEXT:,} characters of the link, these would take {size:,}: remove one or shorten its name."
    return ""


def joined(kept: Sequence[Pin], more: Iterable[Pin]) -> tuple[tuple[Pin, ...], int]:
    """The pins with those that come from a file, as far as there is room; how many of them were left out."""
    found, left_out = tuple(kept), 0
    for pin in more:
        if refusal((*found, pin)) and pin not in found:
            left_out += 1
        elif pin not in found:
            found = (*found, pin)
    return found, left_out


def to_query(pins: Sequence[Pin]) -> dict[str, str]:
    """The pins as parameters of a link."""
    return {name: _written(pin) for name, pin in zip(link.PINS, pins, strict=False)}


def from_query(query: Mapping[str, str]) -> tuple[tuple[Pin, ...], list[str]]:
    """The pins of a link, and a sentence about each value that cannot be used."""
    version = link.read_version(query.get("v"), [])  # that it is unknown, `link.from_query` says
    found, problems = [], []
    for key in link.PINS:
        if key in query:
            said = []
            found.append(_read(query[key], version, said))
            problems += [f"{key}: {sentence}" for sentence in said]
    return tuple(found), link.few(problems)


def to_records(pins: Sequence[Pin]) -> list[dict]:
    """The pins for a scenario file, with all fields."""
    return [{"name": pin.name, "scenario": asdict(pin.scenario)} for pin in pins]


def from_records(records: list, scenario_of: Callable[[dict, list], Scenario], problems: list[str]) -> tuple[Pin, ...]:
    """The pins of a scenario file; `scenario_of` reads fields and, like this, adds what cannot be used to `problems`."""
    found = []
    for number, record in enumerate(records[:MOST], 1):
        name, fields = (record.get("name"), record.get("scenario")) if isinstance(record, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(fields, dict):
            problems.append(f"pin {number} must have a name and a scenario; it was left out.")
            continue
        said = []
        found.append(Pin(name=_cut(name, said), scenario=scenario_of(fields, said)))
        problems += [f"pin {number}: {sentence}" for sentence in said]
    if len(records) > MOST:
        problems.append(f"pins must be at most {MOST}, got {len(records):,}; the first {MOST} are kept.")
    return tuple(found)


def _written(pin: Pin) -> str:
    parts = [pin.name, *(f"{name}={value}" for name, value in link.fields_to_query(pin.scenario).items())]
    written = SEPARATOR.join(part.replace(SEPARATOR, 2 * SEPARATOR) for part in parts)
    return written or SEPARATOR  # an empty parameter may get lost on the way


def _read(text: str, version: int, problems: list[str]) -> Pin:
    # no field begins with a tilde, so the pairs of a row of tildes come first and a single one ends it
    name, *parts = (part.replace("\0", SEPARATOR) for part in text.replace(2 * SEPARATOR, "\0").split(SEPARATOR))
    texts = {}
    for part in filter(None, parts):
        field, equals, value = part.partition("=")
        if equals and field in FIELDS:
            texts[field] = value
        else:
            problems.append(f"Unknown field {link.short(field, 40)!r} was left out.")
    return Pin(name=_cut(name, problems), scenario=link.fields_from_query(texts, version, problems))


def _cut(name: str, problems: list[str]) -> str:
    name = plain(name)
    if len(name) > MOST_NAME:
        problems.append(f"name must have at most {MOST_NAME} characters, got {len(name):,}; the rest was cut.")
    return plain(name[:MOST_NAME])


def compared(scenario: Scenario, run: Outlook, pins: Sequence[Pin]) -> list[Entry]:
    """This scenario, then every pin, each under a label of its own."""
    found = [Entry(label=THIS, scenario=scenario, run=run)]
    for pin in pins:
        derived = outlook(pin.scenario)
        label = _unique(pin.name or summary(pin.scenario, derived), {one.label for one in found})
        found.append(Entry(label=label, scenario=pin.scenario, run=derived))
    return found


def summary(scenario: Scenario, run: Outlook) -> str:
    """What to call a scenario without a name: 7B on 64 x NVIDIA H100 SXM, 4.19M tokens per step."""
    device = scenario.device.label if scenario.device else f"{count(scenario.peak_flops)} FLOP/s"
    size, batch = count(scenario.num_params), count(run.tokens_per_step)
    return f"{size} on {run.num_devices:,} x {device}, {batch} tokens per step"


def _unique(label: str, taken: set[str]) -> str:
    return next(one for one in (label, *(f"{label} ({number})" for number in range(2, MOST + 3))) if one not in taken)


def differences(entries: Sequence[Entry]) -> dict[str, tuple]:
    """Field -> its value in each entry, for the fields that differ; one that follows another everywhere is not named beside it."""
    found = {}
    for name in FIELDS:
        values = tuple(getattr(one.scenario, name) for one in entries)
        follows = name in FOLLOWERS and all(
            value == getattr(one.scenario, FOLLOWERS[name]) for value, one in zip(values, entries, strict=True)
        )
        if len(set(values)) > 1 and not follows:
            found[name] = values
    return found


def over_batch(entries: Sequence[Entry], points: int = 121) -> pd.DataFrame:
    """Time to each entry's goal over the batches that are of interest to any of them, on the devices of each.

    Returns
    -------
    DataFrame
        label, tokens_per_step [tokens], days; the batches are the same for every label.
    """
    sizes = [curves.over_batch(one.scenario, one.run, points=2)["tokens_per_step"] for one in entries]
    shared = np.geomspace(min(size.min() for size in sizes), max(size.max() for size in sizes), points)
    days = {one.label: seconds_to_goal(one.scenario, shared) / flops.SECONDS_PER_DAY for one in entries}
    parts = [pd.DataFrame({"label": label, "tokens_per_step": shared, "days": time}) for label, time in days.items()]
    return pd.concat(parts, ignore_index=True)
