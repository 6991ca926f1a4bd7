"""Headers seen in real files, and what they mean."""

import pytest

from bsmath.sweeps.columns import recognize
from bsmath.sweeps.meanings import MEANINGS, PHRASES


@pytest.mark.parametrize(
    "header, meaning, unit",
    [
        ("SeqLen (T)", "seq_len", "tokens"),
        ("block_size", "seq_len", "tokens"),
        ("# GPUs", "num_devices", ""),
        ("n_gpus", "num_devices", ""),
        ("world_size", "num_devices", ""),
        ("MicroBatchSize", "micro_batch_size", "sequences"),
        ("local_bsz", "micro_batch_size", "sequences"),
        ("mbs", "micro_batch_size", "sequences"),
        ("per_device_train_batch_size", "micro_batch_size", "sequences"),
        ("train_micro_batch_size_per_gpu", "micro_batch_size", "sequences"),
        ("device_batch_size", "micro_batch_size", "sequences"),
        ("trainer/device_train_microbatch_size", "micro_batch_size", "sequences"),
        ("rank_microbatch_size", "micro_batch_size", "tokens"),
        ("GradAccum", "grad_accum_steps", ""),
        ("gradient_accumulation_steps", "grad_accum_steps", ""),
        ("batch_accum", "grad_accum_steps", ""),
        ("accumulate_grad_in_fp32", "measurement", ""),
        ("num_replicas", "data_parallel_size", ""),
        ("dp_world_size", "data_parallel_size", ""),
        ("GlobalBatchSize", "batch", ""),
        ("gbs", "batch", ""),
        ("B", "batch", ""),
        ("parameters.batch_size", "batch", ""),
        ("eval_batch_size", None, ""),
        ("num_batches", None, ""),
        ("num_microbatches", "grad_accum_steps", ""),
        ("GlobalBatchSize (T)", "batch_tokens", "tokens"),
        ("batch_size_tokens", "batch_tokens", "tokens"),
        ("tokens_per_step", "batch_tokens", "tokens"),
        ("wpb", "batch_tokens", "tokens"),
        ("batch_size_sequences", "batch_sequences", "sequences"),
        ("batch_seqs", "batch_sequences", "sequences"),
        ("tok/s", "tokens_per_second", "tokens/s"),
        ("tokensPerSecond", "tokens_per_second", "tokens/s"),
        ("Throughput (T/s)", "tokens_per_second", "tokens/s"),
        ("Throughput (S/s)", "samples_per_second", "samples/s"),
        ("Throughput (T/s/GPU)", "tokens_per_second_per_device", "tokens/s"),
        ("Training Throughput <br/> tokens/sec/GPU <br/> A100", "tokens_per_second_per_device", "tokens/s"),
        ("throughput/device/tokens_per_sec", "tokens_per_second_per_device", "tokens/s"),
        ("steps_per_s", "steps_per_second", "steps/s"),
        ("throughput/batches_per_sec", "steps_per_second", "steps/s"),
        ("it/s", "steps_per_second", "steps/s"),
        ("s/it", "step_time", "s"),
        ("step_time_ms", "step_time", "ms"),
        ("Step Time [s]", "step_time", "s"),
        ("elapsed time per iteration (ms)", "step_time", "ms"),
        ("step_time_std", "measurement", ""),
        ("steps_to_goal_measured", "steps", "steps"),
        ("iterations_to_target", "steps", "steps"),
        ("steps", "steps", "steps"),
        ("step", "step_index", ""),
        ("iteration", "step_index", ""),
        ("tokens_to_target", "tokens_to_target", "tokens"),
        ("samples to converge", "samples_to_target", "sequences"),
        ("goal_c4_val_loss", "target_loss", ""),
        ("train/loss", "loss", ""),
        ("lr", "learning_rate", ""),
        ("MFU", "measurement", ""),
        ("sync_time", "measurement", ""),
        ("job_id", "note", ""),
        ("placement", "placement", ""),
        ("hidden_size", None, ""),
    ],
)
def test_a_numeric_column_is_recognized_by_its_header(header, meaning, unit):
    found = recognize(header, is_number=True)
    assert (found.meaning, found.unit) == (meaning, unit)


@pytest.mark.parametrize(
    "header, meaning",
    [("GPU", "hardware"), ("GPUs", "num_devices"), ("Model", "model"), ("workload", "model"), ("dtype", "precision")]
    + [("MP Mode", "text"), ("Notes", "note"), ("run", "text")],
)
def test_a_text_column_is_recognized_by_its_header(header, meaning):
    assert recognize(header, is_number=False).meaning == meaning


def test_a_column_named_gpu_counts_devices_where_it_holds_numbers():
    assert recognize("gpu", is_number=True).meaning == "num_devices"


@pytest.mark.parametrize(
    "header, scale",
    [
        ("step_time_ms", 1e-3),
        ("dt (us)", 1e-6),
        ("step time [min]", 60),
        ("tokens/sec (k)", 1e3),
        ("ktok/s", 1e3),
        ("batch (M tokens)", 1e6),
    ],
)
def test_the_unit_in_a_header_becomes_a_factor(header, scale):
    assert recognize(header, is_number=True).scale == scale


def test_a_rate_says_whose_it_is_only_where_the_header_does():
    scopes = [recognize(header, is_number=True).scope for header in ("tok/s", "tok/s/gpu", "global_tokens_per_sec")]
    assert scopes == ["", "device", "job"]


def test_every_synonym_leads_to_a_known_meaning():
    assert set(PHRASES) <= set(MEANINGS)
    for meaning, phrases in PHRASES.items():
        for phrase in phrases.split("; "):
            assert recognize(phrase, is_number=True).meaning in (meaning, "num_devices", "step_time"), phrase
