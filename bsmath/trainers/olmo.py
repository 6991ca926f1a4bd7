r"""Reader of the console of OLMo-core, and of OLMo before it: a mark, then an indented metric a line.

    2025-06-01 12:00:00.123 host:0 olmo_core.train...console_logger:66 INFO [step=10/1000,epoch=1,eta=0:20:00]
        train/CE loss=7.214
        throughput/device/TPS=6,412

TPS and BPS are of one device, `total tokens` of the job, MFU is in percent. In OLMo-core every batch of the configuration counts
tokens; in OLMo, `global_train_batch_size` counts sequences.
Source: olmo_core/train/callbacks/{console_logger,speed_monitor,evaluator_callback}.py; OLMo, olmo/train.py (log_metrics_to_console).
"""

import re
from datetime import datetime

import numpy as np

from bsmath.sweeps.model import RawTable
from bsmath.trainers import fields
from bsmath.trainers.fields import Progress, lines
from bsmath.trainers.records import Records
from bsmath.trainers.whole import ratio, whole

METRICS = {
    "train/CE loss": "train_loss",
    "train/CrossEntropyLoss": "train_loss",
    "optim/total grad norm": "grad_norm",
    "optim/total_grad_norm": "grad_norm",
    "optim/LR": "learning_rate",
    "optim/LR (group 0)": "learning_rate",
    "optim/learning_rate_group0": "learning_rate",
    "throughput/device/TPS": "tokens_per_s_per_gpu",
    "throughput/device/tokens_per_second": "tokens_per_s_per_gpu",
    "throughput/device/BPS": "steps_per_s",
    "throughput/device/batches_per_second": "steps_per_s",
    "throughput/total tokens": "tokens",
    "throughput/total_tokens": "tokens",
    "throughput/device/MFU": "mfu",
}
"""Metrics of OLMo-core and OLMo and what they are here. A batch is a step of all devices, so BPS are steps/s of the job."""
SETTINGS = {
    "global_batch_size": "batch_tokens",
    "global_train_batch_size": "batch_seqs",
    "device_train_microbatch_size": "micro_batch",
    "sequence_length": "seq_len",
    "max_sequence_length": "seq_len",
    "init_seed": "seed",
    "seed": "seed",
}
"""Keys of the configuration that is printed before the first step."""

_MARK = re.compile(r"\[step=(\d{1,12})/(?:\d+|\?+)[^\]\n]{0,100}\]")
_METRIC = re.compile(r"\s+([^=\n]{1,120})=(\S+)\s*")
_TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?)")
_EVALUATED = re.compile(r"(?:eval/)?(?:[^=]*/)?(?:CE loss|CrossEntropyLoss)")
_DROPPED = re.compile(r"train/block \S+/token drop rate")
_CONFIG = re.compile(r"\b(" + "|".join(SETTINGS) + r")['\"]?\s*[=:]\s*(\d{1,15})\b")
_LONGEST = 400


def recognizes(sample: str) -> bool:
    """Whether a text has a mark of a step and an indented metric of the training."""
    lines = [line for line in sample.split("\n") if len(line) <= _LONGEST]
    metrics = [found[1] for line in lines if "=" in line and (found := _METRIC.fullmatch(line))]
    named = any(key in METRICS or key.startswith(("train/", "throughput/")) for key in metrics)
    return named and any("[step=" in line and _MARK.search(line) for line in lines)


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a mark with metrics; an evaluation belongs to the last mark before it."""
    records, blocks, config, started = Records(name), [], [], None
    for number, line in lines(text, progress):
        line = line[:_LONGEST]
        if "[step=" in line and (mark := _MARK.search(line)):
            time = _TIME.match(line.lstrip())
            started = started or _seconds(time)
            blocks.append((number, int(mark[1]), _seconds(time), {}))
        elif "=" in line and blocks and (metric := _METRIC.fullmatch(line)):
            blocks[-1][3].setdefault(metric[1].strip(), metric[2])
        elif not blocks and (setting := _CONFIG.search(line)):
            config.append((number, SETTINGS[setting[1]], int(setting[2])))
    evaluated = _evaluations(records, [metrics for *_, metrics in blocks])
    rows = []
    for number, step, time, metrics in blocks:
        row = _row(metrics, evaluated)
        if row:
            rows.append(row | {"step": step})
            records.add(number, wall_time_s=time - started if time and started else None, **rows[-1])
    _derive(records, rows)
    for line, header, value in config:
        if value or header == "seed":
            records.setting(line, header, value)
    return records.table()


def _seconds(found: re.Match | None) -> float | None:
    try:
        return datetime.fromisoformat(found[1] + "+00:00").timestamp() if found else None
    except ValueError:
        return None


def _evaluations(records: Records, blocks: list[dict]) -> str | None:
    """The metric that is taken as the validation loss: the first that was evaluated."""
    keys = (key for block in blocks for key in block if key not in METRICS and not key.startswith("train/"))
    found = list(dict.fromkeys(key for key in keys if _EVALUATED.fullmatch(key)))
    if len(found) > 1:
        records.say(f"{found[0][:60]} is taken as the validation loss; {len(found) - 1} more are left out.")
    return found[0] if found else None


def _row(metrics: dict, evaluated: str | None) -> dict:
    """What the metrics of one mark say."""
    row = {}
    for key, value in metrics.items():
        if (header := METRICS.get(key)) is not None:
            row[header] = fields.loss(value) if header == "train_loss" else fields.number(value)
    if evaluated in metrics:
        row["val_loss"] = fields.loss(metrics[evaluated])
    if "mfu" in row:
        row["mfu"] /= 100
    dropped = [fields.number(value) for key, value in metrics.items() if _DROPPED.fullmatch(key)]
    if dropped:
        row["dropped_fraction"] = float(np.mean(dropped))
    return {header: value for header, value in row.items() if value == value}


def _derive(records: Records, rows: list[dict]) -> None:
    """The tokens of a step from the total, and the devices from these and the rate of one of them."""
    counted = np.array([(row["step"], row["tokens"]) for row in rows if "tokens" in row]).reshape(-1, 2)
    batch = whole(ratio(tokens, steps) for steps, tokens in np.diff(counted, axis=0))
    if batch is None:
        return
    records.setting(1, "batch_tokens", batch)
    records.say(f"The batch of {batch:,} tokens is the growth of the total over the steps.")
    devices = whole(ratio(batch * row.get("steps_per_s", 0), row.get("tokens_per_s_per_gpu", 0)) for row in rows)
    if devices is not None:
        records.setting(1, "n_gpus", devices)
        records.say(f"{devices:,} devices: tokens/s of the job, by batch and steps/s, over those of a device.")
