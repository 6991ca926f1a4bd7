import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.testing import assert_allclose

from bsmath import measured, scenario_file, sweeps
from bsmath.link import VIEW_CHOICES, View
from bsmath.pins import Pin
from bsmath.scenario import CHOICES, FIELDS, FOLLOWERS, OPTIONAL, RANGES, WHOLE, Scenario
from bsmath.scenario_file import from_json, recognizes, to_json
from bsmath.sweeps import Column, Problem, Question, Sweep, SweepError
from tests.bsmath.test_shared import FILES, made, read

GOOD = to_json(
    Scenario(num_params=7e9),
    View(batch_unit="sequences"),
    [made({"tokens_per_step": [1024.0, 4096], "steps": [9.0, 7]})],
)

PINNED = (Pin(name="Small ~ batch", scenario=Scenario(micro_batch_size=8)), Pin(scenario=Scenario(num_params=7e9)))


def assert_same(ours: Sweep, theirs: Sweep) -> None:
    """Every value of a sweep, and its types but for how the names of series are stored."""
    for name in ("name", "batch_unit", "columns", "questions", "problems", "comments"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.series == theirs.series and list(ours.table["series"]) == list(theirs.table["series"])
    one, other = (each.table.drop(columns="series").reset_index(drop=True) for each in (ours, theirs))
    pd.testing.assert_frame_equal(one, other, check_exact=True, check_dtype=False)


def changed(**changes) -> bytes:
    """A good file with other values under its keys."""
    return json.dumps(json.loads(GOOD) | changes).encode()


def with_table(**columns) -> bytes:
    found = json.loads(GOOD)
    found["sweeps"][0]["table"] |= columns
    return json.dumps(found).encode()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_shipped_sweep_comes_back_whole(path):
    ours = read(path)
    if ours is None:
        pytest.skip("holds no sweep")
    saved = from_json(to_json(Scenario(), View(), [ours, ours]).encode(), "scenario.json")
    assert len(saved.sweeps) == 2 and saved.problems == ()
    assert_same(ours, saved.sweeps[1])


def test_every_field_is_written_so_that_no_later_default_changes_it():
    found = json.loads(GOOD)
    assert set(found["scenario"]) == set(FIELDS) and set(found["view"]) == set(VIEW_CHOICES)
    assert (found["format"], found["version"]) == ("batch-size scenario", 1)


def test_a_file_is_readable_a_field_or_a_column_a_line():
    lines = GOOD.splitlines()
    assert '  "num_params": 7000000000.0,' in lines
    assert any(line.strip().startswith('"tokens_per_step": [1024.0, 4096.0]') for line in lines)


def test_the_parts_come_back_in_order():
    scenario, view, loaded, problems = from_json(GOOD.encode(), "scenario.json")
    assert (scenario, view, len(loaded), problems) == (Scenario(num_params=7e9), View(batch_unit="sequences"), 1, [])


def test_it_is_told_from_other_json_by_its_format():
    assert (
        recognizes(GOOD[:200].encode())
        and recognizes(b"\xef\xbb\xbf" + GOOD.encode())
        and recognizes(GOOD.encode("utf-16"))
    )
    assert recognizes(json.dumps(json.loads(GOOD)).encode())
    for other in (b"", b"{", b"[1]", b'{"format": "x"}', b"batch-size scenario", b"\x80\x04batch", (GOOD[2:]).encode()):
        assert not recognizes(other)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_it_reads_in_the_encodings_of_editors(encoding):
    assert from_json(GOOD.replace("\n", "\r\n").encode(encoding), "x.json").scenario == Scenario(num_params=7e9)


def test_a_sweep_of_very_many_rows_is_written_as_its_medians():
    batch = np.repeat([1024.0, 4096, 16384], 20_000)
    ours = made({"tokens_per_step": batch, "tokens_per_second": batch / (0.1 + batch / 1e5)})
    (theirs,) = from_json(to_json(Scenario(), View(), [ours]).encode(), "x.json").sweeps
    assert len(theirs.table) == 3 and theirs.table["count"].tolist() == [20_000] * 3
    assert theirs.comments == (scenario_file.MEDIANS,)
    one, other = (measured.measurement(each, "a", "tokens_per_second") for each in (ours, theirs))
    assert_allclose([*one.fit.parameters.values()], [*other.fit.parameters.values()], rtol=1e-9)


def test_what_is_too_large_even_so_is_refused_with_its_size():
    batch = np.arange(60_000) + 0.123456789
    with pytest.raises(SweepError, match="scenario file must be at most 5 MB, got"):
        to_json(
            Scenario(),
            View(),
            [made({"tokens_per_step": batch + 1, "tokens_per_second": batch + 1 / 3, "num_devices": batch / 7 + 1})]
            * 2,
        )


def test_texts_of_any_length_are_cut_so_that_the_file_can_be_read():
    ours = made(
        {"tokens_per_step": [1024.0, 4096], "steps": [9.0, 7], "resolution": [0.0, 2.0]}, headers=("x" * 5000,) * 11_000
    )
    with pytest.raises(SweepError, match="at most 5 MB"):
        to_json(Scenario(), View(), [ours])
    ours = made({"tokens_per_step": [1024.0, 4096], "steps": [9.0, 7], "resolution": [0.0, 2.0]}, headers=("x" * 5000,))
    (theirs,) = from_json(to_json(Scenario(), View(), [ours]).encode(), "x.json").sweeps
    assert theirs.columns[0].header == "x" * 2000 and theirs.table["resolution"].tolist()[1] == 2


def numbers(name: str):
    low, high = RANGES[name]
    return some.integers(int(max(low, 1)), int(min(high, 1e6))) if name in WHOLE else some.floats(low, high)


@settings(max_examples=60, deadline=None)
@given(some.data())
def test_scenario_view_and_sweeps_come_back_the_same(data):
    names = data.draw(
        some.lists(
            some.sampled_from([name for name in RANGES if name not in ("active_params", "top_k")]),
            unique=True,
            max_size=8,
        )
    )
    values = {
        name: data.draw(numbers(name) | (some.none() if name in OPTIONAL + tuple(FOLLOWERS) else some.nothing()))
        for name in names
    }
    values |= {name: data.draw(some.sampled_from(known)) for name, known in CHOICES.items()}
    values |= {"num_experts": values.get("num_experts", 64), "top_k": 1}
    scenario = Scenario(**values)
    view = View(**{name: data.draw(some.sampled_from(known)) for name, known in VIEW_CHOICES.items()})
    loaded = data.draw(some.lists(tables(), max_size=2))
    saved = from_json(to_json(scenario, view, loaded).encode(), "scenario.json")
    assert (saved.scenario, saved.view, saved.problems) == (scenario, view, ())
    for ours, theirs in zip(loaded, saved.sweeps, strict=True):
        assert_same(ours, theirs)


WORDS = some.text(some.characters(exclude_categories=["Cs"]), max_size=20)
POSITIVE = some.floats(5e-324, 1.7e308) | some.sampled_from([0.1, 1 / 3, 2.0**53])


@some.composite
def tables(draw):
    """A sweep of any numbers and words."""
    rows = draw(some.integers(1, 5))
    column = some.lists(POSITIVE, min_size=rows, max_size=rows)
    gaps = some.lists(POSITIVE | some.just(np.nan), min_size=rows, max_size=rows)
    table = {"row": draw(some.lists(some.integers(1, 2**40), min_size=rows, max_size=rows))}
    table |= {
        "series": draw(some.lists(WORDS.filter(bool), min_size=rows, max_size=rows)),
        "tokens_per_step": draw(column),
    }
    table |= {name: draw(gaps) for name in ("tokens_per_second", "step_time", "steps")}
    if draw(some.booleans()):
        ends = some.lists(POSITIVE | some.sampled_from([np.nan, np.inf]), min_size=rows, max_size=rows)
        table |= {
            "learning_rate": draw(column),
            "censored": draw(some.lists(some.booleans(), min_size=rows, max_size=rows)),
        }
        table |= {"steps_run": draw(ends), "seed": draw(some.lists(some.integers(0, 9), min_size=rows, max_size=rows))}
    texts = {
        "header": draw(WORDS),
        "unit": draw(WORDS),
        "note": draw(WORDS),
        "first_values": tuple(draw(some.lists(WORDS, max_size=2))),
    }
    question = Question(key="seq_len", text=draw(WORDS), choices=("a",), default=draw(some.none() | WORDS))
    problem = Problem(
        row=draw(some.none() | some.integers(0, 10**6)), column=draw(some.none() | WORDS), what=draw(WORDS), action=""
    )
    return Sweep(
        name=draw(WORDS.filter(bool)),
        table=pd.DataFrame(table),
        batch_unit=draw(some.sampled_from(["tokens", "sequences"])),
        columns=(Column(meaning=draw(some.none() | WORDS), **texts),),
        questions=(question,),
        problems=(problem,),
        comments=tuple(draw(some.lists(WORDS, max_size=2))),
    )


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"scenario": {"num_params": "many"}}, "num_params must be a number, got 'many'; its default is used"),
        ({"scenario": {"num_params": 1}}, r"num_params must be from 100000 to 1e\+13, got 1; its default is used"),
        ({"scenario": {"seq_len": 2048.5}}, "seq_len must be a whole number, got 2048.5"),
        ({"scenario": {"mfu": 10**400}}, "mfu must be a number of at most 19 digits, got more"),
        ({"scenario": {"mfu": [0.5]}}, r"mfu must be a number, got \[0.5\]"),
        ({"scenario": {"goal": 7}}, "goal must be a word, got 7"),
        ({"scenario": {"goal": {"a": 1}}}, "goal must be a word, got"),
        ({"scenario": {"accelerator": "x" * 500}}, "accelerator must be one of"),
        ({"scenario": {"batch_sizes": 5}}, "Unknown field 'batch_sizes' was left out"),
        ({"scenario": {"num_params": 1e9, "active_params": 2e9}}, "active_params must be at most num_params"),
        ({"view": {"batch_unit": "bytes"}}, "batch_unit must be one of tokens, sequences, got 'bytes'"),
        ({"view": {"batch_unit": 3}}, "batch_unit must be a word, got 3"),
        ({"view": {"zoom": 3}}, "Unknown view switch 'zoom' was left out"),
        ({"author": "me"}, "unknown key 'author' was left out"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_and_the_rest_is_kept(change, sentence):
    saved = from_json(changed(**change), "scenario.json")
    assert len(saved.problems) == 1 and len(saved.problems[0]) < 260 and len(saved.sweeps) == 1
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(saved.problems[0])


def test_many_unknown_keys_are_counted():
    saved = from_json(changed(scenario={f"x{i}": 1 for i in range(500)}), "x.json")
    assert len(saved.problems) == 11 and "490 more values could not be used" in saved.problems[-1]


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"", "got an empty file"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b'{"format": NaN}', "must be JSON with finite numbers, got 'NaN is not finite'"),
        (b"1" * 10_000, "must be JSON with finite numbers"),
        (GOOD[:-10].encode(), "must be JSON with finite numbers"),
        (b"[1]", "must be a scenario file with format"),
        (changed(version=2), "must have version 1, got 2"),
        (changed(version=True), "must have version 1, got True"),
        (changed(scenario=[1]), "must have scenario as named values"),
        (changed(view="x"), "must have view as named values"),
        (changed(sweeps={}), "must have sweeps as a list"),
        (changed(pins={}), "must have pins as a list"),
        (changed(sweeps=[{}] * 65), "must hold at most 64 sweeps, got 65"),
        (changed(sweeps=[{}]), "must have sweeps with name"),
        (with_table(steps=[1.0]), "must have table columns of one length"),
        (with_table(steps=[1.0, -2]), "must have positive finite numbers in steps, got -2"),
        (with_table(steps=[1.0, 10**400]), "must have positive finite numbers in steps"),
        (with_table(steps=[1.0, "7"]), "must have positive finite numbers in steps, got '7'"),
        (with_table(tokens_per_step=[1.0, None]), "must have a batch in every row"),
        (with_table(series=["a", ""]), "must have a series in each row"),
        (with_table(row=[1, 2**60]), "must have whole numbers of rows"),
        (with_table(price=[1, 2]), "must have a table with row"),
        (with_table(censored=[True, False]), "must have the learning rate of each run"),
        (with_table(censored=[1, 0], learning_rate=[1, 1]), "must have censored as true or false"),
        (b" " * 5_000_001, "must be at most 5 MB, got 5"),
    ],
    ids=range(26),
)
def test_what_is_no_scenario_file_is_refused_in_one_sentence(data, sentence):
    with pytest.raises(SweepError, match=sentence) as error:
        from_json(data, "scenario.json")
    assert (
        str(error.value).startswith("scenario.json must")
        and len(str(error.value)) < 300
        and "\n" not in str(error.value)
    )


def read_or_refused(data: bytes) -> None:
    """Whatever the bytes, a scenario with sweeps that can be measured, or a SweepError."""
    try:
        saved = from_json(data, "x.json")
    except SweepError:
        return
    for sweep in saved.sweeps:
        for name in sweep.series:
            for quantity in sweeps.QUANTITIES:
                measured.measurement(sweep, name, quantity)


@settings(max_examples=300, deadline=None)
@given(some.binary(max_size=100), some.integers(0, len(GOOD)), some.integers(0, 60))
def test_damaged_files_never_raise_anything_else(patch, at, lost):
    good = GOOD.encode()
    read_or_refused(patch)
    read_or_refused(good[:at])
    read_or_refused(good[:at] + patch[:4] + good[at + lost :])


def test_pins_come_back_with_all_their_fields_and_older_files_have_none():
    text = to_json(Scenario(), View(), (), PINNED)
    saved = from_json(text.encode(), "x.json")
    assert (saved.pins, saved.problems) == (PINNED, ()) and set(json.loads(text)["pins"][0]["scenario"]) == set(FIELDS)
    assert "pins" not in json.loads(GOOD) and from_json(GOOD.encode(), "x.json").pins == ()


@pytest.mark.parametrize(
    "records, kept, sentence",
    [
        ([7], 0, "pin 1 must have a name and a scenario; it was left out."),
        ([{"name": "a"}], 0, "pin 1 must have a name and a scenario"),
        ([{"name": 7, "scenario": {}}], 0, "pin 1 must have a name and a scenario"),
        ([{"name": "a", "scenario": {"mfu": 7}}], 1, "pin 1: mfu must be from 0.01 to 1, got 7; its default is used."),
        (
            [{"name": "x" * 61, "scenario": {}}],
            1,
            "pin 1: name must have at most 60 characters, got 61; the rest was cut.",
        ),
        ([{"name": "a", "scenario": {}}] * 6, 4, "pins must be at most 4, got 6; the first 4 are kept."),
    ],
)
def test_a_pin_that_cannot_be_used_is_named_and_the_rest_is_kept(records, kept, sentence):
    saved = from_json(changed(pins=records), "x.json")
    assert len(saved.pins) == kept and len(saved.problems) == 1 and sentence in saved.problems[0]
    assert saved.scenario == Scenario(num_params=7e9)


LEAVES = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(max_size=5)
    | some.just("inf")
)
PATHS = (
    [(key,) for key in json.loads(GOOD)]
    + [("scenario", name) for name in FIELDS]
    + [("view", name) for name in VIEW_CHOICES]
    + [("pins",), ("pins", 1), ("pins", 1, "name"), ("pins", 1, "scenario")]
    + [("pins", 0, "scenario", name) for name in FIELDS]
)
PATHS += [("sweeps", 0, key) for key in json.loads(GOOD)["sweeps"][0]]
PATHS += [
    ("sweeps", 0, "table", key)
    for key in (*json.loads(GOOD)["sweeps"][0]["table"], "seed", "steps_run", "count", "learning_rate", "low")
]
PATHS += [("sweeps", 0, "columns", 0, key) for key in ("header", "meaning", "first_values")]


@settings(max_examples=400, deadline=None)
@given(
    some.sampled_from(PATHS),
    LEAVES | some.lists(LEAVES, min_size=2, max_size=2) | some.dictionaries(some.text(max_size=3), LEAVES, max_size=2),
)
def test_wrong_values_anywhere_never_raise_anything_else(path, value):
    found = json.loads(GOOD) | {"pins": [{"name": "a", "scenario": {}}, {"name": "b", "scenario": {}}]}
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    read_or_refused(json.dumps(found).encode())
