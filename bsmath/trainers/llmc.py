"""llm.c: its main.log (a short line a training step, a validation, an evaluation) and what its trainers print.

    s:1000 trl:4.4121 lr:0.000600 norm:0.74
    s:1000 tel:4.3902
    step 1000/19560 | loss 4.412087 (-0.31z)| norm 0.7412 (+1.02z)| lr 6.00e-04 | 2871.02 ms
        | 45.3% bf16 MFU | 182614 tok/s
    step    1/74: train loss 4.367631 (80.639749 ms, 50793 tok/s)

Source: llmc/logger.h, train_gpt2.cu, train_gpt2.c and train_gpt2.py of llm.c. Steps of main.log are counted from 0,
printed ones from 1, and both are kept. The printed rate is a running mean, so the step time says more and the rate is
left out. A printed validation has no step: it is that of the steps before it.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records
from bsmath.trainers.whole import whole

MULTIPLE = 64
"""Batches are whole sequences; those of llm.c are as long as a multiple of this many tokens. [tokens]"""

_LOGGED = re.compile(
    r"^\s{0,8}s:(\d{1,12}) (trl|tel|eval): ?([^\s:]{1,30})(?: lr:(\S{1,30}))?(?: norm:(\S{1,30}))?\s*$"
)
_PRINTED = re.compile(r"^\s{0,8}step {1,12}(\d{1,12})/\d{1,12}(?: \| |: )(?:train )?loss ([^\s|(]{1,30})(?=[ |(])")
_CPU = re.compile(r"^\s{0,8}step (\d{1,12}): train loss (\S{1,30}) \(took ([\d.]{1,30}) ms\)")
_VALIDATION = re.compile(r"^\s{0,8}val loss:? (\S{1,30})\s*$")
_TIME = re.compile(r"[|(] ?([\d.]{1,30}) ?ms\b")
_ROW = re.compile(r"^\| ([\w() .]{1,30}?) {1,40}\| (\S{1,60}) {1,60}\|\s*$")
_ACCUM = re.compile(r"^=> (?:setting|calculated) grad(?:ient)?[ _]accum(?:ulation)?[ _]steps[:=] ?(\d{1,9})\s*$")
_HEADERS = {
    "micro batch size B": "micro_batch",
    "batch size B": "micro_batch",
    "sequence length T": "seq_len",
    "total batch size": "batch_tokens",
    "num_parameters": "params",
    "num_processes": "replicas",
}


def recognizes(sample: str) -> bool:
    """Whether two lines are of main.log, or one is a printed step with its time and rate."""
    logged = 0
    for line in sample.split("\n"):
        line = line[:400]
        if "s:" in line and _LOGGED.search(line):
            logged += 1
        elif "loss " in line and "ms" in line:
            if _CPU.search(line) or ("tok/s" in line and _PRINTED.search(line) and _TIME.search(line)):
                return True
        if logged > 1:
            return True
    return False


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The steps and validations of a log."""
    records, done, products = Records(name), 0, []
    for count, line in lines(text, progress):
        line = line[:400]
        if "s:" in line and (found := _LOGGED.search(line)):
            _logged(records, count, found)
        elif "loss" in line:
            done = _printed(records, count, line, done, products)
        elif line.startswith(("| ", "=> ")):
            _setting(records, count, line)
    _derive(records, products, "| total batch size " in text)
    return records.table()


def _logged(records: Records, count: int, found: re.Match) -> None:
    """A line of main.log; the evaluation is an accuracy and is left out."""
    step, kind = int(found[1]), found[2]
    if kind == "trl":
        rate, norm = number(found[4] or ""), number(found[5] or "")
        records.add(count, step=step, train_loss=loss(found[3]), learning_rate=rate, grad_norm=norm)
    elif kind == "tel":
        records.add(count, step=step, val_loss=loss(found[3]))


def _printed(records: Records, count: int, line: str, done: int, products: list) -> int:
    """A printed step or validation; returns the steps that are done after it."""
    if found := _PRINTED.search(line):
        step = int(found[1])
        fields, rate = _fields(line[found.end() :])
        records.add(count, step=step, train_loss=loss(found[2]), **fields)
        if rate is not None and "step_time_s" in fields:
            products.append((step, fields["step_time_s"] * rate))
        return step
    if found := _VALIDATION.search(line):
        records.add(count, step=done, val_loss=loss(found[1]))
    elif found := _CPU.search(line):
        records.add(count, step=int(found[1]), train_loss=loss(found[2]), step_time_s=number(found[3]) / 1000)
        return int(found[1]) + 1
    return done


def _fields(rest: str) -> tuple[dict[str, float], float | None]:
    """What follows the loss in a printed line, and its rate. [tokens/s]"""
    fields, rate = {}, None
    for part in rest.replace(", ", "|").split("|"):
        part = part.strip(" ()")
        if part.startswith("norm "):
            fields["grad_norm"] = number(part[5:])
        elif part.startswith("lr "):
            fields["learning_rate"] = number(part[3:])
        elif part.endswith("ms"):
            fields["step_time_s"] = number(part) / 1000
        elif part.endswith("MFU") and number(part) > 0:
            fields["mfu"] = number(part) / 100
        elif part.endswith("tok/s"):
            rate = number(part)
    return fields, rate


def _setting(records: Records, count: int, line: str) -> None:
    """A row of the table of parameters, or the line of the accumulation."""
    if (found := _ROW.search(line)) and found[1] in _HEADERS and found[2].isdecimal():
        value = int(found[2][:15]) or None
        records.setting(count, _HEADERS[found[1]], value)
        if found[1] == "num_processes":
            records.setting(count, "n_gpus", value)
    elif found := _ACCUM.search(line):
        records.setting(count, "accum", int(found[1]) or None)


def _derive(records: Records, products: list[tuple[int, float]], stated: bool) -> None:
    """The batch from times and rates where no line states it; the first two rates are no means yet."""
    exact = [product for step, product in products if step <= 2]
    batch = whole(exact or [product for _, product in products], MULTIPLE)
    if batch is not None and not stated:
        records.setting(1, "batch_tokens", batch)
        records.say(f"The batch of {batch:,} tokens is the time of a step times its rate, to {MULTIPLE} tokens.")
    if products:
        records.say("Printed rates are running means and are left out; the times of the steps are read.")
