"""Numbers as people write them, read exactly or refused: 7.3e9, 7.3B, 512k, 2^20, 4 096, 136,699."""

import math
import re

SUFFIXES = {
    "": 1,
    "k": 1e3,
    "m": 1e6,
    "b": 1e9,
    "g": 1e9,
    "t": 1e12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
"""Factors by suffix, upper or lower case: 512k is 512,000 and 512Ki is 524,288."""

_SPACES = " '_\u00a0\u2009\u202f"
_POWER = re.compile(r"([0-9]{1,6})\s*(?:\^|\*\*)\s*([0-9]{1,4})")


def _plain(thousands: str, decimal: str) -> re.Pattern:
    grouped = rf"[1-9][0-9]{{0,2}}(?P<sep>[{thousands}])[0-9]{{3}}(?:(?P=sep)[0-9]{{3}})*"
    number = rf"(?P<whole>{grouped}|[0-9]+)?(?:{decimal}(?P<part>[0-9]*))?(?P<exponent>[eE][+-]?[0-9]+)?"
    return re.compile(rf"(?P<sign>[+-]?){number}\s*(?P<suffix>[kmbgt]?i?)", re.IGNORECASE)


_PLAIN = {".": _plain("," + _SPACES, r"\."), ",": _plain("." + _SPACES, ",")}


def parse_number(text: str, decimal: str = ".") -> float:
    """The finite number that a text stands for.

    Parameters
    ----------
    text : str
        Digits with an exponent, an SI suffix (k, M, B = G, T; Ki, Mi, Gi, Ti), thousands separators or a power such
        as 2^20. A separator counts as one only between groups of three digits.
    decimal : str
        Decimal mark, "." or ",".

    Raises
    ------
    ValueError
        For anything else, "nan" and "inf" included.
    """
    stripped = text.strip()
    if power := _POWER.fullmatch(stripped):
        value = _power(*map(int, power.groups()))
    else:
        value = _scaled(_PLAIN[decimal].fullmatch(stripped))
    if not math.isfinite(value):
        raise ValueError(f"value must be a number such as 7.3e9, 7.3B, 512k or 2^20, got {text!r}")
    return value


def _power(base: int, exponent: int) -> float:
    try:
        return float(base) ** exponent
    except OverflowError:
        return math.inf


def _scaled(found: re.Match | None) -> float:
    if found is None or not (found["whole"] or found["part"]) or found["suffix"].lower() not in SUFFIXES:
        return math.nan
    whole = re.sub("[^0-9]", "", found["whole"] or "0")
    written = f"{found['sign']}{whole}.{found['part'] or '0'}{found['exponent'] or ''}"
    return float(written) * SUFFIXES[found["suffix"].lower()]
