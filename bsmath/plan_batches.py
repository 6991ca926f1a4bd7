"""One number of devices: time and cost over the batch, the batches nearly as good as the best, and how far below B_crit that is.

The splits are those of `plan_search`, on the scenario's own accelerator. At a fixed number of devices cost is proportional to
time, and time to 1/goodput for a target loss: the fastest batch is also the cheapest (derived).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import batch, plan_search, throughput
from bsmath.field_rules import RANGES
from bsmath.outlook import FLAT
from bsmath.plan_search import EVERY_MICRO_BATCH, Lines
from bsmath.scenario import Scenario

BEYOND = 4
"""How many times B_crit, or the fastest batch where that is larger, the batches looked at reach: a choice."""
MOST_STEPS = int(RANGES["grad_accum_steps"][1])


@dataclass(frozen=True, kw_only=True)
class StayBelow:
    """What going up to the critical batch costs a job whose devices are few: more tokens, and no step gets shorter."""

    tokens_per_step: float
    """The fastest feasible batch to the target. [real tokens]"""
    times_below: float
    """B_crit over that batch."""
    time_at_critical: float
    """Time to the target at B_crit as a multiple of the least, accumulation taken as continuous."""
    time_at_four_critical: float
    """The same at 4 B_crit."""


def over_batch(scenario: Scenario, num_devices: int) -> pd.DataFrame:
    """The feasible global batches at this number of devices, each by its fastest split.

    Multiples of the replicas: all up to 256, then at most 1/16 apart, and among them the fastest and the scenario's own. They
    end at BEYOND times B_crit; for a token budget at the scenario's own batch.

    Returns
    -------
    DataFrame
        The `columns` of `plan_search` in the order of the batch, and cost (nan without a price). Empty where nothing fits.
    """
    on = _lines(scenario, num_devices)
    shares, micros = _shares(scenario, on) if on is not None else (np.array([], dtype=int), np.array([1]))
    replicas = num_devices // scenario.model_parallel_size
    on = plan_search.lines(scenario, np.array([replicas]), micros).at(0)
    sequences, accumulation = shares[:, None] * replicas, shares[:, None] // micros
    whole = (shares[:, None] % micros == 0) & (accumulation <= MOST_STEPS)
    real = batch.tokens_per_step(sequences, scenario.seq_len, scenario.padding_fraction)
    times = np.where(whole, plan_search.seconds(scenario, on, real), np.inf)
    kept = whole.any(axis=1)
    best = plan_search.fastest_index(times[kept], sequences[kept], micros)
    found = plan_search.columns(scenario, on.at(best), shares[kept] // micros[best])
    price = np.nan if scenario.price_per_device_hour is None else scenario.price_per_device_hour
    return pd.DataFrame(found | {"cost": price * found["device_hours"]})


def flat_range(scenario: Scenario, num_devices: int) -> tuple[float, float] | None:
    """Smallest and largest feasible batch within 5 % of the least time at this number of devices; None where nothing fits.
    [real tokens]"""
    on = _lines(scenario, num_devices)
    if on is None:
        return None
    smallest = plan_search.smallest_steps(scenario, on)
    low, high = _ends(scenario, on, smallest, (1 + FLAT) * _fastest(scenario, on)[1])
    first = np.ceil(low / smallest * (1 - plan_search.TIED))
    last = np.minimum(np.floor(high / smallest * (1 + plan_search.TIED)), MOST_STEPS)
    some = first <= last  # false where an end is nan
    return float((first * smallest)[some].min()), float((last * smallest)[some].max())


def stay_below(scenario: Scenario, num_devices: int) -> StayBelow | None:
    """The fastest batch to the target beside the critical one, whatever the scenario's goal; None where nothing fits."""
    scenario = scenario.change(goal="target")
    on = _lines(scenario, num_devices)
    if on is None:
        return None
    knee = scenario.critical_batch_size
    tokens, least = _fastest(scenario, on)
    return StayBelow(
        tokens_per_step=tokens,
        times_below=knee / tokens,
        time_at_critical=_least_at(scenario, on, knee) / least,
        time_at_four_critical=_least_at(scenario, on, 4 * knee) / least,
    )


def _lines(scenario: Scenario, num_devices: int) -> Lines | None:
    """The step times of the micro-batches that fit; None where none does or a token budget's batch is too small."""
    replicas, left = divmod(num_devices, scenario.model_parallel_size)
    if left or replicas < 1:
        rule = f"a multiple of model_parallel_size ({scenario.model_parallel_size})"
        raise ValueError(f"num_devices must be {rule}, got {num_devices!r}")
    every = np.array([replicas])
    micros = plan_search.spread(plan_search.largest_micro_batches(scenario, every)[0], EVERY_MICRO_BATCH)
    if scenario.goal == "budget":
        micros = micros[micros <= plan_search.most_sequences(scenario) // replicas]
    return plan_search.lines(scenario, every, micros).at(0) if len(micros) else None


def _fastest(scenario: Scenario, on: Lines) -> tuple[float, float]:
    """The fastest feasible batch [real tokens] and its time [s]."""
    real = plan_search.best_accumulation(scenario, on) * plan_search.smallest_steps(scenario, on)
    times = plan_search.seconds(scenario, on, real)
    best = plan_search.fastest_index(times[None], real[None], on.micro_batch_size)[0]
    return float(real[best]), float(times[best])


def _shares(scenario: Scenario, on: Lines) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of one replica and step to look at, and the micro-batches that can divide them. [sequences]

    A number of at most five binary digits is divided by such numbers alone; others bring their own divisors along.
    """
    replicas, largest = int(on.data_parallel_size[0]), int(on.micro_batch_size[-1])
    one = batch.tokens_per_step(replicas, scenario.seq_len, scenario.padding_fraction)
    fastest = _fastest(scenario, on)[0]
    own = plan_search.most_sequences(scenario) // replicas
    most = own
    if scenario.goal == "target":
        most = max(int(BEYOND * max(scenario.critical_batch_size, fastest) / one), own, 1)
    singled = [round(fastest / one), max(own, 1)]
    shares = np.union1d(plan_search.spread(most, EVERY_MICRO_BATCH)[:-1], singled)
    candidates = np.arange(1, largest + 1)
    divisors = [candidates[share % candidates == 0] for share in singled]
    return shares, np.unique(np.concatenate([on.micro_batch_size, *divisors]))


def _ends(scenario: Scenario, on: Lines, smallest, limit: float):
    """Smallest and largest batch of each micro-batch that take at most `limit` [s]; nan where none does. [real tokens]"""
    with np.errstate(divide="ignore", invalid="ignore"):
        if scenario.goal == "budget":
            # f/B + 1/R <= limit/budget, solved for B
            room = limit / scenario.token_budget - 1 / (on.plateau * (1 - scenario.padding_fraction))
            low = np.where(room > 0, np.maximum(on.fixed_time / room, smallest), np.nan)
            most = plan_search.most_sequences(scenario) // on.data_parallel_size // on.micro_batch_size
            return low, np.minimum(most, MOST_STEPS) * smallest
        half, knee = plan_search.half_batches(scenario, on), scenario.critical_batch_size
        best = np.maximum(throughput.fastest_batch(half, knee), smallest)
        excess = limit / plan_search.seconds(scenario, on, best) - 1
        return throughput.batches_within(np.where(excess >= 0, excess, np.nan), half, knee, smallest)


def _least_at(scenario: Scenario, on: Lines, tokens_per_step: float) -> float:
    """Least time at a batch, but at least one sequence on every replica, over the micro-batches no larger than it. [s]"""
    smallest = plan_search.smallest_steps(scenario, on)
    real = max(tokens_per_step, float(smallest.min()))
    return float(np.where(smallest <= real, plan_search.seconds(scenario, on, real), np.inf).min())
