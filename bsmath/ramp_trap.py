"""What a schedule that is written in steps becomes once the batch ramps.

    n steps are taken to stand for n B_end tokens                 B_end the batch for which the steps were counted
    the ramp and the rate are then those of n(D) B_end tokens     n(D) the steps that the ramp has really taken by D tokens

Derived. A ramp takes more steps at its small batches, so whatever is counted in steps comes too early in tokens: thresholds of the
ramp itself, the end of the warmup, the end of the decay.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import ramp as ramps
from bsmath import ramp_curves, ramp_make, rate_schedule
from bsmath.ramp import Ramp
from bsmath.ramp_curves import POINTS
from bsmath.ramp_outlook import Schedule
from bsmath.scenario import Scenario


@dataclass(frozen=True, kw_only=True, eq=False)
class Trap:
    """A ramp and a rate that were counted in steps of the ramp's end, as their run meets them."""

    ramp: Ramp
    """The batch that results where the ramp's thresholds too are steps. [tokens]"""
    batches: pd.DataFrame
    """tokens [tokens], meant and in_steps: batches [tokens]."""
    ramp_ends: float
    """Tokens after which that ramp is over. [tokens]"""
    warmup_ends: float
    """Tokens after which the warmup is over. [tokens]"""
    rate_ends: float
    """Tokens after which the rate's schedule is over; those of the run where it reaches beyond. [tokens]"""
    horizon_steps: float
    """Steps for which the schedule was written. [steps]"""
    rates: pd.DataFrame
    """tokens [tokens], meant (schedule in tokens), in_steps (schedule in steps, ramp in tokens): learning rates."""


def in_steps(ramp: Ramp, counted_at: float, points: int = POINTS) -> Ramp:
    """The ramp whose batch after n steps is that of the other one after n `counted_at` tokens. [tokens]"""
    if ramp.length == 0:
        return ramp
    flat = bool((ramp.first == ramp.last).all())
    steps = ramp.tokens / counted_at if flat else np.linspace(0, ramp.length / counted_at, points)
    sizes = ramp.at(steps * counted_at)
    if flat:
        return ramps.staircase(np.concatenate([[0.0], np.cumsum(np.diff(steps) * sizes[:-1])]), sizes)
    seen = np.concatenate([[0.0], np.cumsum(np.diff(steps) * (sizes[1:] + sizes[:-1]) / 2)])
    return ramps.through(seen[1:], sizes[1:])


def trap(scenario: Scenario, one: Schedule) -> Trap:
    """The trap of one schedule whose lengths were divided by the batch at its end to get steps."""
    counted_at, total = one.ramp.end, one.tokens
    plan = ramp_make.schedule_of(scenario, total)
    seen = ramp_curves.rates(scenario, one)["tokens"].to_numpy()
    peak = ramp_curves.peak_rates(scenario, one, seen)
    believed = one.ramp.steps(seen) * counted_at
    rates = {
        "tokens": seen,
        "meant": peak * rate_schedule.share_of_peak(seen, **plan),
        "in_steps": peak * rate_schedule.share_of_peak(believed, **plan),
    }
    stepped = in_steps(one.ramp, counted_at)
    drawn = ramp_curves.over_tokens(one)["tokens"]
    drawn = np.sort(np.concatenate([drawn, stepped.tokens[1:][stepped.tokens[1:] < total]]))
    return Trap(
        ramp=stepped,
        batches=pd.DataFrame({"tokens": drawn, "meant": one.ramp.at(drawn), "in_steps": stepped.at(drawn)}),
        ramp_ends=min(stepped.length, total),
        warmup_ends=float(one.ramp.tokens_after(scenario.warmup_tokens / counted_at)),
        rate_ends=min(float(one.ramp.tokens_after(total / counted_at)), total),
        horizon_steps=total / counted_at,
        rates=pd.DataFrame(rates),
    )
