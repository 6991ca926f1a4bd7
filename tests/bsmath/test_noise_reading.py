"""Two gradient norms by themselves: parts, uncertainty, steps needed, and what is refused."""

import pytest

from bsmath import noise, noise_reading

WORKED = {"tokens_small": 64, "tokens_big": 1_024, "norm_small": 2.0625, "norm_big": 1.06640625}


def test_the_worked_norms_give_both_parts_and_their_ratio():
    found = noise_reading.reading(**WORKED)
    assert (found.grad_sq_norm, found.trace, found.noise_scale) == pytest.approx((1, 68, 68))
    assert (found.small_batches, found.averaged, found.refusal) == (16, 16, None)


def test_norms_give_the_same_as_their_squares():
    roots = WORKED | {"norm_small": 2.0625**0.5, "norm_big": 1.06640625**0.5}
    assert noise_reading.reading(squared=False, **roots).noise_scale == pytest.approx(68)


def test_one_step_is_as_uncertain_as_the_sourced_case():
    """r = 16, n = 8, d_eff = 1,000: 80.57 % for |G|^2; with the noise's own part 65.8 instead of 64.9 steps for 10 %."""
    signal, trace, n, big = 1.0, 16 * 1_024.0, 8, 1_024
    norms = {"norm_small": signal + trace * n / big, "norm_big": signal + trace / big}
    found = noise_reading.reading(tokens_small=big / n, tokens_big=big, effective_dimension=1_000, **norms)
    assert found.relative_error == pytest.approx(16)
    assert found.signal_deviation == pytest.approx(0.8057, rel=1e-4)
    assert noise.steps_needed(found.signal_deviation**2, 0.10) == pytest.approx(64.9, rel=1e-3)
    assert found.steps_needed == pytest.approx(64.9 + (2 + 4 * 16) / 7_000 / 0.01, rel=1e-3)


def test_averaging_as_many_steps_as_needed_gives_10_percent():
    need = noise_reading.reading(**WORKED).steps_needed
    assert noise_reading.reading(**WORKED, steps=need * 100).relative_deviation == pytest.approx(0.01)


def test_one_norm_of_a_single_replica_is_less_sure_than_the_mean_of_all():
    assert noise_reading.reading(**WORKED, averaged=1).steps_needed > 2 * noise_reading.reading(**WORKED).steps_needed


@pytest.mark.parametrize("big, part", [(0.05, "The signal"), (2.5, "The noise")])
def test_a_part_that_is_not_positive_is_refused_with_its_reason(big, part):
    found = noise_reading.reading(**(WORKED | {"norm_big": big}))
    assert found.noise_scale is None and found.refusal.startswith(part)


def test_norms_of_zero_identify_nothing():
    assert noise_reading.reading(**(WORKED | {"norm_small": 0, "norm_big": 0})).noise_scale is None


@pytest.mark.parametrize(
    "change, message",
    [
        ({"tokens_big": 100}, r"B must be at least twice b \(64\), got 100"),
        ({"tokens_small": 0}, "b must be from 1 to 1e"),
        ({"norm_small": -1}, "small norm must be from 0"),
        ({"norm_big": float("nan")}, "big norm must be finite"),
        ({"averaged": 17}, "small norms averaged must be from 1 to 16, got 17"),
        ({"steps": 0}, "steps averaged must be from 1"),
        ({"effective_dimension": 0.5}, "effective dimension must be from 1"),
    ],
)
def test_values_out_of_range_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        noise_reading.reading(**(WORKED | change))
