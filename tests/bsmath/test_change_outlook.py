"""The scenario's change of batch: the default question of 8 to 64 devices, in numbers."""

import pytest
from numpy.testing import assert_allclose

from bsmath import curves
from bsmath.change_outlook import applied, change_outlook, recipe_of, ways
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

EIGHT = Scenario(data_parallel_size=8, new_data_parallel_size=64)


def test_what_is_not_changed_goes_along_with_the_run():
    assert Scenario(data_parallel_size=8).new_data_parallel_size == 8
    assert EIGHT.change(micro_batch_size=4).new_micro_batch_size == 4
    assert EIGHT.change(data_parallel_size=16).new_data_parallel_size == 64


def test_the_old_runs_rate_is_the_tuned_one_at_its_own_batch():
    old = recipe_of(EIGHT)
    assert_allclose(old.learning_rate, curves.rate_by("saturating_adamw", EIGHT, 786_432))
    tuned_here = EIGHT.change(reference_tokens_per_step=786_432)
    assert_allclose(recipe_of(tuned_here).learning_rate, tuned_here.learning_rate)


def test_eight_to_sixty_four_devices():
    found = change_outlook(EIGHT)
    assert (found.change.old.tokens_per_step, found.change.new.tokens_per_step) == (786_432, 6_291_456)
    assert_allclose(found.change.new.learning_rate, curves.rate_by("saturating_adamw", EIGHT, 6_291_456))
    assert_allclose(found.new.steps, 50_000 * (1 + 1e6 / 6_291_456))
    assert_allclose(found.change.new.total_tokens, found.new.tokens)
    assert found.checks[0].wrong == "The schedule is written in steps, and a step now has another size"


def test_a_token_budget_keeps_its_tokens():
    found = change_outlook(EIGHT.change(goal="budget"))
    assert found.change.new.total_tokens == found.change.old.total_tokens == EIGHT.token_budget


def test_the_new_run_becomes_this_run():
    found = change_outlook(EIGHT)
    after = applied(EIGHT, found.change)
    assert outlook(after).tokens_per_step == 6_291_456
    assert (after.new_data_parallel_size, after.reference_tokens_per_step) == (64, 6_291_456)
    again = change_outlook(after)
    assert again.change.old == again.change.new
    assert_allclose(again.change.new.learning_rate, found.change.new.learning_rate)


def test_going_back_gives_the_old_run():
    after = applied(EIGHT, change_outlook(EIGHT).change).change(new_data_parallel_size=8)
    back = change_outlook(after).change.new
    for name in ("learning_rate", "weight_decay", "clip_norm", "total_tokens", "tokens_per_step"):
        assert_allclose(getattr(back, name), getattr(recipe_of(EIGHT), name))


def test_ways_to_use_the_devices_hold_the_old_batch_too_and_the_fastest_stands_first():
    table = ways(EIGHT)
    assert table["seconds"].is_monotonic_increasing
    kept = table[table["tokens_per_step"] == 786_432]
    assert kept[["micro_batch_size", "grad_accum_steps"]].to_numpy().tolist() == [[6, 1]]


def test_ways_name_the_nearest_batches_where_the_old_one_cannot_be_split():
    table = ways(Scenario(micro_batch_size=5, data_parallel_size=3, new_micro_batch_size=5, new_data_parallel_size=4))
    assert {12 * 2048, 16 * 2048} <= set(table["tokens_per_step"])


def test_a_split_that_no_trainer_takes_is_no_way():
    odd = Scenario(goal="budget", micro_batch_size=1000, grad_accum_steps=100_000, new_micro_batch_size=1)
    assert len(ways(odd)) >= 1


def test_the_clip_threshold_moves_only_with_a_noise_scale_of_its_own():
    assert change_outlook(EIGHT).change.new.clip_norm == 1.0
    assert change_outlook(EIGHT.change(noise_scale=5e5)).change.new.clip_norm < 1.0


def test_a_setting_out_of_range_is_named():
    low = Scenario(learning_rate=1e-8, rate_rule="linear", data_parallel_size=8, new_data_parallel_size=1)
    with pytest.raises(ValueError, match="learning_rate must be from 1e-08 to 100, got"):
        change_outlook(low)
