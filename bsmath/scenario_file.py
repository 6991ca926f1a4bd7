"""A scenario file: every field of the scenario, what is looked at and the loaded sweeps, as readable JSON, there and back.

Unlike a link it writes all fields, so that it is a record that no later default changes, and it holds the sweeps themselves, not their
medians; pinned scenarios too. It is read like any upload: whatever it holds ends in a scenario and sentences on what could not be used, or in a SweepError.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from bsmath import checks, link, pins, shared, sweeps
from bsmath.link import VIEW_CHOICES, View
from bsmath.pins import Pin
from bsmath.scenario import FIELDS, WORDS, Scenario, checked
from bsmath.sweep_record import from_record, to_record
from bsmath.sweeps import Sweep, SweepError

FORMAT = "batch-size scenario"
"""What the key `format` of a scenario file says."""
VERSION = 1
"""The version that new files carry."""
MAX_BYTES = 5 * 10**6
"""Largest file. [bytes]"""
MOST_WHOLE = 30_000
"""Rows up to which a sweep is written whole: a row takes about a hundred bytes."""
MEDIANS = "in a scenario file: medians of each batch, as there were too many rows"
"""Comment on a sweep that was not written whole."""
MOST_SWEEPS, MOST_PROBLEMS = 64, 10
"""Sweeps of one file, and sentences on it; the rest is counted."""
KEYS = ("format", "version", "scenario", "view", "pins", "sweeps")


@dataclass(frozen=True, kw_only=True, eq=False)
class Saved:
    """What a scenario file holds."""

    scenario: Scenario
    """The scenario; a field that could not be used has its default."""
    view: View
    """What was looked at."""
    sweeps: tuple[Sweep, ...]
    """The sweeps that were loaded."""
    problems: tuple[str, ...]
    """Sentences on what could not be used."""
    pins: tuple[Pin, ...] = ()
    """The pinned scenarios; files from before there were any have none."""

    def __iter__(self):
        """Scenario, view, sweeps and problems, in this order."""
        return iter((self.scenario, self.view, list(self.sweeps), list(self.problems)))


def to_json(scenario: Scenario, view: View, loaded: Sequence[Sweep] = (), pinned: Sequence[Pin] = ()) -> str:
    """The scenario file, a line a column of a sweep; sweeps of very many rows as their medians; pins where there are any.

    Raises
    ------
    SweepError
        Where it would be larger than MAX_BYTES even so.
    """
    parts = {"format": FORMAT, "version": VERSION, "scenario": asdict(scenario), "view": asdict(view)}
    head = json.dumps(parts | ({"pins": pins.to_records(pinned)} if pinned else {}), indent=1, allow_nan=False)
    for most in (MOST_WHOLE, 0):
        kept = [one if len(one.table) <= most else _medians(one) for one in loaded]
        text = f'{head[:-2]},\n "sweeps": [{",".join(_sweep_text(to_record(one)) for one in kept)}]\n}}\n'
        if (size := len(text.encode())) <= MAX_BYTES:
            return text
    raise SweepError(
        f"scenario file must be at most {MAX_BYTES / 1e6:g} MB, got {size / 1e6:.3g} MB: remove a sweep of many rows"
    )


def _medians(sweep: Sweep) -> Sweep:
    """A sweep of very many rows as a link would hold it; what was said of its file stays."""
    short = shared.shortened(sweep)
    if len(short.table) >= len(sweep.table):
        return sweep
    return replace(short, columns=sweep.columns, problems=sweep.problems, comments=(*sweep.comments, MEDIANS))


def _sweep_text(record: dict) -> str:
    """A sweep with one line a column of its table."""
    lines = [
        f"\n   {json.dumps(name)}: {json.dumps(values, allow_nan=False)}" for name, values in record["table"].items()
    ]
    rest = json.dumps({name: value for name, value in record.items() if name != "table"}, indent=1, allow_nan=False)
    return (
        "\n"
        + rest[:-2].replace("\n", "\n  ").replace("{", "  {", 1)
        + ',\n   "table": {'
        + ",".join(lines)
        + "\n   }\n  }"
    )


def recognizes(head: bytes) -> bool:
    """Whether a file that begins like this is a scenario file."""
    start = bytes(head[:4096]).removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n")
    return start.startswith(b"{") and f'"{FORMAT}"'.encode() in start


def from_json(data: bytes, name: str) -> Saved:
    """What a scenario file holds.

    Raises
    ------
    SweepError
        Where it is none, or a sweep in it is not whole; the sentence says why.
    """
    name = sweeps.short(name)
    if len(data) > MAX_BYTES:
        raise SweepError(f"{name} must be at most {MAX_BYTES / 1e6:g} MB, got {len(data) / 1e6:.6g} MB")
    found = _json(sweeps.text.clean(data, name), name)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SweepError(f"{name} must be a scenario file with format {FORMAT!r}, got {_shown(found)}")
    if isinstance(found.get("version"), bool) or found.get("version") != VERSION:
        raise SweepError(f"{name} must have version {VERSION}, got {_shown(found.get('version'))}")
    problems = [f"{name}: unknown key {_shown(key)} was left out." for key in found if key not in KEYS]
    scenario = _scenario(_part(found, "scenario", dict, name), problems)
    view = _view(_part(found, "view", dict, name), problems)
    pinned = pins.from_records(_part(found, "pins", list, name), _scenario, problems)
    records = _part(found, "sweeps", list, name)
    if len(records) > MOST_SWEEPS:
        raise SweepError(f"{name} must hold at most {MOST_SWEEPS} sweeps, got {len(records):,}")
    read = tuple(from_record(record, name) for record in records)
    if len(problems) > MOST_PROBLEMS:
        problems[MOST_PROBLEMS:] = [f"{name}: {len(problems) - MOST_PROBLEMS} more values could not be used."]
    return Saved(scenario=scenario, view=view, sweeps=read, problems=tuple(problems), pins=pinned)


def _json(data: bytes, name: str):
    def no_number(text: str):
        raise ValueError(f"{text} is not finite")

    try:
        return json.loads(data, parse_constant=no_number)
    except RecursionError:
        raise SweepError(f"{name} must be JSON of a scenario, got one that is nested too deep") from None
    except ValueError as error:  # not UTF-8, not JSON, NaN, too long a number
        raise SweepError(f"{name} must be JSON with finite numbers, got {str(error)[:60]!r}") from None


def _part(found: dict, key: str, kind: type, name: str):
    part = found.get(key, kind())
    if not isinstance(part, kind):
        raise SweepError(
            f"{name} must have {key} as {'named values' if kind is dict else 'a list'}, got {_shown(part)}"
        )
    return part


def _scenario(record: dict, problems: list[str]) -> Scenario:
    """The scenario of a record, each value checked like that of a link."""
    values = {}
    for name, value in record.items():
        if name not in FIELDS:
            problems.append(f"Unknown field {_shown(name)} was left out.")
            continue
        try:
            values[name] = checked(name, _plain(name, value))
        except (TypeError, ValueError, OverflowError) as error:
            problems.append(f"{_cut(error)}; its default is used.")
    return link.joined(Scenario(), values, problems)


def _plain(name: str, value):
    """A value that a check can be made of: JSON has integers of any length, lists and words."""
    if isinstance(value, list | dict | bool):
        raise ValueError(f"{name} must be a {'word' if name in WORDS else 'number'}, got {_shown(value)}")
    if isinstance(value, int) and abs(value) > 2**63:
        raise ValueError(f"{name} must be a number of at most 19 digits, got more")
    return value


def _view(record: dict, problems: list[str]) -> View:
    values = {}
    for name, value in record.items():
        if name not in VIEW_CHOICES:
            problems.append(f"Unknown view switch {_shown(name)} was left out.")
            continue
        try:
            values[name] = checks.one_of(name, value, VIEW_CHOICES[name])
        except (TypeError, ValueError) as error:
            problems.append(f"{_cut(error)}; its default is used.")
    return View(**values)


def _cut(error: Exception, most: int = 200) -> str:
    text = str(error)
    return text if len(text) <= most else text[:most] + "..."


def _shown(value) -> str:
    """A value of a file, cut."""
    try:
        return repr(value)[:40]
    except (ValueError, RecursionError):
        return "a value that is too long"
