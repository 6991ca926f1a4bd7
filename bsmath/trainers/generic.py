"""Reader of the lines that home-made training loops print, `step 100/5000 | loss 3.21 | lr 3e-4 | 12.3k tok/s`: a step, and beside it
names and numbers, with a colon, an equals sign or nothing between them.

The last resort: only lines with a step beside a loss or a rate count, and only names that are known.
"""

import math
import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

LEAST_LINES = 3
"""Lines of one shape from which a log is recognized."""
LONGEST = 1_000
"""Characters of a line of a log."""
NAMES = {
    "train_loss": "loss; train loss; train_loss; training loss; training_loss; train/loss; loss/train; avg loss; avg_loss; trn loss; "
    "train nll; mean loss; lm loss; lm_loss; ce loss; ce_loss; xent; nll; tloss",
    "val_loss": "val loss; val_loss; validation loss; validation_loss; valid loss; valid_loss; eval loss; eval_loss; val/loss; loss/val; "
    "test loss; test_loss; dev loss; vloss",
    "learning_rate": "lr; learning rate; learning_rate; learning-rate",
    "grad_norm": "grad norm; grad_norm; norm; gnorm; gradient norm; grad-norm; gradnorm",
    "tokens_per_s": "tok/s; tok/sec; toks/s; tokens/s; tokens/sec; tokens_per_sec; tokens_per_second; tokens per second; tok_per_sec; tps",
    "samples_per_s": "samples/s; samples/sec; samples_per_sec; samples_per_second; seq/s; sequences/s; sequences/sec",
    "steps_per_s": "it/s; iter/s; steps/s; steps/sec; its/s; iterations/s",
    "step_time_s": "dt; step time; step_time; iter time; iter_time; time/step; time per step; batch time; batch_time; step dt; ms/step; "
    "s/step; s/it; ms/it; iteration time; time",
    "tokens_per_s_per_gpu": "tok/s/gpu; tok/sec/gpu; tokens/s/gpu; tokens/sec/gpu; tok/s/device; tokens/s/device; tokens_per_sec_per_gpu; "
    "tokens_per_second_per_gpu",
    "tokens": "tokens; tokens seen; tokens_seen; total tokens; total_tokens; consumed tokens; consumed_tokens; toks",
}
"""What loops call the numbers that they print."""
OTHER = frozenset(
    "aux auxiliary balance balancing z router moe expert experts mtp best min lowest target smoothed ema total elapsed data io load forward "
    "backward fwd bwd eval wall remaining eta avg average".split()
)
"""Words before a name that make another number of it; an average beside the value itself is not taken either."""
PER_DEVICE = re.compile(r"(?i)\s?(?:/|per |\()\s?(?:gpu|device|rank|chip|accelerator)\b")
"""What stands behind a rate that is one device's."""
LOCAL = frozenset(("local", "device", "gpu", "rank"))
"""Words before such a rate."""
TIMES = {"ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "min": 60.0}
"""Seconds in the unit behind a time."""
RESULTS = frozenset(
    ("train_loss", "val_loss", "tokens_per_s", "tokens_per_s_per_gpu", "samples_per_s", "steps_per_s", "step_time_s")
)
"""Headers of which a line must have one."""

SETTINGS = {
    "batch_tokens": "batch_tokens; batch tokens; tokens per step; tokens_per_step; tokens per batch; tokens_per_batch; global batch tokens",
    "batch_seqs": "global batch size; global_batch_size; effective batch size; effective_batch_size",
    "batch": "batch size; batch_size; bs",
    "micro_batch": "micro batch size; micro_batch_size; micro_batch; per_device_batch_size; device_batch_size",
    "accum": "grad accum; grad_accum; grad_accum_steps; gradient_accumulation_steps; accumulation steps; accum_steps",
    "n_gpus": "world size; world_size; num_gpus; n_gpus; ngpus; num gpus",
    "seq_len": "seq len; seq_len; sequence length; sequence_length; block_size; block size; context length; context_length; max_seq_len",
    "seed": "seed",
    "learning_rate": "lr; learning rate; learning_rate; max_lr; peak_lr",
}
"""What loops call the settings that they print once; `batch` does not say which one it is."""

_CALLED = {name: header for header, names in SETTINGS.items() for name in names.split("; ")}
_SETTING = re.compile(
    r"(?i)(?<![\w./-])['\"]?("
    + "|".join(re.escape(name).replace(r"\ ", "[ -]") for name in sorted(_CALLED, key=len, reverse=True))
    + r")['\"]?\s{0,3}[:=]\s{0,3}(\d[\d,_]{0,15}(?:\.\d{0,15})?(?:e[+-]?\d{1,3})?)(?![\w.])(\s?tok(?:en)?s\b)?"
)
_KNOWN = {name: header for header, names in NAMES.items() for name in names.split("; ")}
_STEP = re.compile(
    r"(?i)(?:^|[\s\[(|,;])(?:global[ _-]?step|train[ _-]?step|step|iter(?:ation)?|update|it|batch)s?\s{0,3}[:=#]?\s{0,3}"
    r"(\d[\d,]{0,14})(?:\s?(?:/|of)\s?(\d[\d,]{0,14}))?(?![\w.])"
)
_EPOCH = re.compile(r"(?i)(?:^|[\s\[(|,;])epoch\s{0,3}[:=#]?\s{0,3}(\d{1,6})(?![\w.])")
_VALUE = r"([+-]?(?:\d[\d,]{0,15}(?:\.\d{0,15})?|\.\d{1,15})(?:e[+-]?\d{1,3})?|nan|inf)"
_AFTER = re.compile(
    r"(?i)(?<![\w/.-])("
    + "|".join(re.escape(name).replace(r"\ ", r"\s") for name in sorted(_KNOWN, key=len, reverse=True))
    + r")(?![\w/])\s{0,3}(?:\(\w{1,6}\))?\s{0,3}[:=]?\s{0,6}"
    + _VALUE
    + r"(?![\w.]*[:=])\s?([kmb](?![a-z])|ms(?:ec)?\b|us\b|s(?:ec)?\b|min\b)?"
)
_BEFORE = re.compile(
    r"(?i)(?<![\w.:=])(?<![:=]\s)"
    + _VALUE
    + r"\s?([kmb](?!s))?\s?(tok(?:en)?s?/s(?:ec)?|samples/s(?:ec)?|seq/s|it/s|ms/step|s/it|ms/it|s/step)\b"
)
_PROSE = re.compile(r"(?i)\b(?:the|was|were|we|that|which|this|saw|seen|because|when|then|you|should)\b")
_CODE = re.compile(r"[{}]|print\(|\bf['\"]|\\n|^\s*(?:#|//|def |return |import |for |if )|\"step\"|'step'")


def recognizes(sample: str) -> bool:
    """Whether several lines of the same names have rising steps beside a loss or a rate."""
    shapes: dict[tuple, list[float]] = {}
    for line in sample.split("\n"):
        if (found := _parsed(line)) is not None:
            shapes.setdefault(tuple(sorted(found)), []).append(found["step"])
            if any(len(set(steps)) >= LEAST_LINES for steps in shapes.values()):
                return True
    return False


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The steps of a log; where they start anew with each epoch, they are counted on."""
    records, before, done = Records(name), None, 0
    told: dict[str, tuple[int, float]] = {}
    for count, line in lines(text, progress):
        found = _parsed(line)
        if found is None:
            _tell(told, count, line)
            continue
        epoch, whole = found.pop("epoch", None), found.pop("whole", None)
        if epoch is not None and before is not None and epoch > before[0] and found["step"] + done <= before[1]:
            done = (epoch - before[2]) * (whole or before[1])
        first = epoch if before is None else before[2]
        found["step"] += done
        before = (epoch, found["step"], first) if epoch is not None else before
        records.add(count, **found)
    _set(records, told)
    if done:
        records.say("steps that start anew with each epoch are counted on")
    records.say("read as the lines of a training loop that is not known: rates are taken for those of the whole job")
    return records.table()


def _tell(told: dict[str, tuple[int, float]], count: int, line: str) -> None:
    """Note the settings of a line that is no step; the first statement of each counts."""
    if len(line) > LONGEST or _PROSE.search(line):
        return
    for one in _SETTING.finditer(line):
        header = _CALLED[re.sub("[ -]", " ", one[1].lower())]
        header = "batch_tokens" if one[3] and header in ("batch", "batch_seqs") else header
        told.setdefault(header, (count, float(re.sub("[,_]", "", one[2]))))


def _set(records: Records, told: dict) -> None:
    """The settings of the run. A `batch size` is one device's where accumulation or several devices stand beside it and no other
    batch does."""
    line, size = told.pop("batch", (0, 0))
    accum, devices = (told.get(name, (0, 1))[1] for name in ("accum", "n_gpus"))
    others = told.keys() & {"batch_tokens", "batch_seqs"}
    if size and not others and (accum > 1 or devices > 1):
        told.setdefault("micro_batch", (line, size))
    elif size and not others:
        told["batch_seqs"] = (line, size)
        records.say(
            f"line {line:,}: a batch size of {size:,.10g} without a unit is taken for the global batch in sequences"
        )
    if "micro_batch" in told and "batch_seqs" not in told and "batch_tokens" not in told:
        whole = told["micro_batch"][1] * accum * devices
        records.say(
            f"the batch is taken for {told['micro_batch'][1]:,.10g} x {accum:,.10g} (accumulation) x {devices:,.10g} (devices), each a replica"
        )
        told["batch_seqs"] = (told["micro_batch"][0], whole)
    for header, (count, value) in sorted(told.items(), key=lambda each: each[1][0]):
        if value > 0 or header == "seed":
            records.setting(count, header, value)


def _parsed(line: str) -> dict | None:
    """Step and numbers of a line under the headers of the records, and epoch and whole (steps of an epoch) where it has them; None
    where it is no line of a step."""
    if len(line) > LONGEST or (step := _STEP.search(line)) is None or _CODE.search(line) or _PROSE.search(line):
        return None
    found: dict = {}
    for one in _AFTER.finditer(line):
        known = re.sub(r"\s", " ", one[1].lower())
        header = _whose(_KNOWN[known], known, line, one)
        if header and header not in found:
            found[header] = _number(header, known, one[2], (one[3] or "").lower())
    for one in _BEFORE.finditer(line):
        known = one[3].lower()
        header = _KNOWN.get(known) or _KNOWN[known.replace("token", "tok").replace("toks", "tok")]
        header = _whose(header, known, line, one)
        if header and header not in found:
            found[header] = _number(header, known, one[1], (one[2] or "").lower())
    found = {header: value for header, value in found.items() if value is not None}
    if not RESULTS & found.keys():
        return None
    if (epoch := _EPOCH.search(line)) and step[2]:
        found |= {"epoch": int(epoch[1]), "whole": int(step[2].replace(",", ""))}
    return found | {"step": int(step[1].replace(",", ""))}


def _whose(header: str, known: str, line: str, one: re.Match) -> str | None:
    """The header of a number, by the words before and behind it; None where it is another one than its name says."""
    before = re.search(r"([A-Za-z]+)[\s_-]{0,3}$", line[: one.start()])
    word = before[1].lower() if before else ""
    if (
        word in OTHER or known == "time" and (one[3] or "").lower() not in ("ms", "msec", "us")
    ):  # "Time: 20s" is the clock
        return None
    if header == "tokens_per_s" and (word in LOCAL or PER_DEVICE.match(line, one.end())):
        return "tokens_per_s_per_gpu"
    return header


def _number(header: str, known: str, value: str, unit: str) -> float | None:
    """A value in base units; None where it cannot be used."""
    if header in ("train_loss", "val_loss"):
        return loss(value)
    parsed = number(value + unit if unit in ("k", "m", "b") else value)
    if header == "step_time_s":
        scale = TIMES.get(unit) or next((TIMES[part] for part in ("ms", "s") if known.startswith(f"{part}/")), None)
        return None if scale is None or not parsed > 0 else parsed * scale  # a time without a unit may be the clock
    return parsed if math.isfinite(parsed) and parsed >= 0 else None
