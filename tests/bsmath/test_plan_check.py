import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import plan_check
from bsmath.critical import steps_to_target
from bsmath.sweeps import read
from bsmath.throughput import step_time

SIZES = 2 ** np.arange(8, 16)
KNEE, LEAST, FIXED, PLATEAU = 3000, 100, 0.002, 70_000
NOISE = np.array([1.02, 0.99, 0.98, 1.01, 1.02, 1, 0.98, 1.01])
TRUTH = steps_to_target(SIZES, KNEE, LEAST) * step_time(SIZES, FIXED, PLATEAU)


def rate_sweep(factor=NOISE):
    rates = SIZES / (step_time(SIZES, FIXED, PLATEAU) * factor)
    return read("\n".join(["tokens_per_step,tokens_per_second", *map("{},{}".format, SIZES, rates)]).encode(), "r.csv")


def runs(factor=NOISE) -> bytes:
    """Three seeds of two rates; one run of the best rate does not arrive and took absurdly long."""
    lines = ["tokens_per_step,learning_rate,seed,steps_to_target,outcome,steps_run,train_seconds"]
    for size, steps in zip(SIZES, steps_to_target(SIZES, KNEE, LEAST) * factor, strict=True):
        for seed, part in enumerate([1, 1.0, None]):
            needed = f"{steps * part:.4f},reached" if part else ",not reached"
            seconds = (1 + 0.1 * seed) * steps if part else 1e6
            lines.append(f"{size},0.01,{seed},{needed},{1000 if part is None else int(steps)},{seconds}")
            lines.append(f"{size},0.02,{seed},{2 * steps:.4f},reached,{int(2 * steps)},7")
    return "\n".join(lines).encode()


def seconds(values=TRUTH):
    data = runs()
    found = plan_check.measured_seconds(read(data, "s.csv"), data)
    return found.copy().mask(found > 0, values)


def alone():
    return [(size,) for size in SIZES]


def test_the_measured_time_is_the_median_of_the_runs_at_the_best_rate_that_reached_the_target():
    data = runs(np.ones(8))
    found = plan_check.measured_seconds(read(data, "s.csv"), data)
    assert found.index.tolist() == SIZES.tolist()
    assert_allclose(found, 1.05 * steps_to_target(SIZES, KNEE, LEAST))


def test_sweeps_on_the_curves_predict_every_batch_that_they_lack():
    one = np.ones(8)
    for held_out in (alone(), [tuple(SIZES[::2]), tuple(SIZES[1::2])]):
        found = plan_check.check(rate_sweep(one), read(runs(one), "s.csv"), seconds(), held_out)
        assert found.table["tokens_per_step"].tolist() == SIZES.tolist()
        assert_allclose(found.table["predicted"], TRUTH, rtol=1e-4)
        assert found.median_error < 1e-4


def test_a_prediction_does_not_know_the_batch_that_it_is_for():
    wrong = np.where(np.arange(8) == 3, 1.5, NOISE)
    plain = plan_check.check(rate_sweep(), read(runs(), "s.csv"), seconds(), alone()).table
    other = plan_check.check(rate_sweep(wrong), read(runs(wrong), "s.csv"), seconds(), alone()).table
    assert other["predicted"][3] == plain["predicted"][3]
    assert (other["predicted"][[0, 7]] != plain["predicted"][[0, 7]]).any()


def test_the_error_is_predicted_over_measured_less_one():
    found = plan_check.check(rate_sweep(), read(runs(), "s.csv"), seconds(2 * TRUTH), alone())
    assert_allclose(found.table["error"], found.table["predicted"] / (2 * TRUTH) - 1)
    assert 0.45 < found.median_error < 0.55
    assert found.within == 0


def test_the_band_holds_the_prediction_and_most_of_the_truth():
    found = plan_check.check(rate_sweep(), read(runs(), "s.csv"), seconds(), alone())
    assert (found.table["low"] < found.table["predicted"]).all()
    assert (found.table["predicted"] < found.table["high"]).all()
    assert found.within >= 0.75


def test_two_batches_predict_without_a_band():
    found = plan_check.check(rate_sweep(), read(runs(), "s.csv"), seconds(), [tuple(SIZES[1:-1])])
    assert found.table["predicted"].notna().all()
    assert found.table[["low", "high"]].isna().all(axis=None)
    assert np.isnan(found.within)


def test_a_file_without_wall_clock_is_named():
    data = runs().replace(b"train_seconds", b"other")
    with pytest.raises(ValueError, match="s.csv must have the column train_seconds, got tokens_per_step"):
        plan_check.measured_seconds(read(data, "s.csv"), data)


def test_the_shipped_sweeps_predict_their_own_times_to_15_percent():
    found = plan_check.worked_example()
    for one in (found.one_out, found.every_other):
        assert len(one.table) == 8 and one.table["measured"].notna().all()
        assert one.median_error <= 0.15
