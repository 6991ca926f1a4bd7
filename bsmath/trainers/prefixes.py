"""What launchers and collectors write in front of every line of a log, taken away before a reader sees the lines.

    0: iteration 10/ 100 | ...                            srun --label
    [1,0]<stdout>: iter 10: loss 3.2, ...                 mpirun --tag-output
    (train_fn pid=4211, ip=10.0.0.3) iter 10: ...         Ray; older: (pid=4211)
    trainer-1  | iter 10: ...                             docker compose
    [pod/train-0/main] iter 10: ...                       kubectl logs --prefix
    [rank0]: iter 10: ...   [default0]:iter 10: ...       torchrun --tee
    2026-11-03T10:12:01.123456789Z iter 10: ...           docker logs --timestamps, kubectl logs --timestamps

Checked against the programs' documentation or source: Ray (the name may be missing), torchrun (the role may have any name), docker's
timestamps. The other forms are as commonly seen and were not checked against a manual.
"""

import re

FORMS = (
    r"\d{1,5}: ?",
    r"\[\d{1,5},\d{1,5}\](?:<std(?:out|err)>)?: ?",
    r"\((?:\w[^()\n]{0,60} )?pid=\d{1,9}(?:, ip=[0-9a-fA-F.:]{3,40})?\) ?",
    r"[\w.-]{1,60} {1,20}\| ",
    r"\[pod/[^\]\n]{1,150}\] ",
    r"\[[A-Za-z_]\w{0,40}\d\]: ?",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) ",
)
"""Regular expressions of the prefixes; one log may have two of them, one behind the other."""
LEAST = 0.9
"""Share of the lines that have to begin so."""
MOST = 2
"""Prefixes of one line."""


def form(sample: str) -> str | None:
    """The regular expression of what nearly every line of a sample begins with; None where there is no such thing."""
    found = ""
    for _ in range(MOST):
        lines = [line for line in sample.split("\n") if line.strip()]
        wanted = next((each for each in FORMS if len(lines) > 1 and _share(each, lines) >= LEAST), None)
        if wanted is None:
            break
        found += wanted
        sample = "\n".join(re.sub(f"^{wanted}", "", line) for line in lines)
    return found or None


def _share(wanted: str, lines: list[str]) -> float:
    prefix = re.compile(wanted)
    return sum(prefix.match(line) is not None for line in lines) / len(lines)


def without(data: bytes, wanted: str) -> bytes:
    """A log in UTF-8 without them; the lines keep their numbers."""
    return re.sub(rb"(?m)^(?:" + wanted.encode() + rb")", b"", data)
