import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.sweeps import cells


@pytest.mark.parametrize(
    "cell, units, value",
    [
        ("719.1ms", cells.TIMES, 0.7191),
        ("0.7191 s", cells.TIMES, 0.7191),
        ("10.50 min", cells.TIMES, 630),
        ("5m", cells.TIMES, 300),
        ("136,699 tok/s", cells.COUNTS, 136_699),
        ("512k tokens", cells.COUNTS, 512_000),
    ],
)
def test_a_unit_in_the_cell_wins_over_that_of_the_header(cell, units, value):
    assert_allclose(cells.numbers(pd.Series([cell], dtype=object), units, scale=1e-3), [value])


@pytest.mark.parametrize("cell, value", [("12", 0.012), ("4k", 4), ("2^20", 1048.576), ("1,234", 1.234)])
def test_a_cell_without_a_unit_has_that_of_the_header(cell, value):
    assert_allclose(cells.numbers(pd.Series([cell, "x"], dtype=object), cells.COUNTS, scale=1e-3)[0], value)


@pytest.mark.parametrize("cell", ["OOM", "N/A", "-", "nan", "", None, "abc ms", "ms"])
def test_what_is_no_number_is_nan(cell):
    assert np.isnan(cells.numbers(pd.Series([cell, "1"], dtype=object), cells.TIMES)[0])


def test_decimal_commas_and_points_for_thousands_are_read_together():
    column = pd.Series(["1,5", "1.234,5", "136.699", "7.25", "8"], dtype=object)
    assert_allclose(cells.numbers(column, cells.COUNTS, decimal=","), [1.5, 1234.5, 136_699, 7.25, 8])


def test_whole_numbers_too_long_for_a_dtype_are_read_beside_decimal_commas():
    assert_allclose(cells.numbers(pd.Series([8 * 10**35, 2], dtype=object), cells.COUNTS, decimal=","), [8e35, 2])


def test_a_column_of_numbers_is_taken_whole():
    assert_allclose(cells.numbers(pd.Series([1, 2.5, np.nan]), cells.TIMES, scale=1e-3), [1e-3, 2.5e-3, np.nan])


def test_blank_cells_are_told_from_text():
    assert cells.blank(pd.Series(["", "  ", None, "-"], dtype=object)).tolist() == [True, True, True, False]


@pytest.mark.parametrize("text, seconds", [("0:04:24.27", 264.27), ("1:02", 62), ("12:00:00", 43_200)])
def test_a_length_of_time_with_colons_is_seconds(text, seconds):
    assert_allclose(cells.numbers(pd.Series([text, "x"]), cells.TIMES)[0], seconds)
    assert np.isnan(cells.numbers(pd.Series([text, "x"]), cells.COUNTS)[0])
