"""What the names of runs, files and columns say, and what they do not."""

import time

import pytest

from bsmath.logs import run_names


@pytest.mark.parametrize(
    "name, told",
    [
        ("mbs8_ga2_dp1", {"micro_batch": 8, "accum": 2, "replicas": 1}),
        ("8.03B_dp8_tp1_pp1_acc4_mbs2_seq4096_zero1", {"micro_batch": 2, "accum": 4, "replicas": 8, "seq_len": 4096}),
        ("micro_batch_size_4_world_size_8", {"micro_batch": 4, "num_devices": 8}),
        ("bs256x1024", {"batch": 256, "in_tokens": 0, "seq_len": 1024}),
        ("256bs_3e-4", {"batch": 256, "in_tokens": 0, "learning_rate": 3e-4}),
        ("gbs512-seq4096", {"batch": 512, "in_tokens": 0, "seq_len": 4096}),
        ("B=64", {"batch": 64, "in_tokens": 0}),
        ("batch_size: 64", {"batch": 64, "in_tokens": 0}),
        ("bs262144tok", {"batch": 262_144, "in_tokens": 1}),
        ("batch_tokens=262144", {"batch": 262_144, "in_tokens": 1}),
        ("bs0.5M_lr6e-4", {"batch": 500_000, "in_tokens": 1, "learning_rate": 6e-4}),
        ("bs64seqs", {"batch": 64, "in_tokens": 0}),
        ("ctx4k_b32", {"batch": 32, "in_tokens": 0, "seq_len": 4096}),
        ("gpt2-124M-bs64-2gpu-s0", {"batch": 64, "in_tokens": 0, "num_devices": 2, "seed": 0}),
        ("8xH100_bs64", {"batch": 64, "in_tokens": 0, "num_devices": 8}),
        ("adamw_lr3e-4_wd1e-1_bs64", {"batch": 64, "in_tokens": 0, "learning_rate": 3e-4}),
        ("bs64_wd_1e-1", {"batch": 64, "in_tokens": 0}),
        ("bs128_lr1e-3/version_0/metrics.csv", {"batch": 128, "in_tokens": 0, "learning_rate": 1e-3}),
        ("run-bs64_lr3e-4-tag-train_loss.csv", {"batch": 64, "in_tokens": 0, "learning_rate": 3e-4}),
        ("mbs8/gbs64.csv", {"batch": 64, "in_tokens": 0}),
    ],
)
def test_batch_layout_rate_and_seed_are_read_as_people_write_them(name, told):
    assert run_names.settings(name) == told


@pytest.mark.parametrize(
    "name",
    "llama-7b-2026-01-14_12-00-00 b2026-01-14 b20260114 run-20260114_101010-abc12 val_acc_95 gpu0 T4 t5-small gemma-2b-64 color8 "
    "step100-gpu exp_b7b ga4 1e6 v1.2.3 experiment-b club9 2026-01-14-gpu gpt_b resnet50 web-3e".split(),
)
def test_words_dates_models_and_versions_say_nothing(name):
    assert not set(run_names.settings(name)) - {"seed"}


def test_a_name_that_every_run_has_is_told_apart_by_its_folder():
    assert run_names.bare("logs/bs64/metrics.csv") == "bs64/metrics" and run_names.bare("logs/bs64.csv") == "bs64"
    assert (
        run_names.bare("run-bs64-tag-val_loss.csv") == "bs64"
        and run_names.tag("run-bs64-tag-val_loss.csv") == "val_loss"
    )
    assert run_names.tag("bs64.csv") == ""


@pytest.mark.parametrize(
    "part", ["bs", "1", "b1-", "lr", "gpu 1", "seq ", "1x", "bs64x", "-tag-", "/", "8 ", "a1.", "mbs_", " "]
)
def test_no_name_takes_long_however_it_is_made(part):
    start = time.perf_counter()
    for read in (run_names.settings, run_names.bare, run_names.tag):
        read(part * 100_000)
    assert time.perf_counter() - start < 1
