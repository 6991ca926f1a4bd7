import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bsmath import pins
from bsmath.link import PINS, View, from_query, to_query
from bsmath.pins import Pin
from bsmath.scenario import CHOICES, FIELDS, RANGES, TEXTS, WHOLE, Scenario

TEN = {
    "num_params": 7e9, "seq_len": 4096, "mfu": 0.45, "accelerator": "h100_sxm", "data_parallel_size": 64,
    "critical_batch_size": 4e6, "min_steps": 3e4, "learning_rate": 1.25e-4, "micro_batch_size": 4, "price_per_device_hour": 2.5,
}  # fmt: skip


def test_default_link_holds_its_version_alone():
    assert to_query(Scenario(), View()) == {"v": "1"}


def test_link_holds_what_differs_and_reads_back_the_same():
    scenario, view = Scenario(**TEN), View(batch_unit="sequences")
    query = to_query(scenario, view)
    assert set(query) == {"v", *TEN, "batch_unit"}
    assert query["num_params"] == "7e9" and query["learning_rate"] == "0.000125"
    assert from_query(query) == (scenario, view, [])


def test_a_follower_is_in_the_link_only_once_it_goes_its_own_way():
    assert "active_params" not in to_query(Scenario(num_params=7e9), View())
    assert to_query(Scenario(num_params=671e9, active_params=37e9), View())["active_params"] == "3.7e10"


def test_version_1_address_means_the_same_for_ever():
    scenario, _, problems = from_query({"v": "1", "num_params": "7e9", "goal": "budget"})
    assert problems == []
    assert scenario == Scenario(num_params=7e9, goal="budget", mfu=0.71, fixed_time=0.05, token_budget=5e10)


@pytest.mark.parametrize(
    "query, sentence",
    [
        ({"num_params": "abc"}, "num_params must be a number such as 7.3e9, 7.3B, 512k or 2^20, got 'abc'"),
        ({"mfu": "7"}, "mfu must be from 0.01 to 1, got 7"),
        ({"mfu": "nan"}, "mfu must be a number"),
        ({"seq_len": "2048.5"}, "seq_len must be a whole number"),
        ({"goal": "win"}, "goal must be one of target, budget, got 'win'"),
        ({"batch_unit": "apples"}, "batch_unit must be one of tokens, sequences, got 'apples'"),
        ({"colour": "red"}, "Unknown parameter 'colour' was left out."),
        ({"v": "99"}, "v must be one of 1, got '99'; read as 1."),
        ({"num_experts": "4"}, "top_k must be at most num_experts (4), got 8"),
        ({"active_params": "9e9"}, "active_params must be at most num_params"),
    ],
)
def test_each_broken_value_is_one_sentence_and_leaves_the_default(query, sentence):
    scenario, view, problems = from_query(query)
    assert (scenario, view) == (Scenario(), View())
    assert len(problems) == 1 and sentence in problems[0]


def test_one_broken_value_does_not_lose_the_others():
    scenario, _, problems = from_query({"mfu": "7", "num_params": "7B"})
    assert scenario.num_params == 7e9 and scenario.mfu == 0.71 and len(problems) == 1


def test_ten_kilobytes_of_junk_are_a_few_short_sentences():
    junk = {f"x{i}" * 50: "y" * 100 for i in range(100)} | {"num_params": "z" * 10_000}
    scenario, _, problems = from_query(junk)
    assert scenario == Scenario()
    assert len(problems) <= 6 and all(len(sentence) < 400 for sentence in problems)


def test_server_parameters_are_not_ours():
    assert from_query({"embed": "true", "v": "1"})[2] == []


@settings(max_examples=200, deadline=None)
@given(some.dictionaries(some.sampled_from([*FIELDS, "v", "batch_unit", "junk"]), some.text(max_size=30), max_size=8))
def test_no_address_raises(query):
    scenario, view, problems = from_query(query)
    assert isinstance(scenario, Scenario) and all(isinstance(sentence, str) for sentence in problems)


def _values(name):
    low, high = RANGES[name]
    return some.integers(int(low), int(min(high, 2**53))) if name in WHOLE else some.floats(low, high)


WRITTEN = {
    "architecture": ("", "llama_3_1_8b", "num_layers=2 hidden_size=96 num_heads=3 vocab_size=9 ffn_size=9"),
    "ramp_stages": ("", "0:768 250B:1536"),
    "ramps_compared": ("", "flat", "linear_tokens law adaptive"),
    "other_offers": ("", "h100_sxm 2.5, b200_sxm 6"),
}
"""Free text, as each field may hold it."""
WORDS = {name: some.sampled_from(known) for name, known in (CHOICES | WRITTEN).items()}


def test_every_free_text_has_examples():
    assert set(WRITTEN) == set(TEXTS)


@settings(max_examples=200, deadline=None)
@given(some.fixed_dictionaries({name: _values(name) for name in FIELDS if name in RANGES} | WORDS))
def test_every_scenario_survives_its_link(values):
    values["active_params"] = min(values["active_params"], values["num_params"])
    values["top_k"] = min(values["top_k"], values["num_experts"])
    scenario = Scenario(**values)
    assert from_query(to_query(scenario, View()))[0] == scenario


def test_every_field_of_the_scenario_is_covered():
    assert {field.name for field in dataclasses.fields(Scenario)} == set(FIELDS)


def test_pins_are_in_the_link_beside_the_scenario_and_leave_its_reading_alone():
    pinned = (Pin(name="Small", scenario=Scenario(micro_batch_size=8)), Pin(scenario=Scenario(**TEN)))
    query = to_query(Scenario(num_params=7e9), View(), "abc", pins.to_query(pinned))
    assert set(query) == {"v", "num_params", "data", "pin1", "pin2"}
    assert from_query(query) == (Scenario(num_params=7e9), View(), [])
    assert pins.from_query(query) == (pinned, [])


def test_a_fifth_pin_is_an_unknown_parameter():
    assert len(PINS) == 4
    assert from_query({"pin5": "x"})[2] == ["Unknown parameter 'pin5' was left out."]


def test_a_ceiling_below_a_default_is_left_out_alone():
    scenario, _, problems = from_query({"num_params": "7e9", "num_experts": "1", "micro_batch_size": "3"})
    assert scenario == Scenario(num_params=7e9, micro_batch_size=3)
    assert problems == ["top_k must be at most num_experts (1), got 8; the default of num_experts is used."]
