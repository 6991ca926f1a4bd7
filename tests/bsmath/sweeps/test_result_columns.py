"""Rates and steps to a target."""

import pytest
from numpy.testing import assert_allclose

from bsmath import sweeps


def read(text, **answers):
    return sweeps.read(text.encode(), "x.csv", answers)


def keys(sweep):
    return [question.key for question in sweep.questions]


@pytest.mark.parametrize(
    "header, cells",
    [
        ("tok/s", ("1000", "2000")),
        ("tok/s/gpu,n_gpus", ("250,4", "500,4")),
        ("step_time", ("32.768", "32.768")),
        ("step_time_ms", ("32768", "32768")),
        ("samples/s,seq_len", ("2,500", "4,500")),
        ("steps_per_s", ("0.030517578125", "0.030517578125")),
        ("ktok/s", ("1", "2")),
    ],
)
def test_every_kind_of_rate_becomes_tokens_per_second_of_the_job(header, cells):
    sweep = read(f"batch_tokens,{header}\n32768,{cells[0]}\n65536,{cells[1]}\n")
    assert_allclose(sweep.table["tokens_per_second"], [1000, 2000])
    assert sweep.has_throughput and not sweep.has_steps and not sweep.questions


def test_tokens_per_second_come_first_and_zeros_of_other_columns_do_not_matter():
    text = (  # llm-foundry rounds samples per second to whole numbers
        "SeqLen (T),# GPUs,GlobalBatchSize,Throughput (S/s),Throughput (T/s),Throughput (T/s/GPU),GlobalBatchSize (T)\n"
        "32768,8,24,0,15812,1976,786432\n32768,8,48,0,15900,1987,1572864\n"
    )
    sweep = read(text)
    assert sweep.table["tokens_per_second"].tolist() == [15_812, 15_900]
    assert not sweep.problems and not sweep.questions


def test_a_rate_without_a_scope_on_several_devices_is_asked_about():
    text = "batch_tokens,n_gpus,tok/s\n32768,4,1000\n65536,4,2000\n"
    assert [(question.key, question.default) for question in read(text).questions] == [("rate_scope", "job")]
    assert read(text, rate_scope="device").table["tokens_per_second"].tolist() == [4000, 8000]


def test_step_time_tells_whose_a_rate_is():
    whole = read("batch_tokens,n_gpus,tok/s,step_time\n32768,4,32768,1\n65536,4,32768,2\n")
    each = read("batch_tokens,n_gpus,tok/s,step_time\n32768,4,8192,1\n65536,4,8192,2\n")
    assert whole.table["tokens_per_second"].tolist() == each.table["tokens_per_second"].tolist() == [32_768, 32_768]
    assert not whole.questions and not each.questions


def test_a_rate_per_device_without_a_number_of_devices_is_asked_about():
    assert keys(read("batch_tokens,TPS/GPU\n32768,1000\n65536,2000\n")) == ["num_devices"]


def test_several_columns_of_one_meaning_are_a_question():
    text = "batch_tokens,tok/s A100,tok/s H100\n32768,1,3\n65536,2,4\n"
    sweep = read(text)
    assert [(question.key, question.choices) for question in sweep.questions] == [
        ("throughput_column", ("tok/s A100", "tok/s H100"))
    ]
    assert read(text, throughput_column="tok/s H100").table["tokens_per_second"].tolist() == [3, 4]


def test_tokens_and_samples_to_the_target_become_steps():
    tokens = read("batch_tokens,tokens_to_target\n32768,3276800\n65536,3276800\n")
    samples = read("batch_seqs,samples_to_target\n64,6400\n128,6400\n", seq_len=512)
    assert tokens.table["steps"].tolist() == samples.table["steps"].tolist() == [100, 50]


def test_a_measured_column_comes_before_an_adjusted_one():
    text = "batch_tokens,steps_to_goal_adjusted,steps_to_goal_measured\n32768,12000,11951\n65536,6000,6001\n"
    sweep = read(text)
    assert sweep.questions[0].default == "steps_to_goal_measured"
    assert sweep.table["steps"].tolist() == [11_951, 6001]
    assert read(text, steps_column="steps_to_goal_adjusted").table["steps"].tolist() == [12_000, 6000]


def test_bare_steps_are_a_result_where_batches_differ():
    assert read("batch_tokens,steps\n32768,100\n65536,60\n131072,40\n").table["steps"].tolist() == [100, 60, 40]


@pytest.mark.parametrize(
    "rows",
    [
        [f"32768,{i},3.{9 - i}" for i in range(1, 8)],
        [f"{b},{i},3.{9 - i}" for b in (32768, 65536) for i in range(1, 8)],
        [f"{b},5000,3.1" for b in (32768, 65536, 131072)],
    ],
)
@pytest.mark.parametrize("header", ["step", "steps", "iteration"])
def test_step_numbers_of_a_log_are_not_steps_to_a_target(header, rows):
    with pytest.raises(sweeps.SweepError, match="must have a result column"):
        read("\n".join([f"batch_tokens,{header},loss", *rows]))


def test_both_results_of_one_row_are_kept():
    sweep = read("batch_tokens,tok/s,steps_to_target\n32768,1000,900\n65536,2000,500\n")
    assert sweep.has_throughput and sweep.has_steps


def test_a_row_keeps_its_other_result_where_one_is_unusable():
    sweep = read("batch_tokens,tok/s,steps_to_target\n32768,OOM,900\n65536,2000,500\n")
    assert sweep.table["steps"].tolist() == [900, 500]
    assert [(problem.row, problem.column, problem.action) for problem in sweep.problems] == [
        (2, "tok/s", "value ignored")
    ]
