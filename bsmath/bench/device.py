"""The clock and the memory of the device that works: CUDA where it is in use, else the processor. Loads no PyTorch."""

import ctypes
import gc
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CLEAR_REFS, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
"""Where Linux takes and tells what a process has resident."""


def time_steps(
    step: Callable[[object], object], draw: Callable[[], object], steps: int, synchronize: Callable[[], object]
) -> tuple[float, ...]:
    """Time of each step. [s]

    Parameters
    ----------
    step : callable
        What is timed; takes what `draw` gives.
    draw : callable
        Runs before the clock does: drawing data is no part of a step.
    steps : int
        How many.
    synchronize : callable
        Waits until the device is done: CUDA returns before its work is.
    """
    times = []
    for _ in range(steps):
        drawn = draw()
        synchronize()
        start = time.perf_counter()
        step(drawn)
        synchronize()
        times.append(time.perf_counter() - start)
    return tuple(times)


def cuda():
    """torch.cuda where this process uses it, else None."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None


def synchronize() -> None:
    """Wait until CUDA is done, where it is in use."""
    if cuda():
        cuda().synchronize()


@contextmanager
def memory_errors() -> Iterator[None]:
    """Make a MemoryError of what PyTorch raises where memory runs out: one error on CUDA, another on a CPU."""
    try:
        yield
    except RuntimeError as error:
        if "out of memory" not in str(error) and "can't allocate memory" not in str(error):
            raise
        raise MemoryError from None


def watch_memory() -> Callable[[], int | None]:
    """Give back what nothing uses any more; the result gives the peak of the memory from now on, None if unknown. [bytes]

    Allocated on the CUDA device where it is in use, else resident in the process, as Linux counts it.
    """
    gc.collect()  # a compiled model refers to itself
    if cuda():
        cuda().empty_cache()
        cuda().reset_peak_memory_stats()
        return lambda: cuda().max_memory_allocated()
    if sys.platform != "linux":
        return lambda: None
    # The GNU allocator keeps what a large batch has freed: every later batch would seem as large.
    getattr(ctypes.CDLL(None), "malloc_trim", lambda padding: None)(0)
    try:
        CLEAR_REFS.write_text("5")  # sets VmHWM back to what is resident now (man 5 proc_pid_clear_refs)
    except OSError:
        return lambda: None
    return _most_resident


def _most_resident() -> int | None:
    found = re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text())
    return int(found[1]) * 1024 if found else None
