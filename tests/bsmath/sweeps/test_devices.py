"""Devices that a file names outside a column of numbers, and whose batch and steps it counts."""

from numpy.testing import assert_allclose

from bsmath import sweeps


def read(text, **answers):
    return sweeps.read(text.encode(), "x.csv", answers)


def test_the_devices_in_the_header_of_a_rate_per_device_count():
    text = "batch_tokens,tokens/sec/GPU A100 80G 128 GPUs,tokens/sec/GPU H100 96 GPUs\n1048576,10,20\n2097152,11,21\n"
    table = read(text).table
    assert table["num_devices"].tolist() == [128, 128] and table["tokens_per_second"].tolist() == [1280, 1408]
    other = read(text, throughput_column="tokens/sec/GPU H100 96 GPUs").table
    assert other["tokens_per_second"].tolist() == [1920, 2016]


def test_an_answer_comes_before_the_devices_in_a_header():
    text = "batch_tokens,tokens/sec/GPU on 128 GPUs\n1048576,10\n2097152,11\n"
    assert read(text, num_devices=8).table["tokens_per_second"].tolist() == [80, 88]


def test_the_devices_before_the_name_of_the_hardware_count_where_every_cell_has_them():
    text = "hardware,batch_tokens,tok/s/gpu\n8 x A100,32768,10\n8 x A100,65536,11\n{},32768,5\n{},65536,6\n"
    assert read(text.format("4xH100", "4xH100")).table["num_devices"].tolist() == [8, 8, 4, 4]
    assert "num_devices" not in read(text.format("H100", "H100")).table
    assert "num_devices" not in read(text.format("", "")).table


def test_a_batch_that_the_devices_cannot_share_is_likely_that_of_one_of_them():
    sweep = read("batch,n_gpus,seq_len,tok/s/gpu\n2,128,4096,10\n3,128,4096,11\n")
    assert [(question.key, question.default) for question in sweep.questions] == [
        ("batch_scope", "replica"),
        ("batch_unit", "sequences"),
    ]
    assert sweep.table["tokens_per_step"].tolist() == [256 * 4096, 384 * 4096]


def test_steps_that_grow_with_devices_at_a_batch_that_these_cannot_share_are_a_sum():
    rows = [(size, count, 10.0 * count / (1 + size)) for count in (1, 2, 4) for size in (5, 10, 20)]
    text = "batch_size,n_gpus,steps_per_s\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    sweep = read(text)
    assert sweep.table["tokens_per_step"].tolist() == [size * count for size, count, _ in rows]
    assert_allclose(sweep.table["step_time"], [(1 + size) / 10 for size, _, _ in rows])
    assert_allclose(sweep.table["tokens_per_second"], [size * rate for size, _, rate in rows])
    assert "the sum of the replicas' steps" in sweep.problems[-1].action


def test_steps_that_do_not_grow_with_replicas_are_those_of_the_job():
    rows = [(size, count, 10 / (1 + size)) for count in (1, 2, 4) for size in (5, 10, 20)]
    text = "local_bsz,num_replicas,steps_per_s\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    sweep = read(text)
    assert_allclose(sweep.table["tokens_per_second"], [size * count * rate for size, count, rate in rows])
    assert not sweep.problems


def test_a_column_of_models_may_have_empty_cells():
    assert len(read("batch,n_gpus,step_time,model\n8,2,1,\n16,4,1,a\n8,4,1,a\n").table) == 3


def test_the_micro_batch_and_the_accumulation_are_kept_beside_the_batch():
    text = "batch_tokens,MicroBatchSize,GradAccum,tok/s\n32768,4,2,1\n65536,4,4,2\n131072,8,4,3\n"
    sweep = read(text)
    assert sweep.table["micro_batch_size"].tolist() == [4, 4, 8]
    assert sweep.table["grad_accum_steps"].tolist() == [2, 4, 4]
    assert "kept" in sweep.columns[1].note


def test_accumulation_that_counts_from_zero_is_kept_as_one_more():
    text = "atomic_bsz,accum_steps,num_replicas,seq_len,tok/s\n4,0,2,16,1\n4,1,2,16,2\n"
    assert read(text).table["grad_accum_steps"].tolist() == [1, 2]


def test_a_micro_batch_in_tokens_is_kept_in_sequences():
    text = "batch_tokens,rank_microbatch_size,seq_len,tok/s\n32768,8192,2048,1\n65536,8192,2048,2\n"
    assert read(text).table["micro_batch_size"].tolist() == [4, 4]


def test_models_measured_at_one_batch_are_no_repeats():
    text = "model,batch_tokens,tok/s\n7b,4096,1000\n13b,4096,500\n70b,4096,100\n"
    assert read(text).series == ("7b", "13b", "70b")
