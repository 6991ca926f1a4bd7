"""What a run's own MFU leaves open: how much faster a larger batch can make it, and which batch could be the fastest.

No batch lifts MFU above the fastest matmul measured on the device (`matmul_efficiency`). So the plateau is at most
ceiling / mfu times the run's rate, and of the run's step time t at most t (1 - mfu / ceiling) can be fixed. Both are derived
from one measured rate at one batch; neither needs a sweep.
"""

from dataclasses import dataclass

from bsmath import batch, laws, throughput
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario

LEAST_SHARE = 0.1
"""Low end of the fixed times considered, as a share of the assumed one: a choice, to show how little it matters."""


def most_fixed_time(step_time, mfu, matmul_efficiency):
    """Largest fixed part of a step that the matmul ceiling leaves. [s]

    Parameters
    ----------
    step_time : numeric
        Measured. [s]
    mfu : numeric
        The run's own, by the same count of FLOPs and the same peak as the ceiling. [0-1]
    matmul_efficiency : numeric
        Fastest measured matmul over the dense peak. [0-1]
    """
    return step_time * (1 - mfu / matmul_efficiency)


def most_doubling_gain(mfu, matmul_efficiency):
    """By how much twice the batch can raise the rate at most, as a share: all that could be fixed is.

    Twice the batch takes 2 t - t_fixed, so the gain is t_fixed / (2 t - t_fixed) at the largest t_fixed.
    """
    fixed = 1 - mfu / matmul_efficiency
    return fixed / (2 - fixed)


@dataclass(frozen=True, kw_only=True)
class Fastest:
    """The batch with the least wall-clock to the target, over what is only assumed."""

    fixed_time: tuple[float, float]
    """Fixed times considered, communication that nothing hides included. [s]"""
    critical_batch_size: tuple[float, float]
    """Critical batch sizes considered. [tokens]"""
    tokens_per_step: tuple[float, float]
    """B_fast at both low and both high ends, at least one sequence on every replica. [real tokens]"""


def fastest_range(scenario: Scenario, run: Outlook, matmul_efficiency: float | None) -> Fastest:
    """B_fast over the fixed times that the ceiling leaves and the critical batch sizes that published laws give.

    A rate at one batch fixes t_fixed + B/R, so a larger fixed time goes with a faster plateau. Without a measured ceiling the
    largest fixed time is the assumed one.
    """
    longest = run.fixed_time
    shortest = longest - (1 - LEAST_SHARE) * scenario.fixed_time
    if matmul_efficiency is not None and run.mfu < matmul_efficiency:
        longest = max(most_fixed_time(run.step_time, run.mfu, matmul_efficiency), longest)
    found = laws.predictions(scenario.active_params, run.tokens)
    sure = (found["kind"] == "critical") & (found["unverified"] == "")
    known = [*found.loc[sure, "tokens_per_step"], scenario.critical_batch_size]
    floor = batch.tokens_per_step(scenario.data_parallel_size, scenario.seq_len, scenario.padding_fraction)
    ends = []
    for fixed, knee in ((shortest, min(known)), (longest, max(known))):
        limit = throughput.plateau_from_rate(run.padded_tokens_per_step, run.padded_tokens_per_second, fixed)
        half = throughput.half_batch(fixed, limit, scenario.padding_fraction)
        ends.append(max(float(throughput.fastest_batch(half, knee)), floor))
    return Fastest(
        fixed_time=(shortest, longest),
        critical_batch_size=(min(known), max(known)),
        tokens_per_step=tuple(ends),
    )
