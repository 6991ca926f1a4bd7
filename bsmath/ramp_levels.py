"""A ramp that rises or falls gradually as a staircase of a few levels that takes the same steps.

The change from level b to its neighbor l lies where staircase and ramp have taken the same steps when the ramp passes
l, after C tokens and S steps:

    D = (S - S0 + D0/b - C/l) / (1/b - 1/l),  with D0 tokens and S0 steps at the beginning of b

Each level but the last is rounded to whole steps, and the next one makes up for it. Derived. Levels are whole multiples
of a unit, the smallest batch that a job can run.
"""

import math

import numpy as np

from bsmath.ramp import POWER, STEPS, Ramp


def solved(ramp: Ramp, unit: float, total_tokens: float, most_stages: int, doubling: bool):
    """Thresholds, multiples and batches asked for, with as many levels as make no more than the most stages."""
    path = _path(ramp, min(ramp.length, total_tokens))
    ends = [batch for *_, before, after in path for batch in (before, after)]
    least, most, mean = min(ends), max(ends), total_tokens / ramp.steps(total_tokens)
    for count in range(most_stages, 0, -1):
        chosen = _levels(*(nearest_multiple(batch, unit) for batch in (least, most, mean)), count, doubling)
        passed = _passed(ramp, path, chosen, unit)
        begins, multiples = _balanced(ramp, passed, unit)
        if len(multiples) <= most_stages:
            break
    asked = [min(max(multiple * unit, least), most) for multiple in multiples]
    asked[0] = ends[0] if multiples[0] == passed[0][1] else asked[0]
    asked[-1] = ends[-1] if len(asked) > 1 else max(least, most, key=lambda each: abs(multiples[0] * unit / each - 1))
    return [begin * unit for begin in begins], multiples, asked


def nearest_multiple(batch: float, unit: float = 1) -> int:
    """The nearest multiple of a unit, one at least."""
    return max(math.floor(batch / unit + 0.5), 1)


def _levels(low: int, high: int, mean: int, count: int, doubling: bool) -> list[int]:
    """Multiples at nearly equal ratios from low to high, or doubling to the nearest to high; the mean if but one."""
    rises = min(round(math.log2(high / low)), count - 1) if doubling else count - 1
    if rises < 1:
        return [mean]
    if doubling:
        return [nearest_multiple(high, 2**rises) * 2**rise for rise in range(rises + 1)]
    return sorted({nearest_multiple(each) for each in np.geomspace(low, high, count)})


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
