"""No address breaks a session: 2,000 query strings through the state code that opens them, and some through the whole page."""

import string
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch
from urllib.parse import parse_qsl, quote_plus, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from bsmath import link, pins, shared, sweeps
from bsmath.link import View
from bsmath.pins import Pin
from bsmath.scenario import FIELDS, Scenario, checked
from pages.ui import loaded, state

ROOT = Path(__file__).parents[2]

SWEEP = sweeps.read(b"batch_tokens,tokens_per_s\n8192,51000\n16384,82000\n32768,118000\n", "a.csv")
DATA = shared.to_text([("a", SWEEP, SWEEP.series)])
PINNED = pins.to_query([Pin(name="before", scenario=Scenario(num_params=7e9)), Pin(name="now", scenario=Scenario())])
REAL = [
    link.to_query(Scenario(), View()),
    link.to_query(
        Scenario(num_params=7e9, micro_batch_size=8, price_per_device_hour=2.5), View(batch_unit="sequences")
    ),
    link.to_query(Scenario(num_experts=256, top_k=8, seq_len=4096), View(), DATA),
    link.to_query(Scenario(goal="budget", ramp_stages="0:768 250B:1536"), View(laws_over="loss"), DATA, PINNED),
]
NAMES = [*FIELDS, *link.VIEW_CHOICES, *link.PINS, link.DATA, "v", "embed", "utm_source", "num_param", "__class__", ""]
NONSENSE = [
    "", " ", "nan", "inf", "-inf", "-1", "0", "1e400", "1e-400", "9" * 400, "7,3B", "7.3 B", "2^20", "2^99999", "0x10", "1_000",
    "None", "True", "[]", "{}", "<b>7</b>", "'; DROP TABLE", "%s%n", "\x00", "\ud7ff", "٣", "七", "🙂" * 50, "a" * 5000, "h100_sxm",
]  # fmt: skip
TEXT = some.text(max_size=40) | some.text(alphabet=string.printable, max_size=200)
VALUE = (
    some.sampled_from(NONSENSE)
    | TEXT
    | some.integers().map(str)
    | some.floats().map(repr)
    | some.tuples(some.floats(0.01, 999), some.sampled_from("kMBT")).map(lambda one: f"{one[0]:.4g}{one[1]}")
    | some.sampled_from([value for real in REAL for value in real.values()])
)
PAIR = some.tuples(some.sampled_from(NAMES) | TEXT, VALUE)


@some.composite
def addresses(draw) -> str:
    """A query string: pairs of real and invented names, a real link that was changed, one that was cut or misspelled, or no pairs at all."""
    kind = draw(some.sampled_from(("pairs", "changed", "cut", "misspelled", "text")))
    if kind == "pairs":
        return urlencode(draw(some.lists(PAIR, max_size=12)), errors="replace")
    if kind == "text":
        return draw(TEXT)
    real = urlencode(draw(some.sampled_from(REAL)), safe="=")
    if kind == "changed":
        return real + "&" + urlencode(draw(some.lists(PAIR, min_size=1, max_size=4)), errors="replace")
    at = draw(some.integers(0, len(real)))
    if kind == "cut":
        return real[:at]
    return real[:at] + quote_plus(draw(TEXT), errors="replace") + real[at + draw(some.integers(0, 3)) :]


def as_browsers_do(address: str) -> dict[str, str]:
    """The parameters of an address; of a name that comes twice, the last, as Streamlit hands it over."""
    return dict(parse_qsl(address, keep_blank_values=True, errors="replace"))


class Session(dict):
    """Stands for `st.session_state`."""

    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def opened(query: dict[str, str]):
    """A session that was opened with these parameters: its scenario, what it says, and the link that it now has."""
    stand_in = SimpleNamespace(session_state=Session(), query_params=query, context=SimpleNamespace(url="http://here/"))
    with patch.object(state, "st", stand_in), patch.object(loaded, "st", stand_in):
        scenario = state.scenario()
        loaded.memory()
        refused, notes = state.take_sentences()
        return scenario, refused, notes, state.query(), state.address(), len(loaded.entries())


def used(name: str, value: str, scenario: Scenario) -> bool:
    """Whether a field of the scenario is what its parameter says."""
    try:
        return checked(name, link.parse_field(name, value)) == getattr(scenario, name)
    except ValueError:
        return False


@settings(max_examples=2_000)
@given(addresses())
def test_every_address_opens_a_valid_scenario_and_says_what_was_not_used(address):
    query = as_browsers_do(address)
    scenario, refused, notes, again, whole, held = opened(query)
    # Valid: every field passes its own check, and all of them together.
    assert Scenario(**{name: checked(name, getattr(scenario, name)) for name in FIELDS}) == scenario
    # What was not used is named, or counted where there is too much of it.
    assert all(sentence.strip() and len(sentence) < 2_000 for sentence in (*refused, *notes))
    known = {*FIELDS, *link.VIEW_CHOICES, *link.PINS, *link.RESERVED, link.DATA, "v"}
    lost = [name for name in query if name not in known or name in FIELDS and not used(name, query[name], scenario)]
    lost += ["v"] * (query.get("v", "1") != "1")
    counted = any("more values of this link" in sentence for sentence in refused)
    if not counted:
        said = " ".join(refused)
        assert all(link.short(name) in said or repr(link.short(name)) in said for name in lost)
    assert bool(refused) >= bool(lost)
    # Data are drawn, or it is said that they are not.
    assert held or not query.get(link.DATA) or refused
    # The link that it now has opens the same, and is complained of no more.
    assert whole.startswith("http://here/?v=1")
    second, complaints, _, final, _, still_held = opened(as_browsers_do(urlencode(again, safe="=")))
    assert (second, complaints, final, still_held) == (scenario, [], again, held)


@pytest.mark.parametrize("kind", range(len(NONSENSE)))
def test_the_whole_page_opens_with_nonsense_in_every_parameter(kind):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name in ("num_params", "accelerator", "architecture", "ramp_stages", "batch_unit", "pin1", "data", "v", "junk"):
        app.query_params[name] = NONSENSE[kind]
    app.run()
    assert not app.exception
    assert app.metric, "the page is drawn"
    assert app.warning, "and says what it could not use"
