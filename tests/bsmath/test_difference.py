"""How one measured series differs from another: right ratios, intervals that cover, and no claim without one."""

import numpy as np
import pytest

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
