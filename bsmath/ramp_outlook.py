"""Batch ramps compared for one scenario: steps, tokens, waste and wall-clock to the same goal, against flat batches."""

from dataclasses import dataclass

import numpy as np

from bsmath import batch, critical, progress, published_ramps, ramp_kinds, ramp_make, step_costs
from bsmath import ramp as ramps
from bsmath.critical_course import Course, course
from bsmath.progress import Progress
from bsmath.ramp import Ramp
from bsmath.scenario import Scenario

PARTS = 240
"""Parts of a run over which the step time is summed."""
SAME = 0.005
"""Relative difference below which two runs are called equal."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule:
    """One schedule carried to the scenario's goal."""

    name: str
    """A kind of `ramp_kinds.KINDS` or a published ramp."""
    label: str
    """For a legend."""
    ramp: Ramp
    """The batch over the tokens seen. [tokens]"""
    progress: Progress
    """Tokens, useful tokens and steps."""
    seconds: float
    """Wall-clock on the scenario's devices. [s]"""
    rises: float
    """Tokens after which the batch no longer changes, at most those of the run. [tokens]"""

    @property
    def steps(self) -> float:
        """[steps]"""
        return self.progress.steps

    @property
    def tokens(self) -> float:
        """[tokens]"""
        return self.progress.tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class RampOutlook:
    """The scenario's ramp, what it is compared with, and the course of the critical batch behind it."""

    course: Course
    """B_crit through the run."""
    chosen: Schedule
    """The scenario's ramp."""
    flat: Schedule
    """The batch at which the ramp ends, from the first token on."""
    start: Schedule
    """The batch at which it starts, to the end."""
    compared: tuple[Schedule, ...]
    """Other ramps and published ones."""
    gamma: float
    """What the best ramp of all could do under this course, see `progress.gamma`."""
    smallest_step: float
    """One sequence on every replica: below it some have nothing to do. [real tokens]"""
    unknown: tuple[str, ...]
    """Names that were asked to be compared and are no ramps."""

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """Every schedule once, the scenario's own first and the flat one second."""
        return (self.chosen, self.flat, *self.compared)

    @property
    def equal_token_steps(self) -> float:
        """Steps that a flat batch with the tokens of the chosen ramp needs; inf where no flat batch gets by with so few."""
        overhead = self.chosen.tokens / self.chosen.progress.useful_tokens - 1
        least = float(self.course.curve.steps(self.chosen.progress.useful_tokens))
        return least * (1 + 1 / overhead) if overhead > 0 else np.inf

    @property
    def gain(self) -> float:
        """Share of steps that the ramp saves over the flat batch that needs as many tokens."""
        return 1 - self.chosen.steps / self.equal_token_steps

    @property
    def best_gain(self) -> float:
        """The same for the best ramp at as many tokens: its steps beyond the least are gamma times those of a flat batch."""
        overhead = self.chosen.tokens / self.chosen.progress.useful_tokens - 1
        return 1 - (1 + self.gamma / overhead) / (1 + 1 / overhead)


def useful_tokens(scenario: Scenario) -> float:
    """Useful tokens of the goal: E_min, or those of a flat run through the budget at the ramp's end. [tokens]"""
    if scenario.goal == "target":
        return critical.min_tokens(scenario.critical_batch_size, scenario.min_steps)
    end = ramp_make.ends(scenario)[1]
    return scenario.token_budget / critical.token_overhead(end, scenario.critical_batch_size)


def seconds(scenario: Scenario, ramp: Ramp, tokens: float) -> float:
    """Wall-clock of so many tokens: the step time at the batch of each part, times its steps. [s]

    Exact where the step time is linear in the batch, as each part counts with its mean batch; below one micro-batch on every
    replica that shrinks.
    """
    inner = ramp.tokens[(ramp.tokens > 0) & (ramp.tokens < tokens)]
    edges = np.unique(np.concatenate([np.linspace(0, tokens, PARTS + 1), inner]))
    lengths, steps = np.diff(edges), np.diff(ramp.steps(edges))
    lengths, steps = lengths[steps > 0], steps[steps > 0]  # two edges that differ by rounding have no step between them
    padded = batch.padded_tokens(lengths / steps, scenario.padding_fraction)
    return float((steps * step_costs.terms_at(scenario, padded).total).sum())


def schedule(name: str, label: str, ramp: Ramp, scenario: Scenario, found: Course) -> Schedule:
    """One schedule carried to the goal."""
    if scenario.goal == "target":
        done = progress.to_target(ramp, found.curve, found.useful_tokens)
    else:
        done = progress.through(ramp, found.curve, scenario.token_budget)
    return Schedule(
        name=name,
        label=label,
        ramp=ramp,
        progress=done,
        seconds=seconds(scenario, ramp, done.tokens),
        rises=min(ramp.length, done.tokens),
    )


def ramp_outlook(scenario: Scenario, log=None) -> RampOutlook:
    """The scenario's ramp and its comparison; `log` as in `critical_course.course`."""
    useful = useful_tokens(scenario)
    found = course(scenario, useful, log)
    start, end = ramp_make.ends(scenario)
    known = published_ramps.ramps()
    names = [name for name in scenario.ramps_compared.split() if name not in (scenario.ramp, "flat")]

    def of(name: str) -> Schedule:
        if name in known:
            return schedule(name, known[name].label, known[name].ramp, scenario, found)
        return schedule(name, ramp_kinds.KINDS[name], ramp_make.make(name, scenario, found), scenario, found)

    return RampOutlook(
        course=found,
        chosen=of(scenario.ramp),
        flat=schedule("flat", "Flat at its end", ramps.flat(end), scenario, found),
        start=schedule("start", "Flat at its start", ramps.flat(start), scenario, found),
        compared=tuple(of(name) for name in names if name in known or name in ramp_kinds.KINDS),
        gamma=progress.gamma(found.curve, useful),
        smallest_step=batch.tokens_per_step(scenario.data_parallel_size, scenario.seq_len, scenario.padding_fraction),
        unknown=tuple(name for name in names if name not in known and name not in ramp_kinds.KINDS),
    )
