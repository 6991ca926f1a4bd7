import math

import pytest

from bsmath.quantities import parse_number
from pages.ui import text


@pytest.mark.parametrize(
    "value, written",
    [
        (98_304, "98.3k"),
        (1e6, "1M"),
        (999_999, "1M"),
        (7.96e8, "796M"),
        (0.05, "0.05"),
        (0, "0"),
        (float("inf"), "no bound"),
    ],
)
def test_counts_carry_three_digits_and_a_suffix(value, written):
    assert text.count(value) == written


@pytest.mark.parametrize(
    "value, written", [(53_125, "53,125"), (558_626.3, "558,600"), (12.34, "12.3"), (1e300, "1e+300")]
)
def test_whole_numbers_are_exact_below_a_hundred_thousand(value, written):
    assert text.whole(value) == written


@pytest.mark.parametrize(
    "seconds, written",
    [(401_445, "4.65 days"), (0.7186, "0.719 s"), (0.05, "50 ms"), (3600, "60 min"), (1e9, "31.7 years")],
)
def test_durations_take_the_unit_that_reads_best(seconds, written):
    assert text.duration(seconds).replace(text.GAP, " ") == written


@pytest.mark.parametrize(
    "fraction, written",
    [
        (0.6606, "66 %"),
        (0.00127, "0.13 %"),
        (1e-9, "<0.001 %"),
        (0, "0 %"),
        (1.5, "150 %"),
        (math.nan, "unknown"),
        (math.inf, "no bound"),
    ],
)
def test_percentages_keep_the_digits_that_matter(fraction, written):
    assert text.percent(fraction).replace(text.GAP, " ") == written


@pytest.mark.parametrize("value", [7.96e8, 524_288, 3e-4, 0.71, 1e9, 2048, 1e-8, 123_456_789.5, 1 / 3])
def test_typed_fields_read_back_what_they_show(value):
    assert parse_number(text.exact(value)) == value


@pytest.mark.parametrize(
    "low, high, written",
    [
        (1900, 2650, "1.9k to 2.65k"),
        (0, 5e3, "at most 5k"),
        (2e3, float("inf"), "at least 2k"),
        (0, float("inf"), "not identified"),
    ],
)
def test_open_ends_of_an_interval_are_said(low, high, written):
    assert text.between(low, high) == written


def test_text_from_strangers_brings_no_link_image_or_formula():
    assert text.plain("![x](http://a) $y$ `z`") == r"!\[x\](http://a) \$y\$ \`z\`"


@pytest.mark.parametrize("ratio, written", [(1.25, "1.25x"), (math.nan, "unknown"), (math.inf, "no bound")])
def test_a_ratio_that_nobody_knows_is_said(ratio, written):
    assert text.times(ratio) == written


def test_an_interval_that_nobody_knows_is_said():
    assert text.between(math.nan, math.nan) == "not identified"
