"""A seed -> a case: the same bytes each time for the same samples."""

from dataclasses import dataclass
from random import Random

from tests.fuzz import hostile, in_bytes, in_lines, material

FILES = material.files()
CHANGES = (*in_bytes.CHANGES, *in_lines.CHANGES, *hostile.CHANGES)
NAMES = ("", "x.csv", "a.json", "b.log", "c.zip", "run-b64-lr3e-4.csv", "../../x", "n" * 300, "\x1b[31m\n.csv", "\ud800.csv", "b" + "9" * 400 + ".csv")  # fmt: skip
LARGEST = 3_000_000
"""A change that makes a case longer is not followed by another one. [bytes]"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One upload."""

    seed: int
    name: str
    data: bytes
    made: str
    """Which file, and what was done to it."""


def case(seed: int) -> Case:
    """The case of a seed: seeds in a row go through all files, then through all changes; the further changes are drawn."""
    rng = Random(seed)
    name, data = FILES[seed % len(FILES)]
    changes = [CHANGES[seed // len(FILES) % len(CHANGES)]]
    changes += rng.choices((*in_bytes.CHANGES, *in_lines.CHANGES), k=rng.choice([0, 0, 1, 1, 2, 3]))
    if rng.random() < 0.1:
        data += FILES[rng.randrange(len(FILES))][1]
    made = [name]
    for change in changes:
        if len(data) > 20_000 and len(made) > 1 or len(data) > LARGEST:
            break
        data = change(rng, data)
        made.append(change.__name__)
    if rng.random() < 0.2:
        name = rng.choice(NAMES)
    return Case(seed=seed, name=name, data=data, made=" > ".join(made))
