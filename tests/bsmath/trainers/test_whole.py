"""Whole numbers from rounded ones."""

import math

import pytest

from bsmath.trainers.whole import ratio, whole


@pytest.mark.parametrize(
    "ratios, expected", [([63.97, 64.1], 64), ([8.0], 8), ([7.97, 8.02, math.nan, 8.01], 8), ([1.01], 1)]
)
def test_ratios_that_agree_give_their_number(ratios, expected):
    assert whole(ratios) == expected


@pytest.mark.parametrize("ratios", [[], [math.nan], [7.5], [4, 8, 8, 4], [0.2], [math.inf], [-8]])
def test_ratios_that_do_not_agree_give_none(ratios):
    assert whole(ratios) is None


def test_one_odd_row_of_ten_changes_nothing():
    assert whole([8.0] * 9 + [2.0]) == 8
    assert whole([8.0] * 8 + [2.0] * 2) is None


def test_a_multiple_is_wanted_where_one_is_known():
    assert whole([62.5], multiple_of=8) == 64
    assert whole([60.0], multiple_of=8) is None  # between 56 and 64


def test_a_ratio_of_what_is_missing_is_nan():
    assert ratio(8, 2) == 4
    assert all(math.isnan(ratio(*pair)) for pair in ((1, 0), (None, 1), (-1, 1), (math.nan, 1)))
