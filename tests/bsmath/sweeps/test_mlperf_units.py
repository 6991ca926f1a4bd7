"""What the results of MLPerf reference points count. All numbers are synthetic, in the layout of the published files."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import sweeps
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.sweeps import mlperf_units

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


@pytest.mark.parametrize(
    "unit, per_step, benchmark",
    [
        ("epochs", lambda size: size / 1_281_167, "resnet"),
        ("samples", lambda size: size, "made_up"),
        ("tokens", lambda size: size * 2048, "gpt3"),
        ("steps", lambda size: 1, "made_up"),
    ],
)
def test_each_unit_gives_the_same_steps(unit, per_step, benchmark):
    scale = 1000 if unit == "tokens" else 1  # MLPerf's token counts begin at 1e9
    sweep = read(hyperbola(lambda size: scale * per_step(size), benchmark))
    assert next(column.unit for column in sweep.columns if column.header == KEY) == unit
    assert_allclose(fitted(sweep), (KNEE, LEAST * scale), rtol=1e-6)
    assert len(sweep.table) == 3 * len(SIZES) and sweep.batch_unit == "sequences"


def test_a_unit_that_only_its_size_shows_is_asked_and_the_answer_is_taken():
    entries = hyperbola(lambda size: size)
    assert asked(read(entries))["target_unit"] == "samples"
    question = next(each for each in read(entries).questions if each.key == "target_unit")
    assert question.choices == ("epochs", "samples", "tokens", "steps")
    steps = read(entries, target_unit="steps")
    assert steps.table["steps"].iloc[0] == LEAST * (1 + KNEE / 128) * 128
    assert "target_unit" not in asked(steps)


@pytest.mark.parametrize("key, results", [("samples to converge", [2688, 3072]), (KEY, [0.75, 0.8])])
def test_a_unit_that_the_file_shows_is_not_asked(key, results):
    assert "target_unit" not in asked(read([entry(8, results, key, "rgat"), entry(16, results, key, "rgat")]))


@pytest.mark.parametrize(
    "sizes, results, unit",
    [
        ((8, 48), (12, 14), "epochs"),
        ((2, 32, 56), (2660, 2011, 2333), "epochs"),
        ((256, 512), (4608, 5120), "samples"),
        ((8, 16), (3072, 3456), "samples"),
        ((256, 8192), (2_600_000, 4_300_000), "samples"),
        ((1536, 8192), (1.16e9, 1.61e9), "tokens"),
        ((512, 1024, 2048), (5000, 2500, 2000), "steps"),
    ],
)
def test_the_likeliest_unit_follows_from_size_direction_and_whole_steps(sizes, results, unit):
    assert mlperf_units.likely(KEY, np.array(sizes, float), np.array(results, float))[0] == unit


def test_samples_per_epoch_of_a_known_data_set_are_named_and_can_be_corrected():
    entries = [entry(1000, [40], benchmark="resnet"), entry(2000, [50], benchmark="resnet")]
    sweep = read(entries)
    assert "samples_per_epoch" not in asked(sweep)
    assert any("1,281,167 samples (ImageNet)" in problem.what for problem in sweep.problems)
    assert_allclose(sweep.table["steps"], [40 * 1281.167, 50 * 1281.167 / 2])
    assert read(entries, samples_per_epoch=100_000).table["steps"].tolist() == [4000, 2500]


def test_samples_per_epoch_of_an_unknown_data_set_move_the_least_steps_and_not_the_critical_batch():
    entries = hyperbola(lambda size: size / 50_000)
    sweep = read(entries)
    assert asked(sweep)["samples_per_epoch"] == "1"
    assert_allclose(fitted(sweep), (KNEE, LEAST / 50_000), rtol=1e-6)
    assert_allclose(fitted(read(entries, samples_per_epoch=50_000)), (KNEE, LEAST), rtol=1e-6)


@pytest.mark.parametrize("epochs, samples", [([50, 65], 117_266), ([4, 14], 1_170_301)])
def test_ssd_is_one_name_of_two_data_sets_told_apart_by_their_epochs(epochs, samples):
    sweep = read([entry(1024, [epochs[0]], benchmark="ssd"), entry(4096, [epochs[1]], benchmark="ssd")])
    assert_allclose(sweep.table["steps"], np.array(epochs) * samples / [1024, 4096])


def test_tokens_of_unknown_length_keep_the_critical_batch_and_say_that_the_least_steps_are_too_many():
    entries = hyperbola(lambda size: 1e6 * size)
    sweep = read(entries)
    assert_allclose(fitted(sweep), (KNEE, LEAST * 1e6), rtol=1e-6)
    assert any("tokens of one sequence" in problem.what for problem in sweep.problems)
    answered = read(entries, seq_len=512)
    assert answered.batch_unit == "tokens"
    assert_allclose(fitted(answered), (KNEE * 512, LEAST * 1e6 / 512), rtol=1e-6)


def test_a_sequence_length_among_the_hyperparameters_is_used():
    rows = [entry(size, [size * 1000], "samples to converge") for size in (8, 16)]
    for row in rows:
        row["Hyperparams"]["max_sequence_length"] = 1024
    sweep = read(rows)
    assert sweep.table["tokens_per_step"].tolist() == [8192, 16_384] and sweep.table["steps"].tolist() == [1000, 1000]


def test_a_column_that_the_user_corrects_stays_corrected():
    sweep = read(hyperbola(lambda size: size), columns={KEY: "steps"})
    assert sweep.table["steps"].iloc[0] == LEAST * (1 + KNEE / 128) * 128


def test_a_table_with_the_same_headers_and_no_numbers_is_left_alone():
    with pytest.raises(sweeps.SweepError):
        sweeps.read(b"entry,BS,evaluation grid,Epochs to converge\na,x,1,2\nb,y,z,3\n", "f.csv")
