"""The fastest way to split a run over replicas, micro-batch and accumulation, for every number of replicas at once.

    B = micro_batch_size * grad_accum_steps * data_parallel_size sequences        all whole, the micro-batch surely fits

Replicas: every whole number of at most five binary digits (1 to 32, 34, 36, ... 64, 68, ...: at most 1/16 apart) and the
limit. Micro-batches: every one up to 256, then the same numbers, and the largest that fits. Both are a choice that thins the
search; below 32 replicas and micro-batches of 256 it leaves nothing out. At a fixed micro-batch the step time is a straight
line over accumulation (`step_terms`), so the best accumulation is known in closed form (derived):

    goal target   the better of the two whole numbers around sqrt(B_half B_crit)
    goal budget   the largest: more tokens per step only save time. The loss that a budget reaches falls with B, so the batch
                  of the scenario itself is the largest that is allowed
"""

import copy
from dataclasses import dataclass

import numpy as np

from bsmath import batch, critical, memory_outlook, memory_plan, model_shape, step_costs, step_terms, throughput
from bsmath.field_rules import RANGES
from bsmath.scenario import Scenario

EVERY_REPLICA, EVERY_MICRO_BATCH = 32, 256
"""Up to here every whole number is tried; 32 is the last below which none has more than five binary digits."""
TIED = 1e-9
"""Relative difference of two times below which they count as equal: float noise must not choose a split."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lines:
    """Step time over accumulation, fixed_time + padded tokens/plateau, of splits; arrays of one shape."""

    data_parallel_size: np.ndarray
    """Replicas."""
    micro_batch_size: np.ndarray
    """Micro-batch. [sequences]"""
    fixed_time: np.ndarray
    """[s]"""
    plateau: np.ndarray
    """[padded tokens/s]"""

    def at(self, index) -> "Lines":
        """Some of them."""
        return Lines(**{name: values[index] for name, values in vars(self).items()})


def spread(most: int, every: int = EVERY_REPLICA) -> np.ndarray:
    """Whole numbers from 1 to `most`: all up to `every`, then those of at most five binary digits, and `most`; none below 1."""
    if most < 1:
        return np.array([], dtype=int)
    digits = np.arange(16, 32) << np.arange(1, 60)[:, None]
    further = digits[(digits > every) & (digits < most)]
    return np.unique(np.concatenate([np.arange(1, min(most, every) + 1), further, [most]]))


def largest_micro_batches(scenario: Scenario, replicas: np.ndarray) -> np.ndarray:
    """Largest micro-batch that surely fits, for each number of replicas; 0 where none does. [sequences]

    ZeRO shares states out among replicas, so more of them can fit more. Without known memory it is the scenario's own.
    """
    device = scenario.device
    available = scenario.device_memory or (None if device is None else device.memory)
    if available is None:
        return np.full(len(replicas), scenario.micro_batch_size)
    shape, own = model_shape.of(scenario), scenario.micro_batch_size
    runs = [memory_outlook.outlook(_on(scenario, d), shape).estimate for d in replicas.tolist()]
    largest = [memory_plan.fitting_micro_batch(available, run, own)[0] for run in runs]
    return np.minimum(largest, int(RANGES["micro_batch_size"][1])).astype(int)


def lines(scenario: Scenario, replicas: np.ndarray, micro_batches: np.ndarray) -> Lines:
    """The step times of micro-batches (a row for each number of replicas, or one row for all) on replicas."""
    jobs = [step_costs.costs(_on(scenario, d)) for d in replicas.tolist()]
    costs = {name: np.array([job[name] for job in jobs])[:, None] for name in jobs[0]}
    micro_tokens = batch.tokens_per_step(np.atleast_2d(micro_batches), scenario.seq_len)
    fixed, limit = step_terms.effective(micro_tokens=micro_tokens, **costs)
    every = np.broadcast_arrays(replicas[:, None], micro_batches, fixed, limit)
    return Lines(**dict(zip(("data_parallel_size", "micro_batch_size", "fixed_time", "plateau"), every, strict=True)))


def _on(scenario: Scenario, replicas: int) -> Scenario:
    """The scenario on other replicas, its other fields not checked again: that takes longer than the whole search."""
    other = copy.copy(scenario)
    object.__setattr__(other, "data_parallel_size", replicas)
    return other


def smallest_steps(scenario: Scenario, on: Lines):
    """One micro-batch on every replica. [real tokens]"""
    sequences = on.micro_batch_size * on.data_parallel_size
    return batch.tokens_per_step(sequences, scenario.seq_len, scenario.padding_fraction)


def half_batches(scenario: Scenario, on: Lines):
    """B_half at each micro-batch. [real tokens]"""
    return throughput.half_batch(on.fixed_time, on.plateau, scenario.padding_fraction)


def most_sequences(scenario: Scenario) -> int:
    """Largest batch for a token budget: the scenario's own. [sequences]"""
    return batch.global_batch_size(scenario.micro_batch_size, scenario.grad_accum_steps, scenario.data_parallel_size)


def best_accumulation(scenario: Scenario, on: Lines) -> np.ndarray:
    """Accumulation with the least time to the goal; 0 where a budget's largest batch is smaller than one micro-batch each."""
    most = int(RANGES["grad_accum_steps"][1])
    if scenario.goal == "budget":
        largest = most_sequences(scenario) // (on.micro_batch_size * on.data_parallel_size)
        return np.minimum(np.where(on.fixed_time > 0, largest, np.minimum(largest, 1)), most)
    smallest = smallest_steps(scenario, on)
    feasible = throughput.fastest_feasible_batch(half_batches(scenario, on), scenario.critical_batch_size, smallest)
    return np.clip(np.rint(feasible / smallest), 1, most).astype(int)


def columns(scenario: Scenario, on: Lines, grad_accum_steps) -> dict[str, np.ndarray]:
    """Everything that follows from splits, named and measured as in `planner.Plan`, but for prices and power."""
    sequences = batch.global_batch_size(on.micro_batch_size, grad_accum_steps, on.data_parallel_size)
    real = batch.tokens_per_step(sequences, scenario.seq_len, scenario.padding_fraction)
    time = throughput.step_time(batch.tokens_per_step(sequences, scenario.seq_len), on.fixed_time, on.plateau)
    steps, devices = (
        steps_to_goal(scenario, real),
        batch.num_devices(on.data_parallel_size, scenario.model_parallel_size),
    )
    return {
        "num_devices": devices,
        "data_parallel_size": on.data_parallel_size,
        "micro_batch_size": on.micro_batch_size,
        "grad_accum_steps": grad_accum_steps,
        "global_batch_size": sequences,
        "tokens_per_step": real,
        "fixed_time": on.fixed_time,
        "plateau": on.plateau,
        "step_time": time,
        "tokens_per_second": real / time,
        "steps": steps,
        "tokens": steps * real,
        "seconds": steps * time,
        "device_hours": devices * steps * time / 3600,
        "goodput": throughput.goodput(real / time, real, scenario.critical_batch_size),
    }


def steps_to_goal(scenario: Scenario, tokens_per_step):
    """Optimizer steps to the scenario's goal at other batches."""
    if scenario.goal == "budget":
        return scenario.token_budget / tokens_per_step
    return critical.steps_to_target(tokens_per_step, scenario.critical_batch_size, scenario.min_steps)


def seconds(scenario: Scenario, on: Lines, tokens_per_step):
    """Time to the scenario's goal at other batches, accumulation taken as continuous. [s]"""
    padded = batch.padded_tokens(tokens_per_step, scenario.padding_fraction)
    return steps_to_goal(scenario, tokens_per_step) * throughput.step_time(padded, on.fixed_time, on.plateau)


def fastest_index(times: np.ndarray, sequences: np.ndarray, micro_batches: np.ndarray) -> np.ndarray:
    """Index of the least time in each row; of equals the smaller batch, and of these the larger micro-batch."""
    tied = times <= times.min(axis=1, keepdims=True) * (1 + TIED)
    least = np.where(tied, sequences, np.inf)
    tied = tied & (least == least.min(axis=1, keepdims=True))
    return np.argmax(np.where(tied, micro_batches, 0), axis=1)


def fastest_splits(scenario: Scenario, most_devices: int) -> dict[str, np.ndarray]:
    """The `columns` of the fastest split on each number of replicas on which one is feasible, fewest first."""
    replicas = spread(most_devices // scenario.model_parallel_size)
    largest = largest_micro_batches(scenario, replicas)
    replicas, largest = replicas[largest > 0], largest[largest > 0]
    if not len(replicas):
        return {}
    micros = np.minimum(
        spread(largest.max(), EVERY_MICRO_BATCH), largest[:, None]
    )  # a row repeats the largest that fits
    on = lines(scenario, replicas, micros)
    accumulation = best_accumulation(scenario, on)
    sequences = batch.global_batch_size(on.micro_batch_size, np.maximum(accumulation, 1), on.data_parallel_size)
    real = batch.tokens_per_step(sequences, scenario.seq_len, scenario.padding_fraction)
    times = np.where(accumulation > 0, seconds(scenario, on, real), np.inf)
    best = np.arange(len(replicas)), fastest_index(times, sequences, micros)
    feasible = accumulation[best] > 0
    return columns(scenario, on.at(best).at(feasible), accumulation[best][feasible])
