"""What a header means, by a few rules over its canonical words and by the synonyms of `meanings`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bsmath.sweeps.cells import COUNTS, TIMES
from bsmath.sweeps.meanings import PHRASES
from bsmath.sweeps.words import words

TIME_UNITS = ("ns", "us", "ms", "s", "min", "h")
SCALES = {"k": 1e3, "m": 1e6, "b": 1e9, "thousands": 1e3, "millions": 1e6, "billions": 1e9}

_PATH = frozenset(
    "config configs params param parameters summary throughput train training trainer perf performance metrics "
    "time per args hparams hyperparameters sys final measured best value result results bench benchmark meta metadata "
    "setup settings info env environment run data stats".split()
)
_SPREAD = frozenset("std stdev stddev var variance min max sem err error ci low high p5 p25 p75 p90 p95 p99 cv".split())
_MEASURED = frozenset(
    "mfu hfu tflop tflops flops flop gflops mem memory gib gb mib mb sync util utilization power energy ppl perplexity "
    "acc accuracy norm runtime wall elapsed duration eta time std gns loss grad speedup efficiency cost".split()
)
_RANK = re.compile(r"(?i)(?:local|global|world|node|dp|gpu|process)?[ _.-]?rank|(?:gpu|device)[ _.-]?(?:id|index|idx)")
"""The number of one process or device, which counts nothing."""
_REMARKS = frozenset(
    "note notes comment comments remark state status user tags tag created date timestamp host hostname commit url "
    "path file "
    "log id seed trial repeat repeats rep agent sweep epoch epochs job index project wandb unnamed".split()
)
_HELD_OUT = frozenset("eval evaluation val validation test".split())
_FLOPS = {
    f"{prefix}flop{s}": factor for prefix, factor in (("", 1), ("g", 1e9), ("t", 1e12), ("p", 1e15)) for s in ("", "s")
}
_BESIDE_FLOPS = frozenset("per s gpu model achieved throughput train training".split())
_BARE = frozenset("value throughput speed".split())
_COUNTED = {"tokens": "tokens", "samples": "samples", "sequences": "samples", "step": "steps", "batch": "steps"}
_PLURAL = re.compile("(step|iteration|iter|update)s", re.IGNORECASE)
_SECTIONS = [[word] for word in "metrics summary train val eval result results".split()]
_AVERAGE = re.compile("avg|average|mean|median", re.IGNORECASE)
_LOG_STEPS = frozenset("step iter iteration it update global_step step_num iter_num trainer_global_step".split())
_TRACKED = re.compile(r"(?:user|system)_attrs_", re.IGNORECASE)
_MONITORED = re.compile(r"lr-[A-Za-z][A-Za-z0-9_]{0,40}(?:-\d{1,3})?(?:/[A-Za-z0-9_]{1,40})?")
_LOCAL = frozenset("micro gpu local atomic replica worker".split())
_GLOBAL = frozenset("global total effective job all cluster aggregate whole".split())

BATCHES = frozenset("batch_tokens batch_sequences batch micro_batch_size".split())
"""Meanings of columns that can give the batch."""

RESULTS = frozenset(
    "tokens_per_second tokens_per_second_per_device step_time samples_per_second samples_per_second_per_device "
    "steps_per_second flops_per_second flops_per_second_per_device steps tokens_to_target samples_to_target result".split()
)
"""Meanings of columns that can be the result of a sweep."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a header says."""

    meaning: str | None
    """A key of MEANINGS."""
    unit: str = ""
    """Unit of the source's numbers."""
    scale: float = 1.0
    """Factor to the base unit."""
    scope: str = ""
    """"job" or "device" where the header says which."""


def units(meaning: str | None) -> dict[str, float]:
    """Units that cells of this meaning may carry."""
    return TIMES if meaning == "step_time" else COUNTS


def recognize(header: str, is_number: bool) -> Found:
    """The meaning, unit and scope of a column.

    Parameters
    ----------
    header : str
        As in the file.
    is_number : bool
        Whether most of its cells are numbers.
    """
    header = _TRACKED.sub("", header)  # Optuna's
    if _MONITORED.fullmatch(header.strip()):  # Lightning's "lr-AdamW"
        return Found(meaning="learning_rate")
    if _RANK.fullmatch(header.strip()):
        return Found(meaning="note")
    said = words(header)
    if said in (["gpu"], ["device"]):
        plural = header.strip().lower().endswith("s")
        return Found(meaning="num_devices" if is_number or plural else "hardware")
    for rule in (_index, _targets, _rate, _flops, _batch, _phrase, _bare):
        if (found := rule(header, said)) is not None:
            return found
    if _REMARKS & set(said) or not said:
        return Found(meaning="note")
    if _MEASURED & set(said):
        return Found(meaning="measurement")
    return Found(meaning=None if is_number else "text")


def score(meanings: Iterable[str | None]) -> int:
    """Of a batch and a result, how many these meanings have: 2 for the table of a sweep."""
    meanings = set(meanings)
    return bool(meanings & BATCHES) + bool(meanings & RESULTS)


def corrected(header: str, meaning: str | None) -> Found:
    """A column whose meaning the user gives; the header may still name its unit."""
    said = words(header)
    if meaning == "step_time":
        unit = next((word for word in said if word in TIME_UNITS), "s")
        return Found(meaning=meaning, unit=unit, scale=TIMES[unit])
    return Found(meaning=meaning, scale=_scale(said))


def _index(header: str, said: list[str]) -> Found | None:
    if said[:1] == ["s"] or said[:1] == ["ms"]:
        return None
    last = header.strip().lower().split("/")[-1].lstrip("_").replace(" ", "_")
    return Found(meaning="step_index") if last in _LOG_STEPS else None


def _targets(header: str, said: list[str]) -> Found | None:
    bare = [word for word in said if word not in ("num", "total", "optimizer", "train", "training", "per")]
    if _SPREAD & set(said):
        return None
    said = said[1:] if said[:1] in _SECTIONS and "to" in said else said
    if said[:1] == ["samples"] and "to" in said or said[:2] == ["sequences", "to"]:
        return Found(meaning="samples_to_target", unit="sequences", scale=_scale(said))
    if "tokens" in said[:2] and "to" in said or bare == ["tokens"]:
        return Found(meaning="tokens_to_target", unit="tokens", scale=_scale(said))
    plain = bare in (["step"], ["step", "target"], ["step", "needed"]) and _PLURAL.search(header)
    if plain or "step" in said[:2] and "to" in said:
        return Found(meaning="steps", unit="steps", scale=_scale(said))
    if "loss" in said:
        return Found(meaning="target_loss" if {"target", "threshold"} & set(said) else "loss")
    return None


def _rate(header: str, said: list[str]) -> Found | None:
    joined = f" {' '.join(said)} "
    if "time" in said or (_SPREAD | _HELD_OUT) & set(said):
        return None
    for counted, kind in _COUNTED.items():
        if f" {counted} per s " in joined or kind != "steps" and f" {counted} s " in joined:
            break
    else:
        return None
    device = bool({"gpu", "replica"} & set(said)) and "num" not in said
    scope = "device" if device else "job" if _GLOBAL & set(said) else ""
    suffix = "_per_device" if device and kind != "steps" else ""
    return Found(meaning=f"{kind}_per_second{suffix}", unit=f"{kind}/s", scale=_scale(said), scope=scope)


def _flops(header: str, said: list[str]) -> Found | None:
    """A rate in FLOP/s, which TFLOPs or TFLOP/s is and TFLOP is not; of one device, as is usual, unless it says otherwise."""
    counted = [word for word in said if word in _FLOPS]
    if len(counted) != 1 or not set(said) <= _FLOPS.keys() | _BESIDE_FLOPS | _GLOBAL:
        return None
    if not (counted[0].endswith("s") and counted[0] != "flops" or "per s" in " ".join(said)):
        return None
    device = not _GLOBAL & set(said)
    meaning = f"flops_per_second{'_per_device' if device else ''}"
    return Found(meaning=meaning, unit="FLOP/s", scale=_FLOPS[counted[0]], scope="device" if device else "job")


def _batch(header: str, said: list[str]) -> Found | None:
    named = set(said)
    if said in (["tokens", "per", "step"], ["tokens", "step"], ["wpb"], ["k", "tokens", "per", "step"]):
        return Found(meaning="batch_tokens", unit="tokens", scale=_scale(said))
    if said == ["b"]:
        return Found(meaning="batch")
    allowed = {"batch", "size", "num", "per", "train", "tokens", "samples", "sequences", "k", "m", *_GLOBAL, *_LOCAL}
    path = [word for word in said if word not in _PATH]
    counts = "batches" in header.lower() or "num" in named and "size" not in named  # how many, not how large
    if "batch" not in named or "time" in named or not set(path) <= allowed or counts:
        return None
    unit = "tokens" if "tokens" in named else "sequences" if {"samples", "sequences"} & named else ""
    if _LOCAL & named:
        rank_tokens = "rank" in header.lower() and "micro" in named  # OLMo counts this one in tokens
        return Found(meaning="micro_batch_size", unit="tokens" if rank_tokens else unit or "sequences", scope="device")
    scope = "job" if unit or _GLOBAL & named else ""
    return Found(meaning=f"batch_{unit}" if unit else "batch", unit=unit, scale=_scale(said), scope=scope)


def _phrase(header: str, said: list[str]) -> Found | None:
    said = [word for word in said if word != "per"]
    for first in range(len(said)):
        if first and said[first - 1] not in _PATH:
            return None
        for last in (len(said), len(said) - 1):
            meaning = _KNOWN.get(" ".join(said[first:last]))
            if said[first:last] == ["step"] and not _AVERAGE.search(header):
                continue  # "step avg" is a time, and "avg" is dropped; "params.steps" is a number of steps
            unit = said[last] if last < len(said) else ""
            if meaning == "step_time" and (not unit or unit in TIME_UNITS):
                unit = unit or next((word for word in said if word in ("s", "ms")), "s")
                return Found(meaning=meaning, unit=unit, scale=TIMES[unit])
            if meaning and not unit:
                return Found(meaning=meaning, unit="tokens" if meaning == "seq_len" else "")
    return None


def _bare(header: str, said: list[str]) -> Found | None:
    plain = [word for word in said if word not in ("train", "training")]
    return Found(meaning="result") if len(plain) == 1 and plain[0] in _BARE else None


def _scale(said: list[str]) -> float:
    return next((SCALES[word] for word in said if word in SCALES), 1.0)


_KNOWN = {
    " ".join(word for word in words(phrase) if word != "per"): meaning
    for meaning, phrases in PHRASES.items()
    for phrase in phrases.split("; ")
}
