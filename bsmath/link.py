"""A link: version, scenario and what is looked at, as plain `name=value` pairs of an address, there and back.

An address holds its version and the fields that differ from that version's defaults. Those defaults are kept for ever, so an
address means the same next year. Reading never raises: whatever cannot be used is named in a sentence, the rest is kept.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from bsmath import checks, quantities
from bsmath.scenario import CEILINGS, FIELDS, FOLLOWERS, WHOLE, WORDS, Scenario, checked

VERSION = 1
"""The version that new links carry."""

OLD_DEFAULTS: dict[int, dict] = {1: {}}
"""For each version, the defaults that have changed since: a field not named here still has that version's default."""

VIEW_CHOICES = {
    "batch_unit": ("tokens", "sequences"),
    "batch_scale": ("log", "linear"),
    "laws_over": ("tokens", "parameters", "loss"),
    "noise_average": ("window", "0.9", "0.99", "0.999"),
}
"""The words that a view switch may hold, its default first."""

RESERVED = ("embed", "embed_options")
"""Parameters that belong to the server."""

DATA = "data"
"""The parameter that holds shared data (see `bsmath.shared`)."""

PINS = ("pin1", "pin2", "pin3", "pin4")
"""The parameters that hold pinned scenarios (see `bsmath.pins`)."""

MOST_PROBLEMS = 5
"""Sentences shown about one address; the rest is counted."""


@dataclass(frozen=True, kw_only=True)
class View:
    """What is looked at: it changes no number, only how charts show it."""

    batch_unit: str = "tokens"
    """Whether batch axes count tokens or sequences."""
    batch_scale: str = "log"
    """Whether batch axes are logarithmic."""
    laws_over: str = "tokens"
    """What the chart of published laws runs over: tokens D, parameters N or loss L."""
    noise_average: str = "window"
    """How the noise scale is averaged along a log: a window around each row, or an exponential average with this decay per row."""

    def __post_init__(self):
        for name, known in VIEW_CHOICES.items():
            checks.one_of(name, getattr(self, name), known)


def to_query(scenario: Scenario, view: View, data: str = "", pins: Mapping[str, str] | None = None) -> dict[str, str]:
    """The link as parameters: the version, what differs from its defaults, pins as `pins.to_query` wrote them, and shared data."""
    query = {"v": str(VERSION)} | fields_to_query(scenario)
    for name, (usual, *_) in VIEW_CHOICES.items():
        if getattr(view, name) != usual:
            query[name] = getattr(view, name)
    return query | dict(pins or {}) | ({DATA: data} if data else {})


def fields_to_query(scenario: Scenario) -> dict[str, str]:
    """The fields that differ from the version's defaults, as text."""
    query, default = {}, Scenario()
    for name in FIELDS:
        value = getattr(scenario, name)
        usual = getattr(scenario, FOLLOWERS[name]) if name in FOLLOWERS else getattr(default, name)
        if value != usual:
            query[name] = _written(value)
    return query


def from_query(query: Mapping[str, str]) -> tuple[Scenario, View, list[str]]:
    """Read a link; every value that cannot be used is a sentence in the list and leaves its default.

    Its pins are read by `pins.from_query`.
    """
    problems = []
    version = read_version(query.get("v"), problems)
    scenario = fields_from_query({name: query[name] for name in FIELDS if name in query}, version, problems)
    view = View()
    for name in VIEW_CHOICES:
        if name in query:
            try:
                view = dataclasses.replace(view, **{name: query[name]})
            except ValueError as error:
                problems.append(f"{short(str(error))}; its default is used.")
    known = {"v", DATA, *PINS, *FIELDS, *VIEW_CHOICES, *RESERVED}
    problems += [f"Unknown parameter {short(name)!r} was left out." for name in query if name not in known]
    return scenario, view, few(problems)


def fields_from_query(texts: Mapping[str, str], version: int, problems: list[str]) -> Scenario:
    """The scenario whose fields have these texts; what cannot be used joins `problems` and leaves the version's default."""
    values = {}
    for name, text in texts.items():
        try:
            values[name] = checked(name, parse_field(name, text))
        except ValueError as error:
            problems.append(f"{short(str(error))}; its default is used.")
    return joined(Scenario(**OLD_DEFAULTS[version]), values, problems)


def parse_field(name: str, text: str):
    """A field's value from its text (typed or in a link), or a ValueError; the scenario checks its range."""
    if name in WORDS:
        return text
    try:
        value = quantities.parse_number(text)
    except ValueError:
        raise ValueError(f"{name} must be a number such as 7.3e9, 7.3B, 512k or 2^20, got {short(text)!r}") from None
    return int(value) if name in WHOLE and value == int(value) else value


def joined(scenario: Scenario, values: Mapping, problems: list[str]) -> Scenario:
    """The scenario with all values at once; a value that contradicts another is named and left out."""
    try:
        return scenario.change(**values)
    except ValueError as error:
        wrong = str(error).split()[0]
        # What is too large may be a default, and the ceiling what was asked for.
        left_out = wrong if wrong in values else next(name for name, low in CEILINGS.items() if low == wrong)
        its = "its default" if left_out == wrong else f"the default of {left_out}"
        problems.append(f"{short(str(error))}; {its} is used.")
        return joined(scenario, {name: value for name, value in values.items() if name != left_out}, problems)


def read_version(text: str | None, problems: list[str]) -> int:
    """The version that a link states, or the newest."""
    if text is None or text in map(str, OLD_DEFAULTS):
        return int(text or VERSION)
    problems.append(f"v must be one of {', '.join(map(str, OLD_DEFAULTS))}, got {short(text)!r}; read as {VERSION}.")
    return VERSION


def _written(value) -> str:
    """The shortest text that reads back as the same value."""
    if isinstance(value, str):
        return value
    short = f"{value:g}"
    return (short if float(short) == value else repr(value)).replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def few(problems: list[str]) -> list[str]:
    """The first sentences, the rest counted."""
    more = len(problems) - MOST_PROBLEMS
    return [*problems[:MOST_PROBLEMS], *([f"{more} more values of this link could not be used."] if more > 0 else [])]


def short(text: str, most: int = 200) -> str:
    """A text of a link, cut."""
    return text if len(text) <= most else text[:most] + "..."
