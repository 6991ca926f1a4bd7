"""What one step consumes, from the columns that say it in one way or another."""

import pytest

from bsmath import sweeps


def read(text, **answers):
    return sweeps.read(text.encode(), "x.csv", answers)


def batches(text, **answers):
    return read(text, **answers).table["tokens_per_step"].tolist()


def keys(sweep):
    return [question.key for question in sweep.questions]


def test_tokens_come_before_sequences():
    sweep = read("batch_seqs,batch_tokens,tok/s\n64,32768,1\n128,65536,2\n")
    assert sweep.table["tokens_per_step"].tolist() == [32_768, 65_536]
    assert not sweep.questions


def test_rows_whose_tokens_and_sequences_disagree_are_named():
    sweep = read("batch_seqs,seq_len,batch_tokens,tok/s\n64,512,32768,1\n128,512,60000,2\n")
    assert [(problem.row, problem.column) for problem in sweep.problems] == [(3, "batch_tokens")]
    assert "60,000 tokens are not batch_seqs x seq_len = 65,536" in sweep.problems[0].what


def test_sequences_are_multiplied_by_their_length():
    assert batches("batch_seqs,seq_len,tok/s\n8,2048,1\n16,2048,2\n") == [16_384, 32_768]


def test_the_global_batch_of_a_split_is_its_product():
    text = "mbs,batch_accum,dp,tp,seq_len,tok/s/gpu\n2,4,8,1,4096,7544.2\n2,8,8,1,4096,7725.3\n"  # nanotron's table
    assert batches(text) == [64 * 4096, 128 * 4096]


def test_a_bare_batch_that_equals_the_split_is_in_sequences_and_is_not_asked_for():
    sweep = read("mbs,batch_accum,gbs,dp,seq_len,tok/s/gpu\n2,4,64,8,4096,7544.2\n2,8,128,8,4096,7725.3\n")
    assert sweep.table["tokens_per_step"].tolist() == [64 * 4096, 128 * 4096]
    assert not sweep.questions and not sweep.problems


def test_a_global_batch_that_contradicts_the_split_is_named():
    sweep = read(
        "mbs,accum,replicas,global_batch_size,seq_len,tok/s\n2,4,8,65,16,1\n2,8,8,100,16,2\n", batch_unit="sequences"
    )
    assert sweep.table["tokens_per_step"].tolist() == [65 * 16, 100 * 16]
    sweep = read("mbs,accum,replicas,global_batch_size,seq_len,tok/s\n2,4,8,65,16,1\n2,8,8,100,16,2\n")
    assert "is not micro-batch x accumulation x replicas" in sweep.problems[0].what


def test_devices_count_replicas_less_their_model_parallelism():
    assert batches("micro_batch,accum,n_gpus,tp,seq_len,tok/s\n1,1,8,2,16,1\n2,1,8,2,16,2\n") == [4 * 16, 8 * 16]


def test_accumulation_that_counts_from_zero_is_one_more():
    text = "atomic_bsz,accum_steps,num_replicas,seq_len,tok/s\n4,0,2,16,1\n4,1,2,16,2\n"  # AdaptDL's names
    assert batches(text) == [8 * 16, 16 * 16]


def test_the_digits_of_a_pollux_placement_are_devices():
    sweep = read("placement,local_bsz,step_time\n4,8,1\n4,16,2\n44,8,1\n44,16,2\n", seq_len=1)
    assert sweep.table["tokens_per_step"].tolist() == [32, 64, 64, 128]
    assert sweep.table["num_devices"].tolist() == [4, 4, 8, 8]


def test_unknown_replicas_are_asked_for_and_said():
    sweep = read("per_device_train_batch_size,seq_len,step_time\n4,512,1\n8,512,2\n")
    assert keys(sweep) == ["num_devices"]
    assert "replicas are not in the file" in sweep.columns[0].note
    answered = read("per_device_train_batch_size,seq_len,step_time\n4,512,1\n8,512,2\n", num_devices=8)
    assert answered.table["tokens_per_step"].tolist() == [8 * 4 * 512, 8 * 8 * 512]
    assert not answered.questions


def test_a_bare_batch_is_in_tokens_where_rate_times_step_time_is_the_batch():
    sweep = read("batch,step_time_s,tok/s\n8192,0.5,16384\n16384,0.9,18204\n")
    assert (sweep.table["tokens_per_step"].tolist(), sweep.batch_unit) == ([8192, 16384], "tokens")
    assert not sweep.questions


def test_a_ratio_that_drifts_by_more_than_three_percent_implies_nothing():
    sweep = read("batch,step_time_s,tok/s\n8,0.1463,111989\n16,0.2521,120000\n")
    assert keys(sweep) == ["seq_len"]


def test_samples_per_second_beside_tokens_per_second_imply_the_sequence_length():
    assert batches("batch,samples/s,tok/s\n8,54.68,111989\n16,63.46,129970\n") == [16_384, 32_768]


def test_an_open_sequence_length_leaves_the_batch_in_sequences_and_asks():
    sweep = read("batch_size,steps_per_s\n16,4.9\n32,3.1\n")
    assert (sweep.batch_unit, keys(sweep), sweep.questions[0].default) == ("sequences", ["seq_len"], None)
    assert sweep.table["tokens_per_second"].tolist() == pytest.approx([16 * 4.9, 32 * 3.1])
    answered = read("batch_size,steps_per_s\n16,4.9\n32,3.1\n", seq_len=512)
    assert answered.batch_unit == "tokens" and not answered.questions
    assert answered.table["tokens_per_second"].tolist() == pytest.approx([512 * 16 * 4.9, 512 * 32 * 3.1])


def test_a_large_bare_batch_is_taken_for_tokens_and_asked_about():
    sweep = read("batch,steps_to_target\n262144,240735\n524288,145367\n")
    assert [(question.key, question.default) for question in sweep.questions] == [("batch_unit", "tokens")]
    assert read("batch,steps_to_target\n262144,1\n524288,2\n", batch_unit="sequences", seq_len=2).table[
        "tokens_per_step"
    ].tolist() == [524_288, 1_048_576]


def test_a_small_bare_batch_beside_a_sequence_length_is_taken_for_sequences_and_asked_about():
    sweep = read("batch,seq_len,tok/s\n8,2048,1\n16,2048,2\n")
    assert [(question.key, question.default) for question in sweep.questions] == [("batch_unit", "sequences")]
    assert sweep.table["tokens_per_step"].tolist() == [16_384, 32_768]


def test_whose_a_bare_batch_is_is_asked_where_there_are_several_devices():
    text = "batch,n_gpus,seq_len,tok/s/gpu\n8,4,2048,1\n16,4,2048,2\n"
    assert keys(read(text)) == ["batch_scope", "batch_unit"]
    assert batches(text, batch_scope="replica") == [4 * 16_384, 4 * 32_768]
    assert batches(text, batch_scope="global") == [16_384, 32_768]


def test_rate_times_step_time_tells_a_batch_per_replica():
    rows = "8,2,512,8192,1\n16,2,512,8192,2\n8,4,512,16384,1\n16,4,512,16384,2\n"
    text = f"batch,n_gpus,seq_len,global_tok/s,step_time\n{rows}"
    sweep = read(text)
    assert sweep.table["tokens_per_step"].tolist() == [8192, 16_384, 16_384, 32_768]
    assert not sweep.questions


def test_steps_that_get_faster_with_devices_tell_a_global_batch():
    rows = "".join(f"{b},{n},{n * 10 / b}\n" for n in (1, 2, 4) for b in (16, 32, 64))
    assert keys(read("batch_size,n_gpus,steps_per_s\n" + rows)) == ["seq_len"]
    rows = "".join(f"{b},{n},{10 / b}\n" for n in (1, 2, 4) for b in (16, 32, 64))
    assert keys(read("batch_size,n_gpus,steps_per_s\n" + rows)) == ["batch_scope", "seq_len"]
