import pandas as pd
from numpy.testing import assert_allclose

from pages.charts.next_run import gain_figure
from pages.charts.theme import BatchAxis

TABLE = pd.DataFrame(
    {"tokens_per_step": [1e3, 2e3, 4e3], "information": [1.0, 0.1, 0.5], "repeat": [False, True, False]}
)


def test_new_batches_and_repeats_are_apart_and_in_percent_of_the_best():
    new, repeats = gain_figure(TABLE, 1e3, BatchAxis()).data
    assert_allclose(new.y, [100, 50])
    assert_allclose(repeats.y, [10])
    assert new.customdata[0] == "100 % of the best"


def test_the_advised_batch_is_marked_in_either_unit():
    figure = gain_figure(TABLE, 1e3, BatchAxis("sequences", "linear", 500))
    assert figure.layout.annotations[0].text == "measure next"
    assert_allclose(figure.layout.annotations[0].x, 2)
    assert_allclose(figure.data[0].x, [2, 8])
