"""NeMo: the progress printer of NeMo 2 and the progress bar of NeMo 1.

    Training epoch 0, iteration 10/99 | lr: 1.65e-06 | global_batch_size: 128 | global_step: 10 | reduced_train_loss:
        9.87 |
        train_step_timing in s: 6.082 | consumed_samples: 1408
    Epoch 0: : 100%|###| 50/50 [23:22<00:00, reduced_train_loss=0.186, global_step=49.00, consumed_samples=51200.0, ...]

Source: `ProgressPrinter` of nemo/lightning/pytorch/callbacks/progress_printer.py; the bar is tqdm's, which prints three
digits. Samples are sequences. `global_step` counts from 0 where the consumed samples are those of one step more;
`val_loss` is repeated on every line until the next validation.
"""

import math
import re
from collections import Counter

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_PRINTED = re.compile(r"Training epoch \d{1,9}, iteration (\d{1,12})/\d{1,12} \|(.*)")
_BAR = re.compile(r"Epoch (\d{1,9}):.{0,400}?\| {0,4}(\d{1,12})/(\d{1,12}) \[(.*)")
_SETTING = re.compile(
    r"^[\s│|>\[\]\w:-]{0,40}?\b(encoder_seq_length|seq_length|micro_batch_size|global_batch_size)"
    r"['\"]?\s{0,4}[:=]\s{0,4}(\d{1,12})\b"
)
_PROCESSES = re.compile(r"Starting with (\d{1,9}) processes")
_HEADERS = {
    "encoder_seq_length": "seq_len",
    "seq_length": "seq_len",
    "micro_batch_size": "micro_batch",
    "global_batch_size": "batch_seqs",
}


def recognizes(sample: str) -> bool:
    """Whether a line is the printer's or a bar with a loss under this name."""
    return any(
        _PRINTED.search(line) or (_BAR.search(line[:4000]) and "=" in line)
        for line in sample.split("\n")
        if "reduced_train_loss" in line
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The steps of a log."""
    rows, settings = [], {}
    for count, line in lines(text, progress):
        if "poch " in line and (values := _values(line)):
            rows.append((count, values))
        elif ("_length" in line or "batch_size" in line) and (found := _SETTING.search(line[:200])):
            settings.setdefault(_HEADERS[found[1]], (count, int(found[2])))
        elif "Starting with " in line and (found := _PROCESSES.search(line)):
            settings.setdefault("n_gpus", (count, int(found[1])))
    records = Records(name)
    batch = _batch(rows) or settings.get("batch_seqs", (0, math.nan))[1]
    shift = _shift(rows, batch)
    if shift:
        records.say("global_step counts from 0, as the consumed samples show: counted from 1 here, as steps done")
    validation = None
    for count, values in rows:
        fresh = values["val_loss"] if values["val_loss"] != validation else None
        validation = values["val_loss"] if values["val_loss"] is not None else validation
        records.add(count, **{**values, "step": values["step"] + shift, "val_loss": fresh})
    if batch == batch and not any(values["batch_seqs"] > 0 for _, values in rows):
        settings["batch_seqs"] = settings.get("batch_seqs", (rows[0][0] if rows else 1, round(batch)))
    elif "batch_seqs" in settings:
        del settings["batch_seqs"]
    for header, (count, value) in settings.items():
        records.setting(count, header, value)
    return records.table()


def _values(line: str) -> dict | None:
    """The values of a line; None where it is none of a step."""
    if "Training epoch" in line and (found := _PRINTED.search(line)):
        pairs = dict(part.strip().split(": ", 1) for part in found[2][:4000].split("|") if ": " in part.strip())
        printed = pairs.get("global_step", found[1])
    elif "[" in line and (found := _BAR.search(line[:4000])):
        pairs = dict(part.strip().split("=", 1) for part in found[4].split("]")[0].split(",") if "=" in part)
        if "reduced_train_loss" not in pairs and "global_step" not in pairs:
            return None
        printed = _bar_step(pairs.get("global_step", ""), *(int(found[place]) for place in (1, 2, 3)))
    else:
        return None
    step = number(str(printed))
    if not 0 <= step < 1e12:
        return None
    return _row(int(step), pairs)


def _row(step: int, pairs: dict[str, str]) -> dict:
    """One row; consumed samples with an exponent are rounded to three digits and left out."""

    def value(*names):
        return next((number(pairs[name]) for name in names if name in pairs), math.nan)

    consumed = pairs.get("consumed_samples", "")
    return {
        "step": step,
        "consumed_samples": math.nan if "e" in consumed else number(consumed),
        "train_loss": loss(pairs["reduced_train_loss"]) if "reduced_train_loss" in pairs else None,
        "val_loss": loss(pairs["val_loss"]) if "val_loss" in pairs else None,
        "learning_rate": value("lr"),
        "grad_norm": value("grad_norm", "gradient_norm"),
        "step_time_s": value("train_step_timing in s", "train_step_timing"),
        "tokens_per_s_per_gpu": value("tokens_per_sec_per_gpu"),
        "batch_seqs": value("global_batch_size"),
    }


def _bar_step(printed: str, epoch: int, done: int, total: int) -> str:
    """The step of a bar: `global_step`, or the bar's own count where that has an exponent and agrees with it."""
    if printed and "e" not in printed:
        return printed
    count = epoch * total + done - 1
    step = number(printed)
    return str(count) if math.isnan(step) or abs(count - step) <= 0.006 * step + 1 else printed


def _batch(rows: list) -> float | None:
    """Sequences a step of a log that does not print them: consumed samples gained per step, where the lines agree."""
    exact = [
        (values["step"], values["consumed_samples"]) for _, values in rows if 0 < values["consumed_samples"] < 1e15
    ]
    pairs = zip(exact, exact[1:], strict=False)
    gains = Counter((more - less) / (after - before) for (before, less), (after, more) in pairs if after > before)
    if not gains:
        return None
    value, votes = gains.most_common(1)[0]
    return value if votes > sum(gains.values()) / 2 and value > 0 and value == int(value) else None


def _shift(rows: list, batch: float) -> int:
    """1 where the consumed samples are those of a step more than is printed, on most lines."""
    known = [
        values["consumed_samples"] / (values["batch_seqs"] if values["batch_seqs"] > 0 else batch) - values["step"]
        for _, values in rows
        if values["consumed_samples"] > 0 and (values["batch_seqs"] > 0 or batch > 0)
    ]
    return int(bool(known) and sum(excess == 1 for excess in known) > len(known) / 2)
