"""Whatever is uploaded gives a sweep or one sentence."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsmath import sweeps

HEADERS = "batch batch_tokens batch_seqs micro_batch accum replicas n_gpus seq_len tok/s tok/s/gpu samples/s".split()
HEADERS += ["step_time_ms"]
HEADERS += [
    "steps_per_s",
    "steps",
    "steps_to_target",
    "tokens_to_target",
    "samples_to_target",
    "placement",
    "model",
    "step",
    "lr",
    "",
    "x",
]
CELLS = "8 16 32768 0 -1 nan inf OOM N/A - 1e308 1e-308 9e999 4k 1,5 719.1ms 2^20 a b True".split() + [
    "",
    " ",
    "1 000",
    '"',
    "#",
]


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"", "f.csv must hold a table, got an empty file"),
        (b" \n\t\r\n", "f.csv must hold a table, got an empty file"),
        (b"a,b\n1,\x00\n", "f.csv must be text, got binary data with NUL bytes"),
        (b"\x89PNG\r\n\x1a\n123", "f.csv must be text such as CSV, got a PNG image"),
        (b"PK\x03\x04abc", "f.csv must be text such as CSV, got a zip archive or an Excel workbook"),
        (b"PAR1abc", "f.csv must be a whole Parquet file, got a damaged one (it must end with its metadata)"),
        (pickle.dumps([1]), "f.csv must be text such as CSV, got a Python pickle, which is never opened"),
        (b"a,b\n\xff\x01", "f.csv must be text, got bytes that are not (the first at 4)"),
        (b"batch_tokens,tok/s\n", "f.csv must have usable rows below its header line, got none"),
        (b"1 8.1\n2 7.9\n", "f.csv must hold a table with a header line, or benchmark lines, "
         "got numbers without a header line"),
        (b"{'loss': 1,\n'b': 2}", "f.csv must hold a table with a header line, or benchmark lines, got JSON or a log"),
        (b'{"x": 1,\n"y": 2}', "f.csv must hold measurements over batch size, such as a list of objects with a batch and "
         "a rate or a step time, got an object with the keys x, y"),
        (b"tok/s,x\n1,2\n2,3\n", "f.csv must have a batch column such as batch_tokens, batch_size with seq_len, or "
         "micro_batch with accum and replicas, got the columns tok/s, x: 'tok/s' is a result, but the batch that it was "
         "measured at is missing; add it as a column"),
        (b"batch_tokens,loss\n1,2\n2,3\n", "f.csv must have a result column (tokens_per_s, tokens_per_s_per_gpu, "
         "step_time_s, samples_per_s, "
         "steps_per_s, steps_to_target or tokens_to_target), got runs with a final loss 'loss' at 2 batches, which tells "
         "neither a throughput nor the steps to one loss: export the losses of each run by step, or add one of these "
         "columns"),
        (b"batch_tokens,tok/s\n1,OOM\n2,OOM\n", "f.csv must have a positive number in column 'tok/s' of at least one "
         "row with a batch, got 'OOM' first"),
        (b"batch_tokens,tok/s\nx,1\ny,2\n", "f.csv must have a positive batch in at least one row, got none"),
    ],
)  # fmt: skip
def test_a_file_without_a_sweep_is_refused_in_one_sentence(data, sentence):
    with pytest.raises(sweeps.SweepError) as error:
        sweeps.read(data, "f.csv")
    assert str(error.value) == sentence


def test_a_file_that_is_too_large_is_refused_with_its_size():
    with pytest.raises(sweeps.SweepError, match="f.csv must be at most 200 MB, got 200.5 MB"):
        sweeps.read(b"a" * (sweeps.MAX_BYTES + 500_000), "f.csv")


def test_more_columns_than_a_table_has_are_no_table():
    header = ",".join(["batch_tokens", "tok/s", *["x"] * 20_000])
    with pytest.raises(sweeps.SweepError, match="must hold a table"):
        sweeps.read(f"{header}\n{'1,' * 20_001}1\n".encode(), "f.csv")


def test_long_headers_and_many_columns_are_cut_in_the_message():
    headers = ",".join(f"{'x' * 500}{i}" for i in range(50))
    with pytest.raises(sweeps.SweepError) as error:
        sweeps.read(f"{headers}\n{','.join('1' * 50)}\n{','.join('2' * 50)}\n".encode(), "f.csv")
    assert len(str(error.value)) < 800 and "and 38 more" in str(error.value)


@pytest.mark.parametrize("cell", ["OOM", "N/A", "-", "nan", "inf", "0", "-5"])
def test_an_unusable_cell_is_named_with_row_column_and_value(cell):
    sweep = sweeps.read(f"batch_tokens,tok/s\n32768,1\n65536,{cell}\n131072,2\n".encode(), "f.csv")
    assert len(sweep.table) == 2
    assert [(problem.row, problem.column, problem.action) for problem in sweep.problems] == [
        (3, "tok/s", "row left out")
    ]
    assert cell in sweep.problems[0].what


def test_a_row_without_a_batch_is_named():
    sweep = sweeps.read(b"batch_tokens,tok/s\n32768,1\n,5\n65536,2\n", "f.csv")
    assert [(problem.row, problem.what) for problem in sweep.problems] == [(3, "the row has no batch")]


def test_one_usable_row_is_a_sweep_with_a_note():
    sweep = sweeps.read(b"batch_tokens,tok/s\n32768,1\n", "f.csv")
    assert len(sweep.table) == 1 and "cannot be fitted" in sweep.problems[0].action


def test_problems_are_listed_up_to_a_hundred_and_then_counted():
    rows = "".join(f"{32768 * (i % 3 + 1)},{'OOM' if i % 2 else 1}\n" for i in range(1000))
    problems = sweeps.read(f"batch_tokens,tok/s\n{rows}".encode(), "f.csv").problems
    assert len(problems) == 101 and problems[-1].what.startswith("400 more")


@pytest.mark.parametrize(
    "answers, message",
    [
        ({"seq": 1}, "answer must be one of columns, .*, got 'seq'"),
        ({"seq_len": 0}, "seq_len must be a whole number from 1"),
        ({"seq_len": "abc"}, "seq_len must be a number, got 'abc'"),
        ({"batch_unit": "bytes"}, "batch_unit must be one of tokens, sequences, got 'bytes'"),
        ({"columns": {"nope": "steps"}}, "columns must be one of batch_tokens, tok/s, got 'nope'"),
        ({"columns": {"tok/s": "speed"}}, "meaning must be one of .*, got 'speed'"),
        ({"throughput_column": "nope"}, "throughput_column must be one of batch_tokens, tok/s, got 'nope'"),
        ({"series_columns": ("nope",)}, "series_columns must be one of batch_tokens, tok/s, got 'nope'"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answers, message):
    with pytest.raises(sweeps.SweepError, match=message):
        sweeps.read(b"batch_tokens,tok/s\n32768,1\n65536,2\n", "f.csv", answers)


def test_a_corrected_column_is_read_as_it_is_corrected():
    text = b"size of step,speed,tok/s\n32768,5,1\n65536,6,2\n"
    answers = {"columns": {"size of step": "batch_tokens", "speed": "tokens_per_second", "tok/s": None}}
    sweep = sweeps.read(text, "f.csv", answers)
    assert sweep.table["tokens_per_second"].tolist() == [5, 6]
    assert [column.meaning for column in sweep.columns] == ["batch_tokens", "tokens_per_second", None]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_a_sweep_error(data):
    try:
        sweeps.read(data, "f")
    except sweeps.SweepError as error:
        assert "must" in str(error) and "\n" not in str(error)


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_no_small_table_raises_anything_but_a_sweep_error(data):
    headers = data.draw(st.lists(st.sampled_from(HEADERS), min_size=1, max_size=6))
    row = st.lists(st.sampled_from(CELLS), min_size=max(len(headers) - 1, 1), max_size=len(headers) + 1)
    separator = data.draw(st.sampled_from([",", ";", "\t", "|", " | ", "  "]))
    lines = [separator.join(each) for each in [headers, *data.draw(st.lists(row, max_size=8))]]
    answers = data.draw(
        st.sampled_from(
            [{}, {"seq_len": 512}, {"batch_scope": "replica"}, {"rate_scope": "device"}, {"num_devices": 8}]
        )
    )
    try:
        sweep = sweeps.read("\n".join(lines).encode(), "f", answers)
    except sweeps.SweepError:
        return
    table = sweep.table
    assert len(table) and (table["tokens_per_step"] > 0).all()
    assert table["tokens_per_second"].notna().any() or table["steps"].notna().any()
    for series in sweep.series:
        for quantity in sweeps.QUANTITIES:
            assert (sweeps.aggregate(sweep, series, quantity)["count"] > 0).all()
