r"""Reader of what Hugging Face's Trainer prints: the head of the training, then a dict a record, between bars of tqdm.

    Total train batch size (w. parallel, distributed & accumulation) = 64
    {'loss': 4.812, 'grad_norm': 1.4142, 'learning_rate': 0.00012, 'epoch': 0.5}
     50%|#####     | 20/40 [00:10<00:10,  1.95it/s]

A record holds no step. The bar is drawn anew after each record, so the count after it is its step; where the bars do not tell (no
bar, or output that was buffered), the step follows from the epoch and the planned steps, else it is the number of the record.
Source: transformers, `trainer.py` (_inner_training_loop, log) and `trainer_callback.py` (ProgressCallback).
"""

import re
from collections import Counter

from bsmath.sweeps.model import RawTable
from bsmath.trainers import deepspeed_config, hf_records
from bsmath.trainers.fields import Progress, lines
from bsmath.trainers.records import Records
from bsmath.trainers.whole import whole

SETTINGS = {
    "Instantaneous batch size per device": "micro_batch",
    "Instantaneous batch size per GPU": "micro_batch",
    "Total train batch size (w. parallel, distributed & accumulation)": "batch_seqs",
    "Gradient Accumulation steps": "accum",
    "Number of trainable parameters": "params",
}
"""Lines of the head and what they are here."""
PLANNED, EPOCHS = "Total optimization steps", "Num Epochs"

_DICT = re.compile(r"\{'[^{}\n]{4,4000}\}")
_PAIR = re.compile(r"'([^'\n]{1,80})': ?(?:[a-z.]{1,20}\d{0,3}\()?'?([^\s,'(){}]{1,40})")
_KINDS = re.compile(r"'(?:loss|eval_(?:[\w-]+_)?loss|train_runtime)': ?(?:[a-z.]{1,20}\d{0,3}\()?'?[-+\d.nif]")
_BAR = re.compile(r"(?:^|\s)\d{1,3}%\|[^|]{0,200}\| (\d{1,12})/(\d{1,12}) \[")
_HEAD = re.compile(r"\b(" + "|".join(map(re.escape, (*SETTINGS, PLANNED, EPOCHS))) + r") = ([\d,]{1,20})\s*$")


def recognizes(sample: str) -> bool:
    """Whether a text has two records of the Trainer's, or one and its head."""
    found = [text for line in sample.split("\n") if "{'" in line for text in _dicts(line)]
    head = sum(name in sample for name in (*SETTINGS, PLANNED))
    return len(found) > 1 or (len(found) == 1 and ("'learning_rate'" in found[0] or head > 0))


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a record."""
    records, found, bars, head, stated = Records(name), [], [], {}, set()
    for number, line in lines(text, progress):
        if "%|" in line:
            bars += [(len(found), int(count), int(total)) for count, total in _BAR.findall(line[:100_000])]
        if "{'" in line:
            found += [(number, dict(_PAIR.findall(each))) for each in _dicts(line)]
        elif " = " in line and (said := _HEAD.search(line[-200:])):
            head.setdefault(said[1], (number, int(said[2].replace(",", "") or 0)))
        elif "config.py" in line or line.startswith('    "'):
            stated.add(deepspeed_config.take(records, number, line[:400]))
    _settings(records, head)
    planned = head.get(PLANNED, (0, 0))[1] or _planned(bars, found)
    steps = _steps(records, [one for _, one in found], bars, planned, head.get(EPOCHS, (0, 0))[1])
    evaluated, others = hf_records.evaluation([record for _, record in found])
    hf_records.say_left_out(records, evaluated, others)
    for (number, record), step in zip(found, steps, strict=True):
        if row := hf_records.row(record, evaluated):
            records.add(number, step=step, **row)
        if "train_runtime" in record:
            micro = head.get("Instantaneous batch size per device", (0, 0))[1]
            known = "batch_seqs" in stated | {SETTINGS.get(key) for key in head}
            hf_records.totals(records, number, record, planned or None, micro or None, known)
    return records.table()


def _dicts(line: str) -> list[str]:
    """The records in one line, whatever stands before and behind them."""
    return [text for text in _DICT.findall(line) if "'epoch'" in text and _KINDS.search(text)]


def _settings(records: Records, head: dict[str, tuple[int, int]]) -> None:
    for key, header in SETTINGS.items():
        line, value = head.get(key, (0, 0))
        if value:
            records.setting(line, header, value)
    known = {header: head[key][1] for key, header in SETTINGS.items() if key in head}
    if known.get("micro_batch") and known.get("accum") and known.get("batch_seqs"):
        replicas = known["batch_seqs"] / (known["micro_batch"] * known["accum"])
        if replicas == int(replicas) and replicas > 0:
            records.setting(1, "replicas", int(replicas))
    if "params" in known:
        records.say("The parameters are the trainable ones: with adapters fewer than the model has.")


def _planned(bars: list[tuple], found: list[tuple]) -> int:
    """The total of the training's bar: that which stands most often right before or after a training record; 0 without bars."""
    training = {place for place, (_, record) in enumerate(found) if "loss" in record}
    near, last = Counter(), None
    for place, _, total in bars:
        if last is not None and last[0] != place:
            near[last[1]] += last[0] in training
            near[total] += place - 1 in training
        elif last is None:
            near[total] += place - 1 in training
        last = (place, total)
    if last is not None:
        near[last[1]] += last[0] in training
    return near.most_common(1)[0][0] if near and near.most_common(1)[0][1] else 0


def _steps(records: Records, found: list[dict], bars: list[tuple], planned: int, epochs: int) -> list[int]:
    """The step of each record, by the surest source that there is."""
    training = [place for place, record in enumerate(found) if "loss" in record]
    told = [hf_records.whole_number(record.get("step", record.get("global_step"))) for record in found]
    if training and all(told[place] is not None for place in training):
        return _filled(told)
    counted = _counted(len(found), [(place, count) for place, count, total in bars if total == planned])
    steps = [counted[place] for place in training]
    if steps and None not in steps and _goes_on(steps):
        records.say("Steps are those of the progress bar next to each record.")
        return _filled(counted)
    every = 1
    if training and planned and epochs:
        done = hf_records.number(found[training[-1]].get("epoch")) / epochs * planned
        every = whole([done / len(training)]) or 1 if done == done else 1
    if every > 1:
        records.say(
            f"Records hold no step; a record every {every:,} steps follows from the epochs and {planned:,} steps."
        )
    else:
        records.say("Records hold no step, and no progress bar tells it: step is the number of the training record.")
    number, filled = 0, []
    for record in found:
        number += "loss" in record
        filled.append(number * every)
    return filled


def _goes_on(steps: list[int]) -> bool:
    """Whether steps grow from record to record, but for a few runs that start anew."""
    pairs = list(zip(steps, steps[1:], strict=False))
    return all(a != b for a, b in pairs) and sum(a > b for a, b in pairs) <= max(1, len(pairs) // 10)


def _counted(places: int, bars: list[tuple[int, int]]) -> list[int | None]:
    """The count of the first bar behind each record, of the last before it where there is none behind."""
    before, behind = [None] * (places + 1), [None] * (places + 1)
    for place, count in bars:
        before[place] = count
        behind[place] = count if behind[place] is None else behind[place]
    filled = [behind[place + 1] if behind[place + 1] is not None else before[place] for place in range(places)]
    return filled


def _filled(steps: list[int | None]) -> list[int]:
    """Steps where each that is missing is that of the record before it."""
    last, filled = 0, []
    for step in steps:
        last = step if step is not None else last
        filled.append(last)
    return filled
