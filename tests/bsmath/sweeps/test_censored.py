"""Runs of a sweep over batch and learning rate that never arrive: kept as such, not dropped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsmath import measured, sweeps
from bsmath.sweeps.tuning import EACH

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


NEVER = [
    "",
    "inf",
    "-inf",
    "nan",
    "NaN",
    "OOM",
    "did not converge",
    "N/A",
    "-",
    "diverged",
    "0",
    "-1",
    "None",
    "> 1200",
]


@pytest.mark.parametrize("text", [*NEVER, ">=1200", "1.2k+", "not reached"])
def test_runs_that_never_arrive_are_kept_as_such(text):
    sweep = read(lost(text))
    assert len(sweep.table) == len(rows()) and sweep.table["censored"].sum() == GONE
    assert sweep.table["steps"].isna().sum() == GONE
    (problem,) = sweep.problems
    assert problem.what.startswith(f"{GONE} of {len(rows())} runs did not arrive ({GONE} at 4,096 tokens per step)")
    assert "more steps than any run that arrived" in problem.action
    assert sweep.table["steps_run"].dropna().unique().tolist() == ([CAP] if text[:1] in (">", "1") else [])


@pytest.mark.filterwarnings("ignore:overflow")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["256", "512", "1024", "", "x"]),
            st.sampled_from(["1e-3", "2e-3", "0.002", "", "0", "auto"]),
            st.sampled_from(["0", "1", "2", ""]),
            st.sampled_from(["100", "200", "1e308", "12x", *NEVER]),
            st.sampled_from(["reached", "not reached", "diverged", "running", "", "nan"]),
            st.sampled_from(["50", "400", "inf", "", "OOM"]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([{}, {"tuning": EACH}, {"series_columns": ("lr",)}, {"series_columns": ("seed",)}]),
)
def test_whatever_stands_in_the_cells_gives_a_sweep_or_one_sentence(table, answers):
    try:
        sweep = read(table, f"{HEADER},outcome,steps_run", **answers)
    except sweeps.SweepError:
        return
    for series in sweep.series:
        found = points(sweep, series)
        assert (found["count"] > 0).all() and np.isfinite(found["median"]).all()
        assert measured.measurement(sweep, series, "steps").verdict
    if sweep.tuning is not None:
        assert (sweep.tuning["censored"] == sweep.tuning["steps"].isna()).all()
        assert (sweep.tuning["learning_rate"] > 0).all()


@pytest.mark.parametrize("text", ["12x4", "5..", "1.2.3"])
def test_a_number_that_cannot_be_read_is_no_run_that_did_not_arrive(text):
    table = rows()
    table[1][3] = text
    sweep = read(table)
    assert len(sweep.table) == len(table) - 1
    assert [(problem.row, problem.action) for problem in sweep.problems] == [(3, "row left out")]


def test_a_lucky_seed_does_not_make_its_rate_the_best():
    table = rows()
    for row in table:
        if row[:2] == [65_536, 2e-3]:
            row[3] = 1 if row[2] == 0 else "nan"
    found = sweeps.best_rates(read(table), "all rows").set_index("tokens_per_step").loc[65_536]
    assert (found["learning_rate"], found["censored"]) == (4e-3, 2)


def test_a_batch_where_no_rate_arrives_is_named_and_left_out_of_the_fit():
    table = [[*row[:3], "inf" if row[0] == 4096 else row[3]] for row in rows()]
    sweep = read(table)
    assert points(sweep)["tokens_per_step"].tolist() == list(BATCHES[1:])
    assert len(measured.measurement(sweep, "all rows", "steps").tuning) == 4
    said = [(problem.what, problem.action) for problem in sweep.problems]
    rule = "at 4,096 tokens per step no learning rate brought more than half of its runs to the target"
    assert (rule, "left out of the fit") in said


def test_a_file_in_which_nothing_arrives_is_refused():
    with pytest.raises(sweeps.SweepError, match="must have a positive number in column 'steps_to_target'"):
        read([[*row[:3], "inf"] for row in rows()])


def outcomes(word, cell=""):
    return [[*row[:3], *((cell, word) if float(row[3]) > CAP else (row[3], "reached"))] for row in rows()]


@pytest.mark.parametrize(
    "word", ["not reached", "NOT_REACHED", "diverged", "False", "failed", "max_steps", "0", "timed out"]
)
def test_an_outcome_tells_a_run_that_did_not_arrive_from_its_last_step(word):
    sweep = read(outcomes(word, CAP), f"{HEADER},outcome")
    gone = sweep.table[sweep.table["censored"]]
    assert len(gone) == GONE and sweep.series == ("all rows",)
    assert (gone["steps_run"] == (np.inf if word == "diverged" else CAP)).all() and gone["steps"].isna().all()


@pytest.mark.parametrize("yes, no", [("True", "False"), ("1", "0"), ("1.0", "0.0"), ("yes", "no")])
def test_a_flag_of_arrival_is_an_outcome(yes, no):
    table = [[*row[:4], yes if row[4] == "reached" else no] for row in outcomes("", CAP)]
    sweep = read(table, f"{HEADER},reached")
    assert sweep.table["censored"].sum() == GONE


@pytest.mark.parametrize("word", ["", "running", "pending", "queued"])
def test_a_run_that_has_not_ended_is_left_out_and_not_counted_as_one_that_did_not_arrive(word):
    sweep = read(outcomes(word), f"{HEADER},outcome")
    assert not sweep.table["censored"].any()
    assert {problem.what for problem in sweep.problems} == {"the row has no result"}


def test_the_steps_that_a_run_was_given_are_kept_for_those_that_did_not_arrive():
    table = [[*row[:4], CAP if row[3] == "" else row[3]] for row in lost("")]
    sweep = read(table, f"{HEADER},steps_run")
    assert sweep.table.loc[sweep.table["censored"], "steps_run"].tolist() == [CAP] * GONE
    assert sweep.table.loc[~sweep.table["censored"], "steps_run"].isna().all()


def test_an_empty_cell_beside_a_measured_throughput_is_no_run_to_a_target():
    table = [[*row, 1000] for row in lost("")]
    sweep = read(table, f"{HEADER},tok/s")
    assert not sweep.table["censored"].any() and len(sweep.table) == len(table)
    assert sweeps.aggregate(sweep, "all rows", "tokens_per_second")["count"].sum() == len(table)


def test_a_text_column_that_only_says_how_runs_ended_is_no_series():
    table = [[*row, "cap" if row[3] == "" else "goal"] for row in lost("")]
    sweep = read(table, f"{HEADER},ending")
    assert sweep.series == ("all rows",) and sweep.table["censored"].any()
