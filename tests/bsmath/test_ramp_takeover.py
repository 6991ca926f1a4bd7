"""Ramps of trainers and of published runs as the scenario's own: the page makes the same ramp of them."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import ramp_kinds, ramp_make, ramp_stages
from bsmath.published_ramps import ramps
from bsmath.ramp_exports import RAMP_EXPORTS
from bsmath.ramp_outlook import ramp_outlook
from bsmath.ramp_takeover import pasted, published
from bsmath.scenario import Scenario

RUN = Scenario(micro_batch_size=8, data_parallel_size=8, goal="budget", token_budget=1e12)
RAMPS = {
    "stages": {"ramp": "stages", "ramp_stages": "0:768 250B:1536 500B:3072 750B:6144"},
    "rises": {"ramp": "staircase", "ramp_start": 2**18, "ramp_end": 2**22, "ramp_tokens": 2**31, "ramp_levels": 16},
    "gradual": {"ramp": "linear_steps", "ramp_start": 2**18, "ramp_end": 2**22},
}


def made(scenario):
    """The scenario's ramp, which needs no course unless it follows the critical batch."""
    return ramp_make.make(scenario.ramp, scenario, None)


def stages_of(scenario, name="megatron"):
    """Stages of the scenario's ramp as the page writes them."""
    one = ramp_outlook(scenario).chosen
    make = ramp_stages.powers if name == "olmo" else ramp_stages.staged
    replica = scenario.micro_batch_size * scenario.data_parallel_size
    most = ramp_stages.most_stages_of(one.ramp)
    return make(one.ramp, scenario.seq_len, replica, one.tokens, most, scenario.padding_fraction), one.tokens


@pytest.mark.parametrize("padding", [0, 0.1])
@pytest.mark.parametrize("shape", RAMPS)
@pytest.mark.parametrize("name", RAMP_EXPORTS)
def test_a_ramp_that_was_exported_and_pasted_back_is_exported_the_same(name, shape, padding):
    scenario = RUN.change(**RAMPS[shape], padding_fraction=padding)
    stages, total = stages_of(scenario, name)
    if RAMP_EXPORTS[name].unfit(stages):
        assert name in ("megatron_rampup", "olmo")
        return
    rates = [3e-4] * len(stages)
    text = RAMP_EXPORTS[name].write(stages, rates, scenario.seq_len, total)
    taken = scenario.change(**pasted(scenario, text).changes)
    again, _ = stages_of(taken, name)
    for field in ("global_batch_size", "steps"):
        assert [getattr(one, field) for one in again] == [getattr(one, field) for one in stages]
    assert RAMP_EXPORTS[name].write(again, rates, scenario.seq_len, total) == text


def test_a_rampup_is_the_staircase_that_the_page_has():
    found = pasted(RUN, "--rampup-batch-size 192 16 9_765_625 --global-batch-size 2048")
    assert found.changes["ramp"] == "staircase" and found.changes["ramp_levels"] == 117
    taken, bloom = made(RUN.change(**found.changes)), ramps()["bloom_176b"].ramp
    assert_allclose(taken.tokens, bloom.tokens)
    assert_allclose(taken.first, bloom.first)
    words = (
        "Read as Megatron-LM's --rampup-batch-size: 393k to 4.19M tokens per step in 116 equal rises over 20B tokens."
    )
    assert [sentence.replace("\u00a0", " ") for sentence in found.said] == [words]


def test_more_equal_rises_than_can_be_typed_are_a_staircase_however_they_are_written():
    steps = " ".join(f"{index}B:{64 + 64 * index}" for index in range(100))
    found = pasted(RUN, f"--step-batch-size-schedule '{steps}'")
    assert (found.changes["ramp"], found.changes["ramp_levels"]) == ("staircase", 100)
    with pytest.raises(ValueError, match="at most 64 stages, or equal rises at equal distances, got 100 stages"):
        pasted(RUN, f"--step-batch-size-schedule '{steps.replace('99B', '98.5B')}'")


def test_stages_in_words_name_the_first_few_and_the_last():
    found = pasted(RUN, "0:8 1B:16 2B:32 3B:64 4B:128 5B:256")
    assert (
        found.said[0]
        .replace("\u00a0", " ")
        .endswith(
            "8 sequences (16.4k tokens) per step, 16 (32.8k) from 1B tokens on, 32 (65.5k) from 2B tokens on, 2 more, "
            "256 (524k) from 5B tokens on."
        )
    )


def test_sequences_of_another_length_keep_their_tokens_and_rounding_is_said():
    found = pasted(RUN.change(seq_len=4096), "--step-batch-size-schedule '0:7 1B:16' --seq-length 2048")
    assert found.changes["ramp_stages"] == "0:4 1B:8"  # 3.5 and 8 sequences of 4,096
    assert "change by up to 14\u00a0%, 14.336k to 16.384k" in found.said[1]
    assert "sequences have 2,048 tokens, this run's 4,096" in found.said[2]


def test_compared_shapes_run_between_the_ends_of_the_stages_over_their_length():
    taken = RUN.change(**pasted(RUN, "0:768 250B:1536").changes, ramps_compared="linear_tokens")
    found = ramp_outlook(taken)
    assert (found.start.ramp.end, found.flat.ramp.end) == (768 * 2048, 1536 * 2048)
    linear = found.compared[0].ramp
    assert (linear.first[0], linear.end, linear.length) == (768 * 2048, 1536 * 2048, 250e9)


@pytest.mark.parametrize("padding", [0, 0.3])
@pytest.mark.parametrize("name", ramps())
def test_a_published_ramp_is_its_own_up_to_whole_sequences(name, padding):
    scenario = RUN.change(padding_fraction=padding)
    found, one = published(scenario, name), ramps()[name]
    taken = made(scenario.change(**found.changes))
    assert_allclose(taken.tokens, one.ramp.tokens)
    assert taken.shape == one.ramp.shape
    assert_allclose(taken.first, one.ramp.first, rtol=0.001)
    exact = np.allclose(taken.first, one.ramp.first, rtol=1e-9)
    assert exact is not any("Approximate" in sentence for sentence in found.said)
    assert found.said[0].startswith(one.label) and one.note in found.said and one.source in found.said[-1]


def test_what_a_scenario_cannot_hold_is_refused_with_its_field():
    with pytest.raises(ValueError, match="ramp_end must be from 1 to 1e\\+10"):
        pasted(RUN, "--rampup-batch-size 64 64 1000 --global-batch-size 64000 --seq-length 1000000")


def test_nothing_but_the_ramp_changes():
    for name in ramps():
        assert set(published(RUN, name).changes) <= {
            field.name for field in dataclasses.fields(Scenario) if field.name.startswith("ramp")
        }


def test_written_stages_are_read_back_as_the_same_numbers():
    thresholds = [0, 1, 252e6, 167_772_160_000, 1e12 * 0.963, 1e15 / 3]
    text = ramp_kinds.write_stages(thresholds, [1, 2, 3, 4, 5, 6])
    assert text.startswith("0:1 1:2 252M:3 167.77216B:4 963B:5 ")
    assert ramp_kinds.read_stages(text) == list(zip(thresholds, [1, 2, 3, 4, 5, 6], strict=True))
