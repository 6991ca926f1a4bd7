"""How sure the time of a plan is: the uncertainty of both fits carried through to the seconds of plans.

    seconds = S_min (1 + B_crit/B) (t_fixed + B/R)             each of the four times the factor of a draw, 1 where it is not known

The factors stand on the scenario's own values, so a fit says how sure they are and not what they are. That of the fixed time
scales the part of a plan's fixed time that the scenario calls its own: communication and overheads are computed, not measured.
That of the plateau scales the whole plateau, as a change of the MFU would where no other term adds to it. For a token budget
the steps are known, and the step time alone is uncertain. Derived; what no sweep has measured is taken as exact.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import batch, critical, plan_draws, throughput
from bsmath.hyperbola_fit import HyperbolaFit
from bsmath.outlook import FLAT
from bsmath.scenario import Scenario
from bsmath.step_fit import StepTimeFit

QUANTILES = {"low": 0.05, "median": 0.5, "high": 0.95}
"""The columns of a band: the ends hold 90 % of the draws."""
SHARE = 0.9
"""Share of the draws in which a batch must be nearly the best to be called safe: a choice."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Factors:
    """Draws of four parameters over their best estimates: arrays of one length, or 1 for what is taken as exact."""

    critical_batch_size: np.ndarray | float = 1.0
    """B_crit over its estimate."""
    min_steps: np.ndarray | float = 1.0
    """S_min over its estimate."""
    fixed_time: np.ndarray | float = 1.0
    """t_fixed over its estimate."""
    plateau: np.ndarray | float = 1.0
    """R over its estimate."""

    @property
    def known(self) -> bool:
        """Whether any parameter is drawn."""
        return any(np.ndim(values) for values in vars(self).values())

    def joined(self, other: "Factors") -> "Factors":
        """Both together, where each draws what the other takes as exact."""
        return Factors(**{name: values * getattr(other, name) for name, values in vars(self).items()})


def factors(
    hyperbola: HyperbolaFit | None = None, step_time: StepTimeFit | None = None, count: int = plan_draws.COUNT
) -> Factors:
    """The draws of the fits that there are, over each fit's own values.

    Raises
    ------
    ValueError
        Where a fit is not bounded by its data (see `plan_draws`).
    """
    drawn = {}
    for fit, draw in ((hyperbola, plan_draws.hyperbola_draws), (step_time, plan_draws.step_draws)):
        if fit is not None:
            drawn |= {name: values.to_numpy() / fit.parameters[name] for name, values in draw(fit, count).items()}
    return Factors(**drawn)


def seconds_by_draw(scenario: Scenario, fixed_time, plateau, tokens_per_step, by: Factors) -> np.ndarray:
    """Time to the scenario's goal, a row for each draw and a column for each plan. [s]

    Parameters
    ----------
    scenario : Scenario
        Its hyperbola, token budget, padding and own fixed time enter; its split does not.
    fixed_time, plateau : array_like
        Effective fixed time [s] and plateau [padded tokens/s] of each plan, as `step_costs.effective` has them.
    tokens_per_step : array_like
        Batch of each plan. [real tokens]
    by : Factors
        The draws.
    """
    knee, least, fixed, limit = (
        np.reshape(values, (-1, 1)) for values in (by.critical_batch_size, by.min_steps, by.fixed_time, by.plateau)
    )
    sizes = np.atleast_1d(np.asarray(tokens_per_step, float))
    steps = scenario.token_budget / sizes
    if scenario.goal == "target":
        steps = critical.steps_to_target(sizes, scenario.critical_batch_size * knee, scenario.min_steps * least)
    padded = batch.padded_tokens(sizes, scenario.padding_fraction)
    own = (fixed - 1) * scenario.fixed_time
    return steps * throughput.step_time(padded, np.asarray(fixed_time) + own, np.asarray(plateau) * limit)


def seconds_band(scenario: Scenario, fixed_time, plateau, tokens_per_step, by: Factors) -> pd.DataFrame:
    """The 5, 50 and 95 % quantiles of the time to the goal of each plan: low, median, high. [s]

    Parameters are those of `seconds_by_draw`.
    """
    return band(seconds_by_draw(scenario, fixed_time, plateau, tokens_per_step, by))


def band(seconds: np.ndarray) -> pd.DataFrame:
    """The 5, 50 and 95 % quantiles over the rows, a row for each column: low, median, high."""
    return pd.DataFrame(dict(zip(QUANTILES, np.quantile(seconds, list(QUANTILES.values()), axis=0), strict=True)))


def safe_range(batches, seconds, excess: float = FLAT, share: float = SHARE) -> np.ndarray:
    """The batches that are within `excess` of the least time in at least this share of the draws; empty where none is.

    Parameters
    ----------
    batches : array_like
        The batches. [tokens]
    seconds : array_like
        A row for each draw, a column for each batch; each draw is compared with its own best. [s]
    """
    seconds = np.asarray(seconds, float)
    near = seconds <= (1 + excess) * seconds.min(axis=1, keepdims=True)
    return np.asarray(batches)[near.mean(axis=0) >= share]
