"""The curves of compared ramps: batch, critical batch and learning rate through the run, and schedules between steps and tokens."""

import numpy as np
import pandas as pd

from bsmath import curves, ramp_make, rate_schedule
from bsmath.change_outlook import usual_rule
from bsmath.ramp_outlook import RampOutlook, Schedule
from bsmath.scenario import Scenario

POINTS = 161
EARLIEST = 1e-4
"""Share of the run from which curves over a logarithm of tokens are drawn."""
OVERHEADS = np.geomspace(1e-3, 50, 61)
"""E/E_min - 1 of the points of the hyperbola and of the frontier."""


def over_tokens(one: Schedule) -> pd.DataFrame:
    """The batch of a schedule through its run.

    Returns
    -------
    DataFrame
        tokens [tokens], tokens_per_step [tokens], steps; a threshold has two rows, so that a staircase is drawn with its risers.
    """
    seen = _with_thresholds(one, one.tokens * np.geomspace(EARLIEST, 1, POINTS))
    return pd.DataFrame({"tokens": seen, "tokens_per_step": one.ramp.at(seen), "steps": one.ramp.steps(seen)})


def _with_thresholds(one: Schedule, seen: np.ndarray) -> np.ndarray:
    """These tokens, and both sides of every threshold of a ramp that has few."""
    edges = one.ramp.tokens[1:] if len(one.ramp.tokens) < POINTS / 2 else np.array([])
    both = np.concatenate([edges * (1 - 1e-9), edges])
    return np.sort(np.concatenate([seen, both[both < one.tokens]]))


def joined(schedules) -> pd.DataFrame:
    """The same for several schedules, one under the other, with a column of their labels."""
    return pd.concat([over_tokens(one).assign(schedule=one.label) for one in schedules], ignore_index=True)


def course_over_tokens(found: RampOutlook) -> pd.DataFrame:
    """The critical batch as the flat run at the ramp's end meets it: tokens seen [tokens], critical_batch_size [tokens]."""
    useful = found.flat.progress.useful_tokens * np.geomspace(EARLIEST, 1, POINTS)
    curve = found.course.curve
    return pd.DataFrame(
        {"tokens": useful + found.flat.ramp.end * curve.steps(useful), "critical_batch_size": curve.at(useful)}
    )


def pareto(found: RampOutlook) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Steps and tokens of flat batches, of the best ramps, and (with label) of each schedule, for a goal of one loss."""
    useful = found.course.useful_tokens
    least = float(found.course.curve.steps(useful))
    flat = pd.DataFrame({"steps": least * (1 + 1 / OVERHEADS), "tokens": useful * (1 + OVERHEADS)})
    best = flat.assign(steps=least * (1 + found.gamma / OVERHEADS))
    rows = [(one.label, one.steps, one.tokens) for one in (*found.schedules, found.start)]
    return flat, best, pd.DataFrame(rows, columns=["label", "steps", "tokens"])


def rule_of(scenario: Scenario, one: Schedule) -> str:
    """The rule by which the rate follows the batch: of Seesaw the square-root rule (Adam) or the linear one (SGD)."""
    if one.name == "seesaw":
        return "linear" if scenario.optimizer == "sgd" else "square_root"
    return usual_rule(scenario)


def rule_rate(scenario: Scenario, one: Schedule, tokens_per_step):
    """What the schedule's rule says for a batch. [tokens]"""
    return curves.rate_by(rule_of(scenario, one), scenario, tokens_per_step)


def peak_rates(scenario: Scenario, one: Schedule, tokens):
    """What the rule says for the batch after so many tokens, before the schedule."""
    return curves.rate_by(rule_of(scenario, one), scenario, one.ramp.at(tokens))


def rates(scenario: Scenario, one: Schedule) -> pd.DataFrame:
    """The rate through a schedule's run, on an even grid: its rule at the batch, times the scenario's schedule over the run.

    Columns: tokens [tokens], tokens_per_step [tokens], learning_rate.
    """
    seen = _with_thresholds(one, one.tokens * np.linspace(0, 1, POINTS))
    share = rate_schedule.share_of_peak(seen, **ramp_make.schedule_of(scenario, one.tokens))
    rate = share * peak_rates(scenario, one, seen)
    return pd.DataFrame({"tokens": seen, "tokens_per_step": one.ramp.at(seen), "learning_rate": rate})
