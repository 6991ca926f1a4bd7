"""`python -m tests.fuzz SEED`: one case again, with its bytes' beginning. `python -m tests.fuzz FIRST END [STEP]`: several, the bad ones printed."""

import faulthandler
import sys

from tests.fuzz import judge
from tests.fuzz.cases import case

HANGS = 120
"""Wall-clock after which a case is ended and its stack printed. [s]"""


def one(seed: int) -> int:
    """Show one case."""
    found = case(seed)
    print(
        f"seed {seed}: {found.made}, name {found.name[:80]!r}, {len(found.data):,} bytes beginning with {found.data[:200]!r}"
    )
    _, seconds, size = judge.measured(found)
    said = judge.wrong(found)
    print(f"{seconds:.3f} s of processor time, {size / 1e6:.1f} MB: {said or 'as it should be'}")
    return int(said is not None)


def several(first: int, end: int, step: int) -> int:
    """Run seeds, print each before it starts, and what is wrong with it."""
    for seed in range(first, end, step):
        print(seed, flush=True)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        found = case(seed)
        if said := judge.wrong(found):
            print(f"{seed}\t{found.made}\t{len(found.data):,} bytes\t{said}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    print("end", flush=True)
    return 0


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    sys.exit(one(*numbers) if len(numbers) == 1 else several(*numbers, *([1] if len(numbers) == 2 else [])))
