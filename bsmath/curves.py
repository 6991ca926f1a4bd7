"""The theory over batch size for one scenario, as one table that every chart over B is drawn from."""

import numpy as np
import pandas as pd
from scipy import optimize

from bsmath import batch, checks, critical, expert_load, flops, lr, moe, step_costs, throughput
from bsmath.outlook import Outlook, seconds_to_goal
from bsmath.scenario import RANGES, Scenario


def over_batch(scenario: Scenario, run: Outlook, measurements=(), points: int = 121) -> pd.DataFrame:
    """Rate, goodput, time and budgets from a tenth of the smallest to ten times the largest batch of interest.

    Batches that `measurements` (see bsmath.measured) hold are of interest too.

    Returns
    -------
    DataFrame
        tokens_per_step [tokens], tokens_per_second and goodput [tokens/s], days, steps, tokens [tokens], step_overhead,
        token_overhead; everything in real tokens.
    """
    interesting = [run.tokens_per_step, run.fastest_feasible_batch, scenario.critical_batch_size]
    low = max(min(*interesting, max(run.half_batch, min(interesting) / 100)) / 10, 1)
    measured = [size for found in measurements for size in found.points["tokens_per_step"]]
    sizes = np.geomspace(min([low, *measured]), max([10 * max(interesting), *measured]), points)
    rate = throughput.tokens_per_second(sizes, run.fixed_time, run.padded_plateau, scenario.padding_fraction)
    return critical.tradeoff(scenario.critical_batch_size, scenario.min_steps, sizes).assign(
        tokens_per_second=rate,
        goodput=throughput.goodput(rate, sizes, scenario.critical_batch_size),
        days=seconds_to_goal(scenario, sizes) / flops.SECONDS_PER_DAY,
    )


def calibrated(scenario: Scenario, tokens_per_step: float, measured: float) -> Scenario:
    """The scenario whose model gives a measured rate or MFU at a stated batch, by its plateau MFU.

    Parameters
    ----------
    tokens_per_step : float
        Batch size of the measurement. [real tokens]
    measured : float
        Up to 1 it is an MFU, else a whole-job rate. [real tokens/s]

    Raises
    ------
    ValueError
        Where no MFU from 0.01 to 1 does: most often a per-device rate, a sparse peak or another batch size.
    """
    checks.between("tokens per step", tokens_per_step, 1, 1e12)
    checks.between("measured rate or MFU", measured, 1e-6, 1e15)
    devices = batch.num_devices(scenario.data_parallel_size, scenario.model_parallel_size)
    work = flops.flops_per_token(scenario.active_params)
    padded = batch.padded_tokens(tokens_per_step, scenario.padding_fraction)
    rate = batch.padded_tokens(measured, scenario.padding_fraction)
    if measured <= 1:
        rate = throughput.plateau(scenario.peak_flops, measured, work, devices)
    if padded / rate <= scenario.fixed_time:
        raise ValueError(
            f"the measured step must last longer than fixed_time ({scenario.fixed_time:g} s), got {padded / rate:.4g} s"
        )
    limit = throughput.plateau_from_rate(padded, rate, scenario.fixed_time)
    found = scenario.change(mfu=flops.mfu(limit, work, scenario.peak_flops, devices))

    def slower(mfu: float) -> float:
        return throughput.step_time(padded, *step_costs.effective(scenario.change(mfu=mfu))) * rate / padded - 1

    if slower(found.mfu) < 1e-9:
        return found  # nothing stands beside t_fixed and the plateau
    if slower(RANGES["mfu"][1]) > 0:
        raise ValueError(
            "measured rate must be within reach once communication and overhead per micro-batch are added to fixed_time, "
            f"got {measured:.6g}: lower those"
        )
    return scenario.change(mfu=optimize.brentq(slower, found.mfu, RANGES["mfu"][1], xtol=1e-12))


def learning_rates(scenario: Scenario, run: Outlook, points: int = 121) -> pd.DataFrame:
    """Peak learning rate by every rule from a hundredth of the smaller to a hundred times the larger of run and reference.

    Returns
    -------
    DataFrame
        tokens_per_step [tokens] and one column for each rule of `bsmath.lr.RULES`.
    """
    ends = sorted((run.tokens_per_step, scenario.reference_tokens_per_step))
    sizes = np.geomspace(max(ends[0] / 100, 1), ends[1] * 100, points)
    return pd.DataFrame({"tokens_per_step": sizes} | {name: rate_by(name, scenario, sizes) for name in lr.RULES})


def between(low: float, high: float, points: int = 61) -> np.ndarray:
    """Values that are evenly spread on a logarithmic axis."""
    return np.geomspace(low, high, points)


def rate_by(rule: str, scenario: Scenario, tokens_per_step):
    """Peak learning rate that a rule gives for these batches from the scenario's reference."""
    saturation = getattr(scenario, lr.RULES[rule].saturation) if lr.RULES[rule].saturation else None
    return lr.RULES[rule].function(
        tokens_per_step, scenario.learning_rate, scenario.reference_tokens_per_step, saturation
    )


def expert_loads(scenario: Scenario, run: Outlook, points: int = 121) -> pd.DataFrame:
    """Tokens per expert by the scenario's router, from a hundredth of one micro-batch to a hundred times the global batch.

    Returns
    -------
    DataFrame
        tokens_per_step [tokens], tokens_per_expert [tokens], low and high: two standard deviations either side, at least a
        tenth of the mean so that a logarithmic axis can show it.
    """
    routing = scenario.num_experts, scenario.top_k
    sizes = np.geomspace(
        max(run.smallest_step / 1000, scenario.num_experts / scenario.top_k), 30 * run.tokens_per_step, points
    )
    mean = moe.tokens_per_expert(sizes, *routing)
    spread = 2 * mean * expert_load.load_cv(scenario, sizes)
    low = np.maximum(mean - spread, mean / 10)
    return pd.DataFrame({"tokens_per_step": sizes, "tokens_per_expert": mean, "low": low, "high": mean + spread})


def evenness(scenario: Scenario, routed_tokens: float, skews: tuple[float, ...], points: int = 60) -> pd.DataFrame:
    """Load CV in percent against the tokens routed together: routed_tokens, `this` (the scenario's router), one column a skew."""
    sizes = np.geomspace(max(routed_tokens / 1000, 16), routed_tokens * 1000.0, points)
    columns = {skew: 100 * expert_load.load_cv(scenario, sizes, skew) for skew in skews}
    return pd.DataFrame({"routed_tokens": sizes, "this": 100 * expert_load.load_cv(scenario, sizes)} | columns)


def dropped_percent(
    scenario: Scenario, routed_tokens: float, factors: tuple[float, ...], points: int = 60
) -> pd.DataFrame:
    """Percent of tokens dropped against the tokens routed together, one column a capacity factor."""
    sizes = np.unique(np.round(np.geomspace(max(routed_tokens / 1000, 16), routed_tokens * 100.0, points)))
    dropped = {factor: 100 * expert_load.dropped(scenario, sizes, factor) for factor in factors}
    return pd.DataFrame({"routed_tokens": sizes} | dropped)


def rule_table(scenario: Scenario, tokens_per_step: float) -> pd.DataFrame:
    """Every rule that applies to the scenario's optimizer at one batch.

    Returns
    -------
    DataFrame
        rule, rate, ratio (to the reference rate) and slope (local exponent d ln rate / d ln B).
    """
    rows = []
    for name, rule in lr.RULES.items():
        if scenario.optimizer in rule.optimizers:
            rate = rate_by(name, scenario, tokens_per_step)
            slope = lr.local_slope(lambda size, name=name: rate_by(name, scenario, size), tokens_per_step)
            rows.append({"rule": name, "rate": rate, "ratio": rate / scenario.learning_rate, "slope": slope})
    return pd.DataFrame(rows)
