"""The record of one published law, and whether inputs lie in the range that it was fitted on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

EVIDENCE = {
    "paper": "yes (paper)",
    "code": "yes (code)",
    "second-hand": "second-hand",
    "unverified": "no",
}
"""Where a law's constants were read, its authors' paper, code or elsewhere, and the answer to "are they verified?"."""


ROUNDING = 1e-9
"""Share by which an input may miss an end of a range and still count as in it: products are rounded."""


@dataclass(frozen=True, kw_only=True)
class Law:
    """One published law and what it means."""

    label: str
    """Authors, year and what the law depends on."""
    short: str
    """The same for a legend."""
    kind: str
    """`critical`: tokens are wasted above. `optimal`: least loss at a fixed budget."""
    needs: tuple[str, ...]
    """Arguments of the function, out of num_params, tokens, compute [FLOP] and loss [nats/token]; at most one."""
    function: Callable
    """Tokens per step from these arguments."""
    definition: str
    """What exactly the number is."""
    status: str
    """Derived, empirical or rule of thumb."""
    valid_range: str
    """Models, data and settings that it was fitted on."""
    range: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Least and largest num_params, tokens, compute and loss of the runs behind it, each only where a source states it."""
    evidence: str
    """A key of EVIDENCE."""
    unverified: str = ""
    """Which part of the formula no source was found for; empty where all of it was read."""
    source: str
    """Citation."""

    def at(self, inputs: Mapping):
        """Tokens per step at these inputs, which hold at least what the law needs; same shape as they."""
        return self.function(**{need: inputs[need] for need in self.needs})

    def inside(self, inputs: Mapping):
        """Whether inputs lie in every stated range: True, False, or None where that is not known; an array of them for arrays.

        It is not known where no range is stated, and within what is stated where that leaves out the law's own variable.
        """
        tests = [
            (np.asarray(inputs[name]) >= low * (1 - ROUNDING)) & (np.asarray(inputs[name]) <= high * (1 + ROUNDING))
            for name, (low, high) in self.range.items()
            if inputs[name] is not None
        ]
        if not tests:
            return None
        together = np.logical_and.reduce(np.broadcast_arrays(*tests))
        within = True if set(self.needs) <= set(self.range) else None
        found = np.where(together, within, False)
        return found if found.ndim else found.item()
