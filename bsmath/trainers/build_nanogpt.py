"""Log file of build-nanogpt (log/log.txt) and of loops made after it: a step, what was measured, its value.

    0 val 10.9511
    0 hella 0.2463
    0 train 10.955029

Source: the `hella` line is that of ten public loops made after build-nanogpt's train_gpt2.py; `train` and `val` are from memory of
it, and no real file was at hand. The file holds no batch, no time and no rate; the share of HellaSwag that is right is no loss.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss
from bsmath.trainers.records import Records

LEAST = 3
"""Lines from which the format is recognized."""
LONGEST = 80
"""Characters of a line."""
HEADERS = {"train": "train_loss", "val": "val_loss"}
_LINE = re.compile(r"(\d{1,12}) (train|val|hella) (\d{1,9}\.\d{1,20}|-?nan|-?inf)\s{0,3}")


def recognizes(sample: str) -> bool:
    """Whether all lines are of this shape, but for one that was cut, and one of them holds a loss."""
    found = [_LINE.fullmatch(line) for line in sample.split("\n") if line.strip()]
    kinds = [one[2] for one in found if one]
    return len(kinds) >= LEAST and len(found) - len(kinds) <= 1 and bool(HEADERS.keys() & set(kinds))


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a step."""
    records = Records(name)
    for count, line in lines(text, progress):
        if len(line) < LONGEST and (found := _LINE.fullmatch(line)):
            if found[2] in HEADERS:
                records.add(count, step=int(found[1]), **{HEADERS[found[2]]: loss(found[3].lstrip("-"))})
        elif line.strip():
            records.problem(count, None, f"the line is no step and loss: {line.strip()[:40]}", "left out")
    records.say("the file holds losses alone: batch and devices are not in it")
    return records.table()
