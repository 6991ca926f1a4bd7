"""How one measured series differs from another: right ratios, intervals that cover, and no claim without one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from bsmath import difference, sweeps
from bsmath.measured import measurement

SIZES = 2.0 ** np.arange(13, 22)


def rates(name: str, fixed: float, plateau: float, noise: float = 0.0, seed: int = 0, sizes=SIZES):
    off = np.random.default_rng(seed).lognormal(0, noise, len(sizes)) if noise else np.ones(len(sizes))
    rows = "\n".join(f"{size:.0f},{(fixed + size / plateau) * one:.9g}" for size, one in zip(sizes, off, strict=True))
    return measurement(
        sweeps.read(f"batch_tokens,step_time_s\n{rows}\n".encode(), name), sweeps.ALL_ROWS, "tokens_per_second"
    )


def steps(name: str, knee: float, least: float, noise: float, seed: int):
    off = np.random.default_rng(seed).lognormal(0, noise, len(SIZES))
    rows = "\n".join(f"{size:.0f},{least * (1 + knee / size) * one:.9g}" for size, one in zip(SIZES, off, strict=True))
    return measurement(sweeps.read(f"batch_tokens,steps_to_target\n{rows}\n".encode(), name), sweeps.ALL_ROWS, "steps")


def test_a_plateau_that_is_a_fifth_higher_is_said_with_its_ratio():
    said = " ".join(difference.between(rates("before", 0.05, 60_000, 0.005, 1), rates("after", 0.05, 72_000, 0.005, 2)))
    assert "Plateau: 1.2" in said and "before" in said and "after" in said


def test_the_same_machine_measured_twice_is_not_distinguished():
    found = difference.compare(rates("a", 0.05, 60_000, 0.02, 1), rates("b", 0.05, 60_000, 0.02, 2))
    assert "not distinguishable" in " ".join(
        difference.between(rates("a", 0.05, 60_000, 0.02, 1), rates("b", 0.05, 60_000, 0.02, 2))
    )
    assert found.quantity == "tokens_per_second"


def test_a_smaller_fixed_time_helps_small_batches_most():
    said = " ".join(difference.between(rates("slow", 0.1, 60_000, 0.003, 1), rates("quick", 0.05, 60_000, 0.003, 2)))
    assert "Fixed time" in said and "-5" in said


def test_of_steps_the_critical_batches_are_compared():
    said = " ".join(difference.between(steps("a", 2**16, 1000, 0.02, 1), steps("b", 2**18, 1000, 0.02, 2)))
    assert "B_crit" in said


def test_ranges_that_do_not_meet_and_other_quantities_are_refused():
    low, high = rates("low", 0.05, 60_000, sizes=SIZES[:4]), rates("high", 0.05, 60_000, sizes=SIZES[5:])
    assert len(difference.between(low, high)) == 1
    assert len(difference.between(low, steps("s", 2**16, 1000, 0.02, 1))) == 1


def test_the_other_way_round_is_the_inverse():
    a, b = rates("a", 0.05, 60_000), rates("b", 0.05, 90_000)
    there, back = " ".join(difference.between(a, b)), " ".join(difference.between(b, a))
    assert "1.50x at the largest" in there and "0.667x at the largest" in back


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_a_ratio_of_plateaus_is_covered_nine_times_in_ten(noise):
    """Both are drawn 200 times from one truth: how often the sentence does not claim a change."""
    claims = 0
    for seed in range(200):
        said = difference.between(
            rates("a", 0.05, 60_000, noise, 2 * seed), rates("b", 0.05, 60_000, noise, 2 * seed + 1)
        )
        claims += any("Plateau" in one and "not distinguishable" not in one and "no change" not in one for one in said)
    assert claims <= 0.2 * 200


def test_the_ratio_is_of_the_second_over_the_first_at_the_batches_that_both_measured():
    found = difference.compare(
        rates("before", 0.05, 60_000, sizes=SIZES), rates("after", 0.05, 60_000 * 1.2, sizes=SIZES[2:6])
    )
    assert not found.by_fits and found.batches == tuple(SIZES[2:6])
    before, after = (0.05 + SIZES[2:6] / rate for rate in (60_000, 72_000))
    assert found.mean.value == pytest.approx(np.exp(np.log(before / after).mean()), rel=1e-6)
    assert (found.smallest.value, found.largest.value) == pytest.approx(
        ((before / after)[0], (before / after)[-1]), rel=1e-6
    )


def test_without_common_batches_the_fits_are_compared_inside_the_common_range_only():
    found = difference.compare(rates("before", 0.05, 60_000), rates("after", 0.05, 72_000, sizes=SIZES[1:] * 1.4))
    assert found.by_fits
    assert (found.batches[0], found.batches[-1]) == pytest.approx((SIZES[1] * 1.4, SIZES[-1]), rel=1e-4)
    assert (
        "by the two fits"
        in difference.between(rates("before", 0.05, 60_000), rates("after", 0.05, 72_000, sizes=SIZES[1:] * 1.4))[0]
    )


def test_the_sentence_has_the_ratio_the_range_and_both_ends():
    said = difference.between(rates("before", 0.05, 60_000, 0.004, 1), rates("after", 0.05, 72_000, 0.004, 2))
    assert said[0].startswith("after is 1.1") and "over 8.19k-2.1M tokens per step" in said[0]
    assert "at the smallest" in said[0] and "90 % interval" in said[0]
    assert said[-1].startswith("The plateau changed")


def test_curves_that_cross_are_told_at_their_ends():
    sizes = 2.0 ** np.arange(11, 18)
    pair = rates("a", 0.05, 60_000, 0.003, 1, sizes), rates("b", 0.12, 95_000, 0.003, 2, sizes)
    said, found = difference.between(*pair), difference.compare(*pair)
    assert found.smallest.high < 1 < found.largest.low
    assert "0.59" in " ".join(said) and "1.49" in " ".join(said)
    assert said[-1].startswith("Both changed")


def test_a_difference_at_one_end_alone_is_told_where_the_mean_is_none():
    sizes = 2.0 ** np.arange(11, 18)
    fixed = optimize.brentq(lambda t: np.log((0.05 + sizes / 60_000) / (t + sizes / 95_000)).mean(), 0.05, 1)
    pair = rates("a", 0.05, 60_000, 0.01, 1, sizes), rates("b", fixed, 95_000, 0.01, 2, sizes)
    said, found = difference.between(*pair), difference.compare(*pair)
    assert not found.mean.clear and "b and a are not distinguishable over" in said[0]
    assert said[1].startswith("But at the smallest batch, 2.05k, the ratio is 0.57")
    assert "at the largest batch, 131k, the ratio is 1.4" in said[1]


def test_a_broken_point_is_no_difference():
    good, wrong = rates("a", 0.05, 60_000, 0.01, 1), rates("b", 0.05, 60_000, 0.01, 2)
    points = wrong.points.assign(
        median=wrong.points["median"].where(wrong.points.index != 4, wrong.points["median"] * 10)
    )
    rows = "\n".join(
        f"{size:.0f},{rate!r}" for size, rate in zip(points["tokens_per_step"], points["median"], strict=True)
    )
    broken = measurement(
        sweeps.read(f"batch_tokens,tokens_per_s\n{rows}\n".encode(), "b"), sweeps.ALL_ROWS, "tokens_per_second"
    )
    assert broken.fit.broken == (SIZES[4],)
    found = difference.compare(good, broken)
    assert SIZES[4] not in found.batches and not found.mean.clear and not found.parameters["plateau"].clear


def test_per_device_is_said_where_the_numbers_of_devices_differ():
    a, b = rates("one", 0.05, 60_000, 0.004, 1), rates("eight", 0.05, 400_000, 0.004, 2)
    said = difference.between(a, b, devices=(1, 8))
    found = difference.compare(a, b, devices=(1, 8))
    (sentence,) = [one for one in said if one.startswith("Per device (8 devices against 1)")]
    assert f"{found.mean.value / 8:#.3g}x" in sentence
    assert not any("Per device" in one for one in difference.between(a, b, devices=(8, 8)) + difference.between(a, b))


def test_two_points_claim_nothing():
    a, b = rates("a", 0.05, 60_000, sizes=SIZES[:2]), rates("b", 0.05, 90_000, sizes=SIZES[:2])
    said = difference.between(a, b)
    assert "nothing says how sure that is" in said[0] and "not compared" in said[-1] and len(said) == 2


def test_units_that_differ_are_refused():
    a = rates("a", 0.05, 60_000)
    (said,) = difference.between(a, replace(a, batch_unit="sequences", label="b"))
    assert said == "The two cannot be compared: a counts its batches in tokens, b in sequences."
    with pytest.raises(ValueError, match="cannot be compared"):
        difference.compare(a, replace(a, batch_unit="sequences"))


def test_steps_are_said_as_steps():
    said = difference.between(steps("a", 2**16, 1000, 0.01, 1), steps("b", 2**18, 1000, 0.01, 2))
    assert said[0].startswith("b needs ") and "the steps of a over" in said[0]
    assert said[-1].startswith("The critical batch changed")


def test_a_sweep_whose_rate_was_held_gives_no_ratio_of_critical_batches():
    sizes = 2.0 ** np.arange(13, 20)
    rows = "\n".join(
        f"{size:.0f},{1000 * (1 + 2**16 / size) * (1 + 0.01 * (i % 2)):.0f},0.001" for i, size in enumerate(sizes)
    )
    held = measurement(
        sweeps.read(f"batch_tokens,steps_to_target,learning_rate\n{rows}\n".encode(), "held"), sweeps.ALL_ROWS, "steps"
    )
    assert held.verdict.startswith("Refused:")
    said = difference.between(steps("a", 2**16, 1000, 0.02, 1), held)
    assert said[-1] == "Their fitted numbers are not compared: the points of held do not identify them."


def covered(make, truth: dict, noise: float, times: int = 100) -> dict[str, float]:
    """Share of simulated pairs in which each interval holds the truth, of those that have one."""
    pairs = [difference.compare(*make(noise, 2 * seed)) for seed in range(times)]
    every = [pair.parameters | {"mean": pair.mean} for pair in pairs if pair.parameters]
    assert len(every) > 0.8 * times  # in the others noise looks like a curve
    return {
        name: np.mean([each[name].low <= value <= each[name].high for each in every]) for name, value in truth.items()
    }


def test_the_intervals_of_throughput_cover_the_truth_about_nine_times_in_ten():
    def make(noise, seed):
        return rates("a", 0.05, 60_000, noise, seed), rates("b", 0.08, 90_000, noise, seed + 1)

    mean = np.exp(np.log((0.05 + SIZES / 60_000) / (0.08 + SIZES / 90_000)).mean())
    shares = covered(make, {"plateau": 1.5, "fixed_time": 0.03, "mean": mean}, 0.02)
    assert all(0.84 <= share <= 0.99 for share in shares.values()), shares


def test_the_intervals_of_steps_cover_the_truth_about_nine_times_in_ten():
    def make(noise, seed):
        return steps("a", 2**17, 1000, noise, seed), steps("b", 2**18, 1300, noise, seed + 1)

    mean = np.exp(np.log(1.3 * (1 + 2**18 / SIZES) / (1 + 2**17 / SIZES)).mean())
    shares = covered(make, {"critical_batch_size": 2, "min_steps": 1.3, "mean": mean}, 0.03)
    assert all(0.84 <= share <= 0.99 for share in shares.values()), shares


def test_mover_of_symmetric_intervals_is_the_square_root_of_squares():
    assert difference.mover((1, 0.7, 1.3), (3, 2.6, 3.4)) == pytest.approx((2, 1.5, 2.5))
