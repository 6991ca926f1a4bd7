"""Numbers as the words of a sentence: suffixes, units of time, and the precision that a reader can use."""

import math

GAP = "\u00a0"
"""No line breaks between a number and its unit."""

SUFFIXES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
"""Sizes of large numbers."""


def count(value: float, digits: int = 3) -> str:
    """A large number with a suffix: 98.3k, 1M, 7.96B."""
    if not math.isfinite(value):
        return "no bound" if value > 0 else "unknown"
    for size, suffix in SUFFIXES:
        if abs(value) >= size * (1 - 0.5 * 10.0**-digits):
            return f"{significant(value / size, digits)}{suffix}"
    return significant(value, digits)


def whole(value: float) -> str:
    """A count with thousands separators: exact below 100,000, four significant digits above: 53,125, 558,600."""
    if not math.isfinite(value):
        return "no bound"
    if value < 100 or value >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value < 1e5 else f"{float(f'{value:.4g}'):,.0f}"


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best: 0.719 s, 12.4 min, 4.65 days, 3.2 years."""
    if not math.isfinite(seconds):
        return "no bound"
    unit, size = unit_of_time(seconds)
    return f"{significant(seconds / size, 3)}{GAP}{unit}"


def unit_of_time(seconds: float) -> tuple[str, float]:
    """The unit in which a length of time reads best, and its seconds."""
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "min"), (1, "s")):
        if seconds >= 2 * size or (unit == "s" and seconds >= 0.1):
            return unit, size
    return "ms", 1e-3


def scientific(value: float) -> str:
    """A learning rate: 3e-4, 1.25e-4."""
    mantissa, power = f"{value:.2e}".split("e")
    return f"{float(mantissa):g}e{int(power)}"


def significant(value: float, digits: int) -> str:
    """A number with so many digits that matter: 1,234, 0.0123."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    written = f"{value:,.{max(places, 0)}f}" if places >= 0 else f"{float(f'{value:.{digits - 1}e}'):,.0f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
