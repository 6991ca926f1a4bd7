r"""Reader of the console of MosaicML's Composer, with which llm-foundry trains: a mark, then a metric a line.

    [batch=20/4800]:
         Train time/batch: 19
         Train loss/train/total: 5.1201
         Train throughput/tokens_per_sec: 85144.1234

Numbers have four decimals. `time/batch`, `time/sample` and `time/token` count what was done before this batch, so the last two over
the first are the exact batch. Source: composer/loggers/console_logger.py and composer/callbacks/speed_monitor.py.
"""

import math
import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers import fields
from bsmath.trainers.fields import Progress, lines
from bsmath.trainers.records import Records
from bsmath.trainers.whole import ratio, whole

RATES = {
    "throughput/tokens_per_sec": "tokens_per_s",
    "throughput/device/tokens_per_sec": "tokens_per_s_per_gpu",
    "throughput/samples_per_sec": "samples_per_s",
    "throughput/device/samples_per_sec": "samples_per_s_per_gpu",
    "throughput/batches_per_sec": "steps_per_s",
    "throughput/device/mfu": "mfu",
}
"""Metrics and what they are here; `mfu` is a fraction."""
SETTINGS = {
    "max_seq_len": "seq_len",
    "global_train_batch_size": "batch_seqs",
    "device_train_microbatch_size": "micro_batch",
    "n_gpus": "n_gpus",
    "n_params": "params",
    "seed": "seed",
    "run_name": "run",
}
"""Keys of the configuration that is printed before the first batch."""

_MARK = re.compile(r"\[(?:epoch=(\d{1,9})\]\[)?(batch|epoch|token|sample|iteration)=(\d{1,18})(?:/(\d{1,18}))?\]")
_EVAL = "[Eval batch="
_METRIC = re.compile(r"\b(Train|Eval) ([\w/.-]{1,100}): (\S+)")
_CONFIG = re.compile(r"\s*(" + "|".join(SETTINGS) + r"|num_nodes|num_gpus_per_node):\s*([^\s#]{1,60})\s*")
_CROSS_ENTROPY = re.compile(r"metrics/(.+)/(?:Language)?CrossEntropy")
_RATE = re.compile(r"lr-[^/]+/group0")


def recognizes(sample: str) -> bool:
    """Whether a text has a mark and a metric of the console logger."""
    lines = [line for line in sample.split("\n") if len(line) <= 2_000]
    marked = any(line.lstrip().startswith("[") and _MARK.search(line[:200]) for line in lines)
    metrics = sum(_METRIC.search(line) is not None for line in lines if "Train " in line or "Eval " in line)
    return (marked or any(_EVAL in line for line in lines)) and metrics > 0


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a mark; an evaluation belongs to the last batch before it."""
    records, blocks, config = Records(name), [], {}
    for number, line in lines(text, progress):
        line = line[:4_000]
        if line.lstrip().startswith("[") and (_EVAL in line or _MARK.search(line[:200])):
            blocks.append((number, line, {}))
        if "Train " in line or "Eval " in line:
            if blocks:
                blocks[-1][2].update({f"{kind} {key}": value for kind, key, value in _METRIC.findall(line)})
        elif not blocks and (setting := _CONFIG.fullmatch(line)):
            config.setdefault(setting[1], (number, setting[2].strip("'\"")))
    _settings(records, config)
    step = 0
    for number, line, metrics in blocks:
        step = step if _EVAL in line else _step(line, metrics, step)
        row = _row(metrics)
        if row:
            records.add(number, step=step, **row)
    _derive(records, [metrics for _, _, metrics in blocks], set(map(SETTINGS.get, config)))
    _say(records, blocks)
    return records.table()


def _settings(records: Records, config: dict[str, tuple[int, str]]) -> None:
    """What the configuration says; `auto` and names of variables are left out."""
    for key, header in SETTINGS.items():
        line, value = config.get(key, (0, ""))
        if header == "run" and value:
            records.setting(line, header, value)
        elif _is_count(value):
            records.setting(line, header, int(value))
    nodes = [config.get(key, (0, "")) for key in ("num_nodes", "num_gpus_per_node")]
    if all(_is_count(value) for _, value in nodes):
        records.setting(nodes[0][0], "n_gpus", int(nodes[0][1]) * int(nodes[1][1]))


def _step(line: str, metrics: dict, last: int) -> int | None:
    """Batches done at a mark: its own count, unless it counts within an epoch, or counts something else."""
    epoch, unit, count, total = _MARK.search(line[:200]).groups()
    if unit == "batch" and epoch is None:
        return int(count)
    if _is_count(before := metrics.get("Train time/batch", "")):
        return int(before) + 1
    if unit == "batch" and total is not None:
        return (int(epoch) - 1) * int(total) + int(count)
    return None


def _row(metrics: dict) -> dict:
    """What the metrics of one mark say."""
    row = {header: _known(metrics.get(f"Train {key}")) for key, header in RATES.items()}
    losses = ("metrics/train/LanguageCrossEntropy", "metrics/train/CrossEntropy", "loss/train/total")
    printed = next((metrics[f"Train {key}"] for key in losses if f"Train {key}" in metrics), None)
    row["train_loss"] = fields.loss(printed) if printed is not None else None
    row["val_loss"] = next((fields.loss(value) for _, value in _evaluations(metrics)), None)
    rates = [fields.number(value) for key, value in metrics.items() if _RATE.fullmatch(key.removeprefix("Train "))]
    row["learning_rate"] = next((rate for rate in rates if rate > 0), None)
    row["grad_norm"] = _known(metrics.get("Train l2_norm/grad/global"))
    return {header: value for header, value in row.items() if value is not None and value == value}


def _evaluations(metrics: dict) -> list[tuple[str, str]]:
    """Data sets that were evaluated at a mark, and their cross-entropy."""
    found = [(_CROSS_ENTROPY.fullmatch(key[5:]), value) for key, value in metrics.items() if key.startswith("Eval ")]
    return [(match[1], value) for match, value in found if match]


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= 15


def _known(text: str | None) -> float:
    """A rate; nan where it is missing or was rounded to nothing."""
    return fields.number(text) or math.nan if text is not None else math.nan


def _derive(records: Records, blocks: list[dict], stated: set) -> None:
    """Batch and devices that follow from the counts and rates of the same mark, and that the configuration did not state."""
    for kind, header, unit in (("sample", "batch_seqs", "sequences"), ("token", "batch_tokens", "tokens")):
        counts = [[_known(block.get(f"Train time/{key}")) for key in (kind, "batch")] for block in blocks]
        found = whole(ratio(*pair) for pair in counts)
        if found is not None and header not in stated:
            records.setting(1, header, found)
            records.say(f"The batch of {found:,} {unit} is time/{kind} over time/batch, both counted before the batch.")
    micro = next((value for block in blocks if (value := block.get("Train trainer/device_train_microbatch_size"))), "")
    if _is_count(micro):
        records.setting(1, "micro_batch", int(micro))
    pairs = [[_known(block.get(f"Train throughput/{of}tokens_per_sec")) for of in ("", "device/")] for block in blocks]
    devices = whole(ratio(*pair) for pair in pairs)
    if devices is not None and "n_gpus" not in stated:
        records.setting(1, "n_gpus", devices)
        records.say(f"{devices:,} devices: tokens/s of the job over those of a device.")


def _say(records: Records, blocks: list[tuple]) -> None:
    """What is lost by the console's four decimals, and by the choice of one evaluation."""
    if any(_RATE.fullmatch(key.removeprefix("Train ")) for _, _, metrics in blocks for key in metrics):
        records.say("Learning rates are printed with four decimals; those that became 0.0000 are left out.")
    labels = list(dict.fromkeys(label for _, _, metrics in blocks for label, _ in _evaluations(metrics)))
    if len(labels) > 1:
        records.say(f"Of {len(labels)} evaluated data sets, the first of each evaluation is the validation loss.")
