"""The ramps of data/ramps.toml against the steps and tokens that their sources give or imply."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import presets, published_ramps, ramp_kinds
from bsmath import ramp as shapes
from bsmath.published_ramps import ramps

RAMPS = [pytest.param(found, id=key) for key, found in ramps().items()]
STAGED = [pytest.param(found, id=key) for key, found in ramps().items() if found.stages_text()]


def batch_of_run(key: str) -> float:
    fields = presets.runs()[key].fields
    sequences = fields["micro_batch_size"] * fields.get("grad_accum_steps", 1) * fields.get("data_parallel_size", 1)
    return sequences * fields["seq_len"]


def steps_of_ramp(key: str) -> float:
    return ramps()[key].ramp.steps(ramps()[key].ramp.length)


@pytest.mark.parametrize("found", RAMPS)
def test_every_ramp_has_a_label_a_source_and_a_note(found):
    assert found.label.strip()
    assert found.source.startswith("https://")
    assert "ublished" in found.note  # what is published stands apart from what was read into it
    assert found.kind in ramp_kinds.KINDS


def test_labels_are_unique_and_no_ramp_is_named_like_a_kind():
    labels = [found.label for found in ramps().values()]
    assert len(set(labels)) == len(labels)
    assert not ramps().keys() & ramp_kinds.KINDS.keys()
    assert all(ramp_kinds.checked_names(name) == name for name in ramps())


def test_the_file_is_read_once_and_cannot_be_changed():
    assert ramps() is ramps()
    with pytest.raises(TypeError):
        ramps()["palm_540b"] = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        ramps()["palm_540b"].total_tokens = 1.0
    for array in (ramps()["palm_540b"].ramp.tokens, ramps()["palm_540b"].ramp.first, ramps()["palm_540b"].ramp.last):
        with pytest.raises(ValueError):
            array[0] = 1.0


@pytest.mark.parametrize("found", RAMPS)
def test_thresholds_and_batches_rise_and_the_ramp_ends_before_the_run(found):
    assert found.ramp.tokens[0] == 0
    assert np.all(np.diff(found.ramp.tokens) > 0)
    assert np.all(np.diff(np.column_stack([found.ramp.first, found.ramp.last]).ravel()) >= 0)
    assert found.ramp.length < found.total_tokens
    assert (found.ramp.length == 0) == (found.kind == "flat")


@pytest.mark.parametrize("found", RAMPS)
def test_a_ramp_takes_more_steps_than_its_final_batch_and_fewer_than_its_first(found):
    assert found.steps_at_end <= found.steps <= found.steps_at_start
    assert (found.steps_saved == 0) == (found.kind == "flat")
    assert 0 <= found.steps_saved <= found.steps_saved_at_end < 1


@pytest.mark.parametrize("found", [pytest.param(found, id=key) for key, found in ramps().items() if found.run])
def test_the_batch_that_stays_is_the_one_of_the_run(found):
    run = presets.runs()[found.run]
    assert_allclose(found.ramp.end, batch_of_run(found.run), rtol=0.01)
    assert found.seq_len == run.fields["seq_len"]
    if found.run == "nemotron_4_340b":  # 8T in the table of its batches, 1T more of continued training
        assert found.total_tokens == run.fields["token_budget"] - 1e12
    else:
        assert found.total_tokens == run.fields["token_budget"]


@pytest.mark.parametrize(
    "key, steps",  # of the ramp alone
    [
        ("gpt_3_175b", 17_443.8),  # 12e9 / (3.2e6 - 32e3) ln 100
        ("deepseek_v3", 14_997),
        ("bloom_176b", 12_657),
        ("palm_540b", 115_000),
        ("olmo_1b_warmup", 80_000),
        ("gopher_280b", 50_000),  # 150e9 / 3e6
    ],
)
def test_steps_of_the_ramp(key, steps):
    assert_allclose(steps_of_ramp(key), steps, rtol=4e-5)


def test_gpt_3_would_have_taken_3750_steps_at_its_final_batch():
    found = ramps()["gpt_3_175b"]
    assert_allclose(found.ramp.length / found.ramp.end, 3_750)
    assert_allclose(found.steps - found.steps_at_end, 17_443.8 - 3_750, rtol=1e-5)


def test_deepseek_v3_would_take_12424_steps_if_its_rise_were_linear_in_steps():
    found = ramps()["deepseek_v3"].ramp
    other = shapes.linear_steps(found.first[0], found.end, found.length)
    assert_allclose(other.steps(found.length), 12_424, rtol=4e-5)


def test_thresholds_of_palm_are_its_published_steps_and_so_is_its_length():
    found = ramps()["palm_540b"]
    assert_allclose(found.ramp.tokens[1:], [52.4e9, 188.7e9], rtol=1e-3)
    assert_allclose(found.ramp.steps(found.ramp.tokens), [0, 50_000, 115_000])
    assert_allclose(found.steps, 255_000, rtol=0.005)  # published; the 780B tokens are rounded


def test_bloom_rises_by_16_sequences_and_takes_9_765_625_samples_in_all():
    found = ramps()["bloom_176b"].ramp
    assert_allclose(found.first / 2048, np.arange(192, 2049, 16))
    assert found.length == 9_765_625 * 2048


def test_mt_nlg_rises_from_32_to_1920_sequences_by_32():
    found = ramps()["mt_nlg_530b"].ramp
    assert_allclose(found.first / 2048, np.arange(32, 1921, 32))
    assert_allclose(np.diff(found.tokens), 12e9 / 59)


@pytest.mark.parametrize(
    "key, first_rise, steps, total_steps",
    [("llama_3_1_405b", 252e6, 60, 1.101e6), ("llama_3_1_405b_252b", 252e9, 60_081, 1.131e6)],
)
def test_both_readings_of_llama_3(key, first_rise, steps, total_steps):
    found = ramps()[key]
    assert found.ramp.tokens[1] == first_rise
    assert_allclose(found.ramp.steps(first_rise), steps, rtol=0.002)
    assert_allclose(found.steps, total_steps, rtol=5e-4)
    assert found.total_tokens == 15.6e12


def test_the_first_rise_of_llama_3_as_written_lies_far_inside_its_warmup():
    warmup = 8_000 * ramps()["llama_3_1_405b"].ramp.first[0]
    assert_allclose(warmup, 33.6e9, rtol=0.002)
    assert_allclose(warmup, presets.runs()["llama_3_1_405b"].fields["warmup_tokens"])
    assert ramps()["llama_3_1_405b"].ramp.tokens[1] < warmup / 100
    assert ramps()["llama_3_1_405b_252b"].ramp.tokens[1] > warmup


def test_the_warmup_study_saves_43_percent_of_the_steps_and_its_large_batch_75():
    found = ramps()["olmo_1b_warmup"]
    assert_allclose(found.ramp.tokens[1:], [167_772_160_000, 503_316_480_000], rtol=0)
    assert_allclose(found.steps_saved, 0.4313, atol=5e-5)
    assert_allclose(found.steps_saved_at_end, 0.75)
    assert_allclose(found.steps_at_start, 156_879, rtol=1e-5)
    printed = shapes.staircase([0, 168e9, 503e9], found.ramp.first)  # as the paper rounds them
    assert_allclose(1 - printed.steps(found.total_tokens) / found.steps_at_start, 1 - 89_228 / 156_879, atol=5e-6)


@pytest.mark.parametrize(
    "key, sequences",
    [
        ("nemotron_4_340b", (768, 2304)),
        ("deepseek_v2", (2304, 9216)),
        ("deepseek_v3", (3072, 15_360)),
        ("moonlight_16b", (2048, 4096)),
        ("bloom_176b", (192, 2048)),
        ("palm_540b", (512, 2048)),
        ("olmo_1b_warmup", (1024, 4096)),
    ],
)
def test_first_and_last_batch_in_published_sequences(key, sequences):
    found = ramps()[key]
    assert (found.ramp.first[0] / found.seq_len, found.ramp.end / found.seq_len) == sequences


@pytest.mark.parametrize(
    "key", ["gopher_280b", "chinchilla_70b", "moonlight_16b", "minicpm_1_2b", "minimax_01", "olmo_1b_warmup"]
)
def test_a_run_said_to_double_doubles(key):
    assert all(after == 2 * before for before, after in pairwise(ramps()[key].ramp.first))


@pytest.mark.parametrize("key", ["gopher_280b", "chinchilla_70b"])
def test_midway_is_half_of_the_tokens_so_a_quarter_of_the_steps_is_saved(key):
    assert ramps()[key].ramp.length == ramps()[key].total_tokens / 2
    assert_allclose(ramps()[key].steps_saved, 0.25)


@pytest.mark.parametrize("found", STAGED)
def test_stages_are_read_back_as_the_same_ramp(found):
    seen, sequences = zip(*ramp_kinds.read_stages(found.stages_text()), strict=True)
    assert_allclose(seen, found.ramp.tokens, rtol=1e-11)
    assert_allclose(np.array(sequences) * found.seq_len, found.ramp.first, rtol=0.001)  # 2M / 4,096 is no whole number


def test_stages_as_text():
    assert ramps()["nemotron_4_340b"].stages_text() == "0:768 200B:1536 400B:2304"
    assert ramps()["palm_540b"].stages_text() == "0:512 52.4288B:1024 188.74368B:2048"
    assert ramps()["palm_540b"].stages_text(4096) == "0:256 52.4288B:512 188.74368B:1024"
    assert ramps()["kimi_k2"].stages_text() == "0:16384"


def test_a_ramp_without_stages_or_with_too_many_has_no_text():
    assert ramps()["gpt_3_175b"].stages_text() is None
    assert ramps()["deepseek_v3"].stages_text() is None
    assert len(ramps()["bloom_176b"].ramp.tokens) == 117 > ramp_kinds.MOST_STAGES
    assert ramps()["bloom_176b"].stages_text() is None


def test_no_batch_is_shorter_than_one_sequence():
    assert ramps()["gpt_3_175b"].ramp.first[0] < 2**20
    assert ramps()["mt_nlg_530b"].stages_text(2**20).startswith("0:1 ")


LINEAR_TOML = """
[run]
label = "Run"
source = "https://example.org/run"
note = "All of it is published."
kind = "linear_tokens"
start = 1e5
end = 1e6
over = 1e9
total_tokens = 1e10
seq_len = 1000
run = "palm_540b"
"""
STAIRCASE_TOML = LINEAR_TOML.replace("linear_tokens", "staircase").replace("over", "increment = 1e5\nover")
STAGES_TOML = (
    LINEAR_TOML.replace("linear_tokens", "stages")
    .replace("start = 1e5\nend = 1e6", "batches = [1e5, 2e5, 1e6]")
    .replace("over = 1e9", "thresholds = [0, 1e8, 1e9]")
)


def test_a_file_of_each_shape_gives_that_shape(tmp_path):
    path = tmp_path / "ramps.toml"
    expected = {
        LINEAR_TOML: shapes.linear_tokens(1e5, 1e6, 1e9),
        LINEAR_TOML.replace("linear_tokens", "linear_steps"): shapes.linear_steps(1e5, 1e6, 1e9),
        STAIRCASE_TOML: shapes.staircase(np.arange(10) * 1e9 / 9, np.arange(1, 11) * 1e5),
        STAGES_TOML: shapes.staircase([0, 1e8, 1e9], [1e5, 2e5, 1e6]),
    }
    seen = np.geomspace(1e6, 1e10, 40)
    for text, ramp in expected.items():
        path.write_text(text)
        found = published_ramps.read_ramps(path)["run"]
        assert_allclose(found.ramp.at(seen), ramp.at(seen))
        assert_allclose(found.steps, ramp.steps(1e10))


@pytest.mark.parametrize(
    "text, old, new, message",
    [
        (LINEAR_TOML, '"linear_tokens"', '"linear"', "run.kind must be one of flat, linear_tokens, linear_steps, "),
        (LINEAR_TOML, '"linear_tokens"', '"seesaw"', "run.kind must be one of flat, "),
        (LINEAR_TOML, '"linear_tokens"', "3", "run.kind must be a word, got 3"),
        (LINEAR_TOML, 'kind = "linear_tokens"\n', "", "run.kind must be given, got nothing"),
        (LINEAR_TOML, "over = 1e9\n", "", "run.over must be given, got nothing"),
        (LINEAR_TOML, "total_tokens = 1e10\n", "", "run.total_tokens must be given, got nothing"),
        (LINEAR_TOML, "note", "remark", "run.remark must be one of label, source, note, kind"),
        (LINEAR_TOML, "over = 1e9", "over = 1e9\nthresholds = [0]", "run.thresholds must be one of label, "),
        (LINEAR_TOML, "https", "ftp", "run.source must be an https address or a file of data/measured, got 'ftp:"),
        (LINEAR_TOML, "All of it is published.", " ", "run.note must be filled in, got ' '"),
        (LINEAR_TOML, "palm_540b", "palm", "run.run must be one of "),
        (LINEAR_TOML, "start = 1e5", "start = 32", "run.start must be from 10000 to 1e+10, got 32"),
        (LINEAR_TOML, "start = 1e5", "start = 1e6", "run.end must be above start (1e+06), got 1000000.0"),
        (LINEAR_TOML, "over = 1e9", "over = 1e10", "run.total_tokens must be above the tokens of the ramp, got "),
        (LINEAR_TOML, "seq_len = 1000", "seq_len = 1000.5", "run.seq_len must be a whole number, got 1000.5"),
        (LINEAR_TOML, "[run]", "extra = 1\n[run]", "extra must be a table, got 1"),
        (STAIRCASE_TOML, "increment = 1e5", "increment = 2e5", "run.increment must divide end - start, got 200000.0"),
        (STAIRCASE_TOML, "increment = 1e5\n", "", "run.increment must be given, got nothing"),
        (STAGES_TOML, "[0, 1e8, 1e9]", "[1e6, 1e8, 1e9]", "run.thresholds must begin at 0 and rise, got [1000000.0, "),
        (STAGES_TOML, "[0, 1e8, 1e9]", "[0, 1e9, 1e8]", "run.thresholds must begin at 0 and rise, got [0.0, "),
        (STAGES_TOML, "[0, 1e8, 1e9]", "[0, 1e8]", "run.batches must be as many as thresholds (2), got 3"),
        (STAGES_TOML, "[0, 1e8, 1e9]", "[0, 1e8, 1e10]", "run.total_tokens must be above the tokens of the ramp, got "),
        (STAGES_TOML, "[1e5, 2e5, 1e6]", "1e5", "run.batches must be a list of numbers, got 100000.0"),
        (STAGES_TOML, "[1e5, 2e5, 1e6]", '[1e5, "2M", 1e6]', "run.batches[1] must be a number, got '2M'"),
    ],
)
def test_a_wrong_entry_names_file_entry_and_field(tmp_path, text, old, new, message):
    path = tmp_path / "ramps.toml"
    path.write_text(text)
    assert len(published_ramps.read_ramps(path)) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises((TypeError, ValueError)) as error:
        published_ramps.read_ramps(path)
    assert str(error.value).startswith(f"ramps.toml: {message}")
