"""Batch, learning rate and seed as people write them into the names of files and runs: `b64-lr3e-4`, `bs=256k_seed1`.

A reading of names is a guess: it is shown, and can be corrected.
"""

import re

from bsmath.quantities import parse_number

_ENDINGS = re.compile(r"(\.(jsonl?|csv|tsv|txt|log|out|ndjson))+$", re.IGNORECASE)
_NUMBER = r"[-_= ]?(\d{1,15}(?:\.\d+)?)"
_END = r"(?![a-z0-9])"
_BATCHES = [
    re.compile(rf"(?<![a-z0-9])(?:{word}){_NUMBER}(ki|mi|k|m)?(?:tok(?:en)?s?)?{_END}", re.IGNORECASE)
    for word in (r"(?:global[-_ ]?)?batch(?:[-_ ]?size)?|gbs|bsz|bs", "b")
]
_RATE = re.compile(
    r"(?<![a-z])(?:(?:peak|max)[-_]?)?(?:lr|learning[-_ ]?rate)[-_= ]?(\d*\.?\d+(?:e[-+]?\d+)?)", re.IGNORECASE
)
_SEED = re.compile(rf"(?<![a-z0-9])(?:seed|trial|rep|s)[-_= ]?(\d{{1,6}}){_END}", re.IGNORECASE)


def bare(name: str) -> str:
    """A file's name without its folder and endings."""
    return _ENDINGS.sub("", re.split(r"[\\/]", name.strip())[-1])


def settings(name: str) -> dict[str, float]:
    """What a name says: batch, in_tokens (1 where the batch has a suffix such as k, as only tokens need one), learning_rate,
    seed; what it does not say is missing."""
    name, found = bare(name), {}
    batch = next((match for match in (one.search(name) for one in _BATCHES) if match), None)
    if batch and (size := parse_number(batch[1] + (batch[2] or ""))) > 0:
        found |= {"batch": size, "in_tokens": float(batch[2] is not None)}
    if (rate := _RATE.search(name)) and 0 < float(rate[1]) < float("inf"):
        found["learning_rate"] = float(rate[1])
    if seed := _SEED.search(name):
        found["seed"] = float(seed[1])
    return found
