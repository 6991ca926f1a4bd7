import re
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.testing import assert_allclose

from bsmath import pins
from bsmath.outlook import outlook, seconds_to_goal
from bsmath.pins import MOST, MOST_NAME, MOST_TEXT, Pin, compared, differences, from_query, joined, over_batch, to_query
from bsmath.scenario import FIELDS, RANGES, WHOLE, Scenario

SMALL = Pin(name="Small batch", scenario=Scenario(num_params=7e9, seq_len=4096))
PLAIN = Pin(scenario=Scenario())


def side_by_side(*pinned: Pin, scenario: Scenario = Scenario()):
    return compared(scenario, outlook(scenario), pinned)


# --- a pin


def test_a_pin_is_readable_text_of_its_name_and_what_differs():
    assert to_query([SMALL]) == {"pin1": "Small batch~num_params=7e9~seq_len=4096"}


def test_an_address_encodes_nothing_of_a_pin_but_its_spaces():
    assert urlencode(to_query([SMALL]), safe="=") == "pin1=Small+batch~num_params=7e9~seq_len=4096"


def test_a_pin_without_name_and_differences_is_no_empty_parameter():
    assert to_query([PLAIN]) == {"pin1": "~"}
    assert from_query({"pin1": "~"}) == ((PLAIN,), []) == from_query({"pin1": ""})


@pytest.mark.parametrize(
    "name", ["~", "~~", "a~", "~a", "a~b=c", "a & b + c = 100 %", "x?#/é漢字 🙂", "num_params=8e9", "mfu", "pin1"]
)
@pytest.mark.parametrize(
    "fields", [{}, {"mfu": 0.5}, {"ramps_compared": ""}, {"ramps_compared": "", "num_params": 7e9}]
)
def test_any_name_survives_the_address(name, fields):
    pinned = (Pin(name=name, scenario=Scenario(**fields)),)
    query = dict(parse_qsl(urlencode(to_query(pinned), safe="="), keep_blank_values=True))
    assert from_query(query) == (pinned, [])


def test_names_are_one_line_of_plain_text():
    assert Pin(name=" a\n\tb\u200b\u202e\x00c\ud800 ", scenario=Scenario()).name == "a bc"


def test_a_name_that_is_too_long_or_no_text_is_named():
    with pytest.raises(ValueError, match="name must have at most 60 characters, got 61"):
        Pin(name="x" * 61, scenario=Scenario())
    with pytest.raises(TypeError, match="name must be text, got 7"):
        Pin(name=7, scenario=Scenario())


# --- reading a link


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("a~mfu=7", "pin1: mfu must be from 0.01 to 1, got 7"),
        ("a~num_params=abc", "pin1: num_params must be a number such as"),
        ("a~colour=red", "pin1: Unknown field 'colour' was left out."),
        ("a~mfu", "pin1: Unknown field 'mfu' was left out."),
        ("a~top_k=65", "pin1: top_k must be at most num_experts (64), got 65"),
        ("a~num_params=1e8~active_params=1e9", "pin1: active_params must be at most num_params"),
    ],
)
def test_each_broken_value_is_one_sentence_and_leaves_the_default(text, sentence):
    (found,), problems = from_query({"pin1": text})
    assert found.name == "a" and len(problems) == 1 and sentence in problems[0]
    assert found.scenario == Scenario() or found.scenario == Scenario(num_params=1e8)


def test_one_broken_value_does_not_lose_the_others():
    (found,), problems = from_query({"pin1": "a~mfu=7~seq_len=4096"})
    assert found.scenario == Scenario(seq_len=4096) and len(problems) == 1


def test_a_long_name_is_cut_and_a_gap_between_pins_closes():
    (first, second), problems = from_query({"pin2": "x" * 1000, "pin4": "b"})
    assert (first.name, second.name) == ("x" * MOST_NAME, "b")
    assert problems == ["pin2: name must have at most 60 characters, got 1,000; the rest was cut."]


def test_a_link_s_version_is_that_of_its_pins_too():
    assert from_query({"v": "99", "pin1": "a~mfu=0.5"}) == ((Pin(name="a", scenario=Scenario(mfu=0.5)),), [])


def test_much_junk_is_a_few_short_sentences():
    _, problems = from_query({f"pin{number}": "~".join(["z" * 10_000] * 30) for number in range(1, 5)})
    assert len(problems) == 6 and all(len(sentence) < 300 for sentence in problems)


PARTS = some.sampled_from([*FIELDS, "=", "~", "~~", "7e9", "fp8", "a100_80_sxm", "nan", "-1", "\0", " "]) | some.text(
    max_size=5
)


@settings(max_examples=300, deadline=None)
@given(some.dictionaries(some.sampled_from(["pin1", "pin2", "pin4", "v"]), some.lists(PARTS, max_size=9).map("".join)))
def test_no_text_raises_and_what_is_kept_is_valid_and_survives_its_link(query):
    found, problems = from_query(query)
    assert len(found) == len(set(query) - {"v"}) and all(isinstance(sentence, str) for sentence in problems)
    assert from_query(to_query(found)) == (found, [])
    assert len(side_by_side(*found)) == len(found) + 1


def values(name):
    low, high = RANGES[name]
    return some.integers(int(low), int(min(high, 2**53))) if name in WHOLE else some.floats(low, high)


@settings(max_examples=100, deadline=None)
@given(
    some.text(max_size=MOST_NAME), some.fixed_dictionaries({name: values(name) for name in FIELDS if name in RANGES})
)
def test_every_pin_survives_its_link(name, fields):
    fields["active_params"] = min(fields["active_params"], fields["num_params"])
    fields["top_k"] = min(fields["top_k"], fields["num_experts"])
    pinned = (Pin(name=name, scenario=Scenario(**fields)),)
    assert from_query(to_query(pinned)) == (pinned, [])


# --- how many there may be


def test_a_fifth_pin_is_refused():
    assert pins.refusal([SMALL] * MOST) == ""
    assert pins.refusal([SMALL] * 5) == "4 scenarios are kept at most: remove one to pin another."


def test_pins_that_would_make_the_address_too_long_for_servers_are_refused():
    long = Pin(
        name="漢" * MOST_NAME, scenario=Scenario(ramp_stages=" ".join(f"{size}:1" for size in range(0, 6400, 100)))
    )
    assert pins.refusal([SMALL, long]) == ""
    assert re.search(
        r"at most 3,000 characters of the link, these would take [34],\d{3}", pins.refusal([long, long, long])
    )
    assert MOST_TEXT == 3_000


def test_pins_of_a_file_join_once_each_as_far_as_there_is_room():
    three = tuple(Pin(name=name, scenario=Scenario()) for name in "abc")
    assert joined((SMALL,), (SMALL, PLAIN)) == ((SMALL, PLAIN), 0)
    assert joined((SMALL, PLAIN), three) == ((SMALL, PLAIN, *three[:2]), 1)


# --- side by side


def test_every_label_is_another():
    taken = [Pin(name=name, scenario=Scenario()) for name in ("this scenario", "a", "a", "a (2)")]
    labels = [one.label for one in side_by_side(*taken)]
    assert labels[:3] == ["this scenario", "this scenario (2)", "a"] and len(set(labels)) == 5


def test_an_empty_name_is_a_summary_in_words():
    pinned = Pin(scenario=Scenario(num_params=7e9, accelerator="h100_sxm", data_parallel_size=64))
    assert side_by_side(pinned)[1].label == "7B on 64 x NVIDIA H100 SXM, 6.29M tokens per step"
    assert side_by_side(Pin(scenario=Scenario(accelerator="495e12")))[1].label.startswith("796M on 1 x 495T FLOP/s")


def test_only_fields_that_differ_are_named_and_followers_go_without_saying():
    entries = side_by_side(SMALL, scenario=Scenario(seq_len=4096, mfu=0.5))
    assert differences(entries) == {"num_params": (7.96e8, 7e9), "mfu": (0.5, 0.71)}
    moe = side_by_side(Pin(scenario=Scenario(num_params=7e9, active_params=1e9)))
    assert differences(moe) == {"num_params": (7.96e8, 7e9), "active_params": (7.96e8, 1e9)}
    assert differences(side_by_side(PLAIN)) == {}


@pytest.mark.parametrize("goal", ["target", "budget"])
def test_curves_share_their_batches_and_meet_each_run_at_its_own(goal):
    entries = side_by_side(
        Pin(name="b", scenario=Scenario(goal=goal, grad_accum_steps=64, padding_fraction=0.2)), SMALL
    )
    table = over_batch(entries)
    sizes = [group["tokens_per_step"].to_numpy() for _, group in table.groupby("label")]
    assert all((one == sizes[0]).all() for one in sizes) and len(sizes) == 3
    for one in entries:
        rows = table[table["label"] == one.label]
        assert rows["tokens_per_step"].iloc[0] < one.run.tokens_per_step < rows["tokens_per_step"].iloc[-1]
        assert_allclose(rows["days"] * 86_400, seconds_to_goal(one.scenario, rows["tokens_per_step"]))
        near = np.interp(np.log(one.run.tokens_per_step), np.log(rows["tokens_per_step"]), np.log(rows["days"]))
        assert_allclose(np.exp(near), one.run.seconds / 86_400, rtol=0.01)
