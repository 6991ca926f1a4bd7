"""Validators for values that come from outside: one message form, `<name> must <rule>, got <value!r>`.

Used once, at the border (Scenario, presets, readers, fits). A wrong kind is a TypeError, a wrong value a ValueError.
"""

import math
from collections.abc import Collection


def number(name: str, value) -> float:
    """The value as a finite float; booleans and text are refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return float(value)


def between(name: str, value, low: float, high: float) -> float:
    """The value as a float within [low, high]."""
    if not low <= number(name, value) <= high:
        raise ValueError(f"{name} must be from {low:g} to {high:g}, got {value!r}")
    return float(value)


def whole(name: str, value, low: int = 1, high: float = 2**53) -> int:
    """The value as an int within [low, high]; 2**53 is the last integer that a browser keeps exact."""
    if number(name, value) != int(value):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high:g}, got {value!r}")
    return int(value)


def one_of(name: str, value, known: Collection[str]) -> str:
    """The value if it is one of the known words; the message lists them."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a word, got {value!r}")
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return value
