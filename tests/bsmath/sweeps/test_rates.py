"""Rates in FLOP/s, results without a unit, and rates that contradict the batch."""

import pytest
from numpy.testing import assert_allclose

from bsmath import sweeps
from bsmath.sweeps.columns import recognize

BLOOM = (
    "GBS,seq_len,n_gpus,TFLOPs{}\n16,2048,384,8.04{}\n192,2048,384,73{}\n512,2048,384,113{}\n2048,2048,384,149.8{}\n"
)
"""BLOOM-176B on 384 A100s (https://github.com/bigscience-workshop/bigscience)."""


def read(text, **answers):
    return sweeps.read(text.encode(), "x.csv", answers)


@pytest.mark.parametrize(
    "header, meaning, scale",
    [
        ("TFLOPs", "flops_per_second_per_device", 1e12),
        ("TFLOP/s/GPU", "flops_per_second_per_device", 1e12),
        ("Throughput (TFLOP/s)", "flops_per_second_per_device", 1e12),
        ("model PFLOPS per GPU", "flops_per_second_per_device", 1e15),
        ("Total PFLOP/s", "flops_per_second", 1e15),
        ("Model TFLOP", "measurement", 1),
        ("flops", "measurement", 1),
        ("peak TFLOPS", "measurement", 1),
        ("hardware TFLOPs", "measurement", 1),
    ],
)
def test_flops_are_a_rate_only_where_the_header_says_per_second(header, meaning, scale):
    found = recognize(header, is_number=True)
    assert (found.meaning, found.scale) == (meaning, scale)


@pytest.mark.parametrize("column, cell", [(",num_params", ",176e9"), (",model size", ",176B")])
def test_flops_of_a_device_become_tokens_of_the_job_by_six_per_parameter(column, cell):
    sweep = read(BLOOM.format(column, *[cell] * 4), batch_unit="sequences")
    assert_allclose(sweep.table["tokens_per_second"], [f * 1e12 * 384 / (6 * 176e9) for f in (8.04, 73, 113, 149.8)])
    assert sweep.table["tokens_per_step"].tolist() == [16 * 2048, 192 * 2048, 512 * 2048, 2048 * 2048]
    assert "by a third where it counts full recomputation" in sweep.problems[0].action


def test_flops_without_parameters_are_refused_with_what_is_needed():
    with pytest.raises(sweeps.SweepError) as error:
        read(BLOOM.format("", "", "", "", ""))
    assert str(error.value) == (
        "x.csv must have the parameters of the model beside 'TFLOPs', in a column such as num_params "
        "(tokens/s = FLOP/s / (6 N)), got the columns GBS, seq_len, n_gpus, TFLOPs"
    )


def test_a_step_time_comes_before_flops():
    sweep = read("batch_tokens,Sec/it,TFLOPs\n4096,2,8\n8192,3,9\n")
    assert sweep.table["tokens_per_second"].tolist() == [2048, 8192 / 3] and not sweep.problems


def test_a_throughput_without_a_unit_is_asked_about():
    sweep = read("batch_tokens,throughput\n4096,8\n8192,9\n")
    assert [question.key for question in sweep.questions] == ["result_unit"]
    assert sweep.table["tokens_per_second"].tolist() == [8, 9]
    answered = read("batch_tokens,throughput\n4096,8\n8192,9\n", result_unit="steps/s")
    assert answered.table["tokens_per_second"].tolist() == [4096 * 8, 8192 * 9] and not answered.questions


def test_a_throughput_without_a_unit_is_not_needed_beside_another_result():
    sweep = read("batch_tokens,throughput,tok/s\n4096,8,1\n8192,9,2\n")
    assert sweep.table["tokens_per_second"].tolist() == [1, 2] and not sweep.questions


def test_a_rate_that_contradicts_the_batch_is_named():
    text = "batch_size,seq_len,samples/s,steps/s\n6,512,96,1\n8,512,128,1\n"
    problems = read(text, batch_unit="sequences").problems
    assert [problem.what for problem in problems] == [
        "by 'samples/s' and 'steps/s' a step has 16 times the batch; it may be that of one device or micro-batch"
    ]


def test_the_longest_length_of_a_sample_is_said_to_be_no_length():
    sweep = read("batch_size,Max Source Length,samples/s\n6,512,9\n8,512,10\n", batch_unit="sequences")
    assert "tokens/s are too high where samples are shorter" in sweep.problems[0].action
    assert not read("batch_size,max_sequence_length,samples/s\n6,512,9\n8,512,10\n").problems


def test_any_column_can_be_answered_to_be_the_throughput():
    assert read("batch_tokens,x\n4096,8\n8192,9\n", columns={"x": "result"}).table["tokens_per_second"].tolist() == [
        8,
        9,
    ]
    assert read("batch_tokens,tok/s,x\n1,8,3\n2,9,4\n", throughput_column="x").table["tokens_per_second"].tolist() == [
        3,
        4,
    ]
