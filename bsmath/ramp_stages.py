"""A batch ramp as whole stages: global batches that a job can run, each from its threshold on, and a trainer's steps.

Before each step a trainer takes the batch of the last threshold that the consumed tokens have reached. The last step of
stage i oversteps the next threshold by o_i < B_i tokens, which is all of the difference to the integral of dD/B:

    steps = integral + sum over thresholds of o_i (1/B_i - 1/B_(i+1)) + o_last / B_last                 (exact)

so that a threshold of a rising ramp costs less than 1 - B_i/B_(i+1) steps, and the end of the run less than one.

Derived. A ramp that is no staircase becomes one in `ramp_levels`.
"""

import math
from dataclasses import dataclass

import numpy as np

from bsmath import checks, ramp_levels
from bsmath.ramp import Ramp

NEARLY = 1e-14
"""Relative rounding of a threshold, below which it counts as reached."""
USUAL_STAGES, MOST_STAGES = 16, 1000
"""Levels that a gradual ramp gets, and the most stages of any ramp."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One global batch from its threshold to the next one."""

    threshold_tokens: float
    """Consumed tokens from which on it holds. [real tokens]"""
    global_batch_size: int
    """[sequences]"""
    tokens_per_step: float
    """The same batch. [real tokens]"""
    asked_tokens_per_step: float
    """The batch nearest to it that the ramp asks for, before rounding; where it is the only stage, the farthest. [real tokens]"""
    steps: int
    """Whole steps that a trainer takes with it; 0 where the last step before oversteps all of it. [steps]"""
    learning_rate_ratio: float
    """Its rate over that of the first stage by the square-root rule, sqrt(B/B_first)."""

    @property
    def change(self) -> float:
        """What rounding did to the batch, as a share of it."""
        return self.tokens_per_step / self.asked_tokens_per_step - 1


def staged(
    ramp: Ramp,
    seq_len,
    replica_sequences,
    total_tokens,
    most_stages=USUAL_STAGES,
    padding_fraction=0,
    *,
    doubling=False,
) -> tuple[Stage, ...]:
    """The ramp as a staircase of batches that a job can run.

    A staircase of few stages keeps its thresholds; equal neighbors become one. Any other ramp gets levels at equal
    ratios. If it only rises or falls, it takes the same steps to its own length within one; beyond, the rounding of
    the last batch counts. Where a ramp turns often, more steps may differ.

    Parameters
    ----------
    seq_len, padding_fraction
        Tokens of a sequence [tokens/sequence], and the share of padding among them.
    replica_sequences : int
        micro_batch_size * data_parallel_size: every batch is a multiple of it. [sequences]
    total_tokens : float
        Length of the run; later thresholds are left out. [real tokens]
    doubling : bool
        For levels that double, see `powers`.
    """
    checks.whole("most_stages", most_stages, 1, MOST_STAGES)
    checks.between("total_tokens", total_tokens, 1, 1e15)
    sequence = checks.whole("seq_len", seq_len) * (1 - checks.between("padding_fraction", padding_fraction, 0, 0.95))
    unit = checks.whole("replica_sequences", replica_sequences) * sequence
    found = _kept(ramp, unit, total_tokens, most_stages)
    if found is None or (doubling and not whole_ratios(found[1])):
        found = ramp_levels.solved(ramp, unit, total_tokens, most_stages, doubling)
    begins, sizes, asked = found[0], [multiple * replica_sequences for multiple in found[1]], found[2]
    taken = _taken(begins, sizes, sequence, total_tokens)
    return tuple(
        Stage(
            threshold_tokens=float(begin), global_batch_size=size, tokens_per_step=size * sequence,
            asked_tokens_per_step=float(wanted), steps=steps, learning_rate_ratio=math.sqrt(size / sizes[0]),
        )
        for begin, size, wanted, steps in zip(begins, sizes, asked, taken, strict=True)
    )  # fmt: skip


def powers(
    ramp, seq_len, replica_sequences, total_tokens, most_stages=USUAL_STAGES, padding_fraction=0
) -> tuple[Stage, ...]:
    """The same with whole ratios of neighboring batches: a staircase that has them as it is, any other by doubling.

    The doubled batch nearest to the ramp's largest is the largest; the smallest gives way. Parameters as in `staged`.
    """
    return staged(ramp, seq_len, replica_sequences, total_tokens, most_stages, padding_fraction, doubling=True)


def most_stages_of(ramp: Ramp) -> int:
    """Stages that leave a staircase as it is; the usual number for any other ramp."""
    return min(max(len(ramp.tokens), USUAL_STAGES), MOST_STAGES)


def whole_ratios(batches) -> bool:
    """Whether of any two neighboring batches the larger is a multiple of the smaller."""
    return all(max(pair) % min(pair) == 0 for pair in zip(batches, batches[1:], strict=False))


def largest_change(stages: tuple[Stage, ...]) -> float:
    """The largest share by which rounding changed a batch, either way."""
    return max(abs(stage.change) for stage in stages)


def simulated_steps(stages: tuple[Stage, ...], total_tokens: float) -> int:
    """Steps of a trainer until so many tokens [real tokens] are consumed, stage by stage. [steps]"""
    sequence = stages[0].tokens_per_step / stages[0].global_batch_size
    thresholds, batches = zip(*((stage.threshold_tokens, stage.global_batch_size) for stage in stages), strict=True)
    return sum(_taken(thresholds, batches, sequence, total_tokens))


def _taken(thresholds, batches, sequence: float, total_tokens: float) -> list[int]:
    """Steps at each batch [sequences]; what is consumed is counted in whole sequences, so that no rounding adds up."""
    consumed, taken = 0, []
    for stop, batch in zip([*thresholds[1:], total_tokens], batches, strict=True):
        left = min(stop, total_tokens) * (1 - NEARLY) / sequence - consumed
        taken.append(max(math.ceil(left / batch), 0))
        consumed += taken[-1] * batch
    return taken


def _kept(ramp: Ramp, unit: float, total_tokens: float, most_stages: int):
    """Thresholds, multiples and batches asked for of a staircase; None of another ramp or of too many stages."""
    if not np.array_equal(ramp.first, ramp.last):
        return None
    thresholds, multiples, asked = [], [], []
    for threshold, batch in zip(ramp.tokens[ramp.tokens < total_tokens], ramp.first, strict=False):
        multiple = ramp_levels.nearest_multiple(batch, unit)
        if multiples[-1:] == [multiple]:
            asked[-1] = max(asked[-1], batch, key=lambda each: abs(multiple * unit / each - 1))
        else:
            thresholds, multiples, asked = [*thresholds, threshold], [*multiples, multiple], [*asked, batch]
    return (thresholds, multiples, asked) if len(multiples) <= most_stages else None
