"""The critical batch size by branching one run (Merrill et al. 2025, arXiv 2505.23971; analysis in bsmath.branching).

A run at batch B and rate eta is kept at each checkpoint, weights, optimizer and all. From there every branch trains for the
same tokens with k B and sqrt(k) eta, at once and without another warm-up, as published; Adam's betas stay. Branches with the
same seed draw the same windows in the same order, only cut into other batches, so that their losses can be compared in pairs.
Unlike the published method, the loss is not smoothed: it is the held-out loss after the last step.
"""

import math
from collections.abc import Iterator

import numpy as np

from bsmath.bench.ranks import Ranks
from bsmath.bench.record import Setup
from bsmath.bench.settings import Branch
from bsmath.bench.train import Run, num_params, optimizer_note  # noqa: F401 (num_params belongs to what every measurement offers)

COLUMNS = (
    "run", "device", "dtype", "num_params", "seq_len", "data_parallel_size", "checkpoint_step", "checkpoint_tokens",
    "base_global_batch_size", "batch_factor", "global_batch_size", "tokens_per_step", "learning_rate", "branch_tokens",
    "seed", "tolerance", "steps", "loss",
)  # fmt: skip


def notes(settings: Branch) -> list[str]:
    """What a reader of the file must know."""
    return [
        f"{optimizer_note(settings)}; none again in a branch",
        f"branches: k times the batch and sqrt(k) times the rate for {settings.branch_tokens} tokens from each checkpoint; "
        "the same windows for every k of a seed",
        f"loss: nats per byte on {settings.eval_sequences} held-out sequences after the last step; recovered up to "
        f"{settings.tolerance} above k = 1",
        "units: batch sizes in sequences, tokens_per_step, checkpoint_tokens and branch_tokens in tokens",
    ]


def rows(setup: Setup, ranks: Ranks, text: np.ndarray, kept: list[dict[str, str]]) -> Iterator[tuple[dict, float]]:
    """Rows still to be measured, each with the share of the branches that is then done.

    The run itself is trained again as far as a missing branch needs it; the same seed gives the same run.
    """
    settings = setup.settings
    jobs = order(settings)
    known = {(int(row["checkpoint_step"]), int(row["seed"]), int(row["batch_factor"])) for row in kept}
    run, state = Run(settings, ranks, text, settings.seed), None
    for done, job in enumerate(jobs, start=1):
        if job in known:
            continue
        checkpoint, seed, factor = job
        if state is None or state["steps"] != checkpoint:
            state = advanced(run, state, checkpoint)
        yield setup.cells() | branch(run, state, seed, factor), done / len(jobs)


def order(settings: Branch) -> list[tuple[int, int, int]]:
    """(checkpoint, seed, factor) in the order of the branches: all factors of a seed in a row."""
    seeds = range(settings.seed, settings.seed + settings.seeds)
    factors = sorted(settings.batch_factors)
    return [(step, seed, k) for step in sorted(settings.checkpoint_steps) for seed in seeds for k in factors]


def advanced(run: Run, state: dict | None, checkpoint: int) -> dict:
    """Train the run itself on, from the last checkpoint or from the start, and keep it."""
    if state is not None:
        run.restore(state)
    while run.steps < checkpoint:
        run.step(run.settings.global_batch_size, run.warmed_up(run.settings.learning_rate))
    return run.state()


def branch(run: Run, state: dict, seed: int, factor: int) -> dict[str, object]:
    """Train one branch from a kept state: the cells that it adds to a row. A loss that is no number is written as nan."""
    settings = run.settings
    kept_generator = run.data
    run.restore(state)
    run.data = np.random.default_rng((seed, state["steps"]))
    batch, rate = factor * settings.global_batch_size, math.sqrt(factor) * settings.learning_rate
    steps = settings.branch_tokens // (batch * settings.seq_len)
    for _ in range(steps):
        run.step(batch, rate)
    loss = run.evaluate()
    run.data = kept_generator
    return {
        "checkpoint_step": state["steps"],
        "checkpoint_tokens": state["steps"] * settings.global_batch_size * settings.seq_len,
        "base_global_batch_size": settings.global_batch_size,
        "batch_factor": factor,
        "global_batch_size": batch,
        "tokens_per_step": batch * settings.seq_len,
        "learning_rate": rate,
        "branch_tokens": settings.branch_tokens,
        "seed": seed,
        "tolerance": settings.tolerance,
        "steps": steps,
        "loss": loss,
    }


def line(row: dict) -> str:
    """The row as one printed line."""
    start = f"step={row['checkpoint_step']:5d}  seed={row['seed']}  k={row['batch_factor']:3d}  "
    return start + f"B={row['global_batch_size']:4d}  lr={row['learning_rate']:g}  loss={row['loss']:.4f}"
