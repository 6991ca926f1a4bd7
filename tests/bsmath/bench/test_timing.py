"""Timing a training loop: the order, what does not fit, and the file."""

import inspect
import textwrap
import time
from collections import Counter

import pytest

from bsmath import sweeps
from bsmath.bench import timing
from bsmath.bench.timing import Measurement, Size, Timed, measure_throughput

BATCHES = (1, 2, 4, 8, 16)
SIZES = [Size(batch, batch) for batch in BATCHES]
FOUNDING = {8: (0.1463, 111_989), 16: (0.2521, 129_970), 48: (0.7191, 136_699)}
"""Step time [s] and printed rate of the founding sweep at 2,048 tokens a sequence; its times are rounded to 0.1 ms."""


def measured(batch: int, *times: float, note: str = "") -> Measurement:
    return Measurement(size=Size(batch, batch), repeat=2, seq_len=2048, timed=Timed(times, None, note))


def outcome(fits, sizes=SIZES, repeats=1, seed=0, kept=None):
    """(repeat, size) -> note, and the sizes that were tried, where `fits` says what the memory holds."""
    tried = []

    def measure(size: Size) -> Timed:
        tried.append(size)
        if not fits(size):
            raise MemoryError
        return Timed((0.1,))

    found = timing.measurements(sizes, measure, seq_len=1, repeats=repeats, seed=seed, kept=kept)
    return {(one.repeat, one.size): one.timed.note for one in found}, tried


@pytest.mark.parametrize("batch, step_time, rate", [(batch, *values) for batch, values in FOUNDING.items()])
def test_the_rate_is_that_of_the_whole_batch(batch, step_time, rate):
    assert measured(batch, step_time).tokens_per_second == pytest.approx(rate, rel=5e-4)


def test_the_step_time_is_the_median_so_one_slow_step_does_not_count():
    row = measured(48, 0.7191, 0.7191, 0.7192, 9.0, 0.7).cells()
    assert (row["step_time_s"], row["step_time_min_s"], row["step_time_max_s"]) == (0.7191, 0.7, 9.0)
    assert row["steps_measured"] == 5 and row["tokens_per_step"] == 48 * 2048


def test_what_could_not_be_run_has_no_times_and_says_why():
    row = measured(64, note="out of memory").cells()
    assert tuple(row) == timing.COLUMNS and row["steps_measured"] == 0 and row["note"] == "out of memory"
    assert {row[name] for name in timing.COLUMNS[5:10]} == {None}


def test_every_size_is_measured_once_a_repeat():
    pairs = timing.order(SIZES, repeats=3, seed=0)
    assert Counter(pairs) == {(repeat, size): 1 for repeat in (1, 2, 3) for size in SIZES}
    assert [repeat for repeat, _ in pairs] == sorted(repeat for repeat, _ in pairs)


def test_repeats_differ_in_order_and_the_seed_decides_it():
    many = [Size(batch, batch) for batch in range(1, 13)]

    def orders(seed):
        sizes = [size for _, size in timing.order(many, repeats=2, seed=seed)]
        return sizes[:12], sizes[12:]

    first, second = orders(0)
    assert first != second and first != many
    assert orders(0) == (first, second) != orders(1)


def test_what_fits_is_measured_although_larger_batches_ran_out_of_memory():
    for seed in range(5):
        notes, _ = outcome(lambda size: size.global_batch_size <= 4, repeats=2, seed=seed)
        assert len(notes) == 10
        assert all((note == "") == (size.global_batch_size <= 4) for (_, size), note in notes.items())


def test_nothing_as_large_as_what_ran_out_of_memory_is_tried_again():
    notes, tried = outcome(lambda size: False, repeats=2)
    assert tried[0] == timing.order(SIZES, 2, 0)[0][1]
    assert tried == sorted(tried, reverse=True) and tried[-1] == SIZES[0] and len(tried) == len(set(tried))
    assert notes[2, SIZES[0]] == "out of memory" and notes[2, SIZES[3]] == "skipped: B=1 ran out of memory"


def test_accumulating_a_large_batch_fits_where_its_larger_micro_batches_do_not():
    sizes = [Size(micro, batch) for batch in (64, 256, 1024) for micro in (8, 64)]
    for seed in range(5):
        notes, _ = outcome(lambda size: size.micro_batch_size <= 8, sizes, seed=seed)
        assert {size for (_, size), note in notes.items() if not note} == {Size(8, 64), Size(8, 256), Size(8, 1024)}
    notes, _ = outcome(lambda size: size.micro_batch_size <= 8, sizes, repeats=2)
    assert notes[2, Size(64, 1024)] == "skipped: B=64 ran out of memory"


def test_an_earlier_run_is_not_repeated_and_what_ran_out_of_memory_in_it_stays_out():
    kept = {(1, SIZES[0]): "", (1, SIZES[3]): "out of memory"}
    notes, tried = outcome(lambda size: size.global_batch_size < 8, repeats=2, kept=kept)
    assert set(notes) == {(repeat, size) for repeat in (1, 2) for size in SIZES} - set(kept)
    assert SIZES[3] not in tried and SIZES[4] not in tried
    assert notes[2, SIZES[3]] == "out of memory" and notes[1, SIZES[4]] == "skipped: B=8 ran out of memory"


def test_a_size_names_its_micro_batches_where_it_has_several():
    assert (str(Size(8, 8)), str(Size(8, 64))) == ("B=8", "B=64 in micro-batches of 8")


def test_a_loop_is_timed_and_its_file_is_read_by_upload(tmp_path):
    """A loop whose steps take 2 ms and 0.5 ms a sequence, and whose memory ends at 8 sequences."""

    def step(global_batch_size):
        if global_batch_size > 8:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        time.sleep(2e-3 + 5e-4 * global_batch_size)

    out = tmp_path / "sweep.csv"
    found = measure_throughput(step, [2, 8, 4, 16], seq_len=100, warmup_steps=1, steps=3, repeats=2, out=out)
    sweep = sweeps.read(out.read_bytes(), out.name)
    assert sorted((one.repeat, one.size.global_batch_size) for one in found) == [
        (repeat, batch) for repeat in (1, 2) for batch in (2, 4, 8, 16)
    ]
    assert sweep.series == (sweeps.ALL_ROWS,) and sweep.questions == () and sweep.batch_unit == "tokens"
    by_batch = sweeps.aggregate(sweep, sweeps.ALL_ROWS, "tokens_per_second")
    assert by_batch["tokens_per_step"].tolist() == [200, 400, 800] and by_batch["count"].tolist() == [2, 2, 2]
    assert [one.step_time >= 2e-3 + 5e-4 * one.size.global_batch_size for one in found if one.step_time] == [True] * 6
    assert [one.timed.note for one in found if one.step_time is None] == ["out of memory"] * 2
    for one, row in zip([one for one in found if one.step_time], sweep.table.itertuples(), strict=True):
        assert row.tokens_per_second == pytest.approx(one.tokens_per_second, rel=1e-6)
        assert row.step_time == pytest.approx(one.step_time, rel=1e-6)


def test_warm_up_steps_are_done_and_left_out_of_the_times():
    calls = []
    (one,) = measure_throughput(calls.append, [4], seq_len=1, warmup_steps=2, steps=3, repeats=1)
    assert calls == [4] * 5 and len(one.timed.step_times) == 3


def test_a_device_of_ones_own_is_waited_for():
    seen = []
    measure_throughput(
        seen.append, [4], seq_len=1, warmup_steps=0, steps=2, repeats=1, synchronize=lambda: seen.append("wait")
    )
    assert seen == ["wait", 4, "wait", "wait", 4, "wait"]


def test_the_same_seed_gives_every_process_the_same_order():
    def calls(seed):
        seen = []
        measure_throughput(seen.append, BATCHES, seq_len=1, warmup_steps=0, steps=1, repeats=2, seed=seed)
        return seen

    assert calls(3) == calls(3) != calls(4)


def test_an_error_of_the_loop_is_not_taken_for_a_lack_of_memory(tmp_path):
    def step(global_batch_size):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        measure_throughput(step, [4], seq_len=1)


@pytest.mark.parametrize(
    "batches, changes, message",
    [
        ([4, 0], {}, "global_batch_size must be a whole number from 1 to 9.0072e+15, got 0"),
        ([4], {"steps": 0}, "steps must be a whole number from 1 to 9.0072e+15, got 0"),
        ([4], {"seq_len": 0}, "seq_len must be a whole number from 1 to 9.0072e+15, got 0"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_file_is_touched(tmp_path, batches, changes, message):
    with pytest.raises(ValueError) as refused:
        measure_throughput(lambda batch: None, batches, out=tmp_path / "out.csv", **{"seq_len": 8} | changes)
    assert str(refused.value) == message and not (tmp_path / "out.csv").exists()


@pytest.mark.torch
def test_the_example_of_the_docstring_runs_on_a_loop_of_pytorch(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")
    torch.set_num_threads(1)
    model = torch.nn.Linear(2048, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    sizes = Counter()

    def train_step(batch):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        sizes[len(batch)] += 1

    lines = inspect.getdoc(timing).split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
    example = textwrap.dedent("    " + lines.lstrip())
    assert len([line for line in example.splitlines() if line.strip()]) == 4  # an import, and three lines
    monkeypatch.chdir(tmp_path)
    exec(example, {"train_step": train_step, "data": torch.randn(64, 2048)})
    assert sizes == {batch: 3 * (3 + 10) for batch in (8, 16, 32, 64)}
    sweep = sweeps.read((tmp_path / "sweep.csv").read_bytes(), "sweep.csv")
    found = sweeps.aggregate(sweep, sweeps.ALL_ROWS, "tokens_per_second")
    assert found["tokens_per_step"].tolist() == [8 * 2048, 16 * 2048, 32 * 2048, 64 * 2048]
