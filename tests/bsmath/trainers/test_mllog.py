"""`:::MLLOG` lines of MLPerf."""

import json
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import mllog

SAMPLE = (Path(__file__).parents[3] / "data" / "samples" / "logs" / "mllog.txt").read_text()
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"


def read(text: str) -> tuple:
    table = mllog.read(text, "result_0.txt")
    return table.frame, " ".join(table.comments)


def event(seconds, key, value=None, **metadata) -> str:
    told = {"namespace": "", "time_ms": int(1000 * seconds), "key": key, "value": value, "metadata": metadata}
    return f":::MLLOG {json.dumps(told)}"


def run(benchmark, *events, batch=32) -> str:
    settings = [
        event(0, "submission_benchmark", benchmark),
        event(0, "global_batch_size", batch),
        event(10, "run_start"),
    ]
    return "\n".join([*settings, *events])


def test_places_of_the_sample_count_samples_and_not_steps():
    frame, _ = read(SAMPLE)
    assert frame["consumed_samples"].tolist() == [512, 1024, 1536, 2048, 2560, 3072]
    assert frame["step"].tolist() == [16, 32, 48, 64, 80, 96]
    assert frame["train_loss"].dropna().tolist() == [6.1, 5.4, 4.7]
    assert frame["val_loss"].dropna().tolist() == [5.5, 4.9, 4.3]
    assert frame["step_time_s"].dropna().tolist() == [4, 4, 4]
    assert frame["samples_per_s"].dropna().tolist() == [8.1] * 3
    assert frame["wall_time_s"].iloc[[0, -1]].tolist() == [64, 404]


def test_the_settings_of_the_sample_hold_for_each_row_and_other_ranks_add_none():
    frame, said = read(SAMPLE)
    constants = {"batch_seqs": 32, "seq_len": 8192, "accum": 4, "seed": 4242, "learning_rate": 0.0005}
    assert {name: frame[name].iloc[0] for name in constants} == constants
    assert (frame["state"] == "finished").all() and frame["model"].iloc[0] == "llama31_8b"
    assert len(frame) == 6 and "peak of its schedule" in said and "n_gpus" not in frame


def test_an_accuracy_is_no_loss():
    frame, said = read(run("bert", event(20, "eval_accuracy", 0.71, epoch_num=3200)))
    assert "val_loss" not in frame and "not known to be a loss" in said


def test_samples_of_an_evaluation_are_not_samples_of_the_training():
    events = [
        event(10, "epoch_start", 0, epoch_num=0),
        event(110, "eval_start", None, epoch_num=3200, step_num=100),
        event(120, "eval_stop", 3200, epoch_count=3200, step_num=100, samples_count=10_080),
        event(170, "eval_start", None, epoch_num=6400, step_num=200),
    ]
    frame, _ = read(run("bert", *events))
    assert frame["consumed_samples"].tolist() == [3200, 6400] and frame["step"].tolist() == [100, 200]
    assert frame["samples_per_s"].tolist() == [32, 64]  # 3,200 in 100 s, then in 50 s without the evaluation


def test_a_throughput_unlike_the_clock_of_its_block_gives_way_to_the_clock():
    events = [
        event(10, "block_start", None, samples_count=0),
        event(110, "tracked_stats", {"throughput": 262_144.0}, step=3200),  # tokens/s
        event(110, "block_stop", None, samples_count=3200),
    ]
    assert read(run("llama31_8b", *events))[0]["samples_per_s"].tolist() == [32]


def test_places_and_rates_of_gpt3_count_tokens():
    size = event(0, "max_sequence_length", 2048)
    stats = event(20, "tracked_stats", {"throughput": 5e6}, step=2048 * 32 * 10)
    frame, said = read(run("gpt3", size, stats))
    assert frame[["tokens", "tokens_per_s", "step"]].iloc[0].tolist() == [655_360, 5e6, 10]
    assert "consumed_samples" not in frame and "samples_per_s" not in frame


def test_places_that_are_no_multiples_of_the_batch_are_steps():
    stats = [event(10 + step, "tracked_stats", {"loss": 5.0 - step, "lr": 0.1}, step=step) for step in (1, 2, 3)]
    frame, said = read(run("llama31_8b", *stats))
    assert frame["step"].tolist() == [1, 2, 3] and frame["consumed_samples"].tolist() == [32, 64, 96]
    assert frame["learning_rate"].tolist() == [0.1] * 3 and "counts steps" in said


def test_a_run_that_was_aborted_and_one_that_was_cut_off_are_told_apart():
    stats = event(20, "tracked_stats", {"reduced_train_loss": "nan"}, step=320)
    frame, _ = read(run("llama31_8b", stats, event(30, "run_stop", None, status="aborted")))
    assert frame["state"].tolist() == ["aborted"] and frame["train_loss"].tolist() == [float("inf")]
    frame, said = read(run("llama31_8b", stats))
    assert "state" not in frame and "no run_stop" in said


def test_two_runs_in_one_file_keep_their_own_settings():
    stats, stop = (
        event(20, "tracked_stats", {"throughput": 2.0}, step=320),
        event(30, "run_stop", None, status="success"),
    )
    frame, _ = read("\n".join([run("llama31_8b", stats, stop), run("llama31_8b", stats, stop, batch=64)]))
    assert frame["run"].tolist() == ["run 1", "run 2"] and frame["batch_seqs"].tolist() == [32, 64]


def test_the_mark_may_stand_anywhere_and_a_line_that_was_cut_off_is_named():
    lines = SAMPLE.split("\n")
    text = "\n".join([*(f"3: some text {line} (more)" for line in lines[1:30]), lines[30][:-20]])
    table = mllog.read(text, "x")
    assert mllog.recognizes(text) and table.frame["consumed_samples"].tolist() == [512, 1024, 1536, 2048]
    assert [problem.row for problem in table.problems] == [30]


def test_what_is_no_event_is_not_recognized_or_refused_in_a_sentence():
    for text in ('print(":::MLLOG", json)', "MLLOG {}", ":::MLLOG {]", ":::MLLOG " + "{" * 50_000, ":::MLLOG [1]"):
        assert not mllog.recognizes(text)
    assert mllog.recognizes(SAMPLE)
    for text in (run("bert"), ":::MLLOG " + '{"a":' * 50_000):
        with pytest.raises(SweepError, match="x must"):
            mllog.read(text, "x")


@pytest.mark.parametrize("piece", [":::MLLOG ", ":::MLLOG {", "{", '{"key": "', "1"])
def test_a_line_of_100_000_characters_is_read_at_once(piece):
    start = time.perf_counter()
    text = SAMPLE + ":::MLLOG " + (piece * 100_000)[:100_000]
    assert mllog.recognizes(text) and len(read(text)[0]) == 6
    assert time.perf_counter() - start < 1


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
def test_a_real_run_of_lora_has_its_loss_as_eval_accuracy():
    frame, _ = read((REAL / "mllog_amd_llama2_70b_lora_bs8.txt").read_text())
    assert len(frame) == 5 and frame["step"].tolist() == [192, 240, 288, 336, 384]
    assert frame["consumed_samples"].iloc[[0, -1]].tolist() == [1536, 3072] and (frame["batch_seqs"] == 8).all()
    assert frame["val_loss"].iloc[0] == pytest.approx(0.936, abs=1e-3)
    assert frame["samples_per_s"].iloc[0] == pytest.approx(2.0265, abs=1e-4)
    assert frame["wall_time_s"].iloc[0] == pytest.approx(772.154) and frame["state"].iloc[0] == "finished"


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
def test_a_real_run_of_bert_has_its_samples_in_the_value():
    frame, _ = read((REAL / "mllog_tinycorp_bert.txt").read_text())
    assert len(frame) == 22 and (frame["batch_seqs"] == 96).all() and (frame["seq_len"] == 512).all()
    assert frame["step"].iloc[[0, -1]].tolist() == [1562, 34_364]
    assert frame["consumed_samples"].iloc[[0, -1]].tolist() == [149_952, 3_298_944]
    assert frame["samples_per_s"].iloc[1] == pytest.approx(250.55, abs=0.01) and "val_loss" not in frame
