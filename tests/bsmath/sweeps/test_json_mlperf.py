"""MLPerf reference points: seeds, rates, grids and broken entries. All numbers are synthetic, in the layout of the published files."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bsmath import sweeps
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.sweeps import json_mlperf

KEY = "Epochs to converge"
KNEE, LEAST = 1024, 300
SIZES = (128, 256, 512, 1024, 2048)


def entry(size, results, key=KEY, benchmark="made_up", rate=1e-3, **more):
    return {"Benchmark": benchmark, "BS": size, "Hyperparams": {"opt_base_learning_rate": rate}, key: results} | more


def document(entries):
    return {f"ref_{number}": each for number, each in enumerate(entries)}


def read(entries, **answers):
    value = entries if isinstance(entries, dict) else document(entries)
    return sweeps.read(json.dumps(value).encode(), "rcp.json", answers)


def hyperbola(per_step, benchmark="made_up", key=KEY, sizes=SIZES):
    """Entries on S = 300 (1 + 1024/BS) with three seeds, in a unit of which one step counts per_step(BS)."""
    counts = [(size, LEAST * (1 + KNEE / size) * per_step(size)) for size in sizes]
    return [entry(size, [count] * 3, key, benchmark, rate=size * 1e-6) for size, count in counts]


def asked(sweep):
    return {question.key: question.default for question in sweep.questions}


def fitted(sweep):
    points = sweeps.aggregate(sweep, "all rows", "steps")
    fit = fit_hyperbola(points["tokens_per_step"], points["median"])
    return fit.critical_batch_size, fit.min_steps


def test_a_ten_fold_typing_error_is_named_and_kept_and_does_not_move_the_median():
    entries = hyperbola(lambda size: size)
    good = fitted(read(entries))
    entries[2][KEY] = [entries[2][KEY][0]] * 4 + [entries[2][KEY][0] / 10]
    sweep = read(entries)
    named = [problem for problem in sweep.problems if "ref_2" in problem.what]
    assert len(named) == 1 and "10 times off" in named[0].what and named[0].row == 3
    assert len(sweep.table) == 3 * len(SIZES) + 2
    assert_allclose(fitted(sweep), good)


def test_the_resolution_is_the_divisor_of_the_results_in_steps():
    entries = [
        entry(100, [6000, 8000, 9000], "samples to converge"),
        entry(200, [16_000, 16_000], "samples to converge"),
    ]
    table = read(entries).table
    assert table["steps"].tolist() == [60, 80, 90, 80, 80]
    assert table["resolution"].tolist() == [10, 10, 10, 5, 5]  # 1000 samples; the second entry takes the first one's


@pytest.mark.parametrize(
    "entries, grids",
    [
        ([[0.65, 0.7, 0.75]], [0.05]),
        ([[34, 35, 37]], [1]),
        ([[40, 60, 60, 10_010]], [20]),  # the typing error aside
        ([[4608, 4608], [5120], [7168]], [512, 512, 512]),  # no entry shows it: the divisor of all
        ([[20, 40], [30, 60], [50]], [20, 30, 25]),
    ],
)
def test_the_grid_of_an_entry_is_its_divisor_else_that_of_the_others(entries, grids):
    assert_allclose(json_mlperf._grids([[float(each) for each in results] for results in entries]), grids)


def test_several_learning_rates_at_one_batch_are_tuned_and_different_ones_per_batch_are_one_series():
    assert read(hyperbola(lambda size: size)).series == ("all rows",)
    entries = hyperbola(lambda size: size)
    slow = [entry(each["BS"], [2 * result for result in each[KEY]], rate=1.0) for each in entries]
    sweep = read([each for pair in zip(entries, slow, strict=True) for each in pair])
    assert asked(sweep)["tuning"] == "best rate at each batch"
    best = sweeps.best_rates(sweep, "all rows")
    assert best["learning_rate"].tolist() == [size * 1e-6 for size in SIZES]
    assert_allclose(fitted(sweep), (KNEE, LEAST), rtol=1e-6)


def test_precisions_at_one_batch_are_series():
    fast = hyperbola(lambda size: size)
    entries = [each | {"Precision": name} for name in ("FP32", "BF16") for each in fast]
    assert read(entries).series == ("FP32", "BF16")


@pytest.mark.parametrize("key", ["opt_lr", "learning_rate", "base_lr", "opt_base_learning_rate"])
def test_the_base_learning_rate_is_found_under_its_usual_names(key):
    entries = [entry(8, [800]), entry(16, [900])]
    for each in entries:
        each["Hyperparams"] = {"opt_weight_decay": 0.1, "opt_end_learning_rate": 1e-9, key: "0.004"}
    assert read(entries).table["learning_rate"].tolist() == [0.004, 0.004]


@pytest.mark.parametrize(
    "broken, said",
    [
        ({"Benchmark": "made_up", "BS": 64}, "has no batch or no results"),
        ({"Benchmark": "made_up", KEY: [1, 2]}, "has no batch or no results"),
        (entry(64, []), "has no result that is a positive number"),
        (entry(64, None), "has no result that is a positive number"),
        (entry(64, "soon"), "has no result that is a positive number"),
        (entry(64, [[1, 2], [3]]), "has no result that is a positive number"),
        (entry(64, {"a": 1}), "has no result that is a positive number"),
        (entry(None, [1]), "has 'None' for its batch"),
        (entry(True, [1]), "has 'True' for its batch"),
        (entry([64], [1]), "has '[64]' for its batch"),
        (entry(-64, [1]), "has '-64' for its batch"),
        (entry(64, [1], benchmark="other"), "of other, others"),
        (entry(64, [1], key="steps to converge"), "has 'steps to converge'"),
        ([1, 2], "is no object"),
        (7, "is no object"),
        (None, "is no object"),
    ],
)
def test_a_broken_entry_is_left_out_under_its_name(broken, said):
    sweep = read(document(hyperbola(lambda size: size)) | {"bad one": broken})
    found = [problem for problem in sweep.problems if "'bad one'" in problem.what]
    assert len(found) == 1 and said in found[0].what and found[0].action == "entry left out" and found[0].row == 6
    assert_allclose(fitted(sweep), (KNEE, LEAST), rtol=1e-6)


def test_bad_seeds_are_left_out_and_counted_under_the_name_of_their_entry():
    bad = [None, "nan", "abc", [1], {"x": 1}, True, 0, -5, float("nan"), float("inf")]
    sweep = read([entry(100, ["8,000", 9000, *bad]), entry(200, [10_000.0])])
    assert sweep.table["steps"].tolist() == [80, 90, 50]
    assert sweep.problems[0].what.startswith("entry 'ref_0': 10 of 12 results are no positive numbers, such as 'None'")


def test_settings_of_any_type_are_no_error():
    entries = [entry(8, [800]), entry(16, [900]), entry(32, [990])]
    entries[0] |= {"Hyperparams": [1], "Benchmark": "made_up"}
    entries[1]["Hyperparams"] = {"opt_base_learning_rate": {"a": 1}, "lr": [0.1]}
    del entries[2]["Hyperparams"]
    sweep = read(entries)
    assert len(sweep.table) == 3 and "learning_rate" not in sweep.table


def test_a_single_number_is_one_seed_and_one_batch_is_imported():
    sweep = read([entry(64, 6400, "samples to converge")])
    assert sweep.table[["tokens_per_step", "steps"]].to_numpy().tolist() == [[64, 100]]


def test_no_usable_entry_is_refused_in_one_sentence():
    with pytest.raises(sweeps.SweepError) as error:
        read([entry(64, []), entry("x", [1])])
    expected = "rcp.json must have an entry with a batch and results, got none: entry 'ref_0' has no result that is a positive number"
    assert str(error.value) == expected


VALUES = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        3,
        8,
        2.5,
        1e308,
        10**400,
        "x",
        "8",
        "1e9",
        "nan",
        [],
        [1, 2],
        [[1]],
        {},
        {"lr": 1},
        [1e-300, 1e300],
        [None],
    ]
)
ENTRIES = st.dictionaries(
    st.sampled_from(["BS", KEY, "samples to converge", "Benchmark", "Hyperparams", "Precision"]), VALUES
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.one_of(VALUES, ENTRIES), max_size=4))
def test_whatever_stands_in_an_entry_gives_a_sweep_or_one_sentence(value):
    try:
        found = read({"a": entry(8, [800, 900])} | value).table
    except sweeps.SweepError:
        return
    assert np.isfinite(found["steps"]).all()
