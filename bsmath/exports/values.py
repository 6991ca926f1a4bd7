"""Single values of a trainer's text: numbers, words for a sentence, and what cannot be read."""

from bsmath import checks
from bsmath.recipe import CHOICES, RANGES, WHOLE

LARGEST = 1e300
"""Numbers beyond this are not read: their products would overflow."""


class Unread:
    """A value that is an expression of the text's program, which is never run."""


UNREAD = Unread()


def field(name: str, value) -> float | int | str:
    """The value if the recipe's field may hold it."""
    if name in CHOICES:
        return checks.one_of(name, value, CHOICES[name])
    return checks.whole(name, value, *WHOLE[name]) if name in WHOLE else checks.between(name, value, *RANGES[name])


def plain(raw) -> float | int | None:
    """A finite number, or text that is one; else None."""
    try:
        if isinstance(raw, str):
            raw = int(raw) if raw.strip().lstrip("+-").isdecimal() else float(raw)
    except ValueError:
        return None
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not abs(raw) <= LARGEST:
        return None
    return raw


def shown(raw) -> str:
    """A value for a sentence, short whatever it is."""
    if isinstance(raw, (list, dict)):
        return f"a {type(raw).__name__}"
    if isinstance(raw, int) and not isinstance(raw, bool):
        return "too large a number"
    if isinstance(raw, str):
        kind = " (shell arithmetic)" if "$((" in raw else " (a shell variable)" if "$" in raw else ""
        return repr(raw[:40]) + kind
    return str(raw) if isinstance(raw, (bool, float)) else "an expression that is not evaluated here"


def largest_divisor(number: float, most: int) -> int:
    """Largest divisor of a whole number that is not above `most`."""
    number = int(number)
    return next(size for size in range(min(most, number), 0, -1) if number % size == 0)
