"""What is being read from one trainer's text: fields in a recipe's units, and sentences on what could not be used.

A trainer counts in steps, samples (sequences) or padded tokens; a recipe in real tokens: seq_len (1 - padding) of them
a sequence, as many sequences a step as the global batch. What the text does not say is taken from `known`, and said.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bsmath import checks
from bsmath.recipe import CHOICES, FIELDS, RANGES, WHOLE

LARGEST = 1e300
"""Numbers beyond this are not read: their products would overflow."""
BATCH = ("micro_batch_size", "grad_accum_steps", "data_parallel_size")
"""The fields whose product is the global batch."""


@dataclass(frozen=True)
class Read:
    """What a text says of a recipe."""

    fields: dict[str, float | int | str]
    """Fields of a Recipe in its units; only what the text says or what follows from it."""
    said: tuple[str, ...] = ()
    """Sentences on what could not be used or had to be assumed."""


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
        return repr(raw[:40]) + (" (a shell variable)" if "$" in raw else "")
    return str(raw) if isinstance(raw, (bool, float)) else "an expression that is not evaluated here"


class Draft:
    """Collects fields; a value that a recipe cannot hold becomes a sentence."""

    def __init__(self, known: Mapping | None = None):
        for name in known or ():
            checks.one_of("known", name, FIELDS)
        self.known = {name: field(name, value) for name, value in (known or {}).items()}
        self.fields: dict[str, float | int | str] = {}
        self.said: list[str] = []
        self.sequences: float | None = None
        self._used: dict[str, float | int | str] = {}
        self._converted = False

    def say(self, sentence: str) -> None:
        """Add a sentence, once."""
        if sentence not in self.said:
            self.said.append(sentence)

    def get(self, name: str):
        """The text's value, else the known one, else None."""
        if name not in self.fields and name in self.known:
            self._used[name] = self.known[name]
        return self.fields.get(name, self.known.get(name))

    def number(self, raw, source: str) -> float | int | None:
        """The raw value as a number; None where the text does not say it (None) or it is none (said)."""
        value = plain(raw)
        if value is None and raw is not None:
            self.say(f"{source} could not be read: it is {shown(raw)}.")
        return value

    def put(self, name: str, raw, source: str) -> None:
        """Set a numeric field."""
        value = self.number(raw, source)
        if value is not None:
            try:
                self.fields[name] = field(name, value)
            except ValueError as error:
                self.say(f"{source} was left out: {error}.")

    def word(self, name: str, raw, words: Mapping[str, str], source: str) -> None:
        """Set a field that holds a word; `words` gives the recipe's word of the trainer's one, in lower case."""
        if isinstance(raw, str) and raw.lower() in words:
            self.fields[name] = words[raw.lower()]
        elif raw is not None:
            self.say(f"{source} was left out: {shown(raw)} has no counterpart among {', '.join(CHOICES[name])}.")

    def unit(self, unit: str) -> float | None:
        """Real tokens of one of the trainer's steps, samples or (padded) tokens."""
        sequence = 1 if unit == "tokens" else self.get("seq_len")
        count = self.sequences if unit == "steps" else 1
        if sequence is None or count is None:
            return None
        self._converted = True
        return sequence * (1 - (self.get("padding_fraction") or 0)) * count

    def length(self, name: str, raw, unit: str, source: str) -> None:
        """Set a length, given in the trainer's steps, samples or tokens."""
        count = self.number(raw, source)
        if count is None:
            return
        size = self.unit(unit)
        if size is None:
            self.say(f"{source} was left out: it counts {unit}, and how many tokens one of them has is not known.")
        else:
            self.put(name, count * size, source)

    def interval(self, name: str, raw, source: str) -> None:
        """Set an interval in steps; trainers write -1 or 0 for never."""
        count = self.number(raw, source)
        if count is not None and count > 0:
            self.length(name, count, "steps", source)

    def share(self, name: str, raw, whole: str, source: str) -> None:
        """Set a field that the trainer gives as a share of another."""
        share = self.number(raw, source)
        if share is not None and (base := self.get(whole)) is None:
            self.say(f"{source} was left out: it is a share of {whole}, which is not known.")
        elif share is not None:
            self.put(name, float(f"{share * base:.15g}"), source)  # 0.1 of 3e-4 is 3e-5

    def tail(self, ratio, shape: str, source: str) -> None:
        """Schedule of a rate that falls over the last share of the run: all after the warmup, a part, or nothing."""
        share, total = self.number(ratio, source), self.get("total_tokens")
        if share is None:
            return
        if share == 0:
            self.fields["schedule"] = "constant"
        elif total is None:
            self.say(f"{source} was left out: it is a share of the run, whose length is not known.")
        elif share < 1 and share * total < total - (self.get("warmup_tokens") or 0) - (self.unit("steps") or 0):
            self.fields["schedule"] = "wsd"
            self.put("decay_tokens", share * total, source)
        else:
            self.fields["schedule"] = shape

    def batch(self, global_batch_size=None, source: str = "the global batch") -> None:
        """Complete the batch from what is given; the global batch is in sequences."""
        total = self.number(global_batch_size, source)
        if total is not None and not (total >= 1 and total == math.floor(total)):
            self.say(f"{source} was left out: it must be a whole number of sequences, got {total}.")
            total = None
        if total is None:
            sizes = [self.get(name) for name in BATCH]
            self.sequences = None if None in sizes else math.prod(sizes)
        else:
            self.sequences = total
            self._divide(total, source)

    def _divide(self, total: float, source: str) -> None:
        """Find the one factor of the global batch that the text leaves open."""
        sizes = {name: self.fields[name] for name in BATCH if name in self.fields}
        for name in ("data_parallel_size", "micro_batch_size"):
            if name not in sizes and len(sizes) < 2 and (value := self.get(name)) is not None:
                sizes[name] = value
        product = math.prod(sizes.values())
        missing = [name for name in BATCH if name not in sizes]
        if len(missing) > 1:
            self.say(
                f"{' and '.join(missing)} are not known; only their product with the rest is, {total:.15g} sequences."
            )
        elif total % product or (not missing and total != product):
            self.say(f"{source} of {total:.15g} sequences is not {' x '.join(f'{n} {v}' for n, v in sizes.items())}.")
        elif missing:
            self.put(missing[0], total // product, source)

    def done(self) -> Read:
        """The result, with what was taken from elsewhere."""
        if self._used:
            used = ", ".join(f"{name} {value}" for name, value in self._used.items())
            self.say(f"Not in the text and taken from what is known already: {used}.")
        if self._converted and "padding_fraction" not in self.known:
            self.say("The text says nothing of padding; none was assumed.")
        return Read(self.fields, tuple(self.said))
