"""Reader of printed benchmark lines, `B=  48  step_time=  719.1ms  tok/s=136,699`: any line of two or more key=value
pairs with B or a name in "batch" first; every other line of the output is passed over.
"""

import re

import numpy as np
import pandas as pd

from bsmath.sweeps.model import Problem, RawTable, SweepError

_LINE = re.compile(r"^.*?\b(?:B|batch\w*|global_batch\w*)\s*[=:]\s*\S", re.IGNORECASE)
_PAIR = re.compile(r"([A-Za-z][\w/.%]*)\s*=\s*([^\s=]+)(?=\s|$)")
_SHAPE = re.compile(r"^[^,;|\n]*?\b(?:B|batch\w*)\s*=\s*[\d.,]+\w*\s+[A-Za-z][\w/.]*\s*=", re.IGNORECASE | re.MULTILINE)


def recognizes(head: str) -> bool:
    """Whether the beginning of a file holds such a line."""
    return _SHAPE.search(head) is not None


def read(data: bytes, name: str, decimal: str | None = None) -> RawTable:
    """The lines as a table; a line that names a batch and gives no pair besides is a problem."""
    records, rows, problems, comments = [], [], [], []
    for number, line in enumerate(data.decode().split("\n"), start=1):
        if line.startswith("#") and not records:
            comments.append(line.lstrip("# ").strip())
        elif _LINE.match(line) and not line.startswith("#"):
            pairs = dict(_PAIR.findall(line))
            if len(pairs) > 1:
                records.append(pairs)
                rows.append(number)
            elif pairs:
                problems.append(
                    Problem(row=number, column=None, what="the line has a batch and no result", action="row left out")
                )
    if not records:
        raise SweepError(
            f"{name} must have lines such as 'B=48 step_time=719.1ms tok/s=136,699', got none that is complete"
        )
    frame = pd.DataFrame(records, dtype=object)
    return RawTable(
        frame=frame, rows=np.array(rows), comments=tuple(comments), decimal=decimal or ".", problems=tuple(problems)
    )
