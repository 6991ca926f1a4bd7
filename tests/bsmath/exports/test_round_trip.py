"""A recipe written and read again is the same in all that the format holds, within the rounding of a length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsmath.exports import EXPORTS, find, read_any
from bsmath.recipe import Recipe

LENGTHS = {"warmup_tokens", "total_tokens", "decay_tokens", "checkpoint_tokens", "eval_tokens"}
RUN = {"schedule", "total_tokens", "warmup_tokens", "min_learning_rate"}
SIZES = {"micro_batch_size", "grad_accum_steps", "seq_len"}
ADAMW = {"learning_rate", "weight_decay", "beta1", "beta2", "clip_norm"}
INTERVALS = {"checkpoint_tokens", "eval_tokens"}
HOLDS = {
    "megatron": SIZES | RUN | ADAMW | INTERVALS | {"epsilon", "decay_tokens", "optimizer", "loss_average"},
    "torchtitan": SIZES | RUN | ADAMW | INTERVALS | {"epsilon", "decay_tokens", "optimizer", "data_parallel_size"},
    "hf": SIZES - {"seq_len"} | RUN | ADAMW | INTERVALS | {"epsilon", "decay_tokens", "optimizer", "loss_average"},
    "deepspeed": SIZES - {"seq_len"} | RUN | ADAMW | {"epsilon", "optimizer", "data_parallel_size"},
    "nanogpt": SIZES | RUN | ADAMW | {"eval_tokens"},
    "nanochat": SIZES | RUN | INTERVALS | {"decay_tokens"},
    "olmo": SIZES | RUN | ADAMW | {"epsilon", "decay_tokens", "optimizer", "checkpoint_tokens"},
}
"""Fields of an AdamW recipe that a format holds."""
WITHOUT = {
    ("hf", "constant"): {"min_learning_rate"},
    ("olmo", "constant"): {"min_learning_rate"},
    ("deepspeed", "constant"): {"total_tokens", "min_learning_rate"},
    ("deepspeed", "wsd"): RUN,
    ("nanogpt", "constant"): {"warmup_tokens", "min_learning_rate"},
    ("nanogpt", "linear"): {"schedule", "warmup_tokens", "min_learning_rate"},
    ("nanogpt", "wsd"): {"schedule", "warmup_tokens", "min_learning_rate"},
    ("nanochat", "cosine"): {"schedule", "min_learning_rate"},
}
"""Of these, what it does not hold for a schedule."""

sizes = st.integers(1, 64)


@st.composite
def recipes(draw):
    """AdamW recipes whose warmup and fall are inside the run, with a stable part between them."""
    batch = dict(micro_batch_size=draw(sizes), grad_accum_steps=draw(sizes), data_parallel_size=draw(sizes))
    batch |= dict(seq_len=draw(st.integers(1, 8192)), padding_fraction=draw(st.sampled_from([0.0, 0.05, 0.5])))
    step = Recipe(**batch).tokens_per_step
    total = step * draw(st.floats(50, 1e4))
    schedule = draw(st.sampled_from(["cosine", "linear", "wsd", "constant"]))
    rate = draw(st.floats(1e-6, 1))
    return Recipe(
        **batch,
        learning_rate=rate,
        min_learning_rate=rate * draw(st.floats(0, 1)),
        weight_decay=draw(st.floats(0, 1)),
        beta1=draw(st.floats(0, 0.999)),
        beta2=draw(st.floats(0, 0.99999)),
        epsilon=draw(st.sampled_from([1e-8, 1e-12, 3.7e-9])),
        clip_norm=draw(st.sampled_from([0.5, 1.0, 1.3])),
        schedule=schedule,
        total_tokens=total,
        warmup_tokens=draw(st.sampled_from([0.0, 0.1, 0.25])) * total,
        decay_tokens=draw(st.sampled_from([0.1, 0.3, 0.5])) * total if schedule == "wsd" else 0.0,
        checkpoint_tokens=draw(st.sampled_from([0.0, 0.01, 0.2])) * total,
        eval_tokens=draw(st.sampled_from([0.0, 0.03])) * total,
    )


@pytest.mark.parametrize("name", EXPORTS)
@given(recipe=recipes())
def test_what_is_written_is_read_again(name, recipe):
    known = {
        key: getattr(recipe, key) for key in ("seq_len", "data_parallel_size", "padding_fraction", "learning_rate")
    }
    text = EXPORTS[name].write(recipe)
    assert find(text) == name
    read = EXPORTS[name].read(text, known)
    fields = read.fields
    assert not fields.keys() & read.defaults.keys()
    Recipe(**read.defaults | fields)
    missing = WITHOUT.get((name, recipe.schedule), set()) | {key for key in INTERVALS if not getattr(recipe, key)}
    missing |= {"decay_tokens"} if recipe.schedule != "wsd" else set()
    if name != "nanogpt":
        assert fields.keys() - {"weight_decay"} == HOLDS[name] - missing - {"weight_decay"}
    for key in HOLDS[name] - missing:
        expected, value = getattr(recipe, key), fields[key]
        if key in LENGTHS:
            assert value == pytest.approx(expected, abs=recipe.tokens_per_step * 1.01)
        elif key == "min_learning_rate":
            assert value == pytest.approx(expected, rel=1e-12)
        else:
            assert value == expected


@pytest.mark.parametrize("name", EXPORTS)
def test_reading_takes_what_is_missing_from_what_is_known_and_says_it(name):
    recipe = Recipe(data_parallel_size=16, grad_accum_steps=2, seq_len=512)
    read = EXPORTS[name].read(EXPORTS[name].write(recipe), {"seq_len": 512, "data_parallel_size": 16})
    fields = {key: value for key, value in read.fields.items() if key in SIZES}
    assert fields == {key: getattr(recipe, key) for key in fields}
    Recipe(**read.fields)
    if name in ("megatron", "nanogpt", "nanochat", "olmo", "hf"):
        assert read.taken["data_parallel_size"] == 16


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("schedule", ["cosine", "linear", "wsd", "constant"])
def test_sgd_is_written_with_what_the_trainer_has_for_it(name, schedule):
    recipe = Recipe(optimizer="sgd", beta1=0.8, schedule=schedule, decay_tokens=1e9, clip_norm=0, warmup_tokens=0)
    found, read = read_any(EXPORTS[name].write(recipe), {"seq_len": 2048, "data_parallel_size": 1})
    assert found == name and read.fields.get("optimizer", "sgd") == "sgd"
    assert read.fields.get("beta1", 0.8) == 0.8 and "beta2" not in read.fields
