"""The gradient noise scale through one training run.

Every step takes the squared norm of each micro-batch's gradient and of the step's own (see noise_meter), and every
`average_steps` steps give one row for all parameters and one for each layer group. The rows of a file that was begun
cannot bring back the run that made them: it is trained again from its start, which gives the same rows, and only
missing ones are added.
"""

from collections.abc import Iterator

import numpy as np

from bsmath import noise
from bsmath.bench.noise_meter import ALL, EMA_DECAY, NoiseScaleMeter
from bsmath.bench.ranks import Ranks
from bsmath.bench.record import Setup
from bsmath.bench.settings import Noise
from bsmath.bench.train import Run, num_params, optimizer_note  # noqa: F401 (num_params belongs to what every measurement offers)

COLUMNS = (
    "run", "device", "dtype", "num_params", "seq_len", "data_parallel_size", "global_batch_size", "tokens_per_step",
    "learning_rate", "step", "tokens", "steps_averaged", "group", "tokens_small", "tokens_big", "grad_sq_norm_small",
    "grad_sq_norm_big", "grad_sq_norm", "trace", "ema_grad_sq_norm", "ema_trace", "loss", "held_out_loss",
)  # fmt: skip


def notes(settings: Noise) -> list[str]:
    """What a reader of the file must know."""
    return [
        optimizer_note(settings),
        f"noise scale: trace / grad_sq_norm, each averaged over rows before they are divided; small batch "
        f"{settings.micro_batch_size} sequences, big batch {settings.global_batch_size}",
        f"ema_ columns: debiased averages over rows with decay {EMA_DECAY}; group {ALL} is the sum of the layer groups",
        "units: batch sizes and the noise scale in tokens, step and tokens at a row's end, losses in nats per byte",
    ]


def rows(setup: Setup, ranks: Ranks, text: np.ndarray, kept: list[dict[str, str]]) -> Iterator[tuple[dict, float]]:
    """Rows still to be measured, each with the share of the steps that is then done."""
    settings = setup.settings
    run = Run(settings, ranks, text, settings.seed)
    sizes = {"micro_batch_size": settings.micro_batch_size, "seq_len": settings.seq_len}
    meter = NoiseScaleMeter(run.model, average_steps=settings.average_steps, **sizes)
    known = {(int(row["step"]), row["group"]) for row in kept}
    if (settings.steps, meter.groups[-1]) in known:
        return
    fixed = setup.cells() | {"global_batch_size": settings.global_batch_size, "learning_rate": settings.learning_rate}
    losses = []
    while run.steps < settings.steps:
        losses.append(run.gradient(settings.global_batch_size))
        measured = meter.update()
        run.update(run.warmed_up(settings.learning_rate))
        if run.steps == settings.steps:
            measured = measured or meter.flush()
        if not measured:
            continue
        held_out = run.evaluate()
        ends = {"loss": float(np.mean(losses)), "held_out_loss": held_out}
        for row in measured:
            if (row["step"], row["group"]) not in known:
                yield fixed | row | ends, run.steps / settings.steps
        losses = []
        if settings.target_loss is not None and held_out <= settings.target_loss:
            return


def line(row: dict) -> str:
    """The row as one printed line."""
    start = f"step={row['step']:5d}  {row['group']:9s}  held-out loss={row['held_out_loss']:.3f}  "
    if not row["ema_grad_sq_norm"] > 0:
        return start + "noise scale not identified"
    return start + f"noise scale={noise.noise_scale(row['ema_trace'], row['ema_grad_sq_norm']):,.0f} tokens"
