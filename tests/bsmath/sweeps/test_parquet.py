"""Parquet files, whole and damaged."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as writer

from bsmath import sweeps
from bsmath.sweeps import parquet, parquet_sizes


def written(columns, **options) -> bytes:
    file = io.BytesIO()
    writer.write_table(pa.table(columns), file, **options)
    return file.getvalue()


SWEEP = {"run": ["a", "b"] * 150, "batch_tokens": [32_768, 65_536, 131_072] * 100, "tok/s": np.arange(300) + 1.0}


def test_a_parquet_file_is_read_like_a_table():
    table = sweeps.read(written(SWEEP), "x.parquet").table
    assert table["row"].tolist()[:3] == [1, 2, 3]
    assert table["tokens_per_step"].tolist()[:3] == [32_768, 65_536, 131_072]
    assert table["tokens_per_second"].tolist()[-1] == 300


def test_structs_are_taken_apart_and_lists_left_out_with_a_sentence():
    raw = parquet.read(written({"config": [{"batch": {"tokens": 8}}], "l": [[1]], "b": [True]}), "x")
    assert list(raw.frame) == ["config.batch.tokens", "b"]
    assert raw.frame.iloc[0].tolist() == [8, "True"]
    assert [(problem.column, problem.action) for problem in raw.problems] == [("l", "column left out")]


def test_what_unpacks_to_too_much_is_refused_unread(monkeypatch):
    many = written({f"c{i}": np.zeros(1_100_000) for i in range(20)})
    with pytest.raises(
        sweeps.SweepError, match="x must have at most 20,000,000 cells, got 1,100,000 rows of 20 columns"
    ):
        parquet.read(many, "x")
    sizes = parquet_sizes.read(written({"c": np.zeros(100_000)}, use_dictionary=False, compression="zstd"))
    assert sizes.unpacked >= 800_000
    monkeypatch.setattr(parquet, "MAX_BYTES", 500_000)
    with pytest.raises(sweeps.SweepError, match="x must unpack to at most 0 MB, got 0.8"):
        parquet.read(written({"c": np.zeros(100_000)}, use_dictionary=False, compression="zstd"), "x")


def test_a_long_text_in_a_million_rows_is_kept_once():
    coded = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int32), ["x" * 100_000])
    frame = parquet.read(written({"s": coded}), "x").frame
    assert len(frame) == 1_000_000 and frame.memory_usage(deep=True).sum() < 5e6


def test_damaged_files_end_in_one_sentence():
    good, generator = written(SWEEP), np.random.default_rng(0)
    for turn in range(1000):
        damaged = bytearray(good)
        for position in generator.integers(4, len(good), 1 + turn % 7):
            damaged[position] = generator.integers(256)
        try:
            sweeps.read(bytes(damaged[: generator.integers(4, len(good))] if turn % 5 == 0 else damaged), "x")
        except sweeps.SweepError as error:
            assert "must" in str(error) and "\n" not in str(error)
