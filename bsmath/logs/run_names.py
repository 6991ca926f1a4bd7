"""Batch, learning rate, seed and layout as people write them into the names of files, runs and columns: `b64-lr3e-4`,
`bs=256k_seed1`, `mbs8_ga2_dp4`, `256bs_3e-4`, `bs256x1024`, `gbs512-seq4096`, `8xH100`.

A reading of names is a guess: it is shown, and can be corrected. A word counts where it stands alone beside its number, so that
`color8`, `7b`, dates and versions say nothing.
"""

import re

from bsmath.quantities import parse_number

LEAST_SEQ_LEN = 8
"""Tokens from which a number is taken for the length of a sequence."""
MOST_READ = 300
"""Characters of a name that are looked at."""

_ENDINGS = re.compile(r"(\.(jsonl?|csv|tsv|txt|log|out|ndjson|md|parquet))+$", re.IGNORECASE)
_GENERIC = re.compile(
    r"(metrics?|logs?|main|train\w*|stdout|output|history|progress|results?|scalars?|data|version_\d+)", re.IGNORECASE
)
_TENSORBOARD = re.compile(r"(?:run-)?(?P<run>.*?)[-_]tag[-_](?P<tag>.+)")
_START = r"(?<![a-z0-9.])"
_END = r"(?![a-z0-9])(?!\.\d)"
_BETWEEN = r"(?:\s?[:=]\s?|[-_ ])?"
_DATE = r"(?!(?:19|20)\d\d[-_.]\d\d|20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d))"
_SIZE = r"(?P<size>\d{1,15}(?:\.\d{1,6})?)(?P<suffix>ki|mi|k|m)?[-_ ]?(?P<unit>tok(?:en)?s?|seq(?:uence)?s?(?![-_ ]?(?:len|\d))|samples?)?"
_TIMES = r"(?:\s?[x×*]\s?(?P<long>\d{2,7})(?P<kilo>k)?)?"
_WHOLE = r"(?P<size>\d{1,9})"
_BATCH = r"batch(?:[-_ ]?size)?(?:[-_ ]?in)?(?:[-_ ]?(?P<said>tok(?:en)?s|seq(?:uence)?s|samples))?"
_DEVICES = r"gpus?|tpus?|npus?|devices?|(?:a100|h100|h200|h800|v100|b200|gb200|l40s?|a10g?|t4|mi\d{3}x?)s?"


def _compiled(*patterns: str) -> tuple[re.Pattern, ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


_PARTS = {
    "learning_rate": _compiled(
        rf"(?<![a-z])(?:(?:peak|max|base|init)[-_]?)?(?:lr|learning[-_ ]?rate){_BETWEEN}(?P<size>\d{{0,4}}\.?\d{{1,12}}(?:e[-+]?\d{{1,3}})?)"
    ),
    "seed": _compiled(rf"{_START}(?:seed|trial|rep|s){_BETWEEN}(?P<size>\d{{1,6}}){_END}"),
    "micro_batch": _compiled(
        rf"{_START}(?:(?:micro|local|device|per[-_ ]?(?:device|gpu))[-_ ]?(?:train[-_ ]?)?(?:batch(?:[-_ ]?size)?|bsz?)|mbs|lbs|mb)"
        rf"{_BETWEEN}{_WHOLE}{_END}"
    ),
    "batch": _compiled(
        rf"{_START}(?:(?:global|total|train|effective)[-_ ]?)?(?:{_BATCH}|gbs|bsz|bs){_BETWEEN}{_SIZE}{_TIMES}{_END}",
        rf"{_START}(?P<size>\d{{1,15}})(?P<suffix>ki|mi|k|m)?(?:gbs|bsz|bs|batch){_TIMES}{_END}",
        rf"{_START}b{_BETWEEN}{_DATE}{_SIZE}{_TIMES}{_END}",
    ),
    "accum": _compiled(
        rf"{_START}(?:(?:grad(?:ient)?[-_ ]?)?accum(?:ulation)?(?:[-_ ]?steps)?|grad[-_ ]?acc|gas?){_BETWEEN}{_WHOLE}{_END}",
        rf"{_START}acc{_BETWEEN}{_WHOLE}{_END}",
    ),
    "replicas": _compiled(rf"{_START}(?:d?dp(?:[-_ ]?size)?|replicas?){_BETWEEN}{_WHOLE}{_END}"),
    "seq_len": _compiled(
        rf"{_START}(?:seq(?:uence)?(?:[-_ ]?len(?:gth)?)?|sl|ctx(?:[-_ ]?len)?|context(?:[-_ ]?len(?:gth)?)?|block(?:[-_ ]?size)?)"
        rf"{_BETWEEN}{_WHOLE}(?P<kilo>k)?{_END}",
        rf"{_START}T=(?P<size>\d{{2,9}}){_END}",
        rf"{_START}(?P<size>\d{{2,9}})(?P<kilo>k)?(?:seq|ctx|context){_END}",
    ),
    "num_devices": _compiled(
        rf"{_START}(?P<size>\d{{1,6}})(?: ?x[-_ ]?| )?(?:{_DEVICES}){_END}",
        rf"{_START}(?:n[-_ ]?gpus?|num[-_ ]?(?:gpus|devices)|gpus|world[-_ ]?size){_BETWEEN}{_WHOLE}{_END}",
    ),
}
"""What stands in names, in the order in which it is looked for; what was read is not read again."""
_BARE_RATE = re.compile(r"(?<![a-z0-9.])(?P<size>[1-9]\d?(?:\.\d{1,4})?e-0?[1-7])(?![a-z0-9.])", re.IGNORECASE)
_OTHER_RATE = re.compile(r"(?:wd|decay|eps|beta\d?|tol|clip|dropout|min|sigma|std|loss)[-_= ]?$", re.IGNORECASE)


def bare(name: str) -> str:
    """A file's name without its endings, and without its folder unless it is one that every run has, such as metrics.csv."""
    parts = [part for part in re.split(r"[\\/]", name.strip()) if part]
    last = _ENDINGS.sub("", parts[-1]) if parts else ""
    if len(parts) > 1 and _GENERIC.fullmatch(last):
        return f"{parts[-2]}/{last}"
    return found["run"] if (found := _TENSORBOARD.fullmatch(last)) and found["run"] else last


def tag(name: str) -> str:
    """The tag in the name of a file that TensorBoard saved (`run-<run>-tag-<tag>.csv`); empty where it names none."""
    found = _TENSORBOARD.fullmatch(_ENDINGS.sub("", re.split(r"[\\/]", name.strip())[-1]))
    return found["tag"] if found else ""


def settings(name: str) -> dict[str, float]:
    """What a name says: batch, in_tokens (1 where the batch has a suffix such as k, as only tokens need one), learning_rate,
    seed, micro_batch and accum and replicas, seq_len [tokens], num_devices; what it does not say is missing. Of a path the folders
    count where the file's own name says nothing of the kind."""
    found: dict[str, float] = {}
    for part in reversed(re.split(r"[\\/]", name.strip())[-3:]):
        said = split(_ENDINGS.sub("", part))[0]
        if {"batch", "micro_batch"} & found.keys():
            said = {key: value for key, value in said.items() if key not in ("batch", "in_tokens", "micro_batch")}
        found = said | found
    return found


def split(text: str) -> tuple[dict[str, float], str]:
    """What one name says (as `settings`), and what is left of it without that."""
    text, found = text[:MOST_READ], {}
    for key, patterns in _PARTS.items():
        for pattern in patterns:
            if (match := pattern.search(text)) and (said := _said(key, match.groupdict(), found)):
                found |= said
                text = f"{text[: match.start()]}|{text[match.end() :]}"
                break
    rates = list(_BARE_RATE.finditer(text)) if "learning_rate" not in found and found else []
    if len(rates) == 1 and not _OTHER_RATE.search(text[: rates[0].start()]):
        found["learning_rate"] = float(rates[0]["size"])
        text = f"{text[: rates[0].start()]}|{text[rates[0].end() :]}"
    return found, text


def _said(key: str, match: dict[str, str | None], found: dict[str, float]) -> dict[str, float]:
    """What a match says; nothing where it is no value of its kind."""
    if key == "batch":
        return _batch(match)
    size = float(match["size"]) * (1024 if match.get("kilo") else 1)
    if key == "learning_rate" and not 0 < size < float("inf") or key == "seq_len" and size < LEAST_SEQ_LEN:
        return {}
    if key == "accum" and match.get("size") and "micro_batch" not in found and "batch" not in found:
        return {}  # "acc95" alone is an accuracy
    return {key: size} if size > 0 or key == "seed" else {}


def _batch(match: dict[str, str | None]) -> dict[str, float]:
    suffix, unit = match["suffix"] or "", (match.get("unit") or match.get("said") or "").lower()
    size = parse_number(match["size"] + suffix)
    if not size > 0:
        return {}
    found = {"batch": size, "in_tokens": float(unit.startswith("tok") or bool(suffix) and not unit)}
    if long := match["long"]:
        found |= {"in_tokens": 0.0, "seq_len": float(long) * (1024 if match["kilo"] else 1)}
    return found
