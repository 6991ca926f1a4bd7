"""What a noise scale says about the batch of a run: curves over B for the pages, and the clip threshold that moves with B."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import lr, noise
from bsmath.logs.noise_log import LATE, NoiseLog
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario

POINTS = 81
MARGIN = 20
"""The curves reach this many times beyond the noise scale and the batches that are marked."""


@dataclass(frozen=True, kw_only=True)
class NoiseLevel:
    """A noise scale with its interval, and where it comes from."""

    value: float
    """B_simple. [tokens]"""
    low: float
    """Lower end of its 90 % interval; the value itself where it is assumed. [tokens]"""
    high: float
    """Upper end. [tokens]"""
    measured: bool
    """Whether it is that of a log, or the scenario's assumption."""


def level(scenario: Scenario, log: NoiseLog | None) -> NoiseLevel:
    """The noise scale of the second half of a log, all parameters, where that identifies it in tokens; else the scenario's."""
    if log is not None and log.unit == "tokens" and log.has_parts:
        found = log.estimate(log.groups[0], LATE)
        if found.verdict()[0]:
            low, high = found.interval()
            return NoiseLevel(value=found.noise_scale, low=low, high=high, measured=True)
    assumed = scenario.noise_scale
    return NoiseLevel(value=assumed, low=assumed, high=assumed, measured=False)


def over_batch(scenario: Scenario, run: Outlook, level: NoiseLevel) -> pd.DataFrame:
    """Curves over the batch that reach beyond the noise scale, this run's batch and the reference.

    Returns
    -------
    DataFrame
        tokens_per_step [tokens]; noise_to_signal B_simple/B, improvement 1/(1 + B_simple/B), norm_ratio
        sqrt(1 + B_simple/B) and clip_norm, the threshold that stands to the gradient's norm as the scenario's does at the
        reference batch; each also as _low and _high over the interval of the noise scale.
    """
    marked = (level.value, run.tokens_per_step, scenario.reference_tokens_per_step)
    size = np.geomspace(min(marked) / MARGIN, max(marked) * MARGIN, POINTS)
    table = {"tokens_per_step": size}
    middle, *ends = (_values(scenario, size, scale) for scale in (level.value, level.low, level.high))
    for name, values in middle.items():
        both = [end[name] for end in ends]
        table |= {name: values, f"{name}_low": np.minimum(*both), f"{name}_high": np.maximum(*both)}
    return pd.DataFrame(table)


def at_batch(scenario: Scenario, tokens_per_step: float, level: NoiseLevel) -> dict[str, float]:
    """One batch under the names of `over_batch`."""
    return {"tokens_per_step": tokens_per_step} | _values(scenario, tokens_per_step, level.value)


def _values(scenario: Scenario, size, scale: float) -> dict:
    clip = lr.clip_norm_ratio(size, scenario.reference_tokens_per_step, scale)
    return {
        "noise_to_signal": noise.relative_error(size, scale),
        "improvement": noise.improvement(size, scale),
        "norm_ratio": noise.norm_ratio(size, scale),
        "clip_norm": scenario.clip_norm * clip,
    }
