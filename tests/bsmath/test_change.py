"""Change of batch: published numbers, the way there and back, and what the old run keeps."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from numpy.testing import assert_allclose

from bsmath import lr
from bsmath.change import changed
from bsmath.change_settings import Rules
from bsmath.recipe import Recipe

OLD = Recipe(micro_batch_size=8, data_parallel_size=8, seq_len=2048, learning_rate=3e-4, min_learning_rate=3e-5)


def rules(rate_rule="square_root", **given) -> Rules:
    return Rules(rate_rule=rate_rule, saturation_batch=1e6, **given)


def test_square_root_rule_of_malladi_at_four_times_the_batch():
    new = changed(OLD, {"data_parallel_size": 32}, rules(beta_rule="malladi")).new
    assert_allclose(new.learning_rate, 6e-4)
    assert_allclose([new.beta1, new.beta2, new.epsilon], [0.6, 0.8, 5e-9])


def test_decay_keeps_its_memory_in_tokens_under_each_rate():
    decays = {
        name: changed(OLD, {"data_parallel_size": 32}, rules(name)).new.weight_decay
        for name in ("constant", "square_root", "linear")
    }
    assert_allclose(list(decays.values()), [0.4, 0.2, 0.1])
    independent = OLD.change(decay="independent")
    assert_allclose(changed(independent, {"data_parallel_size": 32}, rules("linear")).new.weight_decay, 1 - 0.9**4)


def test_decay_by_itself_never_turns_a_weights_sign():
    new = changed(OLD.change(decay="independent"), {"data_parallel_size": 8 * 50}, rules("linear")).new
    assert 0.99 < new.weight_decay < 1


def test_a_setting_that_its_rule_drives_out_of_range_is_cut_and_said():
    found = changed(OLD, {"data_parallel_size": 8 * 1000}, rules("constant"))
    assert found.new.weight_decay == 10
    said = {setting.name: setting for setting in found.settings}["weight decay"]
    assert (
        said.reason == "its rule says 100, beyond what can be set: so far apart the rule says nothing"
        and said.confidence == "weak"
    )


def test_the_clip_threshold_stays_where_no_noise_scale_is_known():
    assert changed(OLD, {"data_parallel_size": 64}, rules()).new.clip_norm == 1.0


def test_half_life_of_betas_is_kept_in_tokens():
    old = OLD.change(micro_batch_size=1, data_parallel_size=244)  # 499,712 tokens
    new = changed(old, {"data_parallel_size": 244 * 8}, rules(beta_rule="half_life")).new
    assert_allclose(new.beta2, 0.66342, rtol=1e-5)
    for name in ("beta1", "beta2"):
        spans = [lr.beta_half_life_tokens(run.tokens_per_step, getattr(run, name)) for run in (old, new)]
        assert_allclose(spans[0], spans[1])


def test_the_square_root_rules_beta_gives_way_where_it_is_impossible():
    found = changed(OLD, {"data_parallel_size": 80}, rules(beta_rule="malladi"))
    assert_allclose(found.new.beta1, 0.9**10)
    assert_allclose(found.new.beta2, 0.5)
    said = {setting.name: setting for setting in found.settings}
    assert "impossible at k = 10" in said["beta 1"].reason and said["beta 1"].confidence == "weak"


def test_clip_threshold_follows_the_expected_norm():
    old = OLD.change(micro_batch_size=1, data_parallel_size=1, seq_len=64_000)
    new = changed(old, {"data_parallel_size": 4}, rules(noise_scale=1e6)).new
    assert_allclose(new.clip_norm, math.sqrt((1 + 1 / 0.256) / (1 + 1 / 0.064)))
    assert changed(OLD.change(clip_norm=0), {"data_parallel_size": 64}, rules()).new.clip_norm == 0


def test_lengths_keep_their_tokens_and_get_new_steps():
    old = OLD.change(warmup_tokens=131_072 * 1000, total_tokens=131_072 * 50_000, checkpoint_tokens=131_072 * 500)
    found = changed(old, {"data_parallel_size": 64}, rules())
    steps = {setting.name: (setting.before, setting.after) for setting in found.settings if "[steps]" in setting.name}
    assert steps == {
        "warmup [steps]": (1000, 125),
        "checkpoint every [steps]": (500, 62),
        "run [steps]": (50_000, 6250),
    }
    assert found.new.warmup_tokens == old.warmup_tokens


def test_the_same_loss_takes_the_tokens_of_the_hyperbola():
    new = changed(OLD, {"data_parallel_size": 64}, rules(critical_batch_size=131_072.0)).new
    assert_allclose(new.total_tokens, OLD.total_tokens * (1 + 8) / (1 + 1))


def test_a_longer_sequence_moves_the_batch():
    found = changed(OLD, {"seq_len": 4096}, rules())
    assert found.batch_ratio == 2
    assert_allclose(found.new.learning_rate, 3e-4 * math.sqrt(2))


def test_the_end_of_the_schedule_keeps_its_share_of_the_peak():
    new = changed(OLD, {"data_parallel_size": 32}, rules()).new
    assert_allclose(new.min_learning_rate / new.learning_rate, 0.1)


def test_what_moves_must_be_a_part_of_the_batch():
    with pytest.raises(ValueError, match="split must be one of micro_batch_size, .*, got 'learning_rate'"):
        changed(OLD, {"learning_rate": 1}, rules())
    with pytest.raises(ValueError, match="saturation_batch must be a number for the rule surge, got None"):
        Rules(rate_rule="surge")


RECIPES = some.builds(
    Recipe,
    micro_batch_size=some.integers(1, 64),
    grad_accum_steps=some.integers(1, 16),
    data_parallel_size=some.integers(1, 512),
    seq_len=some.sampled_from([512, 2048, 8192]),
    padding_fraction=some.sampled_from([0.0, 0.3]),
    learning_rate=some.floats(1e-5, 1e-2),
    min_learning_rate=some.floats(0, 1e-5),
    decay=some.sampled_from(["coupled", "independent"]),
    optimizer=some.sampled_from(["adamw", "sgd"]),
    beta1=some.floats(0.5, 0.99),
    beta2=some.floats(0.9, 0.999),
    clip_norm=some.sampled_from([0.0, 1.0]),
    checkpoint_tokens=some.floats(0, 1e10),
)


@given(
    RECIPES,
    some.integers(1, 512),
    some.sampled_from(list(lr.RULES)),
    some.sampled_from(["keep", "half_life", "malladi"]),
)
def test_changing_the_batch_and_back_is_the_identity(old, replicas, rate_rule, beta_rule):
    chosen = rules(rate_rule, beta_rule=beta_rule, noise_scale=3e6, critical_batch_size=2e6)
    ratio = replicas / old.data_parallel_size
    if beta_rule == "malladi":
        assume(ratio * (1 - old.beta1) < 0.99)
    try:
        there = changed(old, {"data_parallel_size": replicas}, chosen).new
        back = changed(there, {"data_parallel_size": old.data_parallel_size}, chosen).new
    except ValueError:  # a setting left its range on the way, and the sentence says which
        assume(False)
    for name in Recipe.__dataclass_fields__:
        before, after = getattr(old, name), getattr(back, name)
        assert (
            before == after if isinstance(before, str) else math.isclose(before, after, rel_tol=1e-6, abs_tol=1e-12)
        ), name


@given(RECIPES, some.integers(1, 512))
def test_lengths_in_steps_are_their_tokens_within_half_a_step(old, replicas):
    new = old.change(data_parallel_size=replicas)
    for tokens in (old.warmup_tokens, old.total_tokens, old.checkpoint_tokens):
        steps = new.steps(tokens)
        assert steps == (1 if 0 < tokens < new.tokens_per_step else steps)
        assert (
            tokens == 0
            or steps == 1
            or abs(steps * new.tokens_per_step - tokens) <= new.tokens_per_step / 2 * (1 + 1e-9)
        )
