"""The text of one model configuration, and its keys by our names: whole numbers, flags and lists, each checked once."""

import json
import re
import reprlib

from bsmath import hf_families

MOST_BYTES = 1_000_000
"""Longest text read; the largest published config.json files are some 50 kB (quantization lists)."""
LARGEST = 2**30
"""Largest size read, beyond any vocabulary or sequence; layers are limited further."""
MOST_LAYERS = 10_000
MOST_SHOWN = 60


class File:
    """A configuration laid flat: its values, its model type's defaults, and notes on what was filled in."""

    def __init__(self, name: str, top: dict, values: dict, nested: bool):
        self.name, self.top, self.values, self.notes = name, top, values, []
        kind = values.get("model_type")
        self.kind = "".join(char for char in kind[:40] if char.isprintable()) if isinstance(kind, str) else ""
        self.known = self.kind in hf_families.FAMILIES
        self.family = hf_families.FAMILIES.get(self.kind, {})
        self.sizes = hf_families.NESTED.get(self.kind, {}) if nested else {}

    def note(self, sentence: str):
        self.notes.append(sentence)

    def stated(self, field: str) -> str | None:
        """The file's own key for a field, if it has a value."""
        return next((key for key in hf_families.KEYS[field] if self.values.get(key) is not None), None)

    def number(self, field: str, low: int = 1) -> int | None:
        """What the file states; None where it does not."""
        key = self.stated(field)
        high = MOST_LAYERS if field == "num_layers" else LARGEST
        return None if key is None else _whole(key, self.values[key], low, high)

    def unused(self, field: str) -> int:
        """What the file states, if it can be read: a value that is only mentioned refuses no file. 0 without."""
        try:
            return self.number(field) or 0
        except ValueError:
            return 0

    def filled(self, field: str, low: int = 1) -> int | None:
        """What the file states, else its model type's default with a note, else None."""
        value = self.number(field, low)
        if value is None:
            value = self.family.get(field, self.sizes.get(field))
            if value is not None:
                key = hf_families.KEYS[field][0]
                self.note(f"{key} is not in the file: taken as {value:,}, the default of model type {self.kind}.")
        return value

    def needed(self, field: str) -> int:
        """What the file states or its model type fills in; a ValueError that lists the keys where neither does."""
        value = self.filled(field)
        if value is None:
            first, *others = hf_families.KEYS[field]
            names = f"{first} (or {', '.join(others)})" if others else first
            raise ValueError(f"{self.name} must name {names}, got no such key")
        return value

    def flag(self, field: str, default: bool | None = False) -> bool | None:
        """Whether one of the file's keys for a field is true; the model type's default, or `default`, without any."""
        keys = [key for key in hf_families.FLAGS[field] if self.values.get(key) is not None]
        if not keys:
            return self.family.get(field, default) if default is not None else None
        return any([_truth(key, self.values[key]) for key in keys])

    def sequence(self, key: str) -> list:
        """A list of the file, empty where it has none."""
        value = self.values.get(key)
        return value if isinstance(value, list) else []

    def indices(self, key: str) -> frozenset[int]:
        """The whole numbers in a list of the file."""
        return frozenset(entry for entry in self.sequence(key) if isinstance(entry, int))


def opened(text: str | bytes, name: str) -> File:
    """The configuration in a text: the file, or the language model nested in it. What lies deeper is laid flat."""
    top = _parsed(text, name)
    values, nested = top, False
    while part := next((part for part in hf_families.LANGUAGE_PARTS if isinstance(values.get(part), dict)), None):
        shared = {key: top[key] for key in hf_families.FLAGS["tied_embeddings"] if key in top}
        values, nested = {**shared, **values[part]}, True
    for part in ("attn_config", "ffn_config"):
        if isinstance(values.get(part), dict):
            values = {**values[part], **values}
    return File(name, top, values, nested)


def _parsed(text: str | bytes, name: str) -> dict:
    if len(text) > MOST_BYTES:
        raise ValueError(f"{name} must be at most {MOST_BYTES:,} bytes long, got {len(text):,}")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{name} must be UTF-8 text, got the byte {text[error.start]:#04x}") from None
    text = text.strip().removeprefix("\ufeff").strip()
    if text.startswith("```"):
        text = re.sub(r"\A```\w*\s|```\s*\Z", "", text)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{text[error.pos : error.pos + 20]!r} in line {error.lineno} ({error.msg})"
        raise ValueError(f"{name} must be JSON, got {place if text else 'nothing'}") from None
    except ValueError:
        raise ValueError(f"{name} must hold numbers of ordinary length, got one of thousands of digits") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be one JSON object, got {shown(value)}")
    return value


def shown(value) -> str:
    """A value from a file as an error or a note may show it: short, however large it is."""
    text = reprlib.repr(value)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."


def _truth(key: str, value) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false, got {shown(value)}")
    return value


def _whole(key: str, given, low: int, high: int) -> int:
    value = given
    if isinstance(value, list) and value and isinstance(value[0], int) and all(each == value[0] for each in value):
        value = value[0]  # one entry a layer, all the same
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}(\.0*)?\s*", value):
        value = float(value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high or value != int(value):
        raise ValueError(f"{key} must be a whole number from {low} to {high:,}, got {shown(given)}")
    return int(value)
