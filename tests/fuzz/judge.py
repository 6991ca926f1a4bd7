"""Read one case and judge how it ended, the time and the memory that it took."""

import re
import time
import traceback
from pathlib import Path

from bsmath import intake
from bsmath.sweeps import SweepError
from tests.fuzz.cases import Case

SLOWEST = 2.0
"""Processor time of one case. Wall-clock would fail on a busy machine. [s]"""
LARGEST = 300 * 10**6
"""Memory that one case takes at most. [bytes]"""
LONGEST = 1000
"""Characters of a sentence; a longer one repeats the file."""

_HIGHEST = re.compile(r"VmHWM:\s+(\d+) kB\s+VmRSS:\s+(\d+)")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def wrong(case: Case) -> str | None:
    """What is wrong with how the case ended; None where nothing is. A slow case is read up to three times, and the fastest counts."""
    said, seconds, size = measured(case)
    for _ in range(2):
        if said is None and seconds > SLOWEST:
            said, again, _ = measured(case)
            seconds = min(seconds, again)
    if said is None and seconds > SLOWEST:
        return f"took {seconds:.1f} s of processor time"
    if said is None and size > LARGEST:
        return f"took {size / 1e6:.0f} MB"
    return said


def measured(case: Case) -> tuple[str | None, float, float]:
    """What is wrong, the processor time [s] and the memory above what was in use before [bytes; 0 where it cannot be known]."""
    before = _peak(reset=True)
    start = time.process_time()
    said = _read(case)
    return said, time.process_time() - start, _peak() - before


def _read(case: Case) -> str | None:
    try:
        found = intake.read_file(case.data, case.name)
    except SweepError as error:
        return _of_sentence(str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if "bsmath" in frame.filename][-1]
        place = f"{'/'.join(Path(own.filename).parts[-2:])}:{own.lineno} {own.line!r}"
        return f"{type(error).__name__}: {str(error)[:100]!r} at {place}" + ("" if where is own else f" ({where.name})")
    return None if found else "gave nothing, and no sentence"


def _of_sentence(said: str) -> str | None:
    if len(said) > LONGEST:
        return f"a sentence of {len(said):,} characters: {said[:60]!r}"
    return None if " must " in said else f"a sentence without a rule: {said[:100]!r}"


def _peak(reset: bool = False) -> float:
    """The most memory since the last reset; on a reset, the memory in use. [bytes]"""
    try:
        if reset:
            _RESET.write_text("5")
        highest, now = _HIGHEST.search(_STATUS.read_text()).groups()
    except OSError:
        return 0.0
    return float(now if reset else highest) * 1024
