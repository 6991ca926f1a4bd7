"""nanotron: `key: value |` pairs with three digits and K, M or B.

    03/05/2025 12:34:56 [INFO|DP=0|TP=0]: iteration: 100 / 5000 | consumed_tokens: 105M | time_per_iteration_ms: 2.14K |
        tokens_per_sec: 489K | tokens_per_sec_per_gpu: 61.1K | global_batch_size: 1.05M | lm_loss: 4.87 | lr: 0.0003 |
        ...
    [Start training] datetime: ... | mbs: 2 | grad_accum: 4 | global_batch_size: 64 | sequence_length: 4096 | ...

Source: `train_step_logs` and `pre_training` of src/nanotron/trainer.py. The batch of the start line is in sequences;
that of the iterations is in tokens or in sequences by version, and time times rate tells which. Three digits are too
few for the batch: the start line's is exact.
"""

import re
from statistics import median

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_STEP = re.compile(r"\biteration: (\d{1,12}) / \d{1,12} \| ?(.*)")
_START = (
    ("micro_batch", re.compile(r"\b(?:mbs: |micro_batch_size=)(\d{1,12})\b")),
    ("accum", re.compile(r"\b(?:grad_accum: |batch_accumulation_per_replica=)(\d{1,12})\b")),
    ("batch_seqs", re.compile(r"\bglobal_batch_size: (\d{1,12})\b")),
    ("seq_len", re.compile(r"\bsequence_length(?:: |=)(\d{1,12})\b")),
    ("replicas", re.compile(r"\bParallelismArgs\(dp=(\d{1,9})\b")),
    ("seed", re.compile(r"\bGeneralArgs\(.{0,400}\bseed=(\d{1,12})\b")),
)
_PARAMS = re.compile(r"[Tt]otal number of parameters: ([\d.,]{1,20}[KMBGT]?)\b")
_TIMES = ("time_per_iteration_ms", "elapsed_time_per_iteration_ms")


def recognizes(sample: str) -> bool:
    """Whether a line has an iteration, its tokens and its loss under these names."""
    return any(
        "lm_loss: " in found[2] or "consumed_tokens: " in found[2]
        for line in sample.split("\n")
        if "iteration: " in line
        and (found := _STEP.search(line))
        and ("per_iteration_ms: " in line or "lm_loss: " in line)
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The iterations of a log."""
    records, batches, exact = Records(name), [], set()
    for count, line in lines(text, progress):
        if "iteration: " in line and (found := _STEP.search(line)):
            values = dict(part.split(": ", 1) for part in found[2][:2000].split(" | ") if ": " in part)
            if next(reversed(values), "") == "lm_loss":
                del values["lm_loss"]
            batches.append(_iteration(records, count, int(found[1]), values))
        elif "mbs: " in line or "sequence_length=" in line or "ParallelismArgs(" in line or "_replica=" in line:
            for header, pattern in _START:
                if (value := pattern.search(line[:4000])) and int(value[1]) > 0:
                    records.setting(count, header, int(value[1]))
                    exact |= {header} & {"batch_seqs", "seq_len"}
        elif "number of parameters: " in line and (value := _PARAMS.search(line)):
            records.setting(count, "params", number(value[1].replace("G", "B")))
    _settle(records, [batch for batch in batches if batch], exact)
    return records.table()


def _iteration(records: Records, count: int, step: int, values: dict[str, str]) -> tuple[float, float, bool] | None:
    """One line of an iteration; its batch as printed, its tokens and whether the batch is whole, or None."""
    seconds = next((number(values[key]) for key in _TIMES if key in values), float("nan")) / 1e3
    rate = number(values.get("tokens_per_sec", ""))
    samples = values.get("consumed_samples", "").strip()
    valid = next((values[key] for key in ("validation_loss", "val_loss") if key in values), None)
    records.add(
        count,
        step=step,
        consumed_samples=number(samples) if samples.isdecimal() else None,
        train_loss=loss(values["lm_loss"]) if "lm_loss" in values else None,
        val_loss=None if valid is None else loss(valid),
        learning_rate=number(values.get("lr", "")),
        grad_norm=number(values.get("grad_norm", "")),
        step_time_s=seconds,
        tokens_per_s=rate,
        tokens_per_s_per_gpu=number(values.get("tokens_per_sec_per_gpu", "")),
    )
    printed = values.get("global_batch_size", "").strip()
    batch = number(printed)
    return (batch, seconds * rate, printed.isdecimal()) if 0 < batch < 1e15 and 0 < seconds * rate < 1e15 else None


def _settle(records: Records, batches: list[tuple[float, float, bool]], exact: set[str]) -> None:
    """The batch of the lines, where all agree: tokens if it is time times rate, else sequences."""
    if not batches or exact == {"batch_seqs", "seq_len"}:
        return
    printed = median(batch for batch, _, _ in batches)
    tokens = median(tokens for _, tokens, _ in batches)
    if not all(abs(batch / printed - 1) < 0.03 for batch, _, _ in batches):
        records.say("global_batch_size changes along the run: left out, as it is printed with three digits")
        return
    in_tokens = abs(printed / tokens - 1) < 0.05
    if not in_tokens and all(whole for _, _, whole in batches):
        records.setting(1, "batch_seqs", round(printed))
        exact.add("batch_seqs")
    if exact != {"batch_seqs", "seq_len"}:
        records.say("tokens per step are known to three digits: " + ("as printed" if in_tokens else "time times rate"))
        records.setting(1, "batch_tokens", round(printed if in_tokens else float(f"{tokens:.3g}")))
