"""The clock and the memory that every measurement uses."""

import platform
import sys
import time

import numpy as np
import pytest

from bsmath.bench import device

MEBIBYTE = 2**20


def test_the_clock_runs_for_the_step_and_not_for_its_data():
    def draw():
        time.sleep(0.03)
        return 0.005

    times = device.time_steps(time.sleep, draw, 3, lambda: None)
    assert len(times) == 3 and 0.005 <= min(times) and sorted(times)[1] < 0.03


def test_the_device_is_waited_for_before_every_reading_of_the_clock():
    seen = []
    device.time_steps(seen.append, lambda: seen.append("draw") or "step", 2, lambda: seen.append("wait"))
    assert seen == ["draw", "wait", "step", "wait"] * 2


def test_work_that_is_only_waited_for_counts():
    assert device.time_steps(lambda _: None, lambda: None, 1, lambda: time.sleep(0.01))[0] >= 0.01


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB",
        "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 4000000000000 bytes. Error code 12 (Cannot allocate memory)",
    ],
)
def test_what_pytorch_says_where_memory_runs_out_is_a_memory_error(message):
    with pytest.raises(MemoryError), device.memory_errors():
        raise RuntimeError(message)


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), device.memory_errors():
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's /proc")
def test_the_peak_is_that_of_what_was_measured_last():
    def peak(mebibytes: int) -> int:
        found = device.watch_memory()
        np.ones(mebibytes * MEBIBYTE, np.uint8).sum()
        return found()

    small, large, small_again = peak(1), peak(150), peak(1)
    assert 140 * MEBIBYTE < large - small < 170 * MEBIBYTE
    assert small_again < small + 20 * MEBIBYTE


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU allocator can be asked")
def test_what_small_blocks_have_left_behind_does_not_count():
    last = []

    def blocks(count: int) -> int:
        found = device.watch_memory()
        held = [bytes(range(250)) * 200 for _ in range(count)]  # too small to be given back one by one
        last.append(held[-1])  # and this one keeps the heap from being given back from its end
        return found()

    few, many, few_again = blocks(1), blocks(2_000), blocks(1)
    assert many - few > 60 * MEBIBYTE and few_again - few < 20 * MEBIBYTE
