"""Our own files: the samples, the template, a long log."""

import io
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import hyperbola_fit, sweeps

SAMPLES = Path(__file__).parents[3] / "data" / "samples"


def read(name):
    return sweeps.read((SAMPLES / name).read_bytes(), name)


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SAMPLES.glob("*.*") if path.name not in ("README.md", "loss_curves.jsonl")),
    ids=lambda path: path.name,
)
def test_every_sample_reads_without_question_or_problem_and_says_that_it_is_synthetic(path):
    sweep = read(path.name)
    assert not sweep.questions and not sweep.problems and sweep.batch_unit == "tokens"
    assert "synthetic" in path.read_text().split("\n")[0]
    assert sweep.table.groupby("series")["tokens_per_step"].nunique().min() >= 5


def test_the_sample_of_steps_gives_back_its_critical_batch():
    points = sweeps.aggregate(read("steps_to_target.csv"), "all rows", "steps")
    fit = hyperbola_fit.fit_hyperbola(points["tokens_per_step"], points["median"])
    assert_allclose([fit.critical_batch_size, fit.min_steps], [1e6, 5e4], rtol=0.05)  # S = 5e4 (1 + 1e6 / B)


def test_the_sample_of_harness_lines_implies_2048_tokens_per_sequence():
    assert read("harness.log").table["tokens_per_step"].tolist() == [2048 * b for b in (2, 4, 8, 16, 32, 48)]


def test_the_template_reads_as_it_is():
    sweep = sweeps.read(sweeps.TEMPLATE.encode(), "template.csv")
    assert sweep.table["tokens_per_step"].tolist() == [262_144, 524_288]
    assert sweep.has_throughput and sweep.has_steps and not sweep.questions and not sweep.problems
    assert "synthetic" in sweep.comments[0]


def test_every_column_of_the_source_is_accounted_for():
    sweep = read("throughput.csv")
    assert [column.header for column in sweep.columns] == [
        "gpu",
        "batch_size",
        "seq_len",
        "step_time_ms",
        "tokens_per_s",
    ]
    assert all(column.note and len(column.first_values) == 3 for column in sweep.columns)
    assert (sweep.columns[3].meaning, sweep.columns[3].unit) == ("step_time", "ms")


def test_a_million_rows_are_read(capsys):
    generator = np.random.default_rng(0)
    batch = generator.choice([2**15, 2**16, 2**17, 2**18], 1_000_000)
    frame = pd.DataFrame({"run": "a", "batch_tokens": batch, "step_time_s": (0.05 + batch / 1.4e5).round(5)})
    data = frame.to_csv(index=False).encode()
    start = time.perf_counter()
    pd.read_csv(io.BytesIO(data))
    middle = time.perf_counter()
    sweep = sweeps.read(data, "long.csv")
    with capsys.disabled():
        print(f"\n1,000,000 rows: pandas {middle - start:.2f} s, bsmath.sweeps {time.perf_counter() - middle:.2f} s")
    assert len(sweep.table) == 1_000_000 and sweep.table["row"].iloc[-1] == 1_000_001
