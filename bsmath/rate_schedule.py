"""The learning rate through a run, as a share of its peak: a linear warmup, then one of `recipe.SCHEDULES`.

    cosine  f + (1 - f)(1 + cos pi x)/2        linear  1 - (1 - f) x        x from the end of the warmup to the end of the run
    wsd     1, then linearly to f over its decay        constant  1        f the last rate over the peak

Definitions, in tokens: a schedule that a trainer counts in steps becomes one of these only through the batch (`ramp_trap`).
"""

import numpy as np

from bsmath import checks
from bsmath.recipe import SCHEDULES


def share_of_peak(tokens, *, total_tokens, warmup_tokens, schedule, decay_tokens=0.0, floor=0.0):
    """The rate over its peak after so many tokens.

    Parameters
    ----------
    tokens : numeric
        Tokens seen. [tokens]
    total_tokens, warmup_tokens : float
        Lengths of the run and of the warmup. [tokens]
    schedule : str
        One of `recipe.SCHEDULES`.
    decay_tokens : float
        Length of the fall at the end of a wsd schedule. [tokens]
    floor : float
        Last rate over the peak, 0 to 1.
    """
    checks.one_of("schedule", schedule, SCHEDULES)
    seen = np.asarray(tokens, float)
    rise = np.minimum(seen / warmup_tokens, 1) if warmup_tokens > 0 else np.ones_like(seen)
    start = total_tokens - decay_tokens if schedule == "wsd" else min(warmup_tokens, total_tokens)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.clip(np.nan_to_num((seen - start) / (total_tokens - start), nan=0.0, posinf=1.0), 0, 1)
    fall = {"cosine": (1 - np.cos(np.pi * left)) / 2, "constant": np.zeros_like(left)}.get(schedule, left)
    return (rise * (1 - (1 - floor) * fall))[()]
