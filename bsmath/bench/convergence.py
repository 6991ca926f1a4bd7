"""Steps to a target loss over batch sizes, learning rates and seeds.

Every run starts from scratch: AdamW (see train), a linear warm-up and then a constant rate, so that no schedule has a horizon
to be tuned. The held-out loss is taken after every step up to 50 and then at every step that is 2 % later, and the run ends
at the first one at or below the target: the count is at most 2 % too high, at every batch alike. A run that does not arrive
is recorded with the steps that it was given; what it would have needed is more than that. One whose batch does not fit the
memory is recorded as such, with no steps. The wall-clock of its optimizer steps is taken too, data drawn and evaluations
left out: with a throughput sweep of the same model and machine, it tells whether steps times step time is the time a run takes.
"""

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np

from bsmath.bench import device, record
from bsmath.bench.ranks import Ranks
from bsmath.bench.record import Setup
from bsmath.bench.settings import Convergence
from bsmath.bench.train import Run, num_params, optimizer_note  # noqa: F401 (num_params belongs to what every measurement offers)

COLUMNS = (
    "run", "device", "dtype", "num_params", "seq_len", "data_parallel_size", "global_batch_size", "tokens_per_step",
    "learning_rate", "seed", "target_loss", "steps_to_target", "outcome", "steps_run", "train_seconds", "final_loss",
)  # fmt: skip
EVALUATION_GROWTH = 1.02
"""Ratio of the steps at which the loss is evaluated."""
REACHED, NOT_REACHED, DIVERGED, OUT_OF_MEMORY = "reached", "not reached", "diverged", "out of memory"
DIVERGENCE = 2.0
"""A held-out loss this far above the first one ends a run as diverged. [nats/token]"""


def notes(settings: Convergence) -> list[str]:
    """What a reader of the file must know."""
    return [
        optimizer_note(settings),
        f"target: {settings.target_loss} nats per byte on {settings.eval_sequences} held-out sequences, evaluated at every "
        "step to 50, then every 2 %",
        f"ends: reached, diverged, or not reached after {settings.patience} times the best run at its batch or "
        f"{settings.max_steps} steps",
        "train_seconds: wall-clock of all steps that were run, without evaluations",
        "units: global_batch_size in sequences, rates are peaks, steps_to_target empty where the run did not arrive",
    ]


def order(settings: Convergence) -> list[tuple[int, int, float]]:
    """(seed, batch, rate) in the order of the runs: a whole sweep for each seed, middle rates first.

    The first runs at a batch then tell how long its slower ones are given.
    """
    rates = sorted(settings.learning_rates)
    middle = (len(rates) - 1) / 2
    nearest = sorted(rates, key=lambda rate: abs(rates.index(rate) - middle))
    batches = sorted(settings.global_batch_sizes)
    seeds = range(settings.seed, settings.seed + settings.seeds)
    return [(seed, batch, rate) for seed in seeds for batch in batches for rate in nearest]


def rows(setup: Setup, ranks: Ranks, text: np.ndarray, kept: list[dict[str, str]]) -> Iterator[tuple[dict, float]]:
    """Rows still to be measured, each with the share of the runs that is then done."""
    settings = setup.settings
    jobs = order(settings)
    fewest: dict[int, int] = {}
    known = {}
    for row in kept:
        known[int(row["seed"]), int(row["global_batch_size"]), float(row["learning_rate"])] = row["steps_to_target"]
    for done, job in enumerate(jobs, start=1):
        seed, batch, rate = job
        cells = (seed, batch, float(record.text(rate)))  # the rate as the file rounds it
        if cells in known:
            arrived = int(known[cells]) if known[cells] else None
        else:
            most = settings.max_steps
            if batch in fewest:
                most = min(most, math.ceil(settings.patience * fewest[batch]))
            arrived, outcome, steps, seconds, loss = attempt(settings, ranks, text, job, most)
            yield (
                setup.cells()
                | {
                    "global_batch_size": batch,
                    "tokens_per_step": batch * settings.seq_len,
                    "learning_rate": rate,
                    "seed": seed,
                    "target_loss": settings.target_loss,
                    "steps_to_target": arrived,
                    "outcome": outcome,
                    "steps_run": steps,
                    "train_seconds": seconds,
                    "final_loss": loss,
                },
                done / len(jobs),
            )
        if arrived:
            fewest[batch] = min(arrived, fewest.get(batch, arrived))


def attempt(
    settings: Convergence, ranks: Ranks, text: np.ndarray, job: tuple[int, int, float], most: int
) -> tuple[int | None, str, int, float | None, float | None]:
    """One run of `order`, from scratch: steps to the target or None, outcome, steps run, their seconds, the last loss.

    One process of several that runs out of memory ends the job: it cannot tell the others, which wait for it.
    """
    seed, batch, rate = job
    try:
        with device.memory_errors() if ranks.size == 1 else nullcontext():
            run = Run(settings, ranks, text, seed)
            arrived, outcome, seconds, loss = to_target(run, batch, rate, most)
    except MemoryError:
        return None, OUT_OF_MEMORY, 0, None, None
    return arrived, outcome, run.steps, seconds, loss


def to_target(run: Run, global_batch_size: int, rate: float, most: int) -> tuple[int | None, str, float, float]:
    """Train until the held-out loss is at the target: steps that took or None, outcome, seconds of all steps, the last loss."""
    first = loss = run.evaluate()
    due, seconds = 1, 0.0
    while run.steps < most:
        start = time.perf_counter()
        run.step(global_batch_size, run.warmed_up(rate))
        device.synchronize()
        seconds += time.perf_counter() - start
        if run.steps < due and run.steps < most:
            continue
        due = max(run.steps + 1, math.ceil(run.steps * EVALUATION_GROWTH))
        loss = run.evaluate()
        if not loss <= first + DIVERGENCE:
            return None, DIVERGED, seconds, loss
        if loss <= run.settings.target_loss:
            return run.steps, REACHED, seconds, loss
    return None, NOT_REACHED, seconds, loss


def line(row: dict) -> str:
    """The row as one printed line."""
    start = f"B={row['global_batch_size']:4d}  lr={row['learning_rate']:g}  seed={row['seed']}  "
    if row["steps_to_target"]:
        return start + f"steps={row['steps_to_target']}"
    return start + row["outcome"] + (f" in {row['steps_run']}" if row["steps_run"] else "")
