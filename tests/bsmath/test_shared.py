import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.testing import assert_allclose

from bsmath import logs, measured, shared, shared_checks, shared_same, sweeps
from bsmath.sweeps import Sweep, SweepError

DATA = Path(__file__).parents[2] / "data"
FILES = sorted(
    path
    for folder in ("measured", "samples", "samples/logs", "published")
    for path in (DATA / folder).iterdir()
    if path.is_file()
)
REAL = Path(__file__).parents[3] / "shared" / "data"


def read(path: Path) -> Sweep | None:
    """The sweep in a file, or that of its runs; None where it holds neither."""
    try:
        log = logs.read(path.read_bytes(), path.name)
        if log is None:
            return sweeps.read(path.read_bytes(), path.name)
        return log.record.sweep() if hasattr(log.record, "sweep") else None
    except SweepError:
        return None


def there_and_back(sweep: Sweep, series=None) -> Sweep:
    return shared.from_text(shared.to_text([(sweep.name, sweep, series or sweep.series)]))[0]


def assert_same_measurements(ours: Sweep, theirs: Sweep) -> None:
    """Same points, same numbers to four digits, same verdict."""
    for quantity in sweeps.QUANTITIES:
        for name in ours.series:
            one, other = measured.measurement(ours, name, quantity), measured.measurement(theirs, name, quantity)
            assert len(one.points) == len(other.points) and one.identified == other.identified
            if len(one.points):
                assert_allclose(one.points, other.points[list(one.points)], rtol=1e-5)
            if one.fit is not None:
                assert_allclose([*one.fit.parameters.values()], [*other.fit.parameters.values()], rtol=1e-4)
                assert [*one.bounds] == [*other.bounds]
            assert shared_same.NUMBER.sub("#", one.verdict) == shared_same.NUMBER.sub("#", other.verdict)
            assert shared_same.same(one, other)


def made(columns: dict, unit: str = "tokens", headers: tuple = ("x",)) -> Sweep:
    """A sweep of these columns, as the readers make them."""
    rows = len(columns["tokens_per_step"])
    table = pd.DataFrame({"row": np.arange(rows), "series": ["a"] * rows} | columns)
    for name in ("tokens_per_second", "step_time", "steps"):
        table[name] = table[name].astype(float) if name in table else np.nan
    named = tuple(sweeps.Column(header=name, meaning=None, unit="", first_values=(), note="") for name in headers)
    return Sweep(name="made", table=table, batch_unit=unit, columns=named, questions=(), problems=(), comments=())


def packed(value) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")


def record(**changes) -> list:
    """A text's JSON of one good sweep."""
    columns = {"tokens_per_step": [1024, 4096, 16384], "tokens_per_second": [1000.5, 3000, 5000]}
    one = {
        "name": "one",
        "unit": "tokens",
        "kind": "medians",
        "source": "table",
        "series": [["a", 3]],
        "columns": columns,
    }
    return [1, [one | changes]]


# --- what is shared is what is measured


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_receiver_of_a_shipped_file_sees_the_same_points_and_fit(path):
    ours = read(path)
    if ours is None:
        pytest.skip("holds no sweep")
    text = shared.to_text([(ours.name, ours, ours.series)])
    assert len(text) <= shared.MAX_TEXT
    (theirs,) = shared.from_text(text)
    assert theirs.name == ours.name and theirs.series == ours.series and theirs.batch_unit == ours.batch_unit
    assert any(comment.startswith("shared in a link") for comment in theirs.comments)
    assert_same_measurements(ours, theirs)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not beside the project")
@pytest.mark.parametrize(
    "name", ["training_2.0.0__rcps_ssd.json", "training_3.0.0__rcps_unet3d.json", "hlzhang109_cbs_steps_to_goal.csv"]
)
def test_the_receiver_of_a_real_file_sees_the_same_points_and_fit(name):
    ours = read(next(REAL.rglob(name)))
    assert_same_measurements(ours, there_and_back(ours))


def test_a_row_is_the_median_of_its_batch_with_lowest_highest_and_count():
    ours = made({"tokens_per_step": [1024.0] * 3 + [2048.0], "tokens_per_second": [100, 300, 120, 500.0]})
    table = there_and_back(ours).table
    assert table["tokens_per_second"].tolist() == [120, 500]
    points = sweeps.aggregate(there_and_back(ours), "a", "tokens_per_second")
    assert points.loc[0].tolist() == [1024, 120, 100, 300, 3]
    assert points.loc[1].tolist() == [2048, 500, 500, 500, 1]


def test_batches_are_kept_to_the_last_token():
    ours = made({"tokens_per_step": [1048576.0, 8388608.0, 12345678.0], "tokens_per_second": [1e5, 2e5, 123456.789]})
    table = there_and_back(ours).table
    assert table["tokens_per_step"].tolist() == [1048576, 8388608, 12345678]
    assert table["tokens_per_second"].tolist() == [1e5, 2e5, 123457]


def test_devices_that_change_inside_a_sweep_still_refuse_the_fit():
    columns = {
        "tokens_per_step": [1024.0, 1024, 4096, 4096],
        "tokens_per_second": [10.0, 20, 30, 60],
        "num_devices": [1.0, 2, 1, 2],
    }
    ours = made(columns)
    assert_same_measurements(ours, there_and_back(ours))
    assert "from 1 to 2" in measured.measurement(there_and_back(ours), "a", "tokens_per_second").verdict


@pytest.mark.parametrize("rates, refused", [([1e-3] * 5, True), ([1e-3, 1.4e-3, 2e-3, 2.8e-3, 4e-3], False)])
def test_one_rate_at_every_batch_is_refused_by_the_receiver_too(rates, refused):
    batch = np.array([1e4, 4e4, 1.6e5, 6.4e5, 2.56e6])
    steps = np.round(1000 * (1 + 2e5 / batch) * [1, 1.01, 0.99, 1.02, 1])
    ours = made({"tokens_per_step": batch, "steps": steps, "learning_rate": rates}, headers=("learning_rate",))
    verdict = measured.measurement(there_and_back(ours), "a", "steps").verdict
    assert verdict.startswith("Refused:") == refused
    assert_same_measurements(ours, there_and_back(ours))


def test_runs_that_were_stopped_bound_the_receivers_fit_too():
    batch = np.array([1e4, 4e4, 1.6e5, 6.4e5, 2.56e6, 2.56e6])
    steps = np.array([21000, 6100, 2240, 1330, np.nan, np.nan])
    stopped = np.array([np.nan] * 4 + [900, 1000])
    ours = made({"tokens_per_step": batch, "steps": steps, "stopped_at": stopped})
    theirs = there_and_back(ours)
    assert theirs.table["stopped_at"].dropna().tolist() == [950]
    assert_same_measurements(ours, theirs)


def test_a_tuned_sweep_keeps_its_runs_and_how_sure_the_best_rates_are():
    ours = read(DATA / "measured" / "convergence_0.1M.csv")
    theirs = there_and_back(ours)
    assert len(theirs.table) == len(ours.table) == 120
    one, other = (measured.measurement(each, "all rows", "steps").tuning for each in (ours, theirs))
    assert_allclose(one.drop(columns="at_edge").astype(float), other.drop(columns="at_edge").astype(float), rtol=1e-5)


def many_runs(seeds: int) -> Sweep:
    """A tuned sweep of four batches, three rates and so many seeds."""
    generator = np.random.default_rng(3)
    batch, rate, seed = (
        each.ravel()
        for each in np.meshgrid([1e4, 4e4, 1.6e5, 6.4e5], [1e-3, 2e-3, 4e-3], np.arange(seeds), indexing="ij")
    )
    best = 1e-3 * (batch / 1e4) ** 0.3
    steps = np.round(
        1000 * (1 + 2e5 / batch) * (1 + np.log(rate / best) ** 2) * np.exp(0.03 * generator.standard_normal(batch.size))
    )
    columns = {
        "tokens_per_step": batch,
        "steps": steps,
        "learning_rate": rate,
        "seed": seed,
        "censored": np.zeros(batch.size, bool),
    }
    return made(columns | {"steps_run": np.full(batch.size, np.nan)})


def test_a_tuned_sweep_of_too_many_runs_keeps_the_best_rates_and_the_fit():
    ours = many_runs(60)
    theirs = there_and_back(ours)
    assert len(ours.table) == 720 and len(theirs.table) == 4
    assert theirs.comments == (shared.MARKS["best rates"],)
    one, other = (measured.measurement(each, "a", "steps") for each in (ours, theirs))
    assert shared_same.same(one, other, verdict=False)


def test_several_sweeps_go_into_one_text_in_their_order():
    first = made({"tokens_per_step": [1024.0, 4096], "tokens_per_second": [10.0, 30]})
    second = read(DATA / "samples" / "throughput.csv")
    before, after = shared.from_text(shared.to_text([("before", first, ("a",)), ("after", second, ("beta",))]))
    assert (before.name, after.name, after.series) == ("before", "after", ("beta",))


def test_what_does_not_fit_is_refused_with_its_size_and_the_way_out():
    generator = np.random.default_rng(0)
    ours = made(
        {
            "tokens_per_step": generator.permutation(10_000)[:401] + 1000.0,
            "tokens_per_second": generator.uniform(1e3, 1e6, 401),
        }
    )
    with pytest.raises(shared.TooLarge, match="400 rows.*got 401: save a scenario file"):
        shared.to_text([("made", ours, ("a",))])
    ours = made(
        {
            "tokens_per_step": np.arange(399) * 99_991.0 + 1000,
            "tokens_per_second": generator.uniform(1e3, 1e6, 399),
        }
    )
    with pytest.raises(
        shared.TooLarge,
        match=r"at most 4,000 characters .* got \d,\d{3} in 399: show fewer series, or save a scenario file",
    ):
        shared.to_text([("made", ours, ("a",))])


def test_names_lose_what_is_invisible_and_stay_different():
    table = {"tokens_per_step": [1024.0, 4096], "tokens_per_second": [10.0, 30]}
    names = ["x\u202e\x00 y" + "z" * 90, "x y" + "z" * 99]
    found = shared.from_text(shared.to_text([(name, made(table), ("a",)) for name in names]))
    assert [one.name for one in found] == ["x y" + "z" * 77, "x y" + "z" * 73 + " (2)"]


FINITE = some.floats(min_value=0.5, max_value=2)


@settings(max_examples=40, deadline=None)
@given(some.data(), some.sampled_from(sweeps.QUANTITIES), some.integers(1, 7), some.integers(1, 4), some.booleans())
def test_any_small_sweep_comes_back_the_same(data, quantity, sizes, repeats, grid):
    batch = np.repeat(1000.0 * 2 ** np.arange(sizes), repeats)
    off = np.array(data.draw(some.lists(FINITE, min_size=len(batch), max_size=len(batch))))
    values = off * (1e5 * batch / (batch + 8000) if quantity == "tokens_per_second" else 500 * (1 + 2e4 / batch))
    columns = {"tokens_per_step": batch, quantity: np.round(values, -1 if grid else 3) + 10}
    for name, choices in (
        ("num_devices", [1.0, 8, np.nan]),
        ("learning_rate", [1e-3, 3e-4, np.nan]),
        ("micro_batch_size", [1.0, 2]),
        ("grad_accum_steps", [4.0, 2]),
    ):
        if data.draw(some.booleans()):
            columns[name] = data.draw(some.lists(some.sampled_from(choices), min_size=len(batch), max_size=len(batch)))
    if quantity == "steps" and data.draw(some.booleans()):
        lost = np.array(data.draw(some.lists(some.booleans(), min_size=len(batch), max_size=len(batch))))
        columns |= {
            "stopped_at": np.where(lost, columns["steps"], np.nan),
            "steps": np.where(lost, np.nan, columns["steps"]),
        }
    ours = made(columns)
    assert_same_measurements(ours, there_and_back(ours))


# --- what comes in is checked


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("A" * 4001, "be at most 4,000 characters, got 4001"),
        ("", "be base64url text"),
        ("eJx+", "be base64url text"),
        ("AAAA", "be compressed with zlib"),
        (packed(b"\0" * 10**6), "unpack to at most 65,536 bytes, got more"),
        (packed(record())[:40], "unpack to at most 65,536 bytes, got a part of it"),
        (packed(b"[" * 60_000), "hold JSON"),
        (packed(b"\xff\xfe"), "hold JSON"),
        (packed(b"[1, NaN]"), "hold JSON with finite numbers"),
        (packed(b"1" * 5000), "hold JSON"),
        (packed(b'[1,[{"name":"a","name":"b"}]]'), "hold JSON"),
        (packed({}), "hold a version and a list"),
        (packed([2, record()[1]]), "have version 1, got 2"),
        (packed([True, record()[1]]), "have version 1"),
        (packed([1, []]), "hold 1 to 8 sweeps, got 0"),
        (packed([1, record()[1] * 9]), "hold 1 to 8 sweeps, got 9"),
        (packed([1, record()[1] * 2]), "have sweeps of different names"),
        (packed(record(extra=1)), "have sweeps with"),
        (packed(record(unit="words")), "have a unit of tokens, sequences"),
        (packed(record(name="\x00\x1b")), "have names with letters"),
        (packed(record(series=[["a", 2]])), "have 2 values of tokens_per_step, got 3"),
        (packed(record(series=[["a", 2], ["a", 1]])), "have series of different names"),
        (packed(record(series=[["a", 401]])), "have rows as whole numbers from 1 to 400"),
        (packed(record(columns={"tokens_per_step": 5})), "have a rate, steps or a run"),
        (packed(record(columns={"tokens_per_step": 5, "steps": -1})), "have steps from 1e-12"),
        (packed(record(columns={"tokens_per_step": 5, "steps": 10**400})), "have steps from 1e-12"),
        (packed(record(columns={"tokens_per_step": 5, "steps": True})), "have steps from 1e-12"),
        (packed(record(columns={"tokens_per_step": None, "steps": 1})), "have a batch in every row"),
        (packed(record(columns={"tokens_per_step": 5, "steps": 1, "tokens_per_second": 3})), "have a rate, steps or a run"),
        (packed(record(columns={"tokens_per_step": 5, "steps": 1, "count": 1.5})), "have count as whole numbers"),
        (packed(record(columns={"tokens_per_step": 5, "steps": 1, "low": 2})), "have medians between low and high"),
        (packed(record(columns={"tokens_per_step": 5, "steps": 1, "censored": 0})), "have the learning rate of each run"),
        (packed(record(columns={"tokens_per_step": 5, "steps": 1, "price": 1})), "have the column tokens_per_step and others"),
    ],
    ids=range(33),
)  # fmt: skip
def test_another_text_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(SweepError, match=f"shared data must {sentence}") as error:
        shared.from_text(text)
    assert len(str(error.value)) < 250 and "\n" not in str(error.value)


def read_or_refused(text: str) -> None:
    """Whatever the text, a sweep that can be measured or a SweepError."""
    try:
        found = shared.from_text(text)
    except SweepError:
        return
    for sweep in found:
        for name in sweep.series:
            for quantity in sweeps.QUANTITIES:
                measured.measurement(sweep, name, quantity)


@settings(max_examples=200, deadline=None)
@given(some.text(max_size=60) | some.text("ABCabc019-_", max_size=200) | some.binary(max_size=200).map(packed))
def test_random_text_never_raises_anything_else(text):
    read_or_refused(text)


@settings(max_examples=200, deadline=None)
@given(some.integers(0, 10_000), some.integers(0, 63), some.booleans())
def test_truncated_and_changed_texts_never_raise_anything_else(place, letter, cut):
    good = packed(record())
    at = place % len(good)
    other = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[letter]
    read_or_refused(good[:at] if cut else good[:at] + other + good[at + 1 :])


LEAVES = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5) | some.just("inf")
CELLS = some.none() | some.integers(0, 5) | some.floats(1e-12, 1e18) | some.sampled_from([1e-12, 1e18, 1, 2, "inf"])


@settings(max_examples=300, deadline=None)
@given(
    some.dictionaries(
        some.sampled_from(shared_checks.COLUMNS), some.lists(CELLS, min_size=3, max_size=3) | CELLS | LEAVES
    ),
    some.booleans(),
)
def test_valid_texts_of_wrong_content_never_raise_anything_else(columns, alone):
    good = {} if alone else {"tokens_per_step": [1, 1e6, 1e18], "steps": [1e18, 1, 1e-12]}
    try:
        text = packed(record(columns=good | columns))
    except ValueError:
        return
    read_or_refused(text)


@settings(max_examples=200, deadline=None)
@given(
    some.recursive(
        LEAVES,
        lambda inner: (
            some.lists(inner, max_size=3)
            | some.dictionaries(some.sampled_from([*shared_checks.KEYS, "x"]), inner, max_size=6)
        ),
    )
)
def test_json_of_any_shape_never_raises_anything_else(value):
    read_or_refused(packed(value))
    read_or_refused(packed([1, value]))
    read_or_refused(packed([1, [value]]))
    read_or_refused(packed(record(series=value)))
    read_or_refused(packed(record(name=value)))


def test_names_of_a_text_are_cut_and_stripped():
    (found,) = shared.from_text(packed(record(name="\x1b[31mred\x07" + "x" * 100, series=[["a\u202e\ud800b", 3]])))
    assert found.name == ("[31mred" + "x" * 100)[:80] and found.series == ("ab",)
