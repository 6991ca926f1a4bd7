"""Decimal marks: cells that can be read in one way only decide, the others are asked about."""

import pytest

from bsmath import sweeps
from bsmath.sweeps import marks

HEADERS = ["batch", "tok_s"]


def mark(*cells: str, headers=HEADERS, separator=";") -> str:
    return marks.decimal(separator, headers, [[cell] for cell in cells])[0]


@pytest.mark.parametrize(
    "cell", ["0,164", "1,5", ",5", "1.234,5", "16.384.000", "12345,678", "1,2345", "3,1 s", "-0,5"]
)
def test_a_cell_with_a_decimal_comma_decides(cell):
    assert mark("7", cell) == ","


@pytest.mark.parametrize(
    "cell", ["0.164", "1.5", ".5", "1,234.5", "16,384,000", "12345.678", "1.2345", "3.1 s", "1.5e-4"]
)
def test_a_cell_with_a_decimal_point_decides(cell):
    assert mark("7", cell) == "."


def test_more_cells_of_one_kind_decide_against_a_stray_one():
    assert mark("0,5", "0,25", "1.5") == ","
    assert mark("0.5", "0.25", "1,5") == "."


def test_commas_that_separate_columns_are_no_decimal_marks():
    assert mark("0,164", separator=",") == "."


def test_a_number_that_may_be_read_in_both_ways_is_asked_about():
    found, questions = marks.decimal(";", ["step_time"], [["1,250"], ["2,500"]])
    assert found == "," and [question.key for question in questions] == ["decimal"]
    assert "Is 1,250 in this file a decimal fraction or does the comma separate thousands?" == questions[0].text


def test_points_in_every_batch_are_asked_about_as_a_batch_is_whole():
    found, questions = marks.decimal(";", ["batch_tokens", "tok_s"], [["16.384", "98"], ["32.768", "99"]])
    assert found == "," and "does the point separate thousands" in questions[0].text
    assert marks.decimal(";", ["loss"], [["16.384"], ["32.768"]]) == (".", ())


GERMAN = "batch_tokens{0}step_time_s{0}tokens_per_s\n16.384{0}0,164{0}99.902,4\n32.768{0}0,300{0}109.226,7\n"


@pytest.mark.parametrize("separator", ["\t", ";", "|"])
def test_a_table_in_german_notation_has_its_values(separator):
    table = sweeps.read(GERMAN.format(separator).encode(), "german.csv").table
    assert table["tokens_per_step"].tolist() == [16384, 32768]
    assert table["step_time"].tolist() == [0.164, 0.3]
    assert table["tokens_per_second"].tolist() == [99902.4, 109226.7]


def test_a_markdown_table_in_german_notation_has_its_values():
    rows = "| batch_tokens | tokens_per_s |\n|---|---|\n| 16.384 | 99.902,4 |\n| 32.768 | 109.226,7 |\n"
    table = sweeps.read(rows.encode(), "german.md").table
    assert table["tokens_per_step"].tolist() == [16384, 32768]
    assert table["tokens_per_second"].tolist() == [99902.4, 109226.7]


def test_the_answer_to_the_question_is_taken():
    rows = b"batch_tokens;tokens_per_s\n16.384;98\n32.768;99\n"
    assert sweeps.read(rows, "a.csv").table["tokens_per_step"].tolist() == [16384, 32768]
    assert sweeps.read(rows, "a.csv", {"decimal": "."}).table["tokens_per_step"].tolist() == [16.384, 32.768]
