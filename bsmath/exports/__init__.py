"""Recipes as the configuration of trainers that people use, and such configurations as recipes; one module a trainer.

`write` gives the text of a recipe, `notes` what it means and leaves out, `read` the fields that a text says. A new
trainer is one module with these, LABEL, FILE, LANGUAGE, KEYS (words that mark its texts) and DEFAULTS, and one row of
EXPORTS. DEFAULTS are what the trainer's own source sets where a text says nothing: fields of a Recipe, and lengths in
steps by names such as warmup_steps. Text is only parsed, never run.
"""

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bsmath.exports import deepspeed, hf, megatron, nanochat, nanogpt, olmo, torchtitan
from bsmath.exports.draft import Read
from bsmath.recipe import Recipe

__all__ = ["EXPORTS", "LONGEST", "Export", "Read", "find", "read_any"]

LONGEST = 200_000
"""Characters of a text that is read."""
_WORD = re.compile(r"(?:--)?[A-Za-z_][\w-]*")


@dataclass(frozen=True, kw_only=True)
class Export:
    """One trainer's configuration."""

    label: str
    """Name of the trainer."""
    file: str
    """File name."""
    language: str
    """Language of the text, for display: bash, toml, json or python."""
    write: Callable[[Recipe], str]
    """Text of a recipe; what it leaves out stands at its top where the language has comments."""
    read: Callable[[str, Mapping | None], Read]
    """(text, fields known already) -> what the text says; a ValueError where it is not in the trainer's form."""
    notes: Callable[[Recipe], tuple[str, ...]]
    """Sentences on units and on what was left out."""
    keys: frozenset[str]
    """Words that mark the trainer's texts; flags with their hyphens."""


def _export(module) -> Export:
    return Export(
        label=module.LABEL,
        file=module.FILE,
        language=module.LANGUAGE,
        write=lambda recipe: _left_out(module, recipe) + module.write(recipe),
        read=lambda text, known=None: module.read(_limited(text), known),
        notes=module.notes,
        keys=frozenset(module.KEYS),
    )


def _left_out(module, recipe: Recipe) -> str:
    """The notes on what a text leaves out, as comments at its top where its language has them."""
    said = [note for note in module.notes(recipe) if "left out" in note and module.LANGUAGE != "json"]
    return "".join(f"# {line}\n" for note in said for line in textwrap.wrap(note, 116))


def _limited(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text must be text, got a {type(text).__name__}")
    if len(text) > LONGEST:
        raise ValueError(f"text must be of at most {LONGEST:,} characters, got {len(text):,}")
    return text


EXPORTS: dict[str, Export] = {
    "megatron": _export(megatron),
    "torchtitan": _export(torchtitan),
    "hf": _export(hf),
    "deepspeed": _export(deepspeed),
    "nanogpt": _export(nanogpt),
    "nanochat": _export(nanochat),
    "olmo": _export(olmo),
}
"""Trainers by key, in the order of their display."""


def find(text: str) -> str | None:
    """Key of the trainer with most of its words in the text; None where no trainer has any."""
    return next(iter(_candidates(text)), None)


def _candidates(text: str) -> list[str]:
    """Trainers with any of their words in the text, the one with most of them first."""
    words = {
        "--" + word[2:].replace("_", "-") if word.startswith("--") else word for word in _WORD.findall(_limited(text))
    }
    words |= {word[2:].replace("-", "_") for word in words if word.startswith("--")}  # HF's and nanoGPT's as flags
    counts = {name: len(words & export.keys) for name, export in EXPORTS.items()}
    return sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])


def read_any(text: str, known: Mapping | None = None) -> tuple[str, Read]:
    """Key of the trainer and what its text says; a ValueError with one sentence where there is nothing to read.

    The trainers are tried in the order of the words that they have in the text, until one reads a field.
    """
    failures = []
    for name in _candidates(text):
        try:
            found = EXPORTS[name].read(text, known)
        except ValueError as error:
            failures.append(error)
            continue
        if found.fields:
            return name, found
        why = f" ({found.said[0]})" if found.said else ""
        message = f"text must hold a setting of a recipe, got a {EXPORTS[name].label} text without one{why}"
        failures.append(ValueError(message))
    if failures:
        raise failures[0]
    labels = ", ".join(export.label for export in EXPORTS.values())
    raise ValueError(f"text must be a configuration of {labels}, got one without any of their settings")
