"""Batch ramps in the syntax of trainers: read back as the trainer reads them, they are the same stages."""

import ast
import csv
import io
import math
import shlex

import pytest
from numpy.testing import assert_allclose

from bsmath import ramp
from bsmath.ramp_exports import RAMP_EXPORTS
from bsmath.ramp_kinds import read_stages
from bsmath.ramp_stages import powers, simulated_steps, staged

SEQ_LEN = 2048
TOTAL = 1e12
EXAMPLE = "0:768 250B:1536 500B:3072 750B:6144"
"""The example of Megatron-LM's pull request 4411."""
PADDINGS = pytest.mark.parametrize("padding", [0, 0.25, 0.037])


def example():
    thresholds, sizes = zip(*read_stages(EXAMPLE), strict=True)
    return staged(ramp.staircase(thresholds, [size * SEQ_LEN for size in sizes]), SEQ_LEN, 256, TOTAL)


def linear(build=staged, padding=0):
    real = SEQ_LEN * (1 - padding)
    return build(
        ramp.linear_tokens(256 * real, 4096 * real, 1e11), SEQ_LEN, 64, TOTAL, most_stages=8, padding_fraction=padding
    )


def equal_rises(samples=30_000):
    return staged(ramp.rampup(16 * SEQ_LEN, 8 * SEQ_LEN, 64 * SEQ_LEN, samples * SEQ_LEN), SEQ_LEN, 8, 1e9)


def rates(stages):
    return [3e-4 * stage.learning_rate_ratio for stage in stages]


def written(name, stages, total=TOTAL):
    return RAMP_EXPORTS[name].write(stages, rates(stages), SEQ_LEN, total)


def said(name, stages, shown=None):
    return " ".join(RAMP_EXPORTS[name].notes(stages, shown or rates(stages), SEQ_LEN))


def argv(text):
    """Values by flag inside the bash array; several as a list."""
    found = {}
    for word in shlex.split(text[text.index("=(") + 2 : text.rindex(")")], comments=True):
        if word.startswith("--"):
            found[word[2:]] = []
            name = word[2:]
        else:
            found[name].append(word)
    return found


def megatron_number(text):
    """Megatron-LM's own reading of a number: int(float(digits) * factor)."""
    factor = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}.get(text[-1], 1)
    return int(float(text.rstrip("KMBT")) * factor)


def test_megatron_gets_the_schedule_of_its_own_example():
    found = argv(written("megatron", example()))
    assert found["step-batch-size-schedule"] == [EXAMPLE]
    assert found["seq-length"] == ["2048"]
    assert found["train-samples"] == ["488281250"]  # 1e12 / 2048
    assert not {"global-batch-size", "rampup-batch-size", "train-iters"} & set(found)


@PADDINGS
def test_what_is_written_for_megatron_reads_back_to_the_same_stages(padding):
    stages = linear(padding=padding)
    text = argv(written("megatron", stages))["step-batch-size-schedule"][0]
    tokens, sizes = zip(*read_stages(text), strict=True)
    assert list(sizes) == [stage.global_batch_size for stage in stages]
    assert_allclose(tokens, [stage.threshold_tokens / (1 - padding) for stage in stages], rtol=0, atol=0.5)


@PADDINGS
def test_megatron_reads_each_threshold_as_whole_sequences_without_rounding(padding):
    stages = linear(padding=padding)
    consumed = 0
    text = argv(written("megatron", stages))["step-batch-size-schedule"][0]
    for part, stage in zip(text.split(), stages, strict=True):
        tokens, size = map(megatron_number, part.split(":"))
        assert (tokens, size) == (consumed * SEQ_LEN, stage.global_batch_size)
        consumed += stage.steps * stage.global_batch_size


def test_a_suffix_stands_only_where_nothing_is_rounded():
    # 1,234,567,890,000 is whole thousands, but 1.23456789T could come out one less.
    stages = staged(ramp.staircase([0, 1_234_567_890_000, 2e12 + 1, 5e12], [1, 2, 4, 8]), 1, 1, 1e13)
    text = argv(RAMP_EXPORTS["megatron"].write(stages, rates(stages), 1, 1e13))["step-batch-size-schedule"]
    assert text == ["0:1 1234567890K:2 2000000000001:4 5T:8"]


def test_the_former_rampup_is_start_increment_and_samples():
    found = argv(written("megatron_rampup", equal_rises()))
    assert found["rampup-batch-size"] == ["16", "8", "30000"]
    assert found["global-batch-size"] == ["64"]
    assert "step-batch-size-schedule" not in found


def test_the_former_rampup_changes_its_batch_where_the_stages_do():
    stages = equal_rises()
    start, increment, samples = map(int, argv(written("megatron_rampup", stages))["rampup-batch-size"])
    per_increment = samples / ((64 - start) / increment)  # the trainer divides equally: 5,000 samples each
    for stage in stages:
        consumed = round(stage.threshold_tokens / SEQ_LEN)
        assert start + int(consumed / per_increment) * increment == stage.global_batch_size
        if consumed:
            assert start + int((consumed - 1) / per_increment) * increment == stage.global_batch_size - increment


@pytest.mark.parametrize(
    "batches, thresholds, reason",
    [
        ([16, 32, 64], [0, 1e6, 2e6], "equal increments"),
        ([48, 32, 16], [0, 1e6, 2e6], "equal increments"),
        ([16], [0], "equal increments"),
        ([16, 32, 48], [0, 1e6, 3e6], "equal distances"),
    ],
)
def test_the_former_rampup_refuses_any_other_ramp(batches, thresholds, reason):
    stages = staged(ramp.staircase(thresholds, [size * SEQ_LEN for size in batches]), SEQ_LEN, 8, TOTAL)
    assert reason in RAMP_EXPORTS["megatron_rampup"].unfit(stages)
    with pytest.raises(ValueError, match=reason):
        written("megatron_rampup", stages)


def olmo(stages):
    """Literals of OLMo-core's callback: batches and thresholds, and the base rate."""
    calls = [node for node in ast.walk(ast.parse(written("olmo", stages))) if isinstance(node, ast.Call)]
    callback = next(call for call in calls if getattr(call.func, "id", "") == "BatchSizeSchedulerCallback")
    words = {word.arg: word.value for word in callback.keywords}
    assert {ast.unparse(each.func) for each in words["schedule"].elts} == {"Duration.tokens"}
    optim = next(call for call in calls if getattr(call.func, "id", "") == "AdamWConfig")
    thresholds = [ast.literal_eval(each.args[0]) for each in words["schedule"].elts]
    return ast.literal_eval(words["batch_sizes"]), thresholds, ast.literal_eval(optim.keywords[0].value)


@PADDINGS
def test_olmo_gets_batches_in_padded_tokens_of_whole_ratios(padding):
    stages = linear(powers, padding)
    batches, thresholds, _ = olmo(stages)
    assert batches == [size * SEQ_LEN for size in (256, 512, 1024, 2048, 4096)]
    assert [after / before for before, after in zip(batches, batches[1:], strict=False)] == [2] * 4
    assert thresholds[0] == 0 and thresholds == sorted(set(thresholds))
    assert_allclose(thresholds, [stage.threshold_tokens / (1 - padding) for stage in stages], rtol=0, atol=0.5)


def test_olmo_reaches_the_rate_of_every_stage_from_that_of_the_first():
    stages = linear(powers)
    batches, _, rate = olmo(stages)
    for now, (before, after) in enumerate(zip(batches, batches[1:], strict=False), 1):
        rate *= math.sqrt(after / before)  # as its callback does
        assert_allclose(rate, rates(stages)[now], rtol=1e-5)


def test_olmo_says_that_its_rate_is_not_that_of_another_rule():
    stages = linear(powers)
    assert "differs" not in said("olmo", stages)
    constant = [3e-4] * len(stages)
    assert "by up to 300 %" in said("olmo", stages, constant)  # sqrt(4096 / 256) = 4 times
    assert "do not scale it a second time" in said("olmo", stages)
    assert "units of tokens" in said("olmo", stages)


def test_olmo_refuses_batches_without_whole_ratios():
    stages = staged(ramp.staircase([0, 1e9], [16 * SEQ_LEN, 24 * SEQ_LEN]), SEQ_LEN, 8, TOTAL)
    assert "whole multiple" in RAMP_EXPORTS["olmo"].unfit(stages)
    with pytest.raises(ValueError, match="stages must fit the form"):
        written("olmo", stages)


def test_the_table_counts_every_step_once():
    stages = linear(padding=0.25)
    rows = list(csv.DictReader(io.StringIO(written("table", stages))))
    assert [int(row["stage"]) for row in rows] == list(range(1, len(stages) + 1))
    assert int(rows[-1]["from_step"]) + int(rows[-1]["steps"]) == simulated_steps(stages, TOTAL)
    for before, after in zip(rows, rows[1:], strict=False):
        assert before["to_tokens"] == after["from_tokens"]
        assert int(before["from_step"]) + int(before["steps"]) == int(after["from_step"])
    assert float(rows[-1]["to_tokens"]) == TOTAL
    assert [float(row["tokens_per_step"]) for row in rows] == [int(row["sequences"]) * SEQ_LEN * 0.75 for row in rows]
    assert_allclose([float(row["learning_rate"]) for row in rows], rates(stages), rtol=1e-5)


@pytest.mark.parametrize("name", RAMP_EXPORTS)
def test_notes_are_sentences_and_say_where_padding_counts(name):
    padded = RAMP_EXPORTS[name].notes(linear(padding=0.25), [3e-4] * 8, SEQ_LEN)
    assert all(note.endswith(".") and "\u2014" not in note for note in padded)
    assert ("padding of 25 %" in " ".join(padded)) is (name != "table")
    assert "counts padding" not in said(name, linear())


def test_megatron_notes_say_what_excludes_the_schedule_and_that_no_rate_follows():
    notes = said("megatron", example())
    for flag in ("--global-batch-size", "--rampup-batch-size", "--decrease-batch-size-if-needed", "--train-samples"):
        assert flag in notes
    assert "0.0003 to 0.000849" in notes
    assert "No rate follows" not in said("megatron", example(), [3e-4] * 4)
