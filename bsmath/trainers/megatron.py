"""Megatron-LM and what grew from it (Megatron-DeepSpeed, GPT-NeoX, MindSpeed): lines of `key: value |` pairs.

    iteration  100/ 50000 | consumed samples: 76800 | elapsed time per iteration (ms): 6120.4 | ... | lm loss: 6.9E+00
        | ...
    validation loss at iteration 1000 | lm loss value: 2.9E+00 | lm loss PPL: 1.8E+01 |

Source: `training_log` and `evaluate_and_print_results` of megatron/training/training.py. Samples are sequences, the
batch is that of the whole job, times and losses are means over the lines' interval. The oldest form has no colons
behind its keys, no batch and no consumed samples. A loss is printed only where it is above 0: one that is no number
leaves no trace but its count.
"""

import math
import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_STEP = re.compile(r"\biteration:?\s{1,12}(\d{1,12})/\s{0,12}\d{1,12} \|")
_VALID = re.compile(r"validation (?:loss|results) at (?:iteration|step) (\d{1,12})\b[^|]{0,80}\|(.*)")
_ARGUMENT = re.compile(r"^[\s\w\[\]:.-]{0,40}?\b([a-z_]{4,40}) \.{2,} ?(\S+)")
_DEEPSPEED = re.compile(
    r":print\]\s+(train_batch_size|gradient_accumulation_steps|train_micro_batch_size_per_gpu) \.* ?(\d+)"
)
_WORLD = re.compile(r"using world size: (\d+)(.{0,400})")
_REPLICAS = re.compile(r"data-parallel[- ]size: (\d+)")
_OLD_WORLD = re.compile(r"and model-parallel size: (\d+)")
_PARAMS = re.compile(
    r"total parameters ([\d.]+) B|TOTAL_PARAMS=(\d+)|[Tt]otal number of parameters in billions:\s*([\d.]+)"
)

_ARGUMENTS = {
    "seq_length": "seq_len",
    "global_batch_size": "batch_seqs",
    "train_batch_size": "batch_seqs",
    "micro_batch_size": "micro_batch",
    "train_micro_batch_size_per_gpu": "micro_batch",
    "batch_size": "old_micro_batch",
    "gradient_accumulation_steps": "accum",
    "data_parallel_size": "replicas",
    "world_size": "n_gpus",
    "seed": "seed",
}
_LOSSES = ("lm loss", "lm_loss", "lm-loss", "loss", "total loss")


def recognizes(sample: str) -> bool:
    """Whether a line has an iteration of so many and the time or the loss of one."""
    return any(
        "elapsed time per iteration" in line or "lm loss" in line or "lm_loss:" in line
        for line in sample.split("\n")
        if "iteration" in line and _STEP.search(line)
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The iterations and validations of a log."""
    records, settings, seen = Records(name), {}, {"batch": False, "loss": False, "nan": 0, "ratios": set()}
    for count, line in lines(text, progress):
        if "iteration" in line and (found := _STEP.search(line)):
            _iteration(records, count, int(found[1]), _pairs(line), seen)
        elif "validation" in line and " on test set" not in line and (found := _VALID.search(line)):
            values = _pairs(found[2])
            value = next((values[key] for key in (f"{key} value" for key in _LOSSES) if key in values), None)
            if value is None:
                value = next((values[key] for key in ("LM loss", *_LOSSES) if key in values), None)
            if value is not None:
                records.add(count, step=int(found[1]), val_loss=loss(value))
        elif len(settings) < 20:
            _configuration(line, count, settings)
    _settle(records, settings, seen)
    return records.table()


def _pairs(line: str) -> dict[str, str]:
    """The pairs of a line, each closed by its mark: what follows the last one was cut, and another rank's text may follow."""
    pairs = {}
    for part in line.split("|")[:-1]:
        key, colon, value = part[-120:].strip().rpartition(":")
        if not colon:
            key, _, value = part[-120:].strip().rpartition(" ")
        pairs.setdefault("samples/sec" if key.endswith("samples/sec") else key.strip(), value.strip())
    return pairs


def _iteration(records: Records, count: int, step: int, values: dict[str, str], seen: dict) -> None:
    """One line of an iteration."""

    def value(*keys):
        return next((number(values[key]) for key in keys if key in values), math.nan)

    printed = next((values[key] for key in _LOSSES if key in values), None)
    train_loss = None if printed is None else loss(printed)
    seen["loss"] = seen["loss"] or printed is not None
    skipped, nans = value("number of skipped iterations"), value("number of nan iterations")
    if printed is None and (nans > 0 or (seen["loss"] and skipped == 0)):
        train_loss, seen["nan"] = math.inf, seen["nan"] + 1
    samples, tokens = value("consumed samples"), value("consumed tokens")
    if samples > 0 and 0 < tokens < 1e18 and len(seen["ratios"]) < 3:
        seen["ratios"].add(tokens / samples)
    batch_seqs = value("global batch size")
    seen["batch"] = seen["batch"] or batch_seqs == batch_seqs
    milliseconds = value("elapsed time per iteration (ms)")
    seconds = milliseconds / 1e3 if milliseconds == milliseconds else value("elapsed time per iteration (s)")
    records.add(
        count,
        step=step,
        tokens=tokens,
        consumed_samples=samples,
        train_loss=train_loss,
        learning_rate=value("learning rate"),
        grad_norm=value("grad norm"),
        step_time_s=seconds,
        samples_per_s=_rate(value("samples per second", "samples/sec"), seconds, batch_seqs),
        batch_seqs=batch_seqs,
    )


def _rate(printed: float, seconds: float, batch_seqs: float) -> float:
    """Sequences per second, nan where time and batch contradict; early Megatron-DeepSpeed prints them per millisecond."""
    expected = batch_seqs / seconds if seconds > 0 else math.nan
    if not 0 < expected < math.inf or abs(printed / expected - 1) < 0.05:
        return printed
    return printed * 1e3 if abs(printed * 1e3 / expected - 1) < 0.05 else math.nan


def _configuration(line: str, count: int, settings: dict) -> None:
    """What a line of the argument dump says; the first statement counts."""
    found = None
    if " ..." in line or ":print]" in line:
        found = _ARGUMENT.search(line[:200]) or _DEEPSPEED.search(line[:200])
    if found and found[1] in _ARGUMENTS:
        value = number(found[2])
        if value == value:
            settings.setdefault(_ARGUMENTS[found[1]], (count, int(value) if abs(value) < 1e15 else value))
    elif "using world size" in line and (found := _WORLD.search(line)):
        _world(found, count, settings)
    elif "arameters" in line or "TOTAL_PARAMS" in line:
        if found := _PARAMS.search(line):
            billions = number(found[1] or found[3] or "")
            settings.setdefault("params", (count, float(found[2]) if found[2] else billions * 1e9))


def _world(found: re.Match, count: int, settings: dict) -> None:
    """Devices and replicas of the line that opens a log."""
    devices = int(found[1][:12])
    settings.setdefault("n_gpus", (count, devices))
    if replicas := _REPLICAS.search(found[2]):
        settings.setdefault("replicas", (count, int(replicas[1][:12])))
    elif (shards := _OLD_WORLD.search(found[2])) and int(shards[1][:12]) > 0:
        settings.setdefault("replicas", (count, devices // int(shards[1][:12])))


def _settle(records: Records, settings: dict, seen: dict) -> None:
    """The constants; a batch of the dump counts only where the lines have none, as it may be ramped."""
    old = settings.pop("old_micro_batch", None)
    if old is not None:
        settings.setdefault("micro_batch", old)
        if "replicas" in settings and not seen["batch"]:
            accum = settings.get("accum", (0, 1))[1]
            settings.setdefault("batch_seqs", (old[0], old[1] * settings["replicas"][1] * accum))
            records.say("batch_size of this old argument dump is that of one replica: times replicas [sequences]")
    if seen["batch"]:
        settings.pop("batch_seqs", None)
    ratios = {round(ratio) for ratio in seen["ratios"] if abs(ratio - round(ratio)) < 1e-9 * ratio}
    if "seq_len" not in settings and len(seen["ratios"]) == len(ratios) == 1:
        records.say("consumed tokens over consumed samples: tokens per sequence")
        settings["seq_len"] = (1, ratios.pop())
    for header, (count, value) in settings.items():
        records.setting(count, header, value)
    if seen["nan"]:
        what = f"lines without a loss that skipped no step or count nan iterations: {seen['nan']:,}"
        records.problem(None, "lm loss", what, "kept with a loss that is no number")
