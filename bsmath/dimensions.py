"""A model's dimensions as text, there and back: the name of a preset, or `num_layers=32 hidden_size=4096 ...`.

The text holds the fields of `Architecture` that differ from their defaults, so a link carries any model exactly.
"""

from dataclasses import MISSING, fields
from functools import lru_cache

from bsmath import presets, quantities
from bsmath.architecture import Architecture

TRUE, FALSE = "yes", "no"
REQUIRED = tuple(field.name for field in fields(Architecture) if field.default is MISSING)
MOST = 1000
"""Characters that the text may have."""


@lru_cache(maxsize=256)
def read(text: str) -> Architecture:
    """The dimensions that a non-empty text states; a ValueError names what is wrong with it."""
    model = presets.models().get(text)
    if model is not None and model.architecture is not None:
        return model.architecture
    if len(text) > MOST:
        raise ValueError(f"architecture must have at most {MOST} characters, got {len(text):,}")
    values = {}
    for part in text.replace(",", " ").split():
        name, _, written = part.partition("=")
        if name not in _KINDS or not written:
            raise ValueError(
                "architecture must be the name of a model with dimensions or name=number for "
                f"{', '.join(REQUIRED)} and the like, got {part[:60]!r}"
            )
        values[name] = _value(name, written)
    missing = [name for name in REQUIRED if name not in values]
    if missing:
        raise ValueError(f"architecture must name {', '.join(missing)}, got {text[:60]!r}")
    try:
        return Architecture(**values)
    except TypeError as error:
        raise ValueError(str(error)) from None


def write(architecture: Architecture) -> str:
    """The text that `read` turns back into these dimensions: a preset's name where one has them."""
    for name, model in presets.models().items():
        if model.architecture == architecture:
            return name
    filled = {
        "num_kv_heads": architecture.num_heads,
        "head_dim": architecture.hidden_size / architecture.num_heads,
        "value_head_dim": architecture.head_dim,
    }
    parts = []
    for field in fields(Architecture):
        value = getattr(architecture, field.name)
        if field.name in REQUIRED or value != filled.get(field.name, field.default):
            parts.append(f"{field.name}={(TRUE if value else FALSE) if isinstance(value, bool) else value}")
    return " ".join(parts)


def checked(text) -> str:
    """The text if it can be read or is empty, else a TypeError or ValueError."""
    if not isinstance(text, str):
        raise TypeError(f"architecture must be text, got {text!r}")
    text = " ".join(text.split())
    if text:
        read(text)
    return text


def _value(name: str, written: str) -> int | bool:
    if _KINDS[name] is bool:
        if written not in (TRUE, FALSE):
            raise ValueError(f"{name} must be {TRUE} or {FALSE}, got {written[:60]!r}")
        return written == TRUE
    try:
        value = quantities.parse_number(written)
    except ValueError:
        raise ValueError(f"{name} must be a whole number, got {written[:60]!r}") from None
    return int(value) if value == int(value) else value


_KINDS = {field.name: bool if isinstance(field.default, bool) else int for field in fields(Architecture)}
