"""A batch ramp as whole stages: global batches that a job can run, each from its threshold on, and a trainer's steps.

Before each step a trainer takes the batch of the last threshold that the consumed tokens have reached. The last step of
stage i oversteps the next threshold by o_i < B_i tokens, which is all of the difference to the integral of dD/B:

    steps = integral + sum over thresholds of o_i (1/B_i - 1/B_(i+1)) + o_last / B_last                 (exact)

so that a threshold of a rising ramp costs less than 1 - B_i/B_(i+1) steps, and the end of the run less than one.

A ramp that is no staircase becomes one. The change from level b to its neighbor l lies where staircase and
ramp have taken the same steps when the ramp passes l, after C tokens and S steps:
D = (S - S0 + D0/b - C/l) / (1/b - 1/l),  with D0 tokens and S0 steps at the beginning of b. Each stage but the last is
rounded to whole steps, and the next one makes up for it. All derived.
"""

import math
from dataclasses import dataclass

import numpy as np

from bsmath import checks
from bsmath.ramp import POWER, STEPS, Ramp

NEARLY = 1e-14
"""Relative rounding of a threshold, below which it counts as reached."""


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
    """The batch nearest to it that the ramp asks for, before rounding. [real tokens]"""
    steps: int
    """Whole steps that a trainer takes with it; 0 where the last step before oversteps all of it. [steps]"""
    learning_rate_ratio: float
    """Its rate over that of the first stage by the square-root rule, sqrt(B/B_first)."""

    @property
    def change(self) -> float:
        """What rounding did to the batch, as a share of it."""
        return self.tokens_per_step / self.asked_tokens_per_step - 1


def staged(
    ramp: Ramp, seq_len, replica_sequences, total_tokens, most_stages=16, padding_fraction=0, *, doubling=False
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
    checks.whole("most_stages", most_stages, 1, 1000)
    checks.between("total_tokens", total_tokens, 1, 1e15)
    sequence = checks.whole("seq_len", seq_len) * (1 - checks.between("padding_fraction", padding_fraction, 0, 0.95))
    unit = checks.whole("replica_sequences", replica_sequences) * sequence
    found = _kept(ramp, unit, total_tokens, most_stages)
    if found is None or (doubling and not whole_ratios(found[1])):
        found = _solved(ramp, unit, total_tokens, most_stages, doubling)
    begins, sizes, asked = found[0], [multiple * replica_sequences for multiple in found[1]], found[2]
    taken = _taken(begins, sizes, sequence, total_tokens)
    return tuple(
        Stage(
            threshold_tokens=float(begin), global_batch_size=size, tokens_per_step=size * sequence,
            asked_tokens_per_step=float(wanted), steps=steps, learning_rate_ratio=math.sqrt(size / sizes[0]),
        )
        for begin, size, wanted, steps in zip(begins, sizes, asked, taken, strict=True)
    )  # fmt: skip


def powers(ramp, seq_len, replica_sequences, total_tokens, most_stages=16, padding_fraction=0) -> tuple[Stage, ...]:
    """The same with whole ratios of neighboring batches: a staircase that has them as it is, any other by doubling.

    The doubled batch nearest to the ramp's largest is the largest; the smallest gives way. Parameters as in `staged`.
    """
    return staged(ramp, seq_len, replica_sequences, total_tokens, most_stages, padding_fraction, doubling=True)


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


def _multiple(batch: float, unit: float = 1) -> int:
    """The nearest multiple of a unit, one at least."""
    return max(math.floor(batch / unit + 0.5), 1)


def _kept(ramp: Ramp, unit: float, total_tokens: float, most_stages: int):
    """Thresholds, multiples and batches asked for of a staircase; None of another ramp or of too many stages."""
    if not np.array_equal(ramp.first, ramp.last):
        return None
    thresholds, multiples, asked = [], [], []
    for threshold, batch in zip(ramp.tokens[ramp.tokens < total_tokens], ramp.first, strict=False):
        multiple = _multiple(batch, unit)
        if multiples[-1:] == [multiple]:
            asked[-1] = max(asked[-1], batch, key=lambda each: abs(multiple * unit / each - 1))
        else:
            thresholds, multiples, asked = [*thresholds, threshold], [*multiples, multiple], [*asked, batch]
    return (thresholds, multiples, asked) if len(multiples) <= most_stages else None


def _levels(low: int, high: int, mean: int, count: int, doubling: bool) -> list[int]:
    """Multiples at nearly equal ratios from low to high, or doubling to the nearest to high; the mean if but one."""
    rises = min(round(math.log2(high / low)), count - 1) if doubling else count - 1
    if rises < 1:
        return [mean]
    if doubling:
        return [_multiple(high, 2**rises) * 2**rise for rise in range(rises + 1)]
    return sorted({_multiple(each) for each in np.geomspace(low, high, count)})


def _solved(ramp: Ramp, unit: float, total_tokens: float, most_stages: int, doubling: bool):
    """Thresholds, multiples and batches asked for, with as many levels as make no more than the most stages."""
    path = _path(ramp, min(ramp.length, total_tokens))
    ends = [batch for *_, before, after in path for batch in (before, after)]
    least, most, mean = min(ends), max(ends), total_tokens / ramp.steps(total_tokens)
    for count in range(most_stages, 0, -1):
        chosen = _levels(*(_multiple(batch, unit) for batch in (least, most, mean)), count, doubling)
        passed = _passed(ramp, path, chosen, unit)
        begins, multiples = _balanced(ramp, passed, unit)
        if len(multiples) <= most_stages:
            break
    asked = [min(max(multiple * unit, least), most) for multiple in multiples]
    asked[0] = ends[0] if multiples[0] == passed[0][1] else asked[0]
    return [begin * unit for begin in begins], multiples, [*asked[:-1], ends[-1]]


def _path(ramp: Ramp, over: float) -> list[tuple]:
    """(piece, None of a jump; tokens at its end; batch before and after) of all rises and falls to so many tokens."""
    path, before = [], float(ramp.first[0])
    for piece in range(np.searchsorted(ramp.tokens, over, side="right")):
        start, first = float(ramp.tokens[piece]), float(ramp.first[piece])
        stop = min(*ramp.tokens[piece + 1 : piece + 2], over, np.inf)
        path.append((None, start, before, first))
        before = float(ramp.at(np.nextafter(stop, 0))) if stop > start else first
        path.append((piece, stop, first, before))
    return path


def _tokens_at(ramp: Ramp, piece: int, batch: float) -> float:
    """Tokens at which a piece that rises or falls passes a batch. [tokens]"""
    start, stop, low, high = ramp.tokens[piece], ramp.tokens[piece + 1], ramp.first[piece], ramp.last[piece]
    if ramp.shape[piece] == POWER:
        return start * (batch / low) ** (np.log(stop / start) / np.log(high / low))
    power = 2 if ramp.shape[piece] == STEPS else 1
    return start + (stop - start) * (batch**power - low**power) / (high**power - low**power)


def _passed(ramp: Ramp, path, multiples, unit: float) -> list[tuple[float, int]]:
    """(tokens, multiple) where the ramp passes a level, its ends at the nearest; of one level in a row the last."""
    nearest = [min(multiples, key=lambda each: abs(math.log(each * unit / end))) for end in (path[0][2], path[-1][3])]
    found = [(0.0, nearest[0])]
    for piece, stop, before, after in path:
        least, most = sorted((before, after))
        between = [each for each in multiples if least <= each * unit <= most and each * unit != before]
        for each in between if after > before else between[::-1]:
            found.append((stop if piece is None else float(_tokens_at(ramp, piece, each * unit)), each))
    found.append((path[-1][1], nearest[1]))
    return [here for here, after in zip(found, [*found[1:], (0, None)], strict=True) if here[1] != after[1]]


def _balanced(ramp: Ramp, passed, unit: float) -> tuple[list[int], list[int]]:
    """Beginnings of stages, at whole steps, and their batches; at every passed level the steps are the ramp's."""
    begins, multiples, seen, done = [0], [passed[0][1]], 0, 0
    for (tokens, level), wanted in zip(passed[1:], ramp.steps([tokens for tokens, _ in passed[1:]]), strict=True):
        batch, far = multiples[-1], max(tokens / unit, seen)
        even = (wanted - done + seen / batch - far / level) / (1 / batch - 1 / level)
        steps = math.floor((min(max(even, seen), far) - seen) / batch + 0.5)
        seen, done = seen + steps * batch, done + steps
        if seen == begins[-1]:
            begins, multiples = begins[:-1], multiples[:-1]
        if not multiples or multiples[-1] != level:
            begins, multiples = [*begins, seen], [*multiples, level]
    return begins, multiples
