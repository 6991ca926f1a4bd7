"""Training arguments of Hugging Face's Trainer, and of what is built on it, by name and from any form of text.

Python, JSON, command lines and `key: value` lines (YAML) are read. Axolotl and LLaMA-Factory call some arguments
otherwise, and so do the scripts without the Trainer; all have one name here.
"""

import json
import re

from bsmath.exports import flags, pysource
from bsmath.exports.values import UNREAD

PLAIN = {
    "per_device_train_batch_size": "micro_batch_size", "gradient_accumulation_steps": "grad_accum_steps",
    "learning_rate": "learning_rate", "weight_decay": "weight_decay", "adam_beta1": "beta1", "adam_beta2": "beta2",
    "adam_epsilon": "epsilon", "max_grad_norm": "clip_norm",
}  # fmt: skip
"""Arguments that hold a field in its own unit."""
LENGTHS = ("max_length", "max_seq_length", "max_seq_len", "block_size", "cutoff_len", "sequence_len")
"""Arguments that hold the sequence length, of trl, the example scripts, LLaMA-Factory and Axolotl."""
ALIASES = {
    "micro_batch_size": "per_device_train_batch_size", "lr_scheduler": "lr_scheduler_type", "optimizer": "optim",
    "num_epochs": "num_train_epochs", "max_train_steps": "max_steps", "num_warmup_steps": "warmup_steps",
    "cosine_min_lr_ratio": "min_lr_ratio",
}  # fmt: skip
"""Other names of arguments: of Axolotl, and of the scripts without the Trainer."""
_LINE = re.compile(r"^[ \t]*['\"]?(\w{1,60})['\"]?[ \t]*:[ \t]*(\S[^#\n]{0,400})", re.MULTILINE)


def settings(text: str) -> tuple[dict, list[str]]:
    """Arguments by name, and sentences on what of the text was left out."""
    found, said = _raw(text)
    return {ALIASES[key]: value for key, value in found.items() if key in ALIASES} | found, said


def _raw(text: str) -> tuple[dict, list[str]]:
    if text.lstrip().startswith("{") and isinstance(found := _json(text), dict):
        return found, []
    words = {name.replace("-", "_"): value for name, value in flags.parse(text).items()}
    if _marks(words):
        return words, []
    try:
        found, said = _python(pysource.parse(text))
    except ValueError:
        found, said = {}, []
    if _marks(found):
        return found, said
    return dict(pair for pair in map(_line, _LINE.finditer(text)) if pair[1] not in ("null", "~")), []


def _marks(found: dict) -> bool:
    """Whether settings look like training arguments."""
    return bool((PLAIN.keys() | {"max_steps", "max_train_steps"}) & found.keys())


def _python(source: pysource.Source) -> tuple[dict, list[str]]:
    """The first call and the first dict that look like training arguments, and what only adds to them."""
    calls = sorted(source.calls, key=lambda call: call.line)
    main = [call.keywords for call in calls if call.name.endswith("Arguments") or PLAIN.keys() & call.keywords.keys()]
    dicts = [value for value in source.assigned.values() if isinstance(value, dict) and PLAIN.keys() & value.keys()]
    marked = [words for words in main if PLAIN.keys() & words.keys()]
    others = [call.keywords for call in calls if call.name.endswith("Config") and call.keywords not in main]
    found = {}
    for words in (*(marked or main)[:1], *dicts[:1], *others, source.assigned):
        found = {**words, **found}
    left = len(marked[1:]) + len(dicts[1:])
    said = "The text holds more than one set of training arguments: the first was read, the others were left out."
    return found, [said] if left else []


def _line(match: re.Match) -> tuple:
    value = match[2].strip().rstrip(",").strip("'\"")
    return match[1], _json(value) if value.startswith("{") else value


def _json(text: str):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return UNREAD
