"""Numbers as text, with units and the precision that a reader can use. Nothing is computed here but the writing."""

import math
import re

from bsmath.numerals import GAP, SUFFIXES, significant
from bsmath.numerals import count as count
from bsmath.numerals import duration as duration
from bsmath.numerals import scientific as scientific
from bsmath.numerals import whole as whole
from bsmath.quantities import parse_number


def tokens(value: float) -> str:
    """98.3k tokens."""
    return f"{count(value)}{GAP}tokens"


def rate(value: float) -> str:
    """136.8k tok/s."""
    return f"{count(value, 4)}{GAP}tok/s"


def sequence_rate(value: float) -> str:
    """237.6 sequences/s, where the tokens of a sequence are not known."""
    return f"{count(value, 4)}{GAP}sequences/s"


def signed(ratio: float) -> str:
    """A ratio as a change: -15 %, +70 %, +0 %."""
    if abs(ratio - 1) < 5e-5:
        return f"+0{GAP}%"
    return f"{'+' if ratio >= 1 else '-'}{percent(abs(ratio - 1))}"


def percent(fraction: float, digits: int = 2) -> str:
    """66 %; below one percent the digits that matter are kept, down to 0.001 %."""
    if not math.isfinite(fraction):
        return "unknown" if math.isnan(fraction) else "no bound"
    if 0 < abs(fraction) < 1e-5:
        return f"<0.001{GAP}%"
    shown = significant(
        100 * fraction, digits if abs(fraction) < 0.1 else max(digits, len(f"{abs(100 * fraction):.0f}"))
    )
    return f"{shown}{GAP}%"


def plural(number: int, noun: str) -> str:
    """1 device, 64 devices."""
    return f"{number:,}{GAP}{noun}{'' if number == 1 else 's'}"


def plain(name: str) -> str:
    """Text that came from a file or a link, so that Markdown shows it as it is: no link, image or formula from strangers."""
    return re.sub(r"([\\`*_\[\]<>$~|#])", r"\\\1", name)


def times(ratio: float) -> str:
    """A ratio: 1.25x, 11.2x, 0.0015x."""
    if not math.isfinite(ratio):
        return "unknown" if math.isnan(ratio) else "no bound"
    return f"{significant(ratio, 3)}x"


def spread(values) -> str:
    """How far apart the largest and the smallest are: 3.2x."""
    return times(max(values) / min(values))


def flops(value: float) -> str:
    """989 TFLOP/s."""
    size, prefix = next(((s, p) for s, p in ((1e15, "P"), (1e12, "T"), (1e9, "G")) if value >= 2 * s), (1, ""))
    return f"{significant(value / size, 4)}{GAP}{prefix}FLOP/s"


def size(value: float) -> str:
    """Bytes: 141 GB, 1.87 GB, 512 MB; a gigabyte is 10^9 bytes."""
    size, prefix = next(((s, p) for s, p in ((1e12, "T"), (1e9, "G"), (1e6, "M")) if abs(value) >= s), (1e3, "k"))
    return f"{significant(value / size, 3)}{GAP}{prefix}B"


def money(value: float) -> str:
    """12,300, in whatever currency the price was typed."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.2f}"


def between(low: float, high: float, write=count) -> str:
    """An interval: 1.9k to 2.65k; an open end is said."""
    if math.isnan(low) or math.isnan(high) or (low <= 0 and not math.isfinite(high)):
        return "not identified"
    if low <= 0:
        return f"at most {write(high)}"
    if not math.isfinite(high):
        return f"at least {write(low)}"
    return f"{write(low)} to {write(high)}"


def span(low: float, high: float, write=count) -> str:
    """Two ends that are both known: 111 GB to 196 GB, or one where they read the same."""
    ends = write(low), write(high)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def exact(value: float) -> str:
    """The shortest text that a typed field reads back as the same value: 796M, 524288, 0.0003."""
    short = f"{value:.12g}"
    best = (short if float(short) == value else repr(value)).replace("e+", "e").replace("e-0", "e-")
    for size, suffix in SUFFIXES:
        written = f"{value / size:.5g}"
        if abs(value) >= size and parse_number(f"{written}{suffix}") == value and len(written) < len(best):
            return f"{written}{suffix}"
    return best


def listed(names, most: int = 5) -> str:
    """Names from files or links, in a row."""
    names = [plain(name) for name in names]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
