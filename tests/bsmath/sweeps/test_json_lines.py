"""JSON lines: what is recognized, flattened, left out and named; what is left to the reader of JSON."""

import json

import numpy as np
import pytest

from bsmath import sweeps
from bsmath.sweeps import SweepError, json_lines

ROWS = [{"batch_tokens": 4096 * 2**i, "tok/s": 100 + i} for i in range(3)]


def lines(rows, end: str = "\n") -> str:
    return end.join(map(json.dumps, rows)) + end


def table(text: str):
    return json_lines.read(text.encode(), "x.jsonl")


def test_one_object_a_line_is_recognized_and_a_document_is_not():
    assert json_lines.recognizes(lines(ROWS))
    assert json_lines.recognizes("\n\n" + lines(ROWS[:2], "\n\n"))
    for other in (
        json.dumps(ROWS),
        json.dumps(ROWS[0]),
        json.dumps({"a": ROWS}, indent=1),
        "a,b\n1,2\n",
        "",
        "{\n}\n{",
    ):
        assert not json_lines.recognizes(other)


def test_a_log_with_objects_between_its_lines_is_left_to_the_reader_of_json():
    assert not json_lines.recognizes("start\n" + lines(ROWS))


@pytest.mark.parametrize("row", [{"batch": 8, "tok/s": [1, 2]}, {"model": "a", "runs": [{"batch": 8, "tok/s": 1}]}])
def test_lists_of_results_are_left_to_the_reader_of_json(row):
    assert not json_lines.recognizes(lines([row, row]))
    assert json_lines.recognizes(lines([{"betas": [0.9, 0.95]} | one for one in ROWS]))


def test_nested_keys_are_joined_with_slashes_and_missing_ones_are_empty():
    frame = table(
        lines([{"step": 1, "train": {"loss": 2.5, "aux": {"z": 1}}}, {"step": 2, "val": {"loss": 2.0}}])
    ).frame
    assert list(frame.columns) == ["step", "train/loss", "train/aux/z", "val/loss"]
    assert frame["train/loss"][0] == 2.5 and frame["train/loss"].isna()[1] and frame["val/loss"][1] == 2.0


def test_the_last_line_of_a_run_that_was_cut_is_named_as_such_and_others_as_broken():
    raw = table('{"step": 1}\nTraceback\n{"step": 2}\n[1, 2]\n\n{"step": 3, "lo')
    assert raw.frame["step"].tolist() == [1, 2] and raw.rows.tolist() == [1, 3]
    assert [(one.row, one.what) for one in raw.problems] == [
        (2, json_lines.BROKEN), (4, json_lines.BROKEN), (6, json_lines.CUT),
    ]  # fmt: skip


def test_two_objects_on_one_line_are_two_rows_of_that_line():
    raw = table('{"step": 1}{"step": 2}\n{"step": 3},\n')
    assert raw.frame["step"].tolist() == [1, 2, 3] and raw.rows.tolist() == [1, 1, 2]


def test_numbers_that_are_none_become_text_as_in_a_csv():
    frame = table('{"a": NaN, "b": "x"}\n{"a": -Infinity, "b": null}\n{"a": Infinity}\n').frame
    assert frame["a"].tolist() == ["nan", "-inf", "inf"] and frame["b"].isna().tolist() == [False, True, True]


def test_windows_line_ends_and_blank_lines_change_nothing():
    sweep = sweeps.read(lines(ROWS, "\r\n\r\n").encode(), "x.jsonl")
    assert sweep.table["tokens_per_second"].tolist() == [100, 101, 102]
    assert sweep.table["row"].tolist() == [1, 3, 5] and not sweep.problems


def test_a_sweep_in_json_lines_is_read_with_its_nested_settings():
    rows = [{"config": {"batch_size": 2**i, "seq_len": 128}, "perf": {"step_time_ms": 10 * 2**i}} for i in range(3, 6)]
    sweep = sweeps.read(lines(rows).encode(), "x.jsonl")
    assert sweep.table["tokens_per_step"].tolist() == [1024, 2048, 4096]
    assert np.allclose(sweep.table["step_time"], [0.08, 0.16, 0.32]) and not sweep.problems


def test_booleans_lists_and_long_integers_are_kept_as_a_table_holds_them():
    frame = table('{"a": true, "b": [1, 2], "c": 123456789012345678901234567890}\n{"a": false}\n').frame
    assert (
        frame["a"].tolist() == ["True", "False"]
        and frame["b"][0] == "[1, 2]"
        and frame["c"][0] == pytest.approx(1.23e29, rel=0.01)
    )


def test_objects_with_too_many_keys_and_nesting_without_end_are_refused_or_cut():
    with pytest.raises(SweepError, match="records with a few keys each, got 2 with 1,000 different keys"):
        table(lines([{f"k{i}": 1 for i in range(500)}, {f"q{i}": 1 for i in range(500)}]))
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    assert table(deep + '\n{"step": 1}\n').frame["step"].tolist() == [1]
    with pytest.raises(SweepError, match="at most 1,000,000 JSON objects"):
        table("{" * 1_000_001)


def test_a_list_of_records_and_the_log_of_a_trainer_are_tables_too():
    state = {"global_step": 2, "log_history": [{"step": 1, "loss": 3.0}, {"step": 2, "eval_loss": 2.5}]}
    assert list(json_lines.read_list(json.dumps(state).encode(), "x").frame.columns) == ["step", "loss", "eval_loss"]
    assert len(json_lines.read_list(json.dumps(ROWS).encode(), "x").frame) == 3
    for other in ({"a": 1}, [], [1, 2], [{"batch": 8, "tok/s": [1, 2]}]):
        assert json_lines.read_list(json.dumps(other).encode(), "x") is None
    assert json_lines.read_list(b'{"a": ', "x") is None
