"""Rates to try around a suggested one."""

from hypothesis import given
from hypothesis import strategies as some
from numpy.testing import assert_allclose

from bsmath.lr_sweep import MOST, rates


def test_rules_that_agree_leave_a_factor_two_either_side():
    assert_allclose(rates(4e-4, 4e-4, 4e-4), [2e-4, 4e-4, 8e-4])


def test_the_range_covers_what_every_rule_says():
    assert_allclose(rates(4e-4, 1e-4, 9e-4), [1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3])


@given(some.floats(1e-6, 1), some.floats(1, 1e6), some.floats(1, 1e6))
def test_the_suggestion_is_inside_and_the_number_is_bounded(suggested, below, above):
    found = rates(suggested, suggested / below, suggested * above)
    assert 3 <= len(found) <= MOST
    assert found[0] < suggested < found[-1] and suggested in found
