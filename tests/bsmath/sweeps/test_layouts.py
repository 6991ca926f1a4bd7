"""Encodings, separators, decimal marks and rows that are not as they should be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import sweeps

CSV = "batch_tokens,tok/s\n32768,100000\n65536,150000\n131072,190000\n"
RATES = [100_000, 150_000, 190_000]


def read(text, **answers):
    return sweeps.read(text.encode() if isinstance(text, str) else text, "x.csv", answers)


@pytest.mark.parametrize(
    "data",
    [
        CSV.encode(),
        b"\xef\xbb\xbf" + CSV.encode(),
        CSV.encode("utf-16"),
        CSV.encode("utf-16-be").join([b"\xfe\xff", b""]),
        CSV.encode("utf-16-be"),
        CSV.encode("utf-16-le"),
        CSV.replace("\n", "\r\n").encode(),
        CSV.replace("\n", "\r").encode(),
        CSV.replace("tok/s", "\x1b[31mtok/s\x1b[0m").encode(),
        CSV.rstrip("\n").encode(),
        CSV.replace(",", "\t").encode(),
        CSV.replace(",", ";").encode(),
        CSV.replace(",", " | ").encode(),
        CSV.replace(",", ", ").encode(),
        CSV.replace(",", "   ").encode(),
        CSV.replace("\n", ",\n").encode(),
        ("sep=;\n" + CSV.replace(",", ";")).encode(),
        ('"' + CSV.strip().replace(",", '","').replace("\n", '"\n"') + '"\n').encode(),
        ("#" + CSV).encode(),
        ("| " + CSV.strip().replace(",", " | ").replace("\n", " |\n| ") + " |\n").encode(),
        (
            "| batch_tokens | tok/s |\n|---:|:--|\n| 32,768 | **100,000** |\n"
            "| 65,536 | [150,000](x) |\n| 131,072 | `190,000` |\n"
        ).encode(),
        "┌──────────────┬────────┐\n│ batch_tokens │ tok/s  │\n"
        "├──────────────┼────────┤\n│ 32768 │ 100000 │\n│ 65536 │ 150000 │\n│ 131072 │ 190000 │\n└───┴───┘\n".encode(),
        b"```\n" + CSV.encode() + b"```\n",
        b"   batch_tokens   tok/s\n0  32768  100,000\n1  65536  150,000\n2  131072  190,000\n",
    ],
)
def test_one_table_reads_the_same_however_it_is_written(data):
    table = read(data).table
    assert table["tokens_per_step"].tolist() == [32_768, 65_536, 131_072]
    assert table["tokens_per_second"].tolist() == RATES


def test_text_that_is_not_utf8_is_read_as_latin_1():
    table = read("größe,batch_tokens,tok/s\nä,32768,1\nö,65536,2\n".encode("latin-1")).table
    assert table["tokens_per_second"].tolist() == [1, 2]


def test_row_numbers_are_the_lines_of_the_file():
    text = "# a note\n\nbatch_tokens,tok/s\n\n32768,1\n\n\n65536,2\n# end\n131072,3\n"
    sweep = read(text)
    assert sweep.table["row"].tolist() == [5, 8, 10]
    assert sweep.comments == ("a note",)


def test_row_numbers_count_the_lines_inside_quoted_cells():
    assert read('note,batch_tokens,tok/s\n"two\nlines",32768,1\nx,65536,2\n').table["row"].tolist() == [2, 4]


@pytest.mark.parametrize("quote", ["", '"'])
def test_rows_with_a_field_more_or_less_are_left_out_and_named(quote):
    rows = [f"{quote}8{quote},32768,1", "8,65536", "9,131072,2,5", "8,262144,", "8,524288,3"]
    sweep = read("\n".join(["n_layer,batch_tokens,tok/s", *rows]))
    assert sweep.table["row"].tolist() == [2, 6]
    assert [(problem.row, problem.what) for problem in sweep.problems] == [
        (3, "the row has 2 fields where the header has 3"),
        (4, "the row has 4 fields where the header has 3"),
        (5, "the row has no result"),
    ]


def test_a_short_row_is_not_taken_for_one_with_an_empty_end():
    sweep = read("batch_tokens,tok/s,step_time\n32768,1,\n65536,2\n131072,3,\n")
    assert sweep.table["row"].tolist() == [2, 4]
    assert sweep.problems[0].row == 3


def test_lines_above_the_header_are_named():
    sweep = read("My sweep of Tuesday\nbatch_tokens,tok/s\n32768,1\n65536,2\n")
    assert [(problem.row, problem.action) for problem in sweep.problems] == [(1, "line left out")]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_found(separator):
    text = "batch_tokens,step_time\n32768,0#25\n65536,0#5\n".replace(",", separator).replace("#", ",")
    assert read(text).table["step_time"].tolist() == [0.25, 0.5]


def test_thousands_separators_are_told_from_decimal_commas_by_the_points_beside_them():
    table = read("batch_tokens;step_time;tok/s\n32768;0.25;131,072\n65536;0.5;131,072\n").table
    assert table["tokens_per_second"].tolist() == [131_072] * 2


def test_a_comma_that_may_be_either_is_a_question():
    text = "batch_tokens;step_time_s\n32768;1,250\n65536;2,500\n"
    sweep = read(text)
    assert [(question.key, question.default) for question in sweep.questions] == [("decimal", ",")]
    assert sweep.table["step_time"].tolist() == [1.25, 2.5]
    assert read(text, decimal=".").table["step_time"].tolist() == [1250, 2500]
    assert not read(text, decimal=".").questions


def test_an_unclosed_quote_does_not_swallow_the_file():
    assert len(read('batch_tokens,tok/s,note\n32768,1,5" disk\n65536,2,x\n131072,3,y\n').table) == 3


def test_repeated_and_empty_headers_get_names_of_their_own():
    headers = [column.header for column in read(",batch_tokens,tok/s,x,x\n0,32768,1,2,3\n1,65536,2,3,4\n").columns]
    assert headers == ["column 1", "batch_tokens", "tok/s", "x", "x (2)"]


def test_markdown_tables_of_one_header_are_one_table_told_apart_by_their_headings():
    table = "| batch_tokens | tok/s |\n|---|---|\n| 32768 | {} |\n| 65536 | {} |\n"
    text = "## A100\n" + table.format(1, 2) + "## H100\n" + table.format(3, 4) + "\n| x |y|\n|-|-|\n| 1|2|\n"
    sweep = read(text)
    assert sweep.series == ("A100", "H100")
    assert sweep.table["row"].tolist() == [4, 5, 9, 10]
    assert "1 more tables" in sweep.problems[0].what


def test_founding_harness_lines_are_read_with_their_sequence_length():
    lines = (
        "loading\nB=   8  step_time=  146.3ms  tok/s=111,989\nB=  16  step_time=  252.1ms  tok/s=129,970\n"
        "B=  48  step_time=  719.1ms  tok/s=136,699\nB=  64  OOM\n"
    )
    sweep = read(lines)
    assert sweep.table["tokens_per_step"].tolist() == [16_384, 32_768, 98_304]  # 2,048 tokens each, as in its run
    assert_allclose(sweep.table["step_time"], [0.1463, 0.2521, 0.7191])
    assert sweep.table["tokens_per_second"].tolist() == [111_989, 129_970, 136_699]
    assert [(problem.row, problem.action) for problem in sweep.problems] == [(5, "row left out")]
    assert not sweep.questions


def test_the_fast_and_the_careful_reader_agree():
    generator = np.random.default_rng(1)
    rows = [f"r{i % 3},{2 ** generator.integers(15, 20)},{generator.uniform(1, 2):.4f}" for i in range(300)]
    plain = "run,batch_tokens,step_time\n" + "\n".join(rows)
    careful = read(plain.replace("\n", "\n# note\n", 1)).table
    assert read(plain).table.drop(columns="row").equals(careful.drop(columns="row"))
