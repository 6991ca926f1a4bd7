"""litgpt (and lit-gpt): a line an iteration, which is a micro-batch, with the optimizer steps done.

    Epoch 1 | iter 512 step 64 | loss train: 4.913, val: n/a | iter time: 391.27 ms (step) remaining time: 11:42:09
    iter 512 step 64: loss 4.9130, iter time: 391.27ms (optimizer.step)
    iter 512: val loss 4.9021, val time: 1234.56 ms

Source: litgpt/pretrain.py, litgpt/finetune/*.py and, of the older form, pretrain/*.py of lit-gpt. The time is that of
one micro-batch: the time of a step is the sum over the micro-batches since the step before, and none where lines of
them are missing: the last one waits for what the devices had not finished of the others, so it stands for neither.
Lines show the last validation again; it is read where it changes.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records
from bsmath.trainers.whole import ratio, whole

_ITERATION = re.compile(
    r"\biter (\d{1,12})(?:/\d{1,12})? step (\d{1,12})(?:/\d{1,12})?(?: \| loss train: |: loss )([^\s,]{1,30}),"
    r"(?: val: ([^\s|]{1,30}) \|)? iter time: ([\d.]{1,30}) ?ms( \((?:step|optimizer\.step)\))?"
)
_VALIDATION = re.compile(r"\biter (\d{1,12}): val loss ([^\s,]{1,30}), val time: ")
_PARAMETERS = re.compile(r"\b(?:Total parameters|Number of trainable parameters): (\d[\d,]{0,19})\s*$")
_ARGUMENT = re.compile(
    r"(?<!\w)'?(global_batch_size|micro_batch_size|max_seq_length|seed|devices|num_nodes|model_name)"
    r"'?[=:] ?'?([\w./-]{1,60})"
)
_HEADERS = {
    "global_batch_size": "batch_seqs",
    "micro_batch_size": "micro_batch",
    "max_seq_length": "seq_len",
    "seed": "seed",
    "devices": "n_gpus",
    "model_name": "model",
}


def recognizes(sample: str) -> bool:
    """Whether a line has an iteration, its step, the loss and the time."""
    return any("iter time: " in line and _ITERATION.search(line[:400]) for line in sample.split("\n"))


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row an optimizer step, from the line of its last micro-batch."""
    records, found, validations = Records(name), [], []
    arguments: dict[str, tuple[int, str]] = {}
    for count, line in lines(text, progress):
        line = line[:600]
        if "iter" in line and (match := _ITERATION.search(line)):
            found.append((count, int(match[1]), int(match[2]), *match.groups()[2:]))
        elif "val loss" in line and (match := _VALIDATION.search(line)):
            validations.append((count, int(match[1]), loss(match[2])))
        elif not found and (":" in line or "=" in line):
            if match := _PARAMETERS.search(line):
                records.setting(count, "params", int(number(match[1])) or None)
            for key, value in _ARGUMENT.findall(line):
                arguments.setdefault(key, (count, value))
    _settings(records, arguments)
    accum = whole(ratio(iteration, step) for _, iteration, step, *_, stepped in found if stepped)
    if accum:
        records.setting(found[0][0], "accum", accum)
    rows = _rows(records, found, accum, shown=not validations)
    if accum:
        rows += [(count, {"step": iteration // accum, "val_loss": value}) for count, iteration, value in validations]
    for count, row in sorted(rows, key=lambda pair: pair[0]):
        records.add(count, **row)
    return records.table()


def _rows(records: Records, found: list[tuple], accum: int | None, shown: bool) -> list[tuple[int, dict]]:
    """The steps, and where they are `shown` only, the validations that came between them."""
    rows, own, known, last, missing = [], [], None, 0, 0
    for count, iteration, step, value, validation, time, stepped in found:
        own = own if own and own[-1][0] == iteration - 1 else []
        own.append((iteration, number(time) / 1000))
        if shown and validation and validation != known and validation[0].isdigit():
            rows.append((count, {"step": last, "val_loss": loss(validation)}))
        known = validation
        if stepped:
            times = [each for _, each in own[-accum:]] if accum else []
            missing += not times or len(times) < accum
            step_time = sum(times) if times and len(times) == accum else None
            rows.append((count, {"step": step, "train_loss": loss(value), "step_time_s": step_time}))
            own, last = [], step
    if missing:
        what = f"{missing:,} steps show the time of one of their micro-batches only"
        records.problem(None, "step_time_s", what, "left out")
    return rows


def _settings(records: Records, arguments: dict[str, tuple[int, str]]) -> None:
    """What the arguments, which are printed before the first step, say; devices are those of one node."""
    nodes = arguments.pop("num_nodes", (0, "1"))[1]
    for key, (count, value) in arguments.items():
        if key == "model_name":
            records.setting(count, "model", value)
        elif value.isdecimal() and (int(value[:15]) or key == "seed"):
            factor = int(nodes[:9]) if key == "devices" and nodes.isdecimal() else 1
            records.setting(count, _HEADERS[key], int(value[:15]) * factor)
