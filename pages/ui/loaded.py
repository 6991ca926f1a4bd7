"""What is loaded in this session: sweeps with the files that they came from, and logs; what of it the link carries.

Files come in through `loading`; logs of runs, and the target that makes a sweep of them, are the business of `crossed`; answers and
corrections that of `mapping`; which series are shown, and their fits, that of `overlay`. The bytes stay in memory, so that an answer
reads them again; they leave with the session.
"""

from dataclasses import dataclass, field, replace

import streamlit as st

from bsmath import logs, shared, shipped
from bsmath.logs import Log
from bsmath.sweeps import Question, Sweep, SweepError
from pages.ui import state, text

MOST_SWEEPS = 8
"""Sweeps that are kept; the oldest leaves when another comes."""
MOST_BYTES = 400 * 10**6
"""Bytes of files that are kept to be read again; beyond, the oldest sweeps keep what was read of theirs alone."""
MOST_SHOWN = 4
"""Series over the theory: more cannot be told apart."""
RUNS = "runs"
"""Key of the sweep that is made of the logs of runs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """One loaded sweep."""

    sweep: Sweep
    """As it is read now; its name is the user's to change."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Names and bytes of its files; empty where it has none to read again."""
    answers: dict = field(default_factory=dict)
    """Answers and corrections of the user (see `sweeps.read`)."""
    questions: dict[str, Question] = field(default_factory=dict)
    """What the files left open, answered or not, so that an answer can be changed."""
    rates_name: str = ""
    """What to call its rates, where its name speaks of steps."""
    renamed: bool = False
    """Whether the user gave the name, which then outlives another reading."""


def memory() -> dict:
    """Everything that is loaded, by name; other modules of this layer read and write it through this."""
    if "loaded" not in st.session_state:
        st.session_state.loaded = {
            "sweeps": {},
            "chosen": None,
            "shown": (),
            "fits": {},
            "padding": 0.0,
            "logs": {},
            "curves": None,
            "pending": None,
            "unmapped": (),
            "share": False,
            "in_link": (),
            "count": 0,
        }
        _take_link()
    return st.session_state.loaded


def uploader() -> int:
    """Number of the file uploader: after each reading it is another one, so that its list never differs from what is loaded."""
    return st.session_state.get("uploader", 0)


def empty_uploader() -> None:
    """Leave the uploader without files."""
    st.session_state["uploader"] = uploader() + 1


def forget() -> None:
    """Drop the loaded data, those of the link included."""
    del st.session_state["loaded"]
    state.share("")


# --- sweeps


def entries() -> dict[str, Loaded]:
    """The loaded sweeps by key, in the order in which they came."""
    return memory()["sweeps"]


def chosen() -> str | None:
    """Key of the sweep whose columns and problems are shown."""
    return memory()["chosen"]


def sweep(key: str | None = None) -> Sweep | None:
    """A loaded sweep, by default the chosen one; None where there is none."""
    found = entries().get(key or chosen())
    return found and found.sweep


def put(new: Loaded, key: str | None = None) -> str:
    """Keep a sweep under its key, or as a further one; the first of its series is shown."""
    has = memory()
    if key is None:
        has["count"] += 1
        key = str(has["count"])
    old = has["sweeps"].get(key)
    if old is not None and old.renamed:
        new = replace(new, sweep=replace(new.sweep, name=old.sweep.name), renamed=True)
    names = {each.sweep.name for other, each in has["sweeps"].items() if other != key}
    new = replace(new, sweep=_named(new.sweep, names))
    if key not in has["sweeps"] and len(has["sweeps"]) == MOST_SWEEPS:
        oldest = next(iter(has["sweeps"]))
        state.note(f"{text.plain(sweep(oldest).name)} was dropped, as {MOST_SWEEPS} sweeps are kept at most.")
        remove(oldest)
    has["sweeps"] = _bounded(has["sweeps"] | {key: new})
    _forget_fits(key)
    kept = [(one, series) for one, series in has["shown"] if one in has["sweeps"] and series in sweep(one).series]
    if all(one != key for one, _ in kept):
        kept = [*kept[: MOST_SHOWN - 1], (key, new.sweep.series[0])]
    has.update(shown=tuple(kept), chosen=key)
    return key


def _bounded(found: dict[str, Loaded]) -> dict[str, Loaded]:
    """The sweeps, the oldest without their files where all files together are too large to be kept."""
    kept, room = {}, MOST_BYTES
    for key, one in reversed(found.items()):
        room -= sum(len(data) for _, data in one.files)
        kept[key] = one if room >= 0 else replace(one, files=())
    return dict(reversed(kept.items()))


def _named(one: Sweep, names: set[str]) -> Sweep:
    """The sweep under a name that no other has."""
    name, count = one.name, 1
    while name in names:
        count += 1
        name = f"{one.name} ({count})"
    return one if name == one.name else replace(one, name=name)


def remove(key: str) -> None:
    """Drop one sweep."""
    has = memory()
    has["sweeps"] = {other: each for other, each in has["sweeps"].items() if other != key}
    if key == RUNS:
        has["curves"] = None
    _forget_fits(key)
    has["shown"] = tuple(one for one in has["shown"] if one[0] != key)
    has["chosen"] = next(reversed(has["sweeps"]), None)
    if not has["shown"] and has["chosen"]:
        has["shown"] = ((has["chosen"], sweep().series[0]),)


def rename(key: str, name: str) -> None:
    """Give a sweep another name, under which its series are shown."""
    if name := " ".join(name.split()):
        one, others = entries()[key], {each.sweep.name for other, each in entries().items() if other != key}
        _forget_fits(key)
        named = _named(replace(one.sweep, name=name), others)
        memory()["sweeps"] = entries() | {key: replace(one, sweep=named, renamed=True)}


def choose(key: str) -> None:
    """Show the columns and problems of this sweep."""
    memory()["chosen"] = key


def shown_series() -> tuple[tuple[str, str], ...]:
    """The series that lie over the theory, each as key of its sweep and name."""
    return memory()["shown"]


def _forget_fits(key: str) -> None:
    memory()["fits"] = {name: fit for name, fit in memory()["fits"].items() if name[0] != key}


def once(name: str, source, make):
    """What follows from a source alone, made anew only where the source is another."""
    kept, key = memory()["fits"], ("once", name)
    if key not in kept or kept[key][0] is not source:
        kept[key] = (source, make())
    return kept[key][1]


# --- logs


def logs_loaded() -> list[Log]:
    """The logs that are loaded, one of a kind at most."""
    return list(memory()["logs"].values())


def log(kind: str) -> Log:
    """The loaded log of this kind (see bsmath.logs), or the one that ships with the project."""
    return memory()["logs"].get(kind) or shipped.log(kind)


def is_shipped(one: Log) -> bool:
    """Whether a log is the project's own and not the user's."""
    return one is shipped.log(one.kind)


def keep(one: Log) -> None:
    """Keep a log, in the place of one of its kind."""
    memory()["logs"][one.kind] = one
    state.note(f"{text.plain(one.record.name)} is a {logs.NAMES[one.kind]}; it is drawn below.")


# --- data in the link


def shared_now() -> list[tuple[str, Sweep, tuple[str, ...]]]:
    """The sweeps of which something is shown, each with its name and the series that are shown."""
    names = dict.fromkeys(key for key, _ in shown_series())
    return [(sweep(key).name, sweep(key), tuple(name for one, name in shown_series() if one == key)) for key in names]


def share_switch(key: str) -> dict:
    """A toggle that puts the shown series into the link."""
    return state.tie(f"share_{key}", memory()["share"], _read_share)


def _read_share(key: str) -> None:
    memory()["share"] = state.held(key)


def write_share() -> None:
    """Keep the data in the link those that are shown, or out of it; where they do not fit, say so."""
    has = memory()
    shown = tuple((key, name, sweep(key)) for key, name in shown_series()) if has["share"] else ()
    if shown == has["in_link"]:
        return
    has["in_link"] = shown
    try:
        state.share(shared.to_text(shared_now()) if shown else "")
    except ValueError as error:
        has.update(share=False, in_link=())
        state.share("")
        state.say(str(error))


def _take_link() -> None:
    """Take the data that came with the link."""
    if not (came := state.shared_text()):
        return
    try:
        found = shared.from_text(came)
    except SweepError as error:
        state.share("")
        return state.say(str(error))
    for one in found:
        put(Loaded(sweep=one))
    shown = [(key, name) for key in entries() for name in sweep(key).series][:MOST_SHOWN]
    memory().update(share=True, shown=tuple(shown), in_link=tuple((*one, sweep(one[0])) for one in shown))
