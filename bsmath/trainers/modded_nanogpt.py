"""modded-nanogpt: a file that opens with the source of its run, then a line a step or a validation.

    step:125/5100 train_loss:5.9231 train_time:15841ms step_avg:137.75ms
    step:125/5100 val_loss:5.9102 train_time:15842ms step_avg:137.76ms

Source: train_gpt2.py and train_gpt.py of modded-nanogpt and the speedruns made from it. The number counts the steps
done. The time is a clock that stands while the run validates and starts anew after the first steps (its mean is `nan`
until then). A step's time is its growth over the steps since the line before; of two lines of one step the first
counts, as the second waits for the devices, which a line of training does not. Newer forms print no training loss,
and seconds for milliseconds.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_STEP = re.compile(r"^(?:[^\"'{}()#=]{0,80}\s)?step:(\d{1,12})(?:/\d{1,12})?[ ,]{1,3}(?=[a-z_]{2,20}:)")
_FIELD = re.compile(r"(?<!\S)(train_loss|val_loss|train_time|step_avg|tok_s|lr|grad_norm):([^\s,:{}\"']{1,30})")
_SETTINGS = re.compile(
    r"(?<!\S)(train_batch_tokens|train_seq_len|seed|model_params|world_size|grad_accum_steps):(\d{1,15})(?!\S)"
)
_NAMES = {
    "train_batch_tokens": "batch_tokens",
    "train_seq_len": "seq_len",
    "seed": "seed",
    "model_params": "params",
    "world_size": "n_gpus",
    "grad_accum_steps": "accum",
}
_SOURCE = re.compile(
    r"^\s{1,12}batch_size\s?: int = ([\d* ]{1,30}?) {0,4}# batch size, in (sequences|tokens), across all devices\s*$"
)
_LENGTH = re.compile(r"^\s{1,12}sequence_length\s?: int = ([\d* ]{1,30}?) {0,4}(?:#.{0,120})?$")


def recognizes(sample: str) -> bool:
    """Whether a line has a step and the time of the training."""
    return any("step:" in line and "train_time" in _fields(line) for line in sample.split("\n"))


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The steps and validations of a log."""
    records, before = Records(name), None
    for count, line in lines(text, progress):
        line = line[:400]
        if "step:" in line and (fields := _fields(line)):
            step, clock = fields["step"], _seconds(fields.get("train_time", ""))
            time = _between(before, step, clock)
            if clock is not None and (before is None or step != before[0]):
                before = (step, clock)
            records.add(count, step=step, step_time_s=time, **_values(fields))
        elif ":" in line:
            _setting(records, count, line)
    return records.table()


def _fields(line: str) -> dict:
    """Names and texts of a line of a step; empty where it is none, as a line of source code."""
    if (found := _STEP.search(line[:400])) is None:
        return {}
    fields = dict(_FIELD.findall(line[found.end() - 1 : 400]))
    return {"step": int(found[1]), **fields} if fields else {}


def _values(fields: dict) -> dict[str, float]:
    """The row of a line, without its time."""
    losses = {header: loss(fields[header]) for header in ("train_loss", "val_loss") if header in fields}
    norm = number(fields.get("grad_norm", ""))
    return losses | {
        "learning_rate": number(fields.get("lr", "")),
        "grad_norm": norm if norm > 0 else None,
        "tokens_per_s": number(fields.get("tok_s", "")),
    }


def _seconds(text: str) -> float | None:
    """A clock of `705525ms` or `705.525s`; None where it has neither unit."""
    value = number(text)
    if not value >= 0:
        return None
    return value / 1000 if text.endswith("ms") else value if text.endswith("s") else None


def _between(before: tuple[int, float] | None, step: int, clock: float | None) -> float | None:
    """Time of a step from two states of the clock; None where it did not run on between them. [s]"""
    if before is None or clock is None or step <= before[0] or clock <= before[1]:
        return None
    return (clock - before[1]) / (step - before[0])


def _setting(records: Records, count: int, line: str) -> None:
    """Constants that the log prints, or that its source states with their unit."""
    if found := _SOURCE.search(line):
        records.setting(count, "batch_seqs" if found[2] == "sequences" else "batch_tokens", _product(found[1]))
    elif found := _LENGTH.search(line):
        records.setting(count, "seq_len", _product(found[1]))
    else:
        for key, value in _SETTINGS.findall(line):
            records.setting(count, _NAMES[key], int(value) if key == "seed" else int(value) or None)


def _product(text: str) -> int | None:
    """`8*64` as 512; None where it is no product of whole numbers."""
    product = 1
    for part in text.split("*"):
        product *= int(part) if part.strip().isdecimal() else 0
    return product or None
