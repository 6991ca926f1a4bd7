"""What is being read from one trainer's text: fields in a recipe's units, and sentences on what could not be used.

A trainer counts in steps, samples (sequences) or padded tokens; a recipe in real tokens: seq_len (1 - padding) of them
a sequence, as many sequences a step as the global batch. What the text does not say is the trainer's default where it
has one, and else taken from `known`. A setting that the text holds in a form that is not read has no default.
"""

import dataclasses
from collections.abc import Mapping
from contextlib import contextmanager

from bsmath import checks
from bsmath.exports import values
from bsmath.exports.batches import Batches
from bsmath.recipe import CHOICES, FIELDS


@dataclasses.dataclass(frozen=True)
class Read:
    """What a text says of a recipe."""

    fields: dict[str, float | int | str]
    """Fields of a Recipe in its units; only what the text says or what follows from it."""
    said: tuple[str, ...] = ()
    """Sentences on what could not be used or had to be assumed."""
    defaults: dict[str, float | int | str] = dataclasses.field(default_factory=dict)
    """Fields of which the text says nothing, from the trainer's own defaults, in a Recipe's units."""
    taken: dict[str, float | int | str] = dataclasses.field(default_factory=dict)
    """Fields known already that entered a conversion."""


class Draft(Batches):
    """Collects fields; a value that a recipe cannot hold becomes a sentence."""

    def __init__(self, known: Mapping | None = None, defaults: Mapping | None = None):
        for name in known or ():
            checks.one_of("known", name, FIELDS)
        self.known = {name: values.field(name, value) for name, value in (known or {}).items()}
        self.fields: dict[str, float | int | str] = {}
        self.defaults = {name: value for name, value in (defaults or {}).items() if name in FIELDS}
        self.steps = {f"{name[:-6]}_tokens": n for name, n in (defaults or {}).items() if name not in FIELDS}
        self.stated: set[str] = set()
        self.said: list[str] = []
        self.sequences: float | None = None
        self._taken: dict[str, float | int | str] = {}
        self._converted = self._assuming = False

    @contextmanager
    def assume(self):
        """Within this, what is set is a default, and nothing is said."""
        self._assuming = True
        yield
        self._assuming = False

    def forget(self, *names: str) -> None:
        """Fields that have no default in this text."""
        for name in names:
            self.defaults.pop(name, None)
            self.steps.pop(name, None)

    def say(self, sentence: str) -> None:
        """Add a sentence, once."""
        if sentence not in self.said and not self._assuming:
            self.said.append(sentence)

    def get(self, name: str):
        """The text's value, else the trainer's default, else the known one, else None."""
        value = self.fields.get(name, self._default(name))
        if value is None and name in self.known:
            value = self._taken[name] = self.known[name]
        return value

    def _default(self, name: str):
        if name in self.stated or name in self.fields:
            return None
        if name in self.defaults or not self.steps.get(name):
            return self.defaults.get(name, self.steps.get(name))
        return None if (step := self.unit("steps")) is None else self.steps[name] * step

    def set(self, name: str, value) -> None:
        """Set a field, or its default where defaults are being set."""
        if not self._assuming:
            self.fields[name] = value
        elif name not in self.stated:
            self.defaults[name] = value

    def _state(self, name: str, raw) -> None:
        if raw is not None and not self._assuming:
            self.stated.add(name)

    def number(self, raw, source: str) -> float | int | None:
        """The raw value as a number; None where the text does not say it (None) or it is none (said)."""
        value = values.plain(raw)
        if value is None and raw is not None:
            self.say(f"{source} could not be read: it is {values.shown(raw)}.")
        return value

    def put(self, name: str, raw, source: str) -> None:
        """Set a numeric field."""
        self._state(name, raw)
        value = self.number(raw, source)
        if value is not None:
            try:
                self.set(name, values.field(name, value))
            except ValueError as error:
                self.say(f"{source} was left out: {error}.")

    def word(self, name: str, raw, words: Mapping[str, str], source: str) -> None:
        """Set a field that holds a word; `words` gives the recipe's word of the trainer's one, in lower case."""
        self._state(name, raw)
        if isinstance(raw, str) and raw.lower() in words:
            self.set(name, words[raw.lower()])
        elif raw is not None:
            named = values.shown(raw)
            self.say(f"{source} was left out: {named} has no counterpart among {', '.join(CHOICES[name])}.")

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
        self._state(name, raw)
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
        self._state(name, raw)
        share = self.number(raw, source)
        if share is not None and (base := self.get(whole)) is None:
            self.say(f"{source} was left out: it is a share of {whole}, which is not known.")
        elif share is not None:
            self.put(name, float(f"{share * base:.15g}"), source)  # 0.1 of 3e-4 is 3e-5

    def tail(self, ratio, shape: str, source: str) -> None:
        """Schedule of a rate that falls over the last share of the run: all after the warmup, a part, or nothing."""
        self._state("schedule", ratio)
        share, total = self.number(ratio, source), self.get("total_tokens")
        if share is None:
            return
        if share == 0:
            self.set("schedule", "constant")
        elif total is None:
            self.say(f"{source} was left out: it is a share of the run, whose length is not known.")
        elif share < 1 and share * total < total - (self.get("warmup_tokens") or 0) - (self.unit("steps") or 0):
            self.set("schedule", "wsd")
            self.put("decay_tokens", share * total, source)
        else:
            self.set("schedule", shape)

    def done(self) -> Read:
        """The result, with the defaults that the text leaves in force."""
        defaults = {name: self._default(name) for name in (*self.defaults, *self.steps)}
        kept = {}
        for name, value in defaults.items():
            try:
                kept |= {} if value is None else {name: values.field(name, value)}
            except ValueError as error:
                self.say(f"The default of {name} was left out: {error}.")
        if self._converted and "padding_fraction" not in self.known:
            self.say("The text says nothing of padding; none was assumed.")
        return Read(self.fields, tuple(self.said), kept, self._taken)
