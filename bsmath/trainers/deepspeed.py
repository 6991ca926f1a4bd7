r"""Reader of what DeepSpeed prints: the lines of its engine, of its pipeline, of its FLOPs profiler and its configuration.

    [2026-02-11 09:12:44,103] [INFO] [logging.py:128:log_dist] [Rank 0] step=100, skipped=4, lr=[0.0003], mom=[(0.9, 0.95)]
    [...] epoch=0/micro_step=400/global_step=100, RunningAvgSamplesPerSec=251.3, CurrSamplesPerSec=252.9, MemAllocated=14.3GB
    steps: 100 loss: 3.2104 iter time (s): 0.123 samples/sec: 45.678

Samples are sequences of the whole job: the timer divides train_batch_size by the time of a step. The engine prints no loss; the pipeline does.
Source: deepspeed/utils/timer.py (ThroughputTimer), runtime/engine.py, runtime/pipe/engine.py, profiling/flops_profiler/profiler.py.
"""

import math
import re
from datetime import datetime

from bsmath.sweeps.model import RawTable
from bsmath.trainers import deepspeed_config, fields, hf_stdout
from bsmath.trainers.fields import Progress, lines
from bsmath.trainers.records import Records
from bsmath.trainers.whole import whole

PROFILED = {"world size": "n_gpus", "data parallel size": "replicas", "batch size per GPU": "micro_batch"}
"""Lines of the profiler's block that hold for the run."""

_STEP = re.compile(r"\bstep=(\d{1,12}), skipped=\d+, lr=\[([^\],]{1,40})")
_TIMER = re.compile(r"\b(?:micro_step=(\d{1,12})/global_step=|\d{1,9}/)(\d{1,12}), RunningAvgSamplesPerSec=([^\s,]+)")
_CURRENT = re.compile(r"CurrSamplesPerSec=([^\s,]+)")
_PIPE = re.compile(
    r"\bsteps?:\s{0,20}(\d{1,12})(?:\s*/\s*\d{1,12})?\s{1,20}loss:\s*(\S+)(.{0,300}?)\biter time \(s\):\s*(\S+)\s+samples/sec:\s*(\S+)"
)
_MODEL_LOSS = re.compile(r"\blm loss: (\S+)")
_TIME = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\]")
_PROFILE = re.compile(r"Profile Summary at step (\d{1,12})")
_PROFILED = re.compile(r"(world size|data parallel size|batch size per GPU|samples/second):\s+([\d.,]+)\s*$")
_MARKS = ("RunningAvgSamplesPerSec=", "skipped=", "iter time (s):", "Profile Summary at step", "samples/second:")
_MEGATRON = re.compile(r"\biteration +\d+/ *\d+ \|")
_LONGEST = 10_000


def recognizes(sample: str) -> bool:
    """Whether a text has a line of DeepSpeed's and is not the log of a trainer on top of it, whose own lines say more."""
    lines = [line for line in sample.split("\n") if len(line) <= _LONGEST and any(map(line.__contains__, _MARKS))]
    found = any(_PIPE.search(line) or _TIMER.search(line) or _STEP.search(line) for line in lines)
    if not found and not ("Flops Profiler" in sample and _PROFILE.search(sample)):
        return False
    return _MEGATRON.search(sample) is None and not hf_stdout.recognizes(sample)


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """One row a reported step."""
    log = _Log(name)
    for number, line in lines(text, progress):
        if len(line) <= _LONGEST and ("=" in line or ":" in line or "_" in line):
            log.line(number, line)
    log.end()
    return log.records.table()


class _Log:
    """A log while it is read: the step that the timer's next line belongs to, and the block of the profiler."""

    def __init__(self, name: str):
        self.records, self.step, self.profile = Records(name), None, {}
        self.per_step, self.accumulated, self.stated = [], [], False

    def line(self, number: int, line: str) -> None:
        if "skipped=" in line and (found := _STEP.search(line)):
            self.step = int(found[1])
            self.records.add(number, step=self.step, learning_rate=fields.number(found[2]), wall_time_s=_seconds(line))
        elif "SamplesPerSec=" in line and (found := _TIMER.search(line)):
            self._timer(number, line, found)
        elif "iter time" in line and (found := _PIPE.search(line)):
            self._pipe(number, *found.groups())
        elif "Profile Summary" in line and (found := _PROFILE.search(line)):
            self.profile = {"line": number, "step": int(found[1])}
        elif self.profile and (found := _PROFILED.search(line)):
            self.profile[found[1]] = fields.number(found[2])
        elif line[-1:].isdigit() or line[-1:] in ", ":
            self.stated = deepspeed_config.take(self.records, number, line) == "batch_seqs" or self.stated

    def _timer(self, number: int, line: str, found: re.Match) -> None:
        """The timer counts from 0 again after a resume, so the step of the engine's line before it counts, where there is one."""
        step, wall = (self.step, None) if self.step is not None else (int(found[2]), _seconds(line))
        self.step = None
        current = _CURRENT.search(line)
        rate = fields.number(current[1] if current else found[3])
        if found[1] and int(found[2]):
            self.accumulated.append(int(found[1]) / int(found[2]))
        self.records.add(number, step=step, samples_per_s=rate if rate > 0 else None, wall_time_s=wall)

    def _pipe(self, number: int, step: str, loss: str, between: str, time: str, rate: str) -> None:
        lm = _MODEL_LOSS.search(between)
        seconds, rate = fields.number(time), fields.number(rate)
        self.per_step.append(seconds * rate)
        self.records.add(
            number,
            step=int(step),
            train_loss=fields.loss(lm[1] if lm else loss),
            step_time_s=seconds if seconds > 0 else None,
            samples_per_s=rate if rate > 0 else None,
        )

    def end(self) -> None:
        """What follows from all lines together."""
        records, profile = self.records, self.profile
        for key, header in PROFILED.items():
            if 0 < profile.get(key, 0) < 1e9:
                records.setting(profile["line"], header, int(profile[key]))
        if not len(records) and profile.get("samples/second", 0) > 0:
            records.add(profile["line"], step=profile["step"], samples_per_s=profile["samples/second"])
            records.say("The rate is that of one profiled step, which the profiler slows down.")
        steps = whole(self.accumulated)
        if steps is not None:
            records.setting(1, "accum", steps)
            records.say(f"Accumulation over {steps:,} micro-batches: micro_step over global_step.")
        batch = whole(self.per_step)
        if batch is not None and not self.stated:
            records.setting(1, "batch_seqs", batch)
            records.say(f"The batch of {batch:,} sequences is samples/s times the time of a step, both rounded.")


def _seconds(line: str) -> float:
    found = _TIME.search(line)
    try:
        return datetime.fromisoformat(found[1] + "+00:00").timestamp() + int(found[2]) / 1000 if found else math.nan
    except ValueError:
        return math.nan
