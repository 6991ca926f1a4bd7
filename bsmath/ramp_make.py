"""The batch ramp that a scenario describes, of any kind of `ramp_kinds.KINDS`."""

import numpy as np

from bsmath import progress, ramp_kinds, rate_schedule
from bsmath import ramp as ramps
from bsmath.critical_course import Course
from bsmath.outlook import outlook
from bsmath.ramp import Ramp
from bsmath.scenario import Scenario

START_SHARE = 1 / 8
"""A ramp's start over its end where no start is typed: three doublings, as in several published runs."""
SEESAW_POINTS = 97


def ends(scenario: Scenario) -> tuple[float, float]:
    """Batch at the start and at the end of the scenario's ramp, of typed stages the first and the last. [tokens]"""
    if scenario.ramp == "stages" and scenario.ramp_stages:
        typed = _stages(scenario)
        return float(typed.first[0]), typed.end
    end = scenario.ramp_end or outlook(scenario).tokens_per_step
    return scenario.ramp_start or end * START_SHARE, end


def make(kind: str, scenario: Scenario, course: Course) -> Ramp:
    """A ramp between the scenario's ends.

    Kinds that follow the critical batch start at the smaller end at least; they rise beyond the run's batch where no end is typed, to
    show what they would ask for.
    """
    start, end = ends(scenario)
    over, levels = scenario.ramp_tokens, scenario.ramp_levels
    if kind == "flat":
        return ramps.flat(end)
    if kind in ("linear_tokens", "linear_steps", "doubling"):
        return getattr(ramps, kind)(start, end, over)
    if kind == "staircase":
        return ramps.rampup(start, (end - start) / (levels - 1), end, over) if end != start else ramps.flat(end)
    if kind == "stages":
        return _stages(scenario)
    if kind == "seesaw":
        return _seesaw(scenario, course, start, end)
    follow = {"law": progress.proportional, "law_doubling": progress.doubling, "adaptive": progress.adaptive}[kind]
    high = scenario.ramp_end or np.inf
    return follow(course.curve, course.useful_tokens, scenario.ramp_factor, min(start, high), high)


def _stages(scenario: Scenario) -> Ramp:
    """The typed stages; flat at the end where none are typed."""
    if not scenario.ramp_stages:
        return ramps.flat(ends(scenario)[1])
    thresholds, sequences = zip(*ramp_kinds.read_stages(scenario.ramp_stages), strict=True)
    real = scenario.seq_len * (1 - scenario.padding_fraction)
    return ramps.staircase(thresholds, np.array(sequences) * real)


def seesaw_tokens(scenario: Scenario, course: Course, start: float) -> float:
    """Tokens of the run whose schedule Seesaw turns into a ramp: a flat one at the start batch. [tokens]"""
    if scenario.goal == "budget":
        return scenario.token_budget
    return progress.to_target(ramps.flat(start), course.curve, course.useful_tokens).tokens


def _seesaw(scenario: Scenario, course: Course, start: float, end: float) -> Ramp:
    """B_0 over the schedule's share of the peak, up to the end: where the rate would fall by a, the batch rises by 1/a instead.

    With Adam the rate then falls by sqrt(a) (the square-root rule on top of the schedule), with SGD not at all (the linear one);
    Meterez et al. 2025, arXiv 2510.14717. The warmup is left as it is.
    """
    total = seesaw_tokens(scenario, course, start)
    seen = np.linspace(0, 1, SEESAW_POINTS)[1:] * total
    share = rate_schedule.share_of_peak(seen, **schedule_of(scenario, total) | {"warmup_tokens": 0.0})
    with np.errstate(divide="ignore"):
        sizes = np.minimum(start / share, max(end, start))
    return ramps.through(seen, sizes) if np.ptp(sizes) > 0 else ramps.flat(start)


def schedule_of(scenario: Scenario, total_tokens: float) -> dict:
    """The scenario's schedule as `rate_schedule.share_of_peak` takes it, over a run of this length. [tokens]"""
    return {
        "total_tokens": total_tokens,
        "warmup_tokens": scenario.warmup_tokens,
        "schedule": scenario.schedule,
        "decay_tokens": min(scenario.decay_tokens, total_tokens),
        "floor": min(scenario.min_learning_rate / scenario.learning_rate, 1.0),
    }
