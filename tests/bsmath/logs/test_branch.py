"""The reader of branches: the harness's file, a bare table, rows that cannot be used."""

import numpy as np
import pandas as pd
import pytest

from bsmath import logs
from bsmath.logs import branch
from bsmath.sweeps import SweepError

HARNESS = """\
# command: python -m bsmath.bench branch
run,device,checkpoint_step,checkpoint_tokens,batch_factor,tokens_per_step,learning_rate,seed,tolerance,steps,loss
a,cpu,500,128000,1,256,0.002,0,0.03,256,2.0
a,cpu,500,128000,2,512,0.0028284,0,0.03,128,2.01
a,cpu,500,128000,4,1024,0.004,0,0.03,64,2.1
a,cpu,500,128000,1,256,0.002,1,0.03,256,2.1
a,cpu,500,128000,2,512,0.0028284,1,0.03,128,2.13
a,cpu,500,128000,4,1024,0.004,1,0.03,64,nan
"""


def frame(**changes) -> pd.DataFrame:
    table = {
        "checkpoint_step": [10] * 3,
        "batch_factor": [1, 2, 4],
        "tokens_per_step": [64, 128, 256],
        "loss": [3.0, 3.0, 3.2],
    }
    return pd.DataFrame(table | changes)


def test_the_harness_file_is_read_with_its_tolerance_and_its_comments():
    found = logs.read(HARNESS.encode(), "branch.csv")
    assert found.kind == "branch" and found.comments == ("command: python -m bsmath.bench branch",)
    record = found.record
    assert (record.name, record.tolerance, record.problems) == ("branch.csv", 0.03, ())
    (one,) = record.branches
    assert (one.label, one.low, one.high) == ("step 500, 128,000 tokens", 512, 1024)
    assert one.excess.tolist() == pytest.approx(
        [0, 0.02, np.inf]
    )  # a loss that is no number any more has not recovered
    assert len(record.table) == 6 and record.table["loss"].iloc[-1] == np.inf


def test_a_bare_table_takes_the_published_tolerance_and_counts_the_tokens_of_its_checkpoints():
    found = branch.read(frame(), "bare.csv")
    assert found.tolerance == 0.01 and "is assumed" in found.problems[0]
    assert found.branches[0].label == "step 10, 640 tokens" and found.branches[0].low == 128


def test_headers_are_read_in_any_case():
    assert branch.recognizes(["Checkpoint_Step", " batch_factor", "x"])
    assert branch.read(frame(tolerance=0.3).rename(columns=str.upper), "x.csv").branches[0].low == 256


@pytest.mark.parametrize("headers", [["batch_factor", "loss"], ["checkpoint_step", "loss"], ["batch", "tok/s"], []])
def test_other_tables_are_left_to_other_readers(headers):
    assert not branch.recognizes(headers)


def test_bad_rows_are_left_out_and_named():
    found = branch.read(frame(loss=["3.0", "oops", "3.005"], tolerance=0.03), "x.csv")
    assert found.problems == ("1 row is left out: loss must be a number, got 'oops' in row 2.",)
    assert found.branches[0].tokens_per_step.tolist() == [64, 256]


def test_sizes_that_cannot_be_are_left_out():
    found = branch.read(frame(tokens_per_step=[64, 0, 256], tolerance=0.5), "x.csv")
    assert "tokens_per_step must be a number above 0, got" in found.problems[0] and len(found.table) == 2


def test_a_branch_that_is_there_twice_counts_once():
    rows = pd.concat([frame(tolerance=0.01), frame(tolerance=0.01, loss=9.0).tail(1)], ignore_index=True)
    found = branch.read(rows, "x.csv")
    assert found.problems == ("1 row is left out: the same branch is there before.",)
    assert found.branches[0].excess.tolist() == pytest.approx([0, 0, 0.2])


def test_a_checkpoint_of_an_interrupted_measurement_is_named():
    rows = pd.concat([frame(tolerance=0.01), frame(tolerance=0.01, checkpoint_step=20).head(1)], ignore_index=True)
    found = branch.read(rows, "x.csv")
    assert len(found.branches) == 1 and "Checkpoint step 20 has no pair" in found.problems[0]


def test_tolerances_that_differ_are_a_problem():
    found = branch.read(frame(tolerance=[0.01, 0.01, 0.02]), "x.csv")
    assert found.tolerance == 0.01 and "Tolerances differ" in found.problems[0]


@pytest.mark.parametrize(
    "table, message",
    [
        (
            frame().drop(columns="loss"),
            "x.csv must have a column loss, got checkpoint_step, batch_factor, tokens_per_step",
        ),
        (frame(batch_factor=[2, 4, 8]), "x.csv must have branches with batch_factor 1 and a larger one"),
        (frame(loss=["a", "b", "c"]), r"got none \(3 rows are left out: loss must be a number, got 'a' in row 1"),
    ],
)
def test_a_file_without_a_pair_says_what_is_missing(table, message):
    with pytest.raises(SweepError, match=message):
        branch.read(table, "x.csv")


def test_a_loss_written_as_diverged_has_not_recovered():
    found = branch.read(frame(tolerance=0.5, loss=[3.0, 3.0, "diverged"]), "x.csv")
    assert (found.branches[0].low, found.branches[0].high) == (128, 256)


def test_nothing_is_compared_with_an_unchanged_branch_that_diverged():
    seeds = pd.concat(
        [frame(tolerance=0.5, seed=0, loss=["nan", 3.0, 3.0]), frame(tolerance=0.5, seed=1)], ignore_index=True
    )
    found = branch.read(seeds, "x.csv")
    assert (
        found.branches[0].excess.tolist() == pytest.approx([0, 0, 0.2]) and found.branches[0].seeds.tolist() == [1] * 3
    )
    assert found.problems[0].endswith("unchanged branch that diverged: 1 of 2 did.")
    with pytest.raises(SweepError, match="unchanged branch that diverged: 1 of 1 did"):
        branch.read(frame(loss=["nan", 3.0, 3.0]), "x.csv")


def test_a_smaller_batch_is_left_out_and_the_larger_ones_kept():
    found = branch.read(frame(tolerance=0.01, batch_factor=[0.5, 1, 2]), "x.csv")
    assert found.problems == ("1 row is left out: batch_factor must be a number from 1, got 0.5 in row 1.",)
    assert found.branches[0].tokens_per_step.tolist() == [128, 256]


@pytest.mark.parametrize("step, usable", [(0, True), (0.5, False), (-1, False), (1e300, False)])
def test_a_checkpoint_is_a_whole_step(step, usable):
    rows = pd.concat([frame(tolerance=0.01), frame(tolerance=0.01, checkpoint_step=step)], ignore_index=True)
    found = branch.read(rows, "x.csv")
    assert len(found.branches) == 1 + usable and bool(found.problems) is not usable


def test_seeds_may_have_names():
    seeds = pd.concat([frame(tolerance=0.01, seed=name) for name in "ab"], ignore_index=True)
    assert branch.read(seeds, "x.csv").branches[0].seeds.tolist() == [2, 2, 2]


def test_a_checkpoint_without_a_pair_is_named_with_its_run():
    rows = pd.concat(
        [frame(tolerance=0.01, run="a"), frame(tolerance=0.01, run="b").head(1)],
        ignore_index=True,
    )
    assert "Checkpoint step 10 of b has no pair" in branch.read(rows, "x.csv").problems[0]
