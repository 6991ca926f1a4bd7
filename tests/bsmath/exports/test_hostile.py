"""Whatever is pasted, nothing is run and nothing but a ValueError or TypeError with a sentence comes out."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsmath.exports import EXPORTS, LONGEST, find, read_any
from bsmath.recipe import Recipe

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")  # of pasted text
WORDS = sorted(set().union(*(export.keys for export in EXPORTS.values())))
VALUES = [
    "1",
    "-1",
    "1e999",
    "nan",
    "inf",
    "10**400",
    "9" * 5000,
    "$LR",
    "'x'",
    "[]",
    "{}",
    "None",
    "True",
    "f(",
    '"',
    "\\",
    "0x" + "f" * 2000,
]


def survives(name, text):
    """Read, or refused with a sentence; what is read fits a recipe."""
    try:
        read = EXPORTS[name].read(text) if name else read_any(text)[1]
    except (ValueError, TypeError) as error:
        assert 10 < len(str(error)) < 600
    else:
        Recipe(**read.defaults | read.fields)
        assert all(len(sentence) < 600 for sentence in read.said)


@pytest.mark.parametrize("name", [*EXPORTS, None])
@given(text=st.text(max_size=300))
def test_garbage_never_raises_anything_else(name, text):
    survives(name, text)


@pytest.mark.parametrize("name", [*EXPORTS, None])
@given(
    pairs=st.lists(
        st.tuples(st.sampled_from(WORDS), st.sampled_from(["=", " ", ": ", "(", " = "]), st.sampled_from(VALUES)),
        max_size=12,
    )
)
def test_settings_with_odd_values_never_raise_anything_else(name, pairs):
    survives(name, "\n".join(f"{word}{between}{value}" for word, between, value in pairs))


@pytest.mark.parametrize("name", EXPORTS)
@given(data=st.data())
def test_a_damaged_export_never_raises_anything_else(name, data):
    text = EXPORTS[name].write(Recipe(schedule="wsd", decay_tokens=1e9, eval_tokens=1e9))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + data.draw(st.sampled_from([*VALUES, "\n", "(", ")", "#", "="]))
            + text[at + data.draw(st.integers(0, 20)) :]
        )
    survives(name, text)


DEEP = [
    "[" * 9000,
    "{" * 9000,
    "(" * 9000,
    "-" * 90_000 + "1",
    "a=" + "1+" * 50_000 + "1",
    "a=" * 9000 + "1",
    '{"a":' * 9000,
    "x = " + "[" * 900 + "]" * 900,
]


@pytest.mark.parametrize("name", [*EXPORTS, None])
@pytest.mark.parametrize("text", DEEP, ids=[text[:6] for text in DEEP])
def test_deeply_nested_text_is_refused_or_read(name, text):
    survives(name, f"max_iters = 1\n{text}")
    survives(name, text)


@pytest.mark.parametrize("name", [*EXPORTS, None])
@pytest.mark.parametrize(
    "piece", ["--lr ", "\\\n", "\\ ", "a: ", "f(1)\n", "'", "=", " ", "lr=lr\n", "f(a=g(b=[1,2]))\n"]
)
def test_the_longest_text_takes_seconds_at_most(name, piece):
    start = time.perf_counter()
    survives(name, ("max_iters=1\n" + piece * LONGEST)[:LONGEST])
    assert time.perf_counter() - start < 10


def test_nothing_in_the_text_is_run(tmp_path):
    mark = tmp_path / "ran"
    text = f"max_iters = 5\nblock_size = open({str(mark)!r}, 'w').write('x')\nbatch_size = __import__('os').getpid()\n"
    read = EXPORTS["nanogpt"].read(text)
    assert not mark.exists() and read.fields == {}
    assert any("batch_size could not be read" in sentence for sentence in read.said)


def test_too_long_a_text_is_refused():
    with pytest.raises(ValueError, match="text must be of at most 200,000 characters, got 200,001"):
        find("x" * (LONGEST + 1))
    with pytest.raises(TypeError, match="text must be text, got a int"):
        read_any(5)


def test_a_text_without_settings_is_refused_with_one_sentence():
    with pytest.raises(ValueError, match="text must be a configuration of Megatron-LM, .*, got one without any"):
        read_any("hello")
    with pytest.raises(ValueError, match="text must hold a setting of a recipe, got a Megatron-LM text without one"):
        read_any("--train-samples $SAMPLES")


def test_known_fields_are_checked():
    with pytest.raises(ValueError, match="known must be one of .*, got 'speed'"):
        read_any("--lr 1 --clip-grad 1", {"speed": 1})
    with pytest.raises(ValueError, match="seq_len must be"):
        read_any("--lr 1 --clip-grad 1", {"seq_len": 0})


def test_values_outside_a_recipe_are_left_out_and_said():
    read = EXPORTS["megatron"].read(
        "--lr 1000 --adam-beta1 1.5 --seq-length 2.5 --micro-batch-size 0 --optimizer lion --weight-decay 0.1"
    )
    assert read.fields == {"weight_decay": 0.1}
    assert "--lr was left out: learning_rate must be from 1e-08 to 100, got 1000." in read.said
    assert len(read.said) == 5
