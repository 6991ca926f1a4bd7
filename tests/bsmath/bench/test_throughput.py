"""The step that is timed is the step of a trainer, at the batches and micro-batches that were asked for."""

import csv
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath import sweeps  # noqa: E402
from bsmath.bench import corpus, record, throughput  # noqa: E402
from bsmath.bench.ranks import Ranks  # noqa: E402
from bsmath.bench.record import Setup, Table  # noqa: E402
from bsmath.bench.settings import Throughput  # noqa: E402
from bsmath.bench.timing import Size  # noqa: E402
from bsmath.bench.train import Run  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = Throughput(
    global_batch_sizes=(1, 4), seq_len=16, layers=1, width=16, heads=2, warmup_steps=2, steps=3, repeats=2, device="cpu"
)
TEXT = corpus.standard_library(100_000)
ALONE = Ranks(rank=0, size=1, device="cpu")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


def setup(settings: Throughput = SMALL, **changes) -> Setup:
    found = Setup(
        measure="throughput",
        settings=settings,
        num_params=throughput.num_params(settings),
        device="cpu",
        device_name="a processor",
        threads=1,
        processes=1,
        torch_version="2",
    )
    return replace(found, **changes)


def rows(settings: Throughput = SMALL, kept=(), **changes) -> list[dict]:
    return [row for row, _ in throughput.rows(setup(settings, **changes), ALONE, TEXT, list(kept))]


def as_text(row: dict) -> dict[str, str]:
    return {name: record.text(value) for name, value in row.items()}


def asked(batches, micros=(), processes=1) -> dict[tuple[int, int], str]:
    """(batch, micro-batch) -> end of the run's name."""
    settings = replace(SMALL, global_batch_sizes=batches, micro_batch_sizes=micros)
    found = throughput.sizes(settings, processes)
    return {(size.global_batch_size, size.micro_batch_size): name for size, name in found.items()}


def test_without_micro_batches_each_process_forwards_its_share_whole():
    assert asked((1, 6, 256)) == {(1, 1): "", (6, 6): "", (256, 256): ""}
    assert asked((6, 256), processes=2) == {(6, 3): "", (256, 128): ""}


def test_the_same_batch_is_timed_once_in_each_micro_batch_that_divides_its_share():
    assert asked((4, 12, 64), (8, 4)) == {
        (4, 4): "-micro8",
        (12, 4): "-micro4",
        (64, 4): "-micro4",
        (64, 8): "-micro8",
    }
    assert asked((16, 64), (4, 16), processes=4) == {(16, 4): "-micro16", (64, 4): "-micro4", (64, 16): "-micro16"}


@pytest.mark.parametrize(
    "batches, micros, processes, note",
    [
        ((3, 4), (), 2, "skipped: not a multiple of the 2 processes"),
        ((1, 4), (), 2, "skipped: not a multiple of the 2 processes"),
        ((12, 16), (8,), 1, "skipped: its share of 12 is no multiple of 8"),
        ((20, 16), (8, 4), 2, "skipped: its share of 10 is no multiple of 8 or 4"),
    ],
)
def test_a_batch_that_cannot_be_shared_is_skipped_and_says_why(batches, micros, processes, note):
    assert (batches[0], 0) in asked(batches, micros, processes) and (batches[1], 0) not in asked(
        batches, micros, processes
    )
    settings = replace(SMALL, global_batch_sizes=batches, micro_batch_sizes=micros)
    several = Ranks(rank=0, size=processes, device="cpu")
    timed = throughput.timed_steps(settings, several, TEXT, Size(0, batches[0]))
    assert (timed.note, timed.step_times) == (note, ())


def test_a_row_counts_in_the_units_of_its_header():
    settings = replace(SMALL, global_batch_sizes=(12,), micro_batch_sizes=(4,), repeats=1)
    (row,) = rows(settings)
    assert tuple(row) != throughput.COLUMNS and set(row) == set(throughput.COLUMNS)
    counted = {name: row[name] for name in ("micro_batch_size", "grad_accum_steps", "data_parallel_size")}
    assert counted == {"micro_batch_size": 4, "grad_accum_steps": 3, "data_parallel_size": 1}
    assert row["global_batch_size"] == 12 and row["tokens_per_step"] == 12 * 16 and row["steps_measured"] == 3
    assert row["tokens_per_second"] == pytest.approx(12 * 16 / row["step_time_s"])
    assert 0 < row["step_time_min_s"] <= row["step_time_s"] <= row["step_time_max_s"]
    assert row["run"] == "cpu-1threads-7.5k-micro4" and row["note"] == "" and row["mfu"] is None


def test_the_header_is_the_documented_one():
    assert ",".join(throughput.COLUMNS) == (
        "run,device,dtype,num_params,seq_len,data_parallel_size,micro_batch_size,grad_accum_steps,global_batch_size,"
        "tokens_per_step,repeat,steps_measured,step_time_s,step_time_min_s,step_time_max_s,tokens_per_second,"
        "peak_memory_bytes,mfu,note"
    )


def test_mfu_is_the_model_flops_of_the_job_over_the_peak_of_its_devices():
    (row,) = rows(replace(SMALL, global_batch_sizes=(4,), repeats=1, peak_flops=2e9))
    assert row["mfu"] == pytest.approx(6 * 7_472 * row["tokens_per_second"] / 2e9)


def test_mfu_takes_the_peak_of_a_known_accelerator_for_its_own_dtype():
    settings = replace(SMALL, global_batch_sizes=(4,), repeats=1, dtype="bfloat16")
    (row,) = rows(settings, device_name="NVIDIA H200")
    assert row["mfu"] == pytest.approx(6 * 7_472 * row["tokens_per_second"] / 989e12)
    assert rows(replace(settings, dtype="float32"), device_name="NVIDIA H200")[0]["mfu"] is None


def test_rows_of_an_earlier_run_are_not_measured_again():
    first = rows()
    assert [(row["repeat"], row["global_batch_size"]) for row in rows(kept=map(as_text, first[:3]))] == [
        (first[3]["repeat"], first[3]["global_batch_size"])
    ]
    assert rows(kept=map(as_text, first)) == []


def test_progress_counts_sequences_and_ends_at_one():
    found = list(throughput.rows(setup(), ALONE, TEXT, []))
    shares = [share for _, share in found]
    assert shares[-1] == 1 and shares == sorted(shares)
    assert shares[0] == found[0][0]["global_batch_size"] / 10
    kept = [as_text(row) for row, _ in found[:2]]
    assert [share for _, share in throughput.rows(setup(), ALONE, TEXT, kept)] == shares[2:]


def test_an_untimed_step_always_runs_and_the_others_are_timed():
    for warmup_steps in (0, 1, 3):
        timed = throughput.timed_steps(replace(SMALL, warmup_steps=warmup_steps), ALONE, TEXT, Size(4, 4))
        assert len(timed.step_times) == 3 and min(timed.step_times) > 0


def test_a_timed_step_is_a_step_of_training():
    run, other = (Run(SMALL, ALONE, TEXT, 0) for _ in range(2))
    for _ in range(3):
        throughput.step(run, 2, run.batch(4))
        other.optimizer.zero_grad()
        windows = other.batch(4)
        other.model.loss(windows[:, :-1], windows[:, 1:]).backward()
        other.update(throughput.LEARNING_RATE)
    for mine, its in zip(run.model.parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-5)


def test_the_peak_of_the_memory_grows_with_the_micro_batch_and_not_with_accumulation():
    settings = replace(SMALL, seq_len=128, width=64, warmup_steps=1, steps=1)
    peaks = [throughput.timed_steps(settings, ALONE, TEXT, size).peak_memory for size in (Size(64, 64), Size(4, 64))]
    if None in peaks:
        pytest.skip("this system does not tell the peak")
    assert peaks[0] - peaks[1] > 20e6  # logits of 8,192 more tokens alone are 256 x 4 bytes each, and are held twice


def test_a_model_that_memory_cannot_hold_is_a_row():
    endless = replace(SMALL, width=100_000, heads=1, repeats=1)
    found = rows(endless)
    assert {row["note"] for row in found} <= {"out of memory", "skipped: B=1 ran out of memory"}
    assert len(found) == 2 and all(row["step_time_s"] is None for row in found)


@pytest.mark.parametrize(
    "row, line",
    [
        ({}, "B=  48  step_time=  719.1ms  tok/s=136,699"),
        ({"run": "a-micro16"}, "B=  48  micro_batch=16  step_time=  719.1ms  tok/s=136,699"),
        ({"step_time_s": None, "note": "out of memory"}, "B=  48  out of memory"),
    ],
)
def test_the_printed_line_has_the_founding_format(row, line):
    measured = {"run": "a", "global_batch_size": 48, "micro_batch_size": 16, "step_time_s": 0.7191, "note": ""}
    assert throughput.line(measured | {"tokens_per_second": 136_699.0} | row) == line


def test_printed_lines_are_read_by_upload():
    settings = replace(SMALL, global_batch_sizes=(2, 4, 8), repeats=1)
    found = rows(settings)
    sweep = sweeps.read("\n".join(map(throughput.line, found)).encode(), "printed", {"seq_len": 16})
    assert sorted(sweep.table["tokens_per_step"]) == [32, 64, 128]


def test_the_file_of_several_micro_batches_is_read_as_one_series_each(tmp_path):
    settings = replace(SMALL, global_batch_sizes=(2, 4, 7, 8, 16), micro_batch_sizes=(2, 8))
    table = Table(tmp_path / "sweep.csv", throughput.COLUMNS, record.preamble(setup(settings), "", ""), None)
    for row in rows(settings):
        table.append(row)
    table.close()
    lines = (tmp_path / "sweep.csv").read_text().splitlines()
    held = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    sweep = sweeps.read((tmp_path / "sweep.csv").read_bytes(), "sweep.csv")
    assert len(held) == 16 and sweep.questions == () and sweep.batch_unit == "tokens"
    tokens = {name: set(group["tokens_per_step"] / 16) for name, group in sweep.table.groupby("series")}
    assert tokens == {"cpu-1threads-7.5k-micro2": {4, 8, 16}, "cpu-1threads-7.5k-micro8": {2, 4, 7, 8, 16}}
