"""MaxText: a line a completed step.

    completed step: 120, seconds: 4.117, TFLOP/s/device: 198.214, Tokens/s/device: 1989.812, total_weights: 262144,
        loss: 4.213
    eval metrics after step: 120, loss=4.2, total_weights=1048576.0

Source: `MetricLogger` of MaxText's metric_logger.py. Steps are numbered from 0 and printed when they are done, so step
0 makes one. `total_weights` are the tokens of the whole batch without padding; rates are per device and count the
padding.
"""

import re
from statistics import fmean

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_STEP = re.compile(r"completed step: (\d{1,12}), (.*)")
_EVAL = re.compile(r"eval metrics after step: (\d{1,12}),\s{1,4}(?:avg_)?loss=([^,\s]{1,40})")
_FIELD = re.compile(r"([A-Za-z_/]{1,40}): {1,8}([^,\s]{1,40})")
_PARAM = re.compile(r"Config param ([a-z_]{1,60}): (\S{1,80})")
_PARAMETERS = re.compile(r"number parameters: ([\d.]{1,20}) billion")
_DEVICES = re.compile(r"Num_devices: (\d{1,9})\b")
_SETTINGS = {
    "max_target_length": "seq_len",
    "global_batch_size_to_train_on": "batch_seqs",
    "gradient_accumulation_steps": "accum",
    "init_weights_seed": "seed",
}
_NAMES = {"model_name": "model", "run_name": "run"}


def recognizes(sample: str) -> bool:
    """Whether a line has a completed step and its seconds."""
    return any(
        "seconds:" in line and (found := _STEP.search(line)) and "seconds: " in found[2]
        for line in sample.split("\n")
        if "completed step: " in line
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The steps and evaluations of a log."""
    steps = list(_lines(text, progress))
    weights = [fields["total_weights"] for _, fields in steps if 0 < fields.get("total_weights", 0) < 1e15]
    padded = len(set(weights)) > max(4, len(weights) / 4)
    records = Records(name)
    for count, fields in steps:
        tokens = fields.pop("total_weights", None)
        if tokens and not padded:
            fields["batch_tokens"] = tokens
        records.add(count, **fields)
    if padded:
        records.say("total_weights differ with the padding of each batch: their mean is taken as the tokens per step")
        records.setting(steps[0][0], "batch_tokens", round(fmean(weights)))
    if steps:
        records.say("steps are numbered from 0: counted from 1 here, as steps done")
    for count, line in lines(text):
        _configuration(records, count, line)
    return records.table()


def _lines(text: str, progress: Progress):
    """Line and values of each step and evaluation."""
    for count, line in lines(text, progress):
        if "completed step: " in line and (found := _STEP.search(line)):
            fields = dict(_FIELD.findall(found[2][:1000]))
            printed = fields.get("loss", fields.get("main_model_loss"))
            yield (
                count,
                {
                    "step": int(found[1]) + 1,
                    "train_loss": None if printed is None else loss(printed),
                    "step_time_s": number(fields.get("seconds", "")),
                    "tokens_per_s_per_gpu": number(fields.get("Tokens/s/device", "")),
                    "learning_rate": number(fields.get("lr", "")),
                    "grad_norm": number(fields.get("raw_grad_norm", fields.get("grad_norm", ""))),
                    "total_weights": number(fields.get("total_weights", "")),
                },
            )
        elif "eval metrics after step" in line and (found := _EVAL.search(line)):
            yield count, {"step": int(found[1]) + 1, "val_loss": loss(found[2])}


def _configuration(records: Records, count: int, line: str) -> None:
    """What a line of the configuration says."""
    if "Config param " in line and (found := _PARAM.search(line)):
        if found[1] in _NAMES and found[2] not in ("None", "default"):
            records.setting(count, _NAMES[found[1]], found[2])
        elif found[1] in _SETTINGS and (value := number(found[2])) > 0:
            records.setting(count, _SETTINGS[found[1]], int(value) if value < 1e15 else value)
    elif "number parameters: " in line and (found := _PARAMETERS.search(line)):
        records.setting(count, "params", number(found[1]) * 1e9)
    elif "Num_devices: " in line and (found := _DEVICES.search(line)):
        records.setting(count, "n_gpus", int(found[1]))
