r"""Lines of DeepSpeed's configuration: `[config.py:1003:print]   train_batch_size ............. 64`, or the same as JSON.

DeepSpeed prints it whatever trainer stands on top, so readers of these look for it too. `world_size` is that of the data-parallel
group, as train_batch_size is micro-batch x accumulation x world_size. Source: deepspeed/runtime/config.py (print, _batch_assertion).
"""

import re

from bsmath.trainers.records import Records

SETTINGS = {
    "train_batch_size": "batch_seqs",
    "train_micro_batch_size_per_gpu": "micro_batch",
    "gradient_accumulation_steps": "accum",
    "world_size": "replicas",
    "seq_length": "seq_len",
    "max_seq_len": "seq_len",
    "seed": "seed",
}
"""Names of the configuration; a value that is no number ("auto") is left out."""

_NAMED = re.compile("|".join(SETTINGS))
_LINE = re.compile(r"[\s\"](" + "|".join(SETTINGS) + r")[\"\s:=.]{1,40}(\d{1,15}),?\s*$")


def take(records: Records, number: int, line: str) -> str | None:
    """Record what a line of the configuration states, and say which header it was; None for any other line."""
    if _NAMED.search(line) is None or (found := _LINE.search(line)) is None:
        return None
    records.setting(number, SETTINGS[found[1]], int(found[2]))
    return SETTINGS[found[1]]
