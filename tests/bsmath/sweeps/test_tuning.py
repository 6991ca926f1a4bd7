"""Sweeps over batch and learning rate: the best rate of each batch, and runs that never arrive."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bsmath import hyperbola_fit, measured, sweeps
from bsmath.sweeps.tuning import BEST, EACH

ROOT = Path(__file__).parents[3]
GRID = ROOT.parent / "shared" / "data" / "1_hyperbola" / "lenardst_lr_batch_grid"
BATCHES, RATES = (4096, 16_384, 65_536, 262_144), (1e-3, 2e-3, 4e-3, 8e-3)
HEADER = "batch_tokens,lr,seed,steps_to_target"
CAP, GONE = 1200, 6
"""Steps that every run is given in some of the tests, and the runs of `rows` that need more: two rates at 4096, three seeds."""


def needed(batch, rate, seed=0):
    """Steps on the hyperbola S = 100 (1 + 30000/B) at the best rate 1e-3 sqrt(B/4096), a quarter more per factor of two off."""
    octaves = abs(np.log2(rate / (1e-3 * (batch / 4096) ** 0.5)))
    return 100 * (1 + 30_000 / batch) * (1 + octaves / 4) * (1 + 0.01 * seed)


def rows(seeds=3, cell="{:.1f}".format):
    return [[b, r, s, cell(needed(b, r, s))] for s in range(seeds) for b in BATCHES for r in RATES]


def read(table, header=HEADER, **answers):
    text = "\n".join([header, *(",".join(map(str, row)) for row in table)])
    return sweeps.read(text.encode(), "x.csv", answers)


def lost(text):
    """The same runs, with a text in place of the result of those that need more steps than they were given."""
    return [[*row[:3], text if float(row[3]) > CAP else row[3]] for row in rows()]


def points(sweep, series="all rows"):
    return sweeps.aggregate(sweep, series, "steps")


def keys(sweep):
    return [question.key for question in sweep.questions]


def test_the_hyperbola_is_fitted_at_the_best_rate_of_each_batch():
    sweep = read(rows())
    best = sweeps.best_rates(sweep, "all rows")
    assert best["learning_rate"].tolist() == list(RATES)
    assert best["at_edge"].tolist() == ["lowest", "", "", "highest"]
    assert_allclose(points(sweep)["median"], [needed(b, r, 1) for b, r in zip(BATCHES, RATES, strict=True)], rtol=1e-3)
    fit = measured.measurement(sweep, "all rows", "steps").fit
    assert_allclose([fit.critical_batch_size, fit.min_steps], [30_000, 101], rtol=1e-3)


def test_a_grid_of_rates_is_asked_about_with_the_best_as_default():
    (question,) = read(rows()).questions
    assert (question.key, question.choices, question.default) == ("tuning", (BEST, EACH), BEST)
    assert not read(rows(), tuning=BEST).questions


def test_each_rate_by_itself_is_a_series_without_a_best_one():
    sweep = read(lost("nan"), tuning=EACH)
    assert sweep.series == tuple(f"lr {rate:g}" for rate in RATES) and sweep.tuning is None
    assert sweeps.best_rates(sweep, "lr 0.001") is None
    assert all(problem.action == "row left out" for problem in sweep.problems)
    for rate in RATES:
        kept = [batch for batch in BATCHES if needed(batch, rate) <= CAP]
        found = points(sweep, f"lr {rate:g}")
        assert found["tokens_per_step"].tolist() == kept
        assert_allclose(found["median"], [needed(batch, rate, 1) for batch in kept], rtol=1e-3)


@pytest.mark.parametrize(
    "table, header",
    [
        ([[r, 9] for r in (1, 2, 3)], "batch_tokens,tok/s"),
        ([[b, r, 9] for b in BATCHES for r in RATES], "batch_tokens,lr,tok/s"),
        ([[b, r, 9 * b] for b, r in zip(BATCHES, RATES, strict=True)], "batch_tokens,lr,steps_to_target"),
        ([[b, 1e-3, needed(b, 1e-3)] for b in BATCHES for _ in range(3)], "batch_tokens,lr,steps_to_target"),
        ([[m, b, r, 9] for m, r in zip("ab", RATES) for b in BATCHES], "model,batch_tokens,lr,steps_to_target"),
    ],
)
def test_nothing_is_asked_where_no_batch_of_a_series_has_several_rates(table, header):
    sweep = read(table, header)
    assert "tuning" not in keys(sweep) and sweep.tuning is None


def test_rates_that_each_batch_has_of_its_own_are_tuned_too():
    table = [[b, f * b**0.5, 0, needed(b, f * b**0.5)] for b in BATCHES for f in (1e-5, 1.5e-5, 3e-5)]
    assert sweeps.best_rates(read(table), "all rows")["rates"].tolist() == [3, 3, 3, 3]


def test_models_are_tuned_each_by_itself():
    table = [[m, *row[:3], factor * float(row[3])] for m, factor in (("a", 1), ("b", 2)) for row in rows()]
    sweep = read(table, f"model,{HEADER}")
    assert sweep.series == ("a", "b")
    assert_allclose(points(sweep, "b")["median"], 2 * points(sweep, "a")["median"])


@pytest.mark.parametrize(
    "header", ["tokens_per_step,learning_rate,seed,steps_to_goal", "Batch (tokens),Peak LR,trial,Iterations to target"]
    + ["batch_tokens,max_lr,repeat,steps", "batch_tokens,base_lr,rep,num_steps", "global_batch_tokens,lr,random_seed,steps"]
)  # fmt: skip
def test_other_names_of_the_columns_give_the_same(header):
    assert points(read(rows(), header)).equals(points(read(rows())))


def test_tokens_to_the_target_are_tuned_like_steps():
    table = [[*row[:3], row[0] * float(row[3])] for row in rows()]
    assert_allclose(points(read(table, "batch_tokens,lr,seed,tokens_to_target")), points(read(rows())))


def test_a_batch_in_sequences_is_named_in_sequences():
    table = [[row[0] // 512, *row[1:]] for row in lost("inf")]
    problem = read(table, "batch_seqs,lr,seed,steps_to_target").problems[0]
    assert "sequences per step" in problem.what


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(random):
    table = lost("inf")
    one, other = read(table), read(random.sample(table, len(table)))
    assert sweeps.best_rates(one, "all rows").equals(sweeps.best_rates(other, "all rows"))
    assert [problem.what for problem in one.problems] == [problem.what for problem in other.problems]


def test_a_run_without_a_rate_is_named():
    table = rows()
    table[5][1] = ""
    table[6][1] = "auto"
    sweep = read(table)
    assert len(sweep.table) == len(table) - 2
    assert [(problem.row, problem.column, problem.action) for problem in sweep.problems] == [
        (7, "lr", "steps ignored"),
        (8, "lr", "steps ignored"),
    ]


def test_rates_that_differ_by_rounding_are_one():
    table = [[b, f"{r * (1 + 1e-15 * s)!r}", s, steps] for b, r, s, steps in rows()]
    assert (sweeps.best_rates(read(table), "all rows")["rates"] == 4).all()


def test_the_verdict_says_that_the_rate_was_tuned_and_where_the_best_one_is_a_bound():
    verdict = measured.measurement(read(rows()), "all rows", "steps").verdict
    assert "best of those tried at each batch" in verdict
    assert (
        "Of 4 batches, at 1 the best rate is the largest tried and at 1 the best rate is the smallest tried" in verdict
    )
    assert "upper bounds" in verdict and "how sure" not in verdict
    assert "how sure" in measured.measurement(read(rows(seeds=1)), "all rows", "steps").verdict


def test_the_verdict_warns_of_one_rate_over_all_batches():
    held = [row for row in rows() if row[1] == 1e-3]
    assert "the learning rate is 0.001 at every batch" in measured.measurement(read(held), "all rows", "steps").verdict
    each = read(rows(), tuning=EACH)
    assert "no critical batch can be read" in measured.measurement(each, "lr 0.004", "steps").verdict
    no_rate = read([[b, needed(b, 1e-3)] for b in BATCHES], "batch_tokens,steps_to_target")
    assert "learning rate is" not in measured.measurement(no_rate, "all rows", "steps").verdict


@pytest.mark.parametrize(
    "path", sorted((ROOT / "data" / "measured").glob("convergence_*.csv")), ids=lambda path: path.name
)
def test_the_shipped_convergence_sweep_is_tuned_with_only_that_question(path):
    sweep = sweeps.read(path.read_bytes(), path.name)
    assert keys(sweep) == ["tuning"] and sweep.series == ("all rows",)
    assert len(sweep.tuning) == sum(not line.startswith(b"#") for line in path.read_bytes().splitlines()) - 1
    found = measured.measurement(sweep, "all rows", "steps")
    assert found.identified and found.worst_residual < 0.13  # the bar of the public sweeps with tuned rates
    assert found.tuning["learning_rate"].is_monotonic_increasing or (found.tuning["runner_up_ratio"] < 1.05).any()


@pytest.mark.skipif(not GRID.is_dir(), reason="the public data sets are not beside this checkout")
def test_a_public_grid_is_tuned_with_its_runs_that_never_arrive():
    table = []
    for path in sorted(GRID.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        reached = [one["step"] for one in records if (one.get("val_loss") or np.inf) <= 1.6 and one["step"]]
        rate = path.stem.split("-lr")[1].removesuffix("-327m")
        table.append([256 * records[0]["batch_size"], rate, reached[0] if reached else "", records[-1]["step"]])
    sweep = read(table, "batch_tokens,lr,steps_to_target,steps_run")
    best = sweeps.best_rates(sweep, "all rows").set_index("tokens_per_step")
    assert best["censored"].sum() == sum(row[2] == "" for row in table) > 0
    arrived = pd.DataFrame([row for row in table if row[2] != ""]).groupby(0)[2].min()
    assert_allclose(best["steps"].dropna(), arrived.astype(float))
    assert (
        hyperbola_fit.fit_hyperbola(points(sweep)["tokens_per_step"], points(sweep)["median"]).critical_batch_size > 0
    )
