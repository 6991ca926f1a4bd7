"""Offers as text: read, written back as the same, or refused with what is wrong."""

import pytest

from bsmath import offers, presets


@pytest.mark.parametrize(
    "text, found",
    [
        ("", {}),
        (" , ,", {}),
        ("h100_sxm 2.5, b200_sxm 6", {"h100_sxm": 2.5, "b200_sxm": 6}),
        ("mi300x", {"mi300x": None}),
        ("h100_sxm   2,", {"h100_sxm": 2}),
        ("h100_sxm 1e-3,l4 0", {"h100_sxm": 0.001, "l4": 0}),
        ("h100_sxm 2, h100_sxm 3", {"h100_sxm": 3}),  # the last counts
    ],
)
def test_text_is_read_as_prices_by_name(text, found):
    assert offers.read(text) == found


@pytest.mark.parametrize(
    "offered", [{}, {"h100_sxm": 2.5, "b200_sxm": None}, {"l4": 0.123456789, "mi300x": 1e4, "h200_sxm": 1e-5}]
)
def test_what_is_written_is_read_back_as_the_same(offered):
    assert offers.read(offers.write(offered)) == offered


@pytest.mark.parametrize(
    "text, said",
    [
        ("h100 2.5", r"other_offers must name accelerators \(.*h100_sxm.*\), got 'h100'"),
        ("H100_SXM 2", "other_offers must name accelerators .*, got 'H100_SXM'"),
        ("l4 1, " + "x" * 90, "got '" + "x" * 60 + "'"),
        ("h100_sxm cheap", "must state prices from 0 to 10000 such as 'h100_sxm 2.5', got 'h100_sxm cheap'"),
        ("h100_sxm -1", "must state prices from 0 to 10000 .*, got 'h100_sxm -1'"),
        ("h100_sxm 10001", "must state prices from 0 to 10000 .*, got 'h100_sxm 10001'"),
        ("h100_sxm nan", "must state prices .*, got 'h100_sxm nan'"),
        ("h100_sxm 2 3x", "must state prices .*, got 'h100_sxm 2 3x'"),
        ("l4, " * 200, "other_offers must have at most 500 characters, got 800"),
    ],
)
def test_what_cannot_be_read_is_refused_with_name_rule_and_value(text, said):
    with pytest.raises(ValueError, match=said):
        offers.read(text)


def test_more_than_eight_accelerators_are_too_many():
    names = list(presets.hardware())
    assert len(offers.read(", ".join(names[:8]))) == 8
    with pytest.raises(ValueError, match="other_offers must name at most 8 accelerators, got 9"):
        offers.read(", ".join(names[:9]))


def test_checked_text_is_kept_with_single_spaces():
    assert offers.checked("  h100_sxm \t 2.5 ,\nb200_sxm  6 ") == "h100_sxm 2.5 , b200_sxm 6"
    with pytest.raises(TypeError, match="other_offers must be text, got 3"):
        offers.checked(3)
    with pytest.raises(ValueError, match="got 'abacus'"):
        offers.checked("abacus 3")
