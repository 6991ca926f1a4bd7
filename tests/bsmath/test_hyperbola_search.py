import numpy as np
import pytest

from bsmath.critical import steps_to_target
from bsmath.hyperbola_search import absurd, resolution, tokens_fall, turning

BATCHES = np.array([0.1, 0.3, 1, 3, 10, 30]) * 1e6


def sweep(repeats=1, noise=0.0, seed=0):
    batch = np.repeat(BATCHES, repeats)
    return batch, steps_to_target(batch, 2e6, 1e4) * np.exp(np.random.default_rng(seed).normal(0, noise, batch.size))


@pytest.mark.parametrize("factor", [10, 0.1])
@pytest.mark.parametrize("repeats", [1, 2, 3])
@pytest.mark.parametrize("place", range(6))
def test_a_ten_fold_mistake_is_found_wherever_it_stands(factor, repeats, place):
    batch, steps = sweep(repeats, 0.05)
    steps[place * repeats] *= factor
    assert np.flatnonzero(absurd(batch, steps)).tolist() == [place * repeats]


def test_good_runs_are_never_called_absurd():
    for seed in range(200):
        assert not absurd(*sweep(2, 0.15, seed)).any()


def test_a_smallest_batch_of_a_u_is_no_mistake():
    batch, steps = sweep()
    steps[0] *= 2.8
    assert not absurd(batch, steps).any()


def test_few_runs_are_all_kept():
    assert not absurd([1e5, 1e6, 1e7, 1e7], [1e5, 1e4, 1e6, 10]).any()


@pytest.mark.parametrize("excesses", [[1.3], [2.8], [2.0, 1.5]])
def test_batches_left_of_the_minimum_are_counted(excesses):
    steps = np.log(sweep(noise=0.01)[1])
    steps[: len(excesses)] += np.log(excesses)
    assert turning(BATCHES, steps) == len(excesses)


def test_a_hyperbola_with_noise_rarely_shows_a_u():
    seen = sum(turning(BATCHES, np.log(sweep(noise=0.08, seed=seed)[1])) > 0 for seed in range(400))
    assert seen <= 20


def test_tokens_that_fall_all_the_way_are_told_from_a_u():
    batch = 2.0 ** np.arange(6) * 1e5
    falling = np.log(1e10 / batch**1.3)
    assert tokens_fall(batch, falling)
    falling[-1] += 0.6
    assert not tokens_fall(batch, falling)


def test_steps_on_a_grid_show_its_spacing():
    assert resolution([4600, 2300, 1200, 900]) == 100
    assert resolution([46000, 23000, 13282, 7000, 3841]) != 1000


@pytest.mark.parametrize("steps", [[100, 200, 300], [4601, 2300, 1207, 900], [10.5, 20.5, 30.5, 40.5]])
def test_no_spacing_is_read_from_few_or_odd_counts(steps):
    assert np.isnan(resolution(steps))
