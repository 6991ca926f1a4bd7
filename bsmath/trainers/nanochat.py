"""nanochat: a line a step, its fields between bars, and the batch in the lines before.

    Total batch size 524,288 => gradient accumulation steps: 2
    step 00100/18000 (0.56%) | loss: 5.214873 | lrm: 1.00 | dt: 1533.21ms | tok/sec: 341,954 | bf16_mfu: 48.31 | ...

Source: scripts/base_train.py, mid_train.py and chat_sft.py of nanochat. The loss is a running mean of the training
losses, without its bias to zero; the rate is the whole job's: tokens of the batch over the time, cut to a whole
number. The learning rate is printed as a multiple of several others and is left out, and so is the validation: its
bits are per byte, not per token.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records
from bsmath.trainers.whole import whole

MULTIPLE = 64
"""Batches are whole sequences; those of nanochat are as long as a multiple of this many tokens. [tokens]"""

_STEP = re.compile(r"\bstep (\d{1,12})(?:/(\d{1,12}))? \([\d.]{1,12}%\) ?\| loss: (\S{1,30})")
_FIELD = re.compile(r"\| (dt|tok/sec|mfu|bf16_mfu|grad norm): ([\d,.]{1,20}|nan|inf)(ms|s|%)?")
_BATCH = re.compile(r"\bTotal batch size (\d[\d,]{0,19}) => gradient accumulation steps: (\d{1,9})")
_RANK = re.compile(r"\bTokens / micro-batch / rank: (\d{1,9}) x (\d{1,9}) = (\d[\d,]{0,19})")
_JOB = re.compile(r"\bTokens / micro-batch: (\d[\d,]{0,19})")
_PARAMETERS = re.compile(r"(?:\bNumber of parameters: |^total {1,30}: )(\d[\d,]{0,19})\s*$")


def recognizes(sample: str) -> bool:
    """Whether a line has a step, its share of the run, the loss, the time and the rate."""
    return any(
        "dt: " in line and "tok/sec: " in line and _STEP.search(line[:400])
        for line in sample.split("\n")
        if "loss: " in line
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The steps of a log."""
    records, own, job, products, bits = Records(name), None, None, [], 0
    for count, line in lines(text, progress):
        line = line[:400]
        if "loss: " in line and (found := _STEP.search(line)):
            products.append(_step(records, count, line, found))
        elif "batch" in line:
            own, job = _configuration(records, count, line, own, job)
        elif "Validation bpb" in line:
            bits += 1
        elif "arameters: " in line or line.startswith("total "):
            if found := _PARAMETERS.search(line):
                records.setting(count, "params", int(number(found[1])))
    if own and job and job % own == 0:
        records.setting(1, "replicas", job // own)
        records.setting(1, "n_gpus", job // own)
    _derive(records, products, "Total batch size" in text)
    if len(records):
        records.say("The training loss is a running mean over about 10 steps.")
    if bits:
        records.say(f"{bits:,} validations are left out: they are in bits per byte, not in nats per token.")
    return records.table()


def _step(records: Records, count: int, line: str, found: re.Match) -> float | None:
    """One row; returns the tokens that its time and its rate make."""
    fields = {key: (value, unit) for key, value, unit in _FIELD.findall(line[found.end() :])}
    time, unit = fields.get("dt", ("nan", ""))
    step_time = number(time) / (1 if unit == "s" else 1000)
    rate = number(fields.get("tok/sec", ("nan", ""))[0])
    mfu = number(fields.get("bf16_mfu", fields.get("mfu", ("nan", "")))[0]) / 100
    records.add(
        count,
        step=int(found[1]),
        train_loss=loss(found[3]),
        step_time_s=step_time,
        tokens_per_s=rate,
        grad_norm=number(fields.get("grad norm", ("nan", ""))[0]),
        mfu=mfu if mfu > 0 else None,
    )
    return step_time * (rate + 0.5)


def _configuration(records: Records, count: int, line: str, own: int | None, job: int | None) -> tuple:
    """Settings of one line; the tokens of a micro-batch on one rank and in the job, where known."""
    if found := _BATCH.search(line):
        records.setting(count, "batch_tokens", int(number(found[1])) or None)
        records.setting(count, "accum", int(found[2]) or None)
    elif found := _RANK.search(line):
        records.setting(count, "micro_batch", int(found[1]) or None)
        records.setting(count, "seq_len", int(found[2]) or None)
        own = int(found[1]) * int(found[2])
    elif found := _JOB.search(line):
        job = int(number(found[1]))
    return own, job


def _derive(records: Records, products: list[float], stated: bool) -> None:
    """The batch from times and rates, where no line states it."""
    if not stated and (batch := whole(products, MULTIPLE)) is not None:
        records.setting(1, "batch_tokens", batch)
        records.say(
            f"The batch of {batch:,} tokens is the time of a step times its rate, rounded to {MULTIPLE} tokens."
        )
