"""The throughput tables of the Gavel scheduler: {gpu: {"('LM (batch size 5)', 2)": {"null": steps/s, pair: [..]}}}.

A key is the text of a Python tuple: the workload with its batch, and the number of GPUs. "null" stands for a job alone
on its devices; the other entries are two jobs on one device, which are no sweep over batch size.
"""

import ast
import re

LONGEST_KEY = 200
"""Characters of a key that is taken for a tuple."""

_BATCH = re.compile(r"(.*?)\s*\(batch size (\d{1,9})\)")


def rows(value) -> tuple[list[dict], int] | None:
    """The rates of jobs that run alone and the number of entries for pairs; None where this is no such table."""
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        return None
    found, pairs = [], 0
    for gpu, jobs in value.items():
        for key, rates in jobs.items():
            job = _job(key)
            if job is None or not isinstance(rates, dict) or "null" not in rates:
                return None
            pairs += len(rates) - 1
            found.append({"gpu": gpu, **job, "steps_per_s": rates["null"]})
    return (found, pairs) if found else None


def _job(key: str) -> dict | None:
    """Workload, batch and GPUs of a key."""
    if not key.startswith("(") or len(key) > LONGEST_KEY or "\\" in key:
        return None
    try:
        job = ast.literal_eval(key)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not (isinstance(job, tuple) and len(job) == 2 and isinstance(job[0], str) and isinstance(job[1], int)):
        return None
    named = _BATCH.fullmatch(job[0])
    workload, size = (named[1], int(named[2])) if named else (job[0], None)
    return {"workload": workload, "batch_size": size, "n_gpus": job[1]}
