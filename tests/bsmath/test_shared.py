"""Data in a link: the receiver's points, fits and verdicts are the sender's; whatever else comes in is refused in a sentence."""

import base64
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsmath import shared, shipped, sweeps
from bsmath.measured import measurement
from bsmath.published import zhang_csv
from bsmath.sweeps import SweepError

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
FILES = {
    **{path.name: path.read_bytes() for path in sorted(SAMPLES.glob("*.csv"))},
    **{shipped.path(kind).name: shipped.path(kind).read_bytes() for kind in ("throughput", "convergence")},
    "zhang.csv": zhang_csv(),
}


def back(sweep, series):
    text = shared.to_text([(sweep.name, sweep, series)])
    assert len(text) <= shared.MAX_TEXT
    return shared.from_text(text)[0]


@pytest.mark.parametrize("name", FILES)
def test_a_shipped_sweep_is_fitted_the_same_behind_the_link(name):
    sweep = sweeps.read(FILES[name], name)
    series = sweep.series[:4]
    found = back(sweep, series)
    assert found.name == name and found.batch_unit == sweep.batch_unit
    for one in series:
        for quantity in sweeps.QUANTITIES:
            ours, theirs = (measurement(each, one, quantity) for each in (sweep, found))
            assert len(ours.points) == len(theirs.points)
            assert shared.same(ours, theirs), (one, quantity)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(1, 4), st.booleans())
def test_any_sweep_is_fitted_the_same_behind_the_link(seed, batches, repeats, steps):
    rng = np.random.default_rng(seed)
    sizes = np.repeat(2.0 ** (12 + np.arange(batches)), repeats)
    noise = rng.lognormal(0, 0.03, len(sizes))
    values = 1000 * (1 + 2**17 / sizes) * noise if steps else 1e5 * sizes / (sizes + 2**15) * noise
    header = "steps_to_target" if steps else "tokens_per_s"
    rows = "\n".join(f"{size:.0f},{value:.6g}" for size, value in zip(sizes, values, strict=True))
    sweep = sweeps.read(f"batch_tokens,{header}\n{rows}\n".encode(), "x.csv")
    quantity = "steps" if steps else "tokens_per_second"
    theirs = back(sweep, sweep.series)
    assert shared.same(measurement(sweep, sweep.series[0], quantity), measurement(theirs, theirs.series[0], quantity))


def test_several_sweeps_travel_together_under_their_names():
    one, two = (sweeps.read(FILES["throughput.csv"], name) for name in ("before", "after"))
    text = shared.to_text([("before", one, one.series[:1]), ("after", two, two.series[:1])])
    assert [each.name for each in shared.from_text(text)] == ["before", "after"]


def test_what_does_not_fit_is_said_with_its_size_and_what_to_do():
    rows = "\n".join(f"{1024 + k},{1 + k * 7919 % 1000 / 1000}" for k in range(3000))
    sweep = sweeps.read(f"batch_tokens,step_time_s\n{rows}\n".encode(), "many.csv")
    with pytest.raises(shared.TooLarge, match="scenario file"):
        shared.to_text([("many.csv", sweep, sweep.series)])


def packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(content)).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "!" * 10,
        "x" * 4001,
        packed(b"{}"),
        packed(b"[1, 2]"),
        packed(b"\xff\xfe"),
        packed(b"[" * 60_000),
        packed(b"0" * 10**6),
    ],
    ids=["empty", "short", "letters", "long", "object", "list", "bytes", "deep", "bomb"],
)
def test_anything_else_is_one_sentence(text):
    with pytest.raises(SweepError) as refused:
        shared.from_text(text)
    assert len(str(refused.value)) < 500


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 5))
def test_a_text_with_letters_changed_is_refused_or_a_sweep_of_positive_numbers(seed, changes):
    rng = np.random.default_rng(seed)
    sweep = sweeps.read(FILES["throughput.csv"], "x.csv")
    letters = list(shared.to_text([("x", sweep, sweep.series[:1])]))
    for place in rng.integers(0, len(letters), changes):
        letters[place] = chr(rng.integers(33, 127))
    try:
        found = shared.from_text("".join(letters))
    except SweepError:
        return
    assert all((one.table["tokens_per_step"] > 0).all() for one in found)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_refused_or_read(text):
    try:
        shared.from_text(text)
    except SweepError:
        pass
