"""fairseq: `key=value` lines while it trains, `| key value` lines at the end of an epoch, or both as JSON.

    2020-10-01 11:29:43 | INFO | train_inner | epoch 001:  3 / 39 loss=0.932, ppl=1.91, wps=7799.8, ups=3.81,
        wpb=2048, bsz=16,
        num_updates=3, lr=3.75e-07, gnorm=0.052, train_wall=0, wall=7
    2020-10-01 11:29:55 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 7.6 | ppl 194 | num_updates 39
    2020-10-01 11:29:55 | INFO | train_inner | {"epoch": 1, "update": 0.1, "loss": "8.9", "num_updates": "3", ...}

Source: fairseq/logging/progress_bar.py and `reduce_metrics` of its criterions and tasks. `wpb` and `bsz` are target
tokens and sentences of the whole batch, `wps` tokens/s of the whole job. Losses are in bits (the sum is divided by ln
2, ppl is 2 to the loss) and are turned into nats; `nll_loss` is the loss without label smoothing.
"""

import json
import math
import re
from statistics import median

from bsmath.sweeps.model import RawTable
from bsmath.trainers.fields import Progress, lines, loss, number
from bsmath.trainers.records import Records

_INNER = re.compile(r"([A-Za-z_]\w{0,40})=([^,\s\]]{1,40})")
_EPOCH = re.compile(r"\| ([A-Za-z_]\w{0,40}) ([^\s|]{1,40})(?= *(?:\||$))")
_LOG = re.compile(r"\bepoch \d{1,6}(?: \||:)|\{\"epoch\": \d{1,6},")
_SETTINGS = (
    ("n_gpus", re.compile(r"training on (\d{1,9}) (?:devices|GPUs)|distributed_world_size'?[=:] ?(\d{1,9})\b")),
    ("seq_len", re.compile(r"\btokens_per_sample'?[=:] ?(\d{1,9})\b")),
    ("accum", re.compile(r"\bupdate_freq'?[=:] ?\[(\d{1,9})\]")),
    ("seed", re.compile(r"\bseed'?[=:] ?(\d{1,9})\b")),
    ("params", re.compile(r"\bmodel params: (\d[\d,]{0,20})")),
    ("model", re.compile(r"\barch'?[=:] ?'(\w{1,60})'")),
)


def recognizes(sample: str) -> bool:
    """Whether a line has an epoch, a number of updates and a loss."""
    return any(
        _kind(line[:4000]) is not None for line in sample.split("\n") if "num_updates" in line and "loss" in line
    )


def read(text: str, name: str, progress: Progress = None) -> RawTable:
    """The updates and validations of a log; epoch means only where there are no lines of updates."""
    records, rows = Records(name), []
    for count, line in lines(text, progress):
        if "num_updates" in line and len(line) < 20_000 and (found := _kind(line)):
            if 0 < number(found[1].get("num_updates", "")) < 1e12:
                rows.append((count, *found))
        elif "distributed_world_size" in line or "model params" in line or "training on" in line:
            _configuration(records, count, line)
    inner = any(kind == "inner" for _, kind, _ in rows)
    bits = _in_bits(records, rows)
    wanted = [row for row in rows if row[1] != "test" and not (inner and row[1] == "train")]
    if wanted and not inner:
        records.say("only the means of whole epochs are printed: taken as the training loss at the epoch's last update")
    tokens = _constant([number(values.get("wpb", "")) for _, kind, values in wanted if kind != "valid"])
    for count, kind, values in wanted:
        _add(records, count, kind, values, bits, tokens)
    if tokens is not None:
        records.say("wpb agrees within 3 % on all lines: its median is taken as the tokens per step")
        records.setting(wanted[0][0], "batch_tokens", tokens)
        sentences = _constant([number(values.get("bsz", "")) for _, kind, values in wanted if kind != "valid"])
        records.setting(wanted[0][0], "batch_seqs", sentences)
    return records.table()


def _kind(line: str) -> tuple[str, dict[str, str]] | None:
    """Kind (inner, train, valid, test) and values of a line; None where it is none."""
    if not _LOG.search(line[:400]):
        return None
    if '{"epoch": ' in line:
        return _json(line[line.index('{"epoch": ') :])
    inner = dict(_INNER.findall(line))
    if "num_updates" in inner:
        return "inner", inner
    values = dict(_EPOCH.findall(line))
    if "num_updates" not in values:
        return None
    for name in [name for name in values if name.startswith(("valid_", "test_")) or name == "train_loss"]:
        values[name.partition("_")[2]] = values[name]
    place = line.find("subset")
    if place < 0:
        return ("valid" if "| valid |" in line else "train"), values
    return ("test" if " on 'test" in line[:place] else "valid"), values


def _json(text: str) -> tuple[str, dict[str, str]] | None:
    """The same of a line of JSON; keys of epoch means have the subset before them."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict):
        return None
    values = {str(key): str(value) for key, value in tree.items()}
    if "num_updates" in values:
        return "inner", values
    kind = next((kind for kind in ("train", "valid", "test") if f"{kind}_num_updates" in values), None)
    return None if kind is None else (kind, {key.removeprefix(f"{kind}_"): value for key, value in values.items()})


def _loss(values: dict[str, str]) -> float | None:
    """The loss as printed, without label smoothing where that is printed; None where there is none."""
    plain = number(values.get("nll_loss", ""))
    return plain if plain > 0 else loss(values["loss"]) if "loss" in values else None


def _in_bits(records: Records, rows: list) -> bool:
    """Whether 2 to the loss is the printed perplexity, as fairseq's criterions have it; bits where none is printed."""
    votes = []
    for _, _, values in rows[:200]:
        value, perplexity = _loss(values), number(values.get("ppl", ""))
        if value is not None and 0 < value < 100 and perplexity > 1.05:
            votes.append(abs(math.log2(perplexity) / value - 1) < abs(math.log(perplexity) / value - 1))
    bits = not votes or sum(votes) * 2 >= len(votes)
    reason = "the criterions print them so" if not votes else "ppl is 2 to the loss" if bits else "ppl is e to the loss"
    records.say(f"losses are in {'bits: turned into nats' if bits else 'nats'} ({reason})")
    return bits


def _constant(values: list[float]) -> int | None:
    """The median of numbers that agree within 3 %; None where they do not."""
    known = [value for value in values if 0 < value < 1e15]
    middle = median(known) if known else 0
    return round(middle) if known and all(abs(value / middle - 1) < 0.03 for value in known) else None


def _add(records: Records, count: int, kind: str, values: dict[str, str], bits: bool, tokens: int | None) -> None:
    """One row."""
    value, step = _loss(values), int(number(values["num_updates"]))
    nats = None if value is None else value * math.log(2) if bits else value
    if kind == "valid":
        records.add(count, step=step, val_loss=nats)
        return
    rate = number(values.get("wps", ""))
    updates = 0 if rate > 0 else number(values.get("ups", ""))
    batch = number(values.get("wpb", "")) if tokens is None else 0
    records.add(
        count,
        step=step,
        train_loss=nats,
        learning_rate=number(values.get("lr", "")),
        grad_norm=number(values.get("gnorm", "")),
        tokens_per_s=rate if rate > 0 else None,
        steps_per_s=updates if updates >= 1 else None,
        wall_time_s=number(values.get("wall", "")),
        batch_tokens=round(batch) if 0 < batch < 1e15 else None,
    )


def _configuration(records: Records, count: int, line: str) -> None:
    """What a line of the configuration says."""
    for header, pattern in _SETTINGS:
        if found := pattern.search(line[:40_000]):
            text = next(group for group in found.groups() if group)
            value = text if header == "model" else int(text.replace(",", ""))
            records.setting(count, header, value)
