"""nanoGNS: nanoGPT with gradient noise scales; a line an iteration, values with equals signs.

    step 0: train loss 4.2981, val loss 4.2948
    iter_num=10: train_lossf=4.2741, dt=2.147s, mfu=0.00%, tokens_per_sec=7,630

Source: exact/train.py and gnstracking.py of nanoGNS. The rate is the whole job's, tokens of the batch over the time,
and the batch may follow a schedule. As in nanoGPT, the time of an iteration that comes after an evaluation holds that
too: it is left out with its rate.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records
from bsmath.trainers.whole import whole

MULTIPLE = 64
"""Batches are whole sequences; these are as long as a multiple of this many tokens. [tokens]"""

_ITERATION = re.compile(r"\biter_num=(\d{1,12}): (?=[^\n]{0,200}train_lossf=)")
_FIELD = re.compile(r"\b(train_lossf|dt|mfu|tokens_per_sec|lr|grad_norm)=([^\s,=]{1,30}(?:,\d{3}){0,6})")
_EVALUATION = re.compile(r"\bstep (\d{1,12}): train loss ([^\s,]{1,30}), val loss (\S{1,30})")
_TOKENS = re.compile(r"^\s{0,8}tokens per iteration will be: (\d[\d,]{0,19})\s*$")


def recognizes(sample: str) -> bool:
    """Whether a line is an iteration with its loss."""
    return any("iter_num=" in line and _fields(line[:400]) for line in sample.split("\n"))


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The iterations and evaluations of a log."""
    records, evaluated, stated, products, left_out = Records(name), None, None, [], 0
    for count, line in lines(text, progress):
        line = line[:400]
        if "iter_num=" in line and (row := _fields(line)):
            if row["step"] == evaluated:
                left_out += row.pop("step_time_s", None) is not None
                row.pop("tokens_per_s", None)
            products.append(row.get("step_time_s", 0.0) * row.get("tokens_per_s", 0.0))
            records.add(count, **row)
        elif "val loss" in line and (found := _EVALUATION.search(line)):
            evaluated = int(found[1])
            records.add(count, step=evaluated, val_loss=loss(found[3]))
        elif "tokens per iteration" in line and (found := _TOKENS.search(line)):
            stated = stated or (count, int(number(found[1])))
    if left_out:
        records.say(f"The times and rates of {left_out:,} iterations are left out: they hold an evaluation too.")
    _batch(records, stated, products)
    return records.table()


def _fields(line: str) -> dict | None:
    """The row of an iteration; None where the line is none."""
    if (found := _ITERATION.search(line)) is None:
        return None
    fields = dict(_FIELD.findall(line[found.end() :]))
    value = fields.get("train_lossf")
    if value is None or value[0] in "{:":
        return None
    row = {"step": int(found[1]), "train_loss": loss(value)}
    for key, header in (("tokens_per_sec", "tokens_per_s"), ("lr", "learning_rate"), ("grad_norm", "grad_norm")):
        row[header] = number(fields.get(key, ""))
    row["step_time_s"] = number(fields.get("dt", ""))
    mfu = number(fields.get("mfu", "")) / 100
    row["mfu"] = mfu if mfu > 0 else None
    return {header: known for header, known in row.items() if known is not None and known == known}


def _batch(records: Records, stated: tuple[int, int] | None, products: list[float]) -> None:
    """The batch: what the log states, unless times and rates contradict; else what these agree on."""
    agreed = whole(products, MULTIPLE)
    if stated and (agreed is None or abs(agreed / stated[1] - 1) > 0.03) and any(products):
        records.problem(
            stated[0], "batch_tokens", f"times and rates do not give {stated[1]:,} tokens an iteration", "left out"
        )
    elif stated:
        records.setting(stated[0], "batch_tokens", stated[1] or None)
    elif agreed is not None:
        records.setting(1, "batch_tokens", agreed)
        records.say(f"The batch of {agreed:,} tokens is the time of a step times its rate, to {MULTIPLE} tokens.")
