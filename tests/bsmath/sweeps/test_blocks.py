"""Large tables, read in blocks, give what small ones give."""

import numpy as np
import pandas as pd
import pytest

from bsmath.sweeps import blocks, delimited

ROWS = 60_000


class Stopped(Exception):
    """What a progress may raise."""


def table(cell=str, header="run,batch_tokens,tok/s,note"):
    rows = [f"r{i % 3},{2 ** (15 + i % 4)},{cell(i)},{'' if i % 2 else 'x'}" for i in range(ROWS)]
    return ("\n".join([header, *rows]) + "\n").encode()


def small(data, monkeypatch):
    """The same file as it is read where it is small."""
    monkeypatch.setattr(blocks, "LEAST", 10**12)
    return delimited.read(data, "x.csv")


def same(one, other):
    assert one.rows.tolist() == other.rows.tolist() and one.problems == other.problems
    assert list(one.frame) == list(other.frame)
    for header in one.frame:
        left, right = one.frame[header], other.frame[header]
        if pd.api.types.is_numeric_dtype(right.dtype):
            np.testing.assert_allclose(left.to_numpy(float), right.to_numpy(float), rtol=1e-14)
            assert left.dtype.kind == right.dtype.kind
        else:
            assert (
                left.astype(object).where(left.notna(), None).tolist()
                == right.astype(object).where(right.notna(), None).tolist()
            )


@pytest.mark.parametrize(
    "cell",
    [
        str,
        lambda i: f"{i / 7:.4f}",
        lambda i: i if i < 50_000 else i + 0.5,  # whole numbers until late in the file
        lambda i: "" if i < 50_000 else i,
        lambda i: "" if i < 50_000 else f"t{i % 5}",
        lambda i: "OOM" if i == 59_000 else f"{i}.50",  # text late in the file: the cells before keep their zeros
        lambda i: "nan" if i == 100 else i,
        lambda i: "inf" if i == 59_999 else i,
        lambda i: f"+{i}",
        lambda i: "2026-01-02",
        lambda i: "true",
        lambda i: f"0x{i}",
        lambda i: "0x10" if i == 59_999 else i,
        lambda i: 2**40 + i,
        lambda i: f"only{i}",
        lambda i: f'"{i}"',
        lambda i: f'"a ""b"" {i % 9}"',
        lambda i: '"two\nlines"' if i == 7 else i,
        lambda i: "1,2" if i == 59_998 else i,
        lambda i: "\u00e9" if i % 2 else "\u4e2d",
    ],
)
def test_a_large_file_reads_like_a_small_one(cell, monkeypatch):
    data = table(cell)
    monkeypatch.setattr(blocks, "LEAST", 0)
    monkeypatch.setattr(blocks, "BLOCK", 2**17)
    large = delimited.read(data, "x.csv")
    same(large, small(data, monkeypatch))


def test_a_short_last_row_is_named(monkeypatch):
    monkeypatch.setattr(blocks, "LEAST", 0)
    found = delimited.read(table() + b"r1,32768", "x.csv")
    assert [problem.row for problem in found.problems] == [ROWS + 2]


@pytest.mark.parametrize("data", [table(), table() + b"# end\n", table(lambda i: f"{i} ").replace(b",", b", ")])
def test_progress_is_told_and_what_it_raises_passes_through(data, monkeypatch):
    monkeypatch.setattr(blocks, "LEAST", 0)
    monkeypatch.setattr(blocks, "BLOCK", 2**17)
    shares = []
    delimited.read(data, "x.csv", progress=shares.append)
    assert len(shares) > 1 and shares == sorted(shares) and shares[-1] == 1

    def stop(share):
        raise Stopped

    with pytest.raises(Stopped):
        delimited.read(data, "x.csv", progress=stop)
