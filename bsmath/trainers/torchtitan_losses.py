"""Loss files of torchtitan's regression tests (tests/assets/losses): `step loss` a line, one space between, no header.

    1 8.049097061157227
    2 7.751836299896240

The format has no mark of its own, so only this shape is taken for it: at least five lines and nothing else, whole steps
at an even distance, losses with a decimal point that a language model can have.
"""

import re
from itertools import pairwise

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss
from bsmath.trainers.records import Records

FEWEST = 5
"""Lines below which two columns of numbers may be anything."""
HIGHEST = 30.0
"""Loss of a language model that nothing exceeds for long [nats/token]: ln of a vocabulary is below 14."""
_LINE = re.compile(r"(\d{1,12}) {1,4}(-?\d{1,9}\.\d{1,20}(?:[eE][+-]?\d{1,3})?|nan|inf)\s*")


def recognizes(sample: str) -> bool:
    """Whether all lines are a step and a loss, the first of them at an even distance."""
    lines = [line for line in sample.split("\n") if line.strip()]
    found = [_LINE.fullmatch(line) for line in lines]
    if len(lines) < FEWEST or None in found[:-1] or sum(match is None for match in found) > 1:
        return False
    pairs = [(int(match[1]), loss(match[2])) for match in found if match]
    steps = [step for step, _ in pairs]
    usual = sum(0 <= value < HIGHEST for _, value in pairs)
    rising = all(before < after for before, after in pairwise(steps))
    return (
        rising and len({after - before for before, after in pairwise(steps[:FEWEST])}) == 1 and usual > len(pairs) / 2
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a line."""
    records = Records(name)
    for count, line in lines(text, progress):
        if len(line) < 80 and (found := _LINE.fullmatch(line)):
            records.add(count, step=int(found[1]), train_loss=loss(found[2]))
        elif line.strip():
            records.problem(count, None, f"the line is no step and loss: {line.strip()[:40]}", "left out")
    records.say(
        "two columns without a header: taken for steps and training losses, as torchtitan's loss files have them"
    )
    return records.table()
