"""Records of Hugging Face's Trainer, as it keeps them in trainer_state.json and prints them as dicts.

A record is of a training step (`loss`), of an evaluation (`eval_loss`, or `eval_<data set>_loss` where there are several) or of
the whole run (`train_runtime`). Since transformers 5 the values are printed as strings.
Source: transformers, `trainer.py` (log, _maybe_log_save_evaluate) and `trainer_utils.py` (speed_metrics).
"""

import math
import re

from bsmath.trainers import fields
from bsmath.trainers.records import Records
from bsmath.trainers.whole import ratio, whole

TOKENS = ("num_input_tokens_seen", "num_tokens")
"""Tokens of all devices so far: of the Trainer, and of TRL's."""
_EVALUATED = re.compile(r"eval_(?:.+_)?loss")


def number(value) -> float:
    """A value as float; nan where it is missing or is no number."""
    return fields.number(str(value))


def whole_number(value) -> int | None:
    """A count; None where it is none."""
    found = number(value)
    return int(found) if math.isfinite(found) and found == int(found) and 0 <= found < 1e15 else None


def row(record: dict, evaluated: str | None) -> dict:
    """What one record says, under the headers of `records.HEADERS`; empty for the record of the whole run."""
    found = {}
    for key, header in (("loss", "train_loss"), (evaluated, "val_loss")):
        if key in record and record[key] is not None and str(record[key]) != "None":
            found[header] = fields.loss(str(record[key]))
    if "loss" in record:
        found |= {key: number(record[key]) for key in ("learning_rate", "grad_norm") if key in record}
        found["tokens_per_s_per_gpu"] = number(record.get("tokens_per_second_per_gpu"))
    tokens = next((number(record[key]) for key in TOKENS if key in record), math.nan)
    if found and tokens > 0:
        found["tokens"] = tokens
    return {header: value for header, value in found.items() if value == value}


def evaluation(records: list[dict]) -> tuple[str | None, list[str]]:
    """The key of the validation loss, and those of other data sets, which are left out."""
    keys = dict.fromkeys(key for record in records for key in record if _EVALUATED.fullmatch(key))
    if "eval_loss" in keys:
        return "eval_loss", [key for key in keys if key != "eval_loss"]
    return next(iter(keys), None), list(keys)[1:]


def say_left_out(records: Records, chosen: str | None, others: list[str]) -> None:
    """A sentence on evaluations of other data sets."""
    if others:
        named = ", ".join(key[:40] for key in others[:5])
        records.say(f"{chosen[:40]} is taken as the validation loss; {len(others)} more are left out: {named}.")


def totals(
    records: Records, line: int, record: dict, steps: int | None, micro: int | None, stated: bool = False
) -> None:
    """What the record of the whole run says: its rates, and the global batch that follows from them.

    Parameters
    ----------
    records : Records
        The log.
    line : int
        Where the record stands.
    record : dict
        With train_runtime [s], train_samples_per_second, train_steps_per_second, train_tokens_per_second.
    steps : int, optional
        Optimizer steps of the run. [steps]
    micro : int, optional
        Sequences that one device forwards at once, of which the global batch is a multiple. [sequences]
    stated : bool
        Whether the log states the global batch, so that it need not be derived.
    """
    samples, rate = (number(record.get(f"train_{kind}_per_second")) for kind in ("samples", "steps"))
    runtime = number(record.get("train_runtime"))
    for header, value in (("samples_per_s", samples), ("steps_per_s", rate)):
        if value > 0:
            records.setting(line, header, value)
    tokens = number(record.get("train_tokens_per_second"))
    if tokens > 0:
        records.setting(line, "tokens_per_s_per_gpu", tokens)
    if samples > 0 or rate > 0 or tokens > 0:
        records.say("The rates are averages over the whole run, with its evaluations and checkpoints.")
    if not stated:
        _batch(records, line, (samples, rate, runtime), steps, micro)


def _batch(records: Records, line: int, rates: tuple, steps: int | None, micro: int | None) -> None:
    """The global batch by samples/s, steps/s and the runtime, in this order; the steps of the run are more exact than steps/s."""
    samples, rate, runtime = rates
    per_step = [ratio(samples * runtime, steps) if runtime == runtime else math.nan, ratio(samples, rate)]
    per_step = next((value for value in per_step if value == value), math.nan)
    batch = whole([per_step], multiple_of=micro or 1)
    if batch is not None:
        records.setting(line, "batch_seqs", batch)
        of = f", the nearest multiple of {micro:,} on one device" if micro else ""
        records.say(f"The global batch of {batch:,} sequences is samples/s over steps/s ({per_step:.4g}){of}.")
