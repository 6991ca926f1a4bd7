"""Recipes: what is derived, what is refused, and rounding for a configuration."""

import pytest

from bsmath.recipe import FIELDS, Recipe


def test_a_step_holds_real_tokens():
    run = Recipe(micro_batch_size=4, grad_accum_steps=2, data_parallel_size=8, seq_len=1000, padding_fraction=0.25)
    assert (run.global_batch_size, run.padded_tokens_per_step, run.tokens_per_step) == (64, 64_000, 48_000)
    assert run.change(model_parallel_size=4).num_devices == 32


def test_lengths_are_whole_steps_and_at_least_one():
    run = Recipe(micro_batch_size=1, seq_len=1000)
    assert [run.steps(tokens) for tokens in (0, 1, 1_400, 1_600, 1e9)] == [0, 1, 1, 2, 10**6]


@pytest.mark.parametrize(
    "field, value, said",
    [
        ("micro_batch_size", 0, "micro_batch_size must be a whole number from 1 to 1e+06, got 0"),
        ("beta1", 1.0, "beta1 must be from 0 to 0.999999, got 1.0"),
        ("schedule", "step", "schedule must be one of cosine, linear, wsd, constant, got 'step'"),
        ("learning_rate", float("nan"), "learning_rate must be finite, got nan"),
    ],
)
def test_a_wrong_value_is_named_with_its_rule(field, value, said):
    with pytest.raises(ValueError) as refused:
        Recipe(**{field: value})
    assert str(refused.value) == said


def test_rounding_keeps_four_digits_and_of_a_beta_its_distance_from_one():
    run = Recipe(learning_rate=7.525845e-4, weight_decay=0.40815749, beta2=0.99996451, clip_norm=0.71428066).rounded()
    assert (run.learning_rate, run.weight_decay, run.beta2, run.clip_norm) == (7.526e-4, 0.4082, 0.99996451, 0.7143)
    assert run.rounded() == run
    assert all(getattr(Recipe().rounded(), name) == getattr(Recipe(), name) for name in FIELDS)
