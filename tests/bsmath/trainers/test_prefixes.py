"""What launchers write in front of lines is taken away, and nothing else."""

from pathlib import Path

import pandas as pd
import pytest

from bsmath import trainers
from bsmath.trainers import prefixes

SAMPLES = sorted((Path(__file__).parents[3] / "data/samples/logs").glob("*.log"))
WRITTEN = (
    "0: ",
    "[1,0]<stdout>: ",
    "(train_fn pid=4211, ip=10.0.0.3) ",
    "(pid=45601) ",
    "trainer-1  | ",
    "[pod/train-0/main] ",
    "[rank0]: ",
    "[default0]:",
    "[trainer12]:",
    "2026-11-03T10:12:01.123456789Z ",
    "2026-11-03T10:12:01+01:00 3: ",
)


@pytest.mark.parametrize("prefix", WRITTEN)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_log_reads_the_same_behind_a_prefix(path, prefix):
    text = path.read_text()
    kind, data = trainers.find(text.encode())
    behind, bare = trainers.find("".join(prefix + line for line in text.splitlines(keepends=True)).encode())
    assert behind == kind
    ours, theirs = (trainers.read(each, "x.log", kind) for each in (data, bare))
    pd.testing.assert_frame_equal(theirs.frame, ours.frame)
    assert theirs.comments == ours.comments and list(theirs.rows) == list(ours.rows)


def test_what_only_some_lines_begin_with_is_no_prefix():
    assert prefixes.form("0: a\n1: b\nc\nd\n") is None
    assert prefixes.form("0: a\n1: b\n\n12: c\n") == prefixes.FORMS[0]
    assert prefixes.form("") is None and prefixes.form("0: a") is None


def test_the_steps_of_a_log_are_no_prefix():
    text = "".join(f"{step}: train {9 - step} val 8\n" for step in range(1, 6))
    assert trainers.find(text.encode()) == (None, text.encode())
