"""Reader of what IBM's fms-fsdp prints: one `key: value` a line, a block a report that begins with `step:`.

The rates are of one device; the tokens seen are of the job, so their growth over the steps is the exact batch.
Source: fms_fsdp/utils/train_utils.py (train) and main_training_*.py.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers import fields
from bsmath.trainers.fields import Progress, lines
from bsmath.trainers.records import Records
from bsmath.trainers.whole import ratio, whole

HEADERS = {
    "LR": "learning_rate",
    "tokens seen": "tokens",
    "gradient norm": "grad_norm",
    "current step time": "step_time_s",
    "current token per gpu per sec": "tokens_per_s_per_gpu",
}
"""Keys of a block and what they are here; the overall rates are averages from the start and are not read."""
SETTINGS = {"seq_length": "seq_len", "batch_size": "micro_batch", "seed": "seed", "model_variant": "model"}
"""Fields of the configuration that is printed at the start; its batch_size is that of one device."""

_STEP = re.compile(r"(?:^|[\s|\]:])step:\s*(\d+)\s*$")
_PAIR = re.compile(r"(?:^|[\s|\]:])(loss|" + "|".join(map(re.escape, HEADERS)) + r"):\s*(\S+)\s*$")
_MARKS = ("current token per gpu per sec:", "overall token per gpu per sec:")
_CONFIG = re.compile(r"\b(seq_length|batch_size|seed|model_variant)=(?:'([^']{1,60})'|(\d{1,12}))")
_LONGEST = 400


def recognizes(sample: str) -> bool:
    """Whether a text has a rate as fms-fsdp prints it, on a line of its own, and a step."""
    lines = [line for line in sample.split("\n") if len(line) <= _LONGEST]
    found = any(mark in line and _is_value(line) for line in lines for mark in _MARKS)
    return found and any("step:" in line and _STEP.search(line) for line in lines)


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a report."""
    records, blocks = Records(name), []
    for number, line in lines(text, progress):
        if "running with these configs" in line:
            _settings(records, number, line)
        if len(line) > _LONGEST or ":" not in line:
            continue
        if "step:" in line and (step := _STEP.search(line)):
            blocks.append((number, {"step": int(step[1][:15])}))
        elif blocks and (pair := _PAIR.search(line)):
            key, value = pair[1], pair[2]
            if key == "loss":
                blocks[-1][1].setdefault("train_loss", fields.loss(value))
            else:
                blocks[-1][1].setdefault(HEADERS[key], fields.number(value))
    rows = [row for _, row in blocks]
    _derive(records, rows)
    for number, row in blocks:
        if len(row) > 1:
            records.add(number, **row)
    return records.table()


def _is_value(line: str) -> bool:
    return re.search(r"per sec:\s*\d[\d,.]*\s*$", line) is not None


def _settings(records: Records, line: int, text: str) -> None:
    for key, words, digits in _CONFIG.findall(text[:10_000]):
        records.setting(line, SETTINGS[key], words or int(digits))


def _derive(records: Records, rows: list[dict]) -> None:
    """The tokens of a step from the tokens seen, and the devices from these and the rate of one of them."""
    grown = []
    for last, row in zip(rows, rows[1:], strict=False):
        steps, tokens = row["step"] - last["step"], row.get("tokens", 0) - last.get("tokens", row.get("tokens", 0))
        grown.append(ratio(tokens, steps))
    batch = whole(grown)
    if batch is None:
        return
    records.setting(1, "batch_tokens", batch)
    records.say(f"The batch of {batch:,} tokens is the growth of the tokens seen over the steps.")
    own = [ratio(batch, row.get("step_time_s", 0) * row.get("tokens_per_s_per_gpu", 0)) for row in rows]
    devices = whole(own)
    if devices is not None:
        records.setting(1, "n_gpus", devices)
        records.say(f"{devices:,} devices: the batch over the tokens that one device trained on in a step.")
