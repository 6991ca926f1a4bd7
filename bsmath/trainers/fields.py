"""Numbers as trainers print them: `5,762`, `25.62%`, `138.60ms`, `1.05M`, `48.87GiB(51.44%)`, `4.2M`, `nan`, `N/A`."""

import math
import re

_NUMBER = re.compile(r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SUFFIX = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


def number(text: str) -> float:
    """The number that a text begins with, its unit aside; nan where it begins with none. `1.05M` is 1.05e6, `3ms` is 3."""
    text = text.strip()
    found = _NUMBER.match(text)
    if found is None:
        return math.nan
    value = float(found[0].replace(",", ""))
    rest = text[found.end() :]
    return value * _SUFFIX.get(rest.lower(), 1.0) if len(rest) == 1 else value


def loss(text: str) -> float:
    """A loss; inf where the run printed one that is no number, as a run that diverged does."""
    value = number(text)
    return math.inf if math.isnan(value) else value
