"""A batch ramp from what a trainer has: its configuration, or a table that `ramp_exports` wrote. Text is parsed, never run.

    Megatron-LM's flags                                                                    see `ramp_flags`
    BatchSizeSchedulerCallback(batch_sizes=[...], schedule=[Duration.tokens(...), ...])    OLMo-core
    from_tokens,tokens_per_step and more columns                                           the table, without padding

Trainers count padding as tokens; what is returned is without. A new form is a reader (text, sequence length, last
batch) -> (thresholds, batches, sentences) and a row of FORMS.
"""

import csv
import textwrap
from dataclasses import dataclass

from bsmath import quantities, ramp_flags
from bsmath.exports import flags, pysource
from bsmath.ramp_flags import LONGEST, Read
from bsmath.ramp_stages import MOST_STAGES

OLMO = "BatchSizeSchedulerCallback"
RAMPUP, TABLE = "Megatron-LM's --rampup-batch-size", "a table of stages"
COLUMNS = ("from_tokens", "tokens_per_step")


@dataclass(frozen=True, kw_only=True)
class ImportedRamp:
    """Constant batches, each from its threshold on; the first threshold is 0."""

    form: str
    """A name of `FORMS`."""
    thresholds: tuple[float, ...]
    """[real tokens]"""
    batches: tuple[float, ...]
    """[real tokens]"""
    said: tuple[str, ...]
    """Sentences on what was not in the text and taken from the run."""


def read_schedule(
    text: str, seq_len: int, global_batch_size: int | None = None, padding_fraction: float = 0
) -> ImportedRamp:
    """The ramp that a text holds; a ValueError with one sentence where there is none, or one that cannot be.

    `seq_len` [tokens/sequence] and `global_batch_size` [sequences], the last batch of --rampup-batch-size, stand in
    where the text has none.
    """
    if len(text) > LONGEST:
        raise ValueError(f"text must be of at most {LONGEST:,} characters, got {len(text):,}")
    text = flags.substituted(text)
    for form, (holds, read) in FORMS.items():
        if holds(text):
            thresholds, batches, said = read(text, seq_len, global_batch_size)
            _check(thresholds, batches)
            real = 1 if form == TABLE else 1 - padding_fraction
            return ImportedRamp(
                form=form,
                thresholds=tuple(tokens * real for tokens in thresholds),
                batches=tuple(tokens * real for tokens in batches),
                said=said,
            )
    raise ValueError(
        f"text must hold --step-batch-size-schedule, --rampup-batch-size, OLMo-core's {OLMO}, a table with "
        f"{' and '.join(COLUMNS)}, or stages such as 0:768 250B:1536, got {ramp_flags.short(text)}"
    )


def _check(thresholds: list[float], batches: list[float]) -> None:
    """A ValueError if these are no ramp."""
    if len(thresholds) != len(batches) or not 1 <= len(thresholds) <= MOST_STAGES:
        raise ValueError(
            f"text must hold 1 to {MOST_STAGES:,} batches and as many thresholds, got {len(batches):,} and {len(thresholds):,}"
        )
    if thresholds[0] != 0:
        raise ValueError(f"thresholds must begin at 0 tokens, got {thresholds[0]:g}")
    for before, after in zip(thresholds, thresholds[1:], strict=False):
        if not before < after <= 1e15:
            raise ValueError(f"thresholds must rise, up to 1e15 tokens, got {after:g} after {before:g}")
    for batch in batches:
        if not 1 <= batch <= 1e15:
            raise ValueError(f"batches must be from 1 to 1e15 tokens, got {batch:g}")


def _olmo(text: str, seq_len: int, last: int | None) -> Read:
    call = _call(text)
    sizes, schedule = (call.keywords.get(name) for name in ("batch_sizes", "schedule"))
    lists = isinstance(sizes, list) and isinstance(schedule, list)
    if not lists or not all(map(_number, sizes)) or not all(map(_tokens, schedule)):
        raise ValueError(
            f"{OLMO} must have batch_sizes in tokens and a schedule of as many Duration.tokens(...), both in numbers, "
            f"got {ramp_flags.short(text[text.index(OLMO) :])}"
        )
    return [float(each.arguments[0]) for each in schedule], [float(size) for size in sizes], ()


def _call(text: str) -> pysource.Call:
    """The callback in a script, or in a piece of one that does not parse as a whole."""
    start = text.index(OLMO)
    for part in (textwrap.dedent(text), _enclosed(text[start:])):
        try:
            return next(call for call in pysource.parse(part).calls if call.name == OLMO)
        except (ValueError, StopIteration):
            continue
    raise ValueError(f"{OLMO} must be called in Python that parses, got {ramp_flags.short(text[start:])}")


def _enclosed(text: str) -> str:
    """The text up to where its first parenthesis closes."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return text[: place + 1]
    return text


def _number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _tokens(value) -> bool:
    called = isinstance(value, pysource.Call) and value.name == "tokens" and len(value.arguments) == 1
    return called and _number(value.arguments[0])


def _is_header(line: str) -> bool:
    return all(name in line for name in COLUMNS)


def _table(text: str, seq_len: int, last: int | None) -> Read:
    lines = [line for line in text.splitlines() if line.strip()]
    header = next(place for place, line in enumerate(lines) if _is_header(line))
    mark = next((mark for mark in "\t;" if mark in lines[header]), ",")
    try:
        rows = list(csv.DictReader(lines[header:], delimiter=mark, skipinitialspace=True))
        thresholds, batches = ([quantities.parse_number(row[name] or "") for row in rows] for name in COLUMNS)
    except (csv.Error, KeyError, ValueError) as error:
        raise ValueError(f"every row of the table must have numbers as {' and '.join(COLUMNS)}, got {error}") from None
    return thresholds, batches, ()


FORMS = {
    "Megatron-LM's --step-batch-size-schedule": (ramp_flags.has_schedule, ramp_flags.schedule),
    RAMPUP: (ramp_flags.has_rampup, ramp_flags.rampup),
    f"OLMo-core's {OLMO}": (lambda text: OLMO in text, _olmo),
    TABLE: (lambda text: any(map(_is_header, text.splitlines())), _table),
    "stages alone": (ramp_flags.is_stages, ramp_flags.stages),
}
"""Forms that are read, by name: whether a text is of it, and its reader."""
