"""nanoGPT and what was made from it (llama2.c): a line an iteration, a line an evaluation.

    tokens per iteration will be: 491,520
    step 0: train loss 10.9891, val loss 10.9883
    iter 10: loss 9.3127, time 412.37ms, mfu 41.86%
    10 | loss 9.3127 | lr 6.000000e-05 | 412.37ms | mfu 41.86%

Source: train.py and model.py of nanoGPT, train.py of llama2.c. An iteration is an optimizer step, its number that of
the steps before it, as in the lines of evaluations. Its clock starts at the end of the one before: where an
evaluation came between, the time holds that too and is left out. The MFU counts against an A100 (312 TFLOP/s) on any
device; -100 % means not yet.
"""

import re

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_ITERATION = re.compile(r"\b[Ii]ter(?:ation)? (\d{1,12}): loss ([^\s,]{1,30}),(?=[^\n]{0,200}\btime \d)")
_LLAMA2C = re.compile(r"^\s{0,8}(\d{1,12}) \| loss (\S{1,30}) \| (?=lr \S{1,30} \| [\d.]{1,20}ms \|)")
_EVALUATION = re.compile(r"\b[Ss]tep (\d{1,12}): train loss ([^\s,]{1,30})[, ][^\n]{0,120}?\bval loss ([^\s,]{1,30})")
_TIME = re.compile(r"(?:\btime |\| )([\d.]{1,20}) ?(ms|s)\b")
_MFU = re.compile(r"\bmfu (-?[\d.]{1,20})%")
_RATE = re.compile(r"\blr[ :=]{1,2}([\d.eE+-]{1,20})")
_TOKENS = re.compile(r"^\s{0,8}[Tt]okens per iteration will be: (\d[\d,]{0,19})\s*$")
_PARTS = re.compile(
    r"(\d{1,9}) grad accum steps \* (\d{1,9}) processes \* (\d{1,9}) batch size \* (\d{1,9}) max seq len"
)
_PARAMETERS = re.compile(r"\bnumber of parameters: (\d[\d.,]{0,19}[MB]?)\s*$")
_GROUP = re.compile(r"^\s{0,8}num (decayed|non-decayed) parameter tensors: \d{1,9}, with (\d[\d,]{0,19}) parameters")
_OVERRIDE = re.compile(r"^(?:Overriding: )?(batch_size|block_size|max_seq_len) = (\d{1,9})\s*(?:#.{0,200})?$")
_NAMES = {"batch_size": "micro_batch", "block_size": "seq_len", "max_seq_len": "seq_len"}


def recognizes(sample: str) -> bool:
    """Whether a line is an iteration with its time, or two are evaluations."""
    if "iter_num=" in sample:
        return False  # nanoGNS, whose evaluations are the same
    evaluations = 0
    for line in sample.split("\n"):
        if "loss" in line:
            if _ITERATION.search(line[:400]) or _LLAMA2C.search(line[:400]):
                return True
            evaluations += "val loss" in line and _EVALUATION.search(line[:400]) is not None
    return evaluations > 1


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The iterations and evaluations of a log."""
    records, found = Records(name), []
    configuration: dict[str, tuple[int, float]] = {}
    begun = 0  # where the rows of the present run begin
    for count, line in lines(text, progress):
        line = line[:400]
        if "loss" in line:
            _losses(found, count, line)
        elif "batch" in line or "block_size" in line or "max_seq_len" in line or "tokens per" in line.lower():
            if (stated := _batch(line)) and len(found) > begun:  # another run in the same log
                _settings(records, configuration)
                _add(records, found[begun:])
                begun, configuration = len(found), {}
            configuration |= {header: (count, value) for header, value in stated.items()}
        elif "arameter" in line:
            _parameters(configuration, count, line)
    _settings(records, configuration)
    _add(records, found[begun:])
    _say(records, found)
    return records.table()


def _losses(found: list[tuple[int, str, dict]], count: int, line: str) -> None:
    """The iteration or the evaluation that one line holds."""
    match = _ITERATION.search(line) or _LLAMA2C.search(line)
    if match:
        rest = line[match.end() :]
        row = {"step": int(match[1]), "train_loss": loss(match[2])}
        if time := _TIME.search("| " + rest):
            row["step_time_s"] = number(time[1]) / (1000 if time[2] == "ms" else 1)
        if (mfu := _MFU.search(rest)) and number(mfu[1]) > 0:
            row["mfu"] = number(mfu[1]) / 100
        if rate := _RATE.search(rest):
            row["learning_rate"] = number(rate[1])
        found.append((count, "iteration", row))
    elif match := _EVALUATION.search(line):
        row = {"step": int(match[1]), "train_loss": loss(match[2]), "val_loss": loss(match[3])}
        found.append((count, "evaluation", row))


def _add(records: Records, found: list[tuple[int, str, dict]]) -> None:
    """The rows: one series of training losses, and times of iterations alone."""
    iterations = any(kind == "iteration" for _, kind, _ in found)
    evaluated = None
    for count, kind, row in found:
        if kind == "evaluation":
            evaluated = row["step"]
            row = row if not iterations else {"step": row["step"], "val_loss": row["val_loss"]}
        elif row["step"] == evaluated and "step_time_s" in row:
            row = {header: value for header, value in row.items() if header != "step_time_s"}
        records.add(count, **row)


def _say(records: Records, found: list[tuple[int, str, dict]]) -> None:
    """What was assumed or left out."""
    kinds = {kind for _, kind, _ in found}
    evaluated, left_out = None, 0
    for _, kind, row in found:
        evaluated = row["step"] if kind == "evaluation" else evaluated
        left_out += kind == "iteration" and row["step"] == evaluated and "step_time_s" in row
    if left_out:
        records.say(f"The times of {left_out:,} iterations are left out: they hold an evaluation too.")
    if len(kinds) == 2:
        records.say("Training losses are those of the iterations, not the means that evaluations print.")
    if any("mfu" in row for _, _, row in found):
        records.say("nanoGPT counts the MFU against the 312 TFLOP/s of an A100, whatever the device is.")


def _batch(line: str) -> dict[str, int]:
    """What a line says of the batch, by headers."""
    if match := _TOKENS.search(line):
        return {"batch_tokens": int(number(match[1]))}
    if match := _PARTS.search(line):
        return dict(zip(("accum", "replicas", "micro_batch", "seq_len"), map(int, match.groups()), strict=True))
    if match := _OVERRIDE.search(line):
        return {_NAMES[match[1]]: int(match[2])}
    return {}


def _parameters(configuration: dict, count: int, line: str) -> None:
    if match := _PARAMETERS.search(line):
        configuration["params"] = (count, round(number(match[1])))
    elif match := _GROUP.search(line):
        configuration[match[1]] = (count, int(number(match[2])))


def _settings(records: Records, configuration: dict[str, tuple[int, float]]) -> None:
    """What was found, the last word on each, as the command line comes after the file of the configuration."""
    groups = [configuration.pop(group, None) for group in ("decayed", "non-decayed")]
    if None not in groups:
        configuration["params"] = (groups[0][0], groups[0][1] + groups[1][1])
    for header, (count, value) in configuration.items():
        if value > 0:
            records.setting(count, header, value)
