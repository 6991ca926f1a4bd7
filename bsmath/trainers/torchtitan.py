"""torchtitan: a line a logged step, its fields two spaces apart, colors removed.

    [titan] 2026-08-21 10:14:02,118 - root - INFO - step: 10  loss: 10.81  grad_norm: 3.91  memory: 61.44GiB(77.60%)
        tps: 6,412  tflops: 331.22  mfu: 33.49%
    [titan] ... validate step: 100  loss: 4.10  memory: 61.44GiB(77.60%)  tps: 12,001

Source: `MetricsProcessor.log` and `log_validation` of torchtitan/components/metrics.py. `tps` (`wps` in old versions)
is per device; that of a validation line counts forward passes only and is left out. The loss is the mean over the
replicas. The batch of a replica and of the job are in sequences in the line before the first step.
"""

import re
from datetime import datetime

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_STEP = re.compile(r"(validate )?\bstep:\s{1,8}(\d{1,12})\s{2,8}loss:\s{1,8}(\S{1,40})\s")
_FIELD = re.compile(r"\b(grad_norm|tps|wps|mfu|memory):\s{0,8}(\S{1,40})")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_START = (
    ("micro_batch", re.compile(r"\blocal batch size (\d{1,12})\b")),
    ("batch_seqs", re.compile(r"\bglobal batch size (\d{1,12})\b")),
    ("accum", re.compile(r"\bgradient accumulation steps (\d{1,12})\b")),
    ("seq_len", re.compile(r"\bsequence length (\d{1,12})\b")),
)
_MODEL = re.compile(r"Building (\S{1,40} \S{1,40}) with ")
_SIZE = re.compile(r"\bsize: ([\d,]{1,20}) total parameters")
_MESH = re.compile(r"device mesh with \[([^\]]{1,200})\], \[([\d, ]{1,80})\]")
_DEGREES = re.compile(r"\b(pp|dp_replicate|dp_shard|cp|tp)=(\d{1,6})\b")
_EPOCH = datetime(1970, 1, 1)


def recognizes(sample: str) -> bool:
    """Whether a line has a step, its loss and the memory or the rate of a device."""
    return any(
        ("memory:" in line or "tps:" in line or "wps:" in line) and _STEP.search(line)
        for line in sample.split("\n")
        if "step:" in line and "loss:" in line
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The steps and validations of a log."""
    records = Records(name)
    for count, line in lines(text, progress):
        if "step:" in line and (found := _STEP.search(line)):
            _step(records, count, line, found)
        elif "batch size" in line or "uilding" in line or "total parameters" in line:
            _configuration(records, count, line)
    return records.table()


def _step(records: Records, count: int, line: str, found: re.Match) -> None:
    """One line of a step or of a validation."""
    step, value = int(found[2]), loss(found[3])
    time = _clock(line[: found.start()])
    if found[1]:
        records.add(count, step=step, val_loss=value, wall_time_s=time)
        return
    fields = dict(_FIELD.findall(line[found.end() : found.end() + 400]))
    mfu = number(fields.get("mfu", "")) / 100
    records.add(
        count,
        step=step,
        train_loss=value,
        grad_norm=number(fields.get("grad_norm", "")),
        tokens_per_s_per_gpu=number(fields.get("tps", fields.get("wps", ""))),
        wall_time_s=time,
        mfu=mfu if mfu > 0 else None,
    )


def _clock(prefix: str) -> float | None:
    """Seconds since 1970 in the log's own time zone; None where the line has no time."""
    found = _TIME.search(prefix[:200])
    if found is None:
        return None
    try:
        return (datetime.fromisoformat(f"{found[1]} {found[2]}") - _EPOCH).total_seconds()
    except ValueError:
        return None


def _configuration(records: Records, count: int, line: str) -> None:
    """What the lines before the first step say of the batch, the model and the devices."""
    line = line[:4000]
    if "local batch size" in line:
        for header, pattern in _START:
            if (found := pattern.search(line)) and int(found[1]) > 0:
                records.setting(count, header, int(found[1]))
    elif "device mesh" in line:
        _devices(records, count, line)
    elif found := _MODEL.search(line):
        records.setting(count, "model", found[1])
    elif found := _SIZE.search(line):
        records.setting(count, "params", number(found[1]))


def _devices(records: Records, count: int, line: str) -> None:
    """The devices are the product of the mesh; expert parallelism uses devices of the others."""
    if found := _MESH.search(line):
        names = [part.strip(" '\"") for part in found[1].split(",")]
        sizes = [int(part[:8]) for part in found[2].split(",") if part.strip().isdecimal()]
        degrees = dict(zip(names, sizes, strict=False))
    else:
        degrees = {name: int(size) for name, size in _DEGREES.findall(line)}
    devices, replicas = 1, 1
    for name, size in degrees.items():
        devices *= size
        replicas *= size if name.startswith("dp") else 1
    if degrees and devices > 0:
        records.setting(count, "n_gpus", devices)
        records.setting(count, "replicas", replicas)
