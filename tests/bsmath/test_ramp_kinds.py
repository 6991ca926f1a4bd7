"""Ramps as text: stages and names are read exactly, written back as the same, or refused with what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsmath import laws, ramp_kinds
from bsmath.ramp_kinds import checked_names, checked_stages, read_stages, write_stages


@pytest.mark.parametrize(
    "text, stages",
    [
        ("0:768 250B:1536", [(0, 768), (250e9, 1536)]),
        ("0:768,250B:1536", [(0, 768), (250e9, 1536)]),
        (" 0:1\n1k:2  2Ki:3 ", [(0, 1), (1000, 2), (2048, 3)]),
        ("0:2^10 1.5T:4e3", [(0, 1024), (1.5e12, 4000)]),
        ("0:5 1e3:2", [(0, 5), (1000, 2)]),  # a batch may fall
    ],
)
def test_stages_are_thresholds_in_tokens_and_batches_in_sequences(text, stages):
    assert read_stages(text) == stages


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "ramp_stages must hold 1 to 64 stages, got 0"),
        ("768", "ramp_stages must be tokens:sequences such as 0:768 250B:1536, got '768'"),
        ("0:", "must be tokens:sequences .*, got '0:'"),
        (":768", "must be tokens:sequences .*, got ':768'"),
        ("0:1:2", "must be tokens:sequences .*, got '0:1:2'"),
        ("0:1.5", "must be tokens:sequences .*, got '0:1.5'"),
        ("0:0", "must be tokens:sequences .*, got '0:0'"),
        ("0:-3", "must be tokens:sequences .*, got '0:-3'"),
        ("0:1e13", "must be tokens:sequences .*, got '0:1e13'"),
        ("0:1 inf:2", "must be tokens:sequences .*, got 'inf:2'"),
        ("0:nan", "must be tokens:sequences .*, got '0:nan'"),
        ("0:1 " + "9" * 90, "got '" + "9" * 60 + "'"),
        ("1B:768", r"ramp_stages must begin at 0 tokens, got 1e\+09"),
        ("-1:768", "ramp_stages must begin at 0 tokens, got -1"),
        ("0:1 2k:2 2k:3", "must have rising thresholds up to 1e15, got 2000 after 2000"),
        ("0:1 2k:2 1k:3", "must have rising thresholds up to 1e15, got 1000 after 2000"),
        ("0:1 2e15:2", r"must have rising thresholds up to 1e15, got 2e\+15 after 0"),
        (" ".join(f"{place}:1" for place in range(65)), "must hold 1 to 64 stages, got 65"),
        ("0:1 " * 501, "ramp_stages must have at most 2,000 characters, got 2,004"),
    ],
)
def test_stages_that_cannot_be_read_are_refused_with_name_rule_and_value(text, said):
    with pytest.raises(ValueError, match=said):
        read_stages(text)


@given(
    st.lists(st.floats(1, 1e15), min_size=0, max_size=20, unique=True),
    st.lists(st.integers(1, 10**12), min_size=21, max_size=21),
)
def test_what_is_written_is_read_back_as_the_same_numbers(thresholds, sizes):
    thresholds = [0.0, *sorted(thresholds)]
    written = write_stages(thresholds, sizes[: len(thresholds)])
    assert read_stages(written) == list(zip(thresholds, sizes, strict=False))


def test_thresholds_are_written_in_the_shortest_exact_way():
    assert write_stages([0, 250e9, 52_428_800_000, 1234567], [1, 2, 3, 4]) == "0:1 250B:2 52.4288B:3 1234567:4"


def test_checked_stages_may_be_empty_and_nothing_but_text():
    assert checked_stages("  ") == "" and checked_stages(" 0:1   1k:2\n") == "0:1 1k:2"
    with pytest.raises(TypeError, match="ramp_stages must be text, got None"):
        checked_stages(None)
    with pytest.raises(ValueError, match="ramp_stages must begin at 0"):
        checked_stages("1:1")


def test_names_are_kept_once_and_in_order():
    assert checked_names("law  flat law\tgpt_3_175b") == "law flat gpt_3_175b"
    assert checked_names("") == ""


@pytest.mark.parametrize(
    "text, said",
    [
        ("law, flat", "ramps_compared must be names of ramps, got 'law,'"),
        ("<b>", "ramps_compared must be names of ramps, got '<b>'"),
        ("_", "ramps_compared must be names of ramps, got '_'"),
        ("x" * 61, "ramps_compared must be names of ramps, got '" + "x" * 60 + "'"),
        (" ".join(f"a{place}" for place in range(13)), "ramps_compared must hold at most 12 names, got 13"),
    ],
)
def test_names_that_are_none_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        checked_names(text)


def test_names_must_be_text():
    with pytest.raises(TypeError, match="ramps_compared must be text, got 1"):
        checked_names(1)


def test_every_growth_is_a_law_or_one_of_three_others():
    assert {name for name in ramp_kinds.GROWTHS if name not in laws.LAWS} == {"constant", "noise", "branch"}
