import numpy as np

from bsmath import bloom


def test_relative_and_unweighted_fits_differ_as_published_points_make_them():
    table = bloom.fits().set_index("fit")
    weighted, plain = table.loc["relative error"], table.loc["unweighted"]
    assert 181e12 < weighted["plateau"] < 182e12 and 325 < weighted["half_batch"] < 328
    assert abs(plain["plateau"] / 168.5e12 - 1) < 1e-3 and abs(plain["half_batch"] / 253.1 - 1) < 1e-3


def test_unweighted_fit_is_a_fourth_off_at_the_smallest_batch_and_closer_at_the_largest():
    table = bloom.fits().set_index("fit")
    plain, weighted = np.abs(table.loc["unweighted", "off"]), np.abs(table.loc["relative error", "off"])
    assert plain[0] > 0.2 > weighted.max() and plain[-1] < weighted[-1]
