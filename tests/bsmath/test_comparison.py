import math

import pytest

from bsmath import comparison
from bsmath.comparison import Value
from bsmath.critical import steps_to_target
from bsmath.hyperbola_fit import fit_hyperbola

SIZES = [256, 1024, 4096, 16_384, 65_536]


def value(batch: float, low: float, high: float) -> Value:
    return Value(method="hyperbola", at="whole runs", batch=batch, low=low, high=high)


def test_each_measurement_that_is_there_gives_a_value():
    steps = [
        steps_to_target(size, 3000, 100) * factor for size, factor in zip(SIZES, (1, 1.05, 0.95, 1, 1), strict=True)
    ]
    fit = fit_hyperbola(SIZES, steps)
    (found,) = comparison.values(fit, None, ())
    assert found.batch == fit.critical_batch_size
    assert found.low < found.batch < found.high
    assert comparison.values(None, None, ()) == []


@pytest.mark.parametrize(
    "other, apart", [((500, 1000), True), ((500, 2000), False), ((3000, math.inf), True), ((0, math.inf), False)]
)
def test_values_contradict_each_other_where_their_intervals_do_not_meet(other, apart):
    assert comparison.apart(value(1500, *other), value(2500, 2000, 2900)) is apart
    assert comparison.apart(value(2500, 2000, 2900), value(1500, *other)) is apart


def test_what_the_data_do_not_identify_counts_for_nothing():
    values = [value(100, 50, 200), value(math.nan, 50, math.inf), value(math.inf, 50, math.inf), value(0, 0, 1)]
    assert comparison.identified(values) == [100]


def test_the_ratio_is_to_the_reference():
    assert comparison.ratio(value(300, 1, 2), value(100, 1, 2)) == 3
