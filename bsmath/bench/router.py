"""Expert loads of a small top-k mixture of experts over the tokens that are routed together.

For each weight of the balancing loss a model is trained, then groups of held-out tokens are routed and every expert's tokens
are counted. Nothing has a capacity: the dropped share is what one would have dropped (see bsmath.expert_counts). A group is a
set of random windows, as in training, the same ones for every model.

The balancing loss is taken over the tokens that one process forwards at once. Smaller micro-batches or more processes
therefore balance something else, and only without it do all of them train the same model.
"""

from collections.abc import Iterator

import numpy as np
import torch

from bsmath import expert_counts
from bsmath.bench import corpus, moe_gpt, record
from bsmath.bench.moe_gpt import ExpertGPT
from bsmath.bench.ranks import Ranks
from bsmath.bench.record import Setup
from bsmath.bench.settings import Router
from bsmath.bench.train import EVALUATION_SEED, Run, shape

COLUMNS = (
    "run", "device", "dtype", "num_params", "seq_len", "data_parallel_size", "global_batch_size", "tokens_per_step",
    "learning_rate", "steps", "balancing_loss", "seed", "layer", "routed_tokens", "group", "num_experts", "top_k",
    "capacity_factor", "dropped_fraction", "load_cv", "expert_counts", "held_out_loss",
)  # fmt: skip
CAPACITY_FACTOR = 1.25
"""The capacity for which the file gives a dropped share; the counts give that of any other."""
FORWARDED = 64
"""Sequences that are routed in one pass, to bound the memory; a group is counted over several."""


def num_params(settings: Router) -> int:
    """Parameters of the model that the settings ask for."""
    return moe_gpt.num_params(shape(settings), settings.num_experts, settings.top_k)


def notes(settings: Router) -> list[str]:
    """What a reader of the file must know."""
    return [
        f"experts: {settings.num_experts} in every layer, each token to {settings.top_k}, softmax router, no capacity; each "
        f"{moe_gpt.hidden(settings.width, settings.top_k)} features wide",
        f"training: {settings.steps} steps, AdamW, betas 0.9 0.95, no weight decay, no clipping; {settings.lr_warmup_steps} "
        "steps of linear warm-up, then constant",
        "balancing_loss: weight of E sum f P, over the tokens that a process forwards at once, added over layers",
        "routing: groups of random held-out windows in float32, after training, on one process; the same for every model",
        "units: routed_tokens in tokens, expert_counts in tokens from expert 0 on, held_out_loss in nats per byte without the "
        f"balancing loss, dropped_fraction at capacity factor {CAPACITY_FACTOR}",
    ]


def rows(setup: Setup, ranks: Ranks, text: np.ndarray, kept: list[dict[str, str]]) -> Iterator[tuple[dict, float]]:
    """Rows still to be measured, each with the share of the models that is then trained.

    A model of which any row is missing is trained again.
    """
    settings = setup.settings
    seeds = range(settings.seed, settings.seed + settings.seeds)
    jobs = [(weight, seed) for seed in seeds for weight in settings.balancing_losses]
    known = {_key(row) for row in kept}
    for done, (weight, seed) in enumerate(jobs, start=1):
        missing = [key for key in keys(settings, weight, seed) if key not in known]
        if not missing:
            continue
        run = trained(settings, ranks, text, weight, seed)
        fixed = setup.cells() | {
            "global_batch_size": settings.global_batch_size,
            "tokens_per_step": settings.global_batch_size * settings.seq_len,
            "learning_rate": settings.learning_rate,
            "steps": run.steps,
            "balancing_loss": weight,
            "seed": seed,
        }
        loss = run.evaluate()
        for row in measured(run):
            if (*_model(fixed), row["layer"], row["routed_tokens"], row["group"]) in missing:
                yield fixed | row | {"held_out_loss": loss}, done / len(jobs)


def _model(row: dict) -> tuple[float, int]:
    """Weight, as the file rounds it, and seed of a row's model."""
    weight = row["balancing_loss"]
    return float(record.text(weight)), int(row["seed"])


def _key(row: dict) -> tuple:
    """What tells a row of the file from every other."""
    return (*_model(row), int(row["layer"]), int(row["routed_tokens"]), int(row["group"]))


def keys(settings: Router, weight: float, seed: int) -> list[tuple]:
    """The keys of all rows of one model."""
    model = _model({"balancing_loss": weight, "seed": seed})
    sizes, groups, layers = settings.routed_tokens_list, range(settings.groups), range(settings.layers)
    return [(*model, layer, routed, group) for routed in sizes for group in groups for layer in layers]


def trained(settings: Router, ranks: Ranks, text: np.ndarray, weight: float, seed: int) -> Run:
    """A model at the end of its training, in evaluation mode."""
    torch.manual_seed(seed)
    routing = {"num_experts": settings.num_experts, "top_k": settings.top_k, "balancing_loss": weight}
    run = Run(settings, ranks, text, seed, model=ExpertGPT(shape(settings), **routing))
    while run.steps < settings.steps:
        run.step(settings.global_batch_size, run.warmed_up(settings.learning_rate))
    run.model.eval()
    return run


def measured(run: Run) -> Iterator[dict[str, object]]:
    """One set of cells a size, group and layer."""
    settings = run.settings
    for routed in settings.routed_tokens_list:
        for group in range(settings.groups):
            counts = loads(run, routed, group)
            drops = expert_counts.dropped_fraction(counts, settings.top_k, CAPACITY_FACTOR)
            for layer, (count, cv, dropped) in enumerate(
                zip(counts, expert_counts.load_cv(counts), drops, strict=True)
            ):
                yield {
                    "layer": layer,
                    "routed_tokens": routed,
                    "group": group,
                    "num_experts": settings.num_experts,
                    "top_k": settings.top_k,
                    "capacity_factor": CAPACITY_FACTOR,
                    "dropped_fraction": float(dropped),
                    "load_cv": float(cv),
                    "expert_counts": " ".join(map(str, count)),
                }


def loads(run: Run, routed_tokens: int, group: int) -> np.ndarray:
    """Tokens of each expert in each layer when this group is routed, [layers, experts]. [tokens]"""
    settings = run.settings
    generator = np.random.default_rng((EVALUATION_SEED, routed_tokens, group))
    drawn = corpus.windows(run.held_out, routed_tokens // settings.seq_len, settings.seq_len, generator)[:, :-1]
    counts = np.zeros((settings.layers, settings.num_experts), np.int64)
    for part in torch.from_numpy(drawn).to(run.ranks.device).split(FORWARDED):
        for layer, chosen in enumerate(run.model.chosen(part)):
            counts[layer] += torch.bincount(chosen.flatten(), minlength=settings.num_experts).cpu().numpy()
    return counts


def line(row: dict) -> str:
    """The row as one printed line."""
    start = f"balancing={row['balancing_loss']:g}  seed={row['seed']}  layer={row['layer']}  "
    return start + f"routed={row['routed_tokens']:6d}  CV={row['load_cv']:.3f}  dropped={row['dropped_fraction']:.1%}"
