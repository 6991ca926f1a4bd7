"""Pasted ramps: what a trainer's text says, in tokens, and what every written form reads back as."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import ramp
from bsmath.ramp_exports import RAMP_EXPORTS
from bsmath.ramp_import import FORMS, read_schedule
from bsmath.ramp_stages import powers, staged

SEQ_LEN, TOTAL = 2048, 1e12
PADDINGS = pytest.mark.parametrize("padding", [0, 0.25, 0.037, 0.9])
STEP, RAMPUP, OLMO, TABLE, BARE = FORMS
EXAMPLE = "0:768 250B:1536 500B:3072 750B:6144"
"""The example of Megatron-LM's pull request 4411."""
BLOOM = """GLOBAL_BATCH_SIZE=2048
SEQ_LEN=2048
GPT_ARGS=" \\
    --rampup-batch-size 192 16 9_765_625 \\
    --global-batch-size $GLOBAL_BATCH_SIZE \\
    --train-samples 220_000_000 \\
    --seq-length $SEQ_LEN \\
"
"""
CALLBACK = """callbacks = {
    "batch_size": BatchSizeSchedulerCallback(
        batch_sizes=[1024 * SEQUENCE_LENGTH, 2048 * SEQUENCE_LENGTH],
        schedule=[Duration.tokens(0), Duration.tokens(int(168e9))],
    ),
}
"""


def pieces(build, padding, falls=False):
    real = SEQ_LEN * (1 - padding)
    ends = (4096 * real, 256 * real) if falls else (256 * real, 4096 * real)
    return build(ramp.linear_tokens(*ends, 1e11), SEQ_LEN, 64, TOTAL, most_stages=8, padding_fraction=padding)


def equal_rises(padding, rises=6):
    real = SEQ_LEN * (1 - padding)
    asked = ramp.rampup(16 * real, 8 * real, (16 + 8 * rises) * real, 5_000 * rises * real)
    return staged(asked, SEQ_LEN, 8, TOTAL, most_stages=1000, padding_fraction=padding)


WRITTEN = {
    "megatron": lambda padding: pieces(staged, padding),
    "megatron_rampup": equal_rises,
    "olmo": lambda padding: pieces(powers, padding),
    "table": lambda padding: pieces(staged, padding, falls=True),
}
"""Stages that each form can say."""


def written(name, stages):
    return RAMP_EXPORTS[name].write(stages, [3e-4] * len(stages), SEQ_LEN, TOTAL)


@PADDINGS
@pytest.mark.parametrize("name", RAMP_EXPORTS)
def test_every_written_form_is_read_back_as_the_same_stages_and_written_the_same_again(name, padding):
    stages = WRITTEN[name](padding)
    text = written(name, stages)
    read = read_schedule(text, SEQ_LEN, None, padding)
    again = staged(
        ramp.staircase(read.thresholds, read.batches), SEQ_LEN, 8, TOTAL, most_stages=1000, padding_fraction=padding
    )
    assert [stage.global_batch_size for stage in again] == [stage.global_batch_size for stage in stages]
    assert [stage.steps for stage in again] == [stage.steps for stage in stages]
    assert_allclose(read.thresholds, [stage.threshold_tokens for stage in stages], rtol=0, atol=1)
    assert written(name, again) == text
    assert not read.said


@pytest.mark.parametrize(
    "text",
    [
        f'    --step-batch-size-schedule "{EXAMPLE}" \\\n    --train-samples 100',
        f"--step-batch-size-schedule='{EXAMPLE}' --train-samples 100",
        f'--step_batch_size_schedule: "{EXAMPLE.replace(" ", ", ")}"',
        "--step-batch-size-schedule 0:768 2.5e11:1536 0.5T:3072 750000M:6144 --lr 1e-4",
        f"MEGATRON_ARGS=(\n    --step-batch-size-schedule '{EXAMPLE}'  # tokens\n    --seq-length 2048\n)",
        EXAMPLE,
        f'"{EXAMPLE}"\n',
    ],
)
def test_a_schedule_is_read_however_it_is_quoted(text):
    read = read_schedule(text, SEQ_LEN)
    assert read.form == (BARE if text.startswith(("0:", '"0:')) else STEP)
    assert read.thresholds == (0, 250e9, 500e9, 750e9)
    assert read.batches == (768 * 2048, 1536 * 2048, 3072 * 2048, 6144 * 2048)


def test_the_texts_own_sequences_give_its_tokens():
    read = read_schedule(f"--step-batch-size-schedule '{EXAMPLE}' --seq-length 4096", SEQ_LEN)
    assert read.batches[0] == 768 * 4096
    assert read.said == ("The text's sequences have 4,096 tokens, this run's 2,048: its tokens are kept.",)


def test_a_rampup_becomes_its_equal_rises():
    # 16, 24, ... 64 sequences: six rises over 30,000 sequences, one each 5,000 x 2048 = 10.24 million tokens.
    read = read_schedule("--rampup-batch-size 16 8 30000 --global-batch-size 64 --seq-length 2048", 512)
    assert read.form == RAMPUP
    assert_allclose(read.batches, np.arange(16, 65, 8) * 2048)
    assert_allclose(read.thresholds, np.arange(7) * 10_240_000)


def test_a_rampup_without_an_end_takes_that_of_the_run_and_says_so():
    read = read_schedule("--rampup-batch-size 16 8 30000", 2048, 64)
    assert read.batches[-1] == 64 * 2048
    assert read.said == ("The text names no --global-batch-size, so it ends at this run's batch of 64 sequences.",)


def test_the_script_of_bloom_is_read_with_its_variables_and_underscores():
    read = read_schedule(BLOOM, 4096, 48)
    assert_allclose(np.array(read.batches) / 2048, np.arange(192, 2049, 16))
    assert read.thresholds[-1] == 9_765_625 * 2048


@pytest.mark.parametrize(
    "text",
    [
        "model:\n  global_batch_size: 64\n  rampup_batch_size: [16, 8, 30000]\n  encoder_seq_length: 2048\n",
        "dict(rampup_batch_size=[16, 8, 30_000], global_batch_size=64, seq_length=2_048)",
        '{"rampup_batch_size": [16, 8, 30000], "global_batch_size": 64, "seq_length": 2048}',
    ],
)
def test_settings_of_the_same_names_are_read_too(text):
    read = read_schedule(text, 512)
    assert (len(read.batches), read.batches[-1], read.thresholds[-1]) == (7, 64 * 2048, 30_000 * 2048)


@pytest.mark.parametrize("text", ["SEQUENCE_LENGTH = 4096\n" + CALLBACK, CALLBACK.replace("SEQUENCE_LENGTH", "4096")])
@pytest.mark.parametrize("around", ["{}", "    )\n    {}"])
def test_olmos_callback_is_read_in_a_script_and_in_a_piece_that_does_not_parse(text, around):
    if "SEQUENCE" in text and around != "{}":
        return  # the name is outside the piece
    read = read_schedule(around.format(text), 512)
    assert read.form == OLMO
    assert read.batches == (1024 * 4096, 2048 * 4096) and read.thresholds == (0, 168e9)


def test_a_table_needs_but_two_of_its_columns_and_may_come_from_a_spreadsheet():
    for mark in ",;\t":
        text = f"note{mark}tokens_per_step{mark}from_tokens\nfirst{mark}1e6{mark}0\nsecond{mark}2e6{mark}3e9\n"
        read = read_schedule(text, SEQ_LEN, None, 0.5)
        assert (read.form, read.thresholds, read.batches) == (TABLE, (0, 3e9), (1e6, 2e6))  # without padding


@pytest.mark.parametrize(
    "text, message",
    [
        ("--global-batch-size 64", "text must hold --step-batch-size-schedule, --rampup-batch-size, OLMo-core's"),
        ("", "text must hold --step-batch-size-schedule"),
        ("--rampup-batch-size 16 8 30000", "text must name --global-batch-size, .* got none"),
        ("--rampup-batch-size 16 8 30000 --global-batch-size $GBS", "--global-batch-size must be a whole number .*GBS"),
        ("--rampup-batch-size 16 8 30000 --global-batch-size 64 --seq-length 0", "--seq-length must be a whole number"),
        ("--rampup-batch-size 16 7 30000 --global-batch-size 64", "whole increments, got 7 from 16 to 64"),
        ("--rampup-batch-size 16 0 30000 --global-batch-size 64", "got 0 from 16 to 64"),
        ("--rampup-batch-size 1 1 300000 --global-batch-size 1024", "by 1 to 999 whole increments"),
        ("--rampup-batch-size 64 8 0 --global-batch-size 128", "thresholds must rise"),
        ("--rampup-batch-size 16 8 --global-batch-size 64", "must be followed by start, increment and samples"),
        ("--rampup-batch-size 16 8 3e5 --global-batch-size 64", "must be followed by start, increment and samples"),
        ("rampup_batch_size: null", "must be followed by start, increment and samples"),
        ("--step-batch-size-schedule $SCHEDULE", "must be followed by stages such as 0:768"),
        ("--step-batch-size-schedule '250B:768'", "must begin at 0 tokens"),
        ("--step-batch-size-schedule '0:768 1B'", "must be tokens:sequences"),
        ("BatchSizeSchedulerCallback", "must be called in Python that parses"),
        ("BatchSizeSchedulerCallback(batch_sizes=SIZES, schedule=[])", "must have batch_sizes in tokens"),
        (
            "BatchSizeSchedulerCallback(batch_sizes=[8], schedule=[Duration.steps(0)])",
            "as many Duration.tokens",
        ),
        ("BatchSizeSchedulerCallback(batch_sizes=[8, 9], schedule=[Duration.tokens(0)])", "got 2 and 1"),
        ("BatchSizeSchedulerCallback(batch_sizes=[0], schedule=[Duration.tokens(0)])", "batches must be from 1"),
        ("from_tokens,tokens_per_step\n0,many", "every row of the table must have numbers .*'many'"),
        ("from_tokens,tokens_per_step\n0", "every row of the table must have numbers"),
        ("from_tokens,tokens_per_step\n", "got 0 and 0"),
        ("x" * 300_000, "text must be of at most 200,000 characters, got 300,000"),
    ],
)
def test_other_texts_are_refused_with_a_sentence(text, message):
    with pytest.raises(ValueError, match=message):
        read_schedule(text, SEQ_LEN)


def test_an_end_that_comes_from_the_run_is_named_where_it_does_not_fit():
    with pytest.raises(ValueError, match="got 768 from 768 to 48, this run's batch, as the text names none"):
        read_schedule("--rampup-batch-size 768 768 97656250", SEQ_LEN, 48)


@pytest.mark.parametrize(
    "text",
    [
        "--step-batch-size-schedule " + "0:" * 90_000,
        "--rampup-batch-size " + "1 " * 90_000,
        "step-batch-size-" * 12_000,
        "BatchSizeSchedulerCallback" + "(" * 100_000,
        "from_tokens,tokens_per_step\n" + "0,1\n" * 40_000,
        "$A" * 90_000,
        "0:1 " * 40_000,
        "from_tokens tokens_per_step \x00",
    ],
)
def test_a_long_hostile_text_is_read_at_once(text):
    with pytest.raises(ValueError, match=re.compile("must")):
        read_schedule(text, SEQ_LEN)
