"""One training run of the small GPT, data-parallel over the processes.

Every process draws the whole global batch from the same seed and takes its share, so that a run with any number of
processes sees the same data. The loss is the mean over all tokens of the global batch, whatever the micro-batches.
"""

import copy

import numpy as np
import torch

from bsmath.bench import corpus, gpt
from bsmath.bench.gpt import GPT, Shape
from bsmath.bench.ranks import Ranks
from bsmath.bench.settings import Settings, Training

BETAS, EPSILON, WEIGHT_DECAY = (0.9, 0.95), 1e-8, 0.0
"""AdamW's own settings, the same in every run; gradients are not clipped."""
EVALUATION_SEED = 2**31
"""Draws the held-out windows; no run's seed can be this one."""


def shape(settings: Settings) -> Shape:
    """The model that the settings ask for."""
    return Shape(seq_len=settings.seq_len, layers=settings.layers, width=settings.width, heads=settings.heads)


def num_params(settings: Settings) -> int:
    """Parameters of the model that the settings ask for."""
    return gpt.num_params(shape(settings))


def accumulate_gradient(
    model: torch.nn.Module, windows: torch.Tensor, micro_batch_size: int, dtype: str = "float32"
) -> torch.Tensor:
    """Add the gradient of the mean loss over all tokens to the parameters, and give that loss. [nats/token]

    Parameters
    ----------
    model : torch.nn.Module
        Has `loss(inputs, targets)`.
    windows : torch.Tensor
        The batch: sequences of seq_len + 1 tokens, a multiple of micro_batch_size of them.
    micro_batch_size : int
        Sequences forwarded at once. [sequences]
    dtype : str
        Type of the matrix products.
    """
    micro_batches = windows.split(micro_batch_size)
    total = torch.zeros((), device=windows.device)
    for micro_batch in micro_batches:
        with torch.autocast(windows.device.type, torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = model.loss(micro_batch[:, :-1], micro_batch[:, 1:]) / len(micro_batches)
        loss.backward()
        total += loss.detach()
    return total


def average_gradient(model: torch.nn.Module, ranks: Ranks) -> None:
    """Replace every gradient by its mean over the processes, in one message."""
    if ranks.size == 1:
        return
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    flat = ranks.mean(torch.cat([gradient.flatten() for gradient in gradients]))
    for gradient, mean in zip(gradients, flat.split([gradient.numel() for gradient in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def optimizer_note(settings: Training) -> str:
    """How every run is optimized, for the reader of a file."""
    return (
        f"optimizer: AdamW, betas {BETAS[0]} {BETAS[1]}, no weight decay, no clipping; {settings.lr_warmup_steps} steps of linear "
        "warm-up, then constant"
    )


class Run:
    """A model in training: its weights, its optimizer, its place in the data."""

    def __init__(self, settings: Settings, ranks: Ranks, text: np.ndarray, seed: int, model: GPT | None = None):
        torch.manual_seed(seed)
        self.settings, self.ranks = settings, ranks
        self.training, self.held_out = corpus.split(text)
        self.model = (model or GPT(shape(settings))).to(ranks.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=0.0, betas=BETAS, eps=EPSILON, weight_decay=WEIGHT_DECAY
        )
        self.data = np.random.default_rng(seed)
        self.steps = 0

    def batch(self, global_batch_size: int) -> torch.Tensor:
        """The next global batch's share of this process: sequences of seq_len + 1 tokens."""
        drawn = corpus.windows(self.training, global_batch_size, self.settings.seq_len, self.data)
        share = np.split(drawn, self.ranks.size)[self.ranks.rank]
        return torch.from_numpy(share).to(self.ranks.device)

    def gradient(self, global_batch_size: int) -> float:
        """Clear the gradient, then put that of the next global batch in its place, averaged over processes; its loss."""
        windows = self.batch(global_batch_size)
        self.optimizer.zero_grad()
        micro_batch_size = self.settings.micro_batch_size or len(windows)
        loss = accumulate_gradient(self.model, windows, min(micro_batch_size, len(windows)), self.settings.dtype)
        average_gradient(self.model, self.ranks)
        return float(self.ranks.mean(loss))

    def update(self, learning_rate: float) -> None:
        """Step the optimizer with the gradient that is there."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self.steps += 1

    def step(self, global_batch_size: int, learning_rate: float) -> float:
        """One optimizer step at this batch [sequences] and rate; gives the loss before it. [nats/token]"""
        loss = self.gradient(global_batch_size)
        self.update(learning_rate)
        return loss

    def warmed_up(self, peak: float) -> float:
        """The learning rate of the next step: a linear rise over lr_warmup_steps, then the peak."""
        return peak * min(1.0, (self.steps + 1) / max(self.settings.lr_warmup_steps, 1))

    @torch.no_grad()
    def evaluate(self) -> float:
        """Loss on the held-out sequences, always the same ones, shared out over the processes. [nats/token]

        They are forwarded in micro-batches like those of training, so that they fit where a step does.
        """
        count, ranks = self.settings.eval_sequences, self.ranks
        generator = np.random.default_rng(EVALUATION_SEED)
        windows = corpus.windows(self.held_out, count, self.settings.seq_len, generator)[ranks.rank :: ranks.size]
        total = torch.zeros((), device=ranks.device)
        if len(windows):
            mine = torch.from_numpy(windows).to(ranks.device)
            for part in mine.split(self.settings.micro_batch_size or len(mine)):
                total += self.model.loss(part[:, :-1], part[:, 1:]) * len(part)
        return float(ranks.mean(total)) * ranks.size / count

    def state(self) -> dict:
        """Everything that training further needs, as tensors, numbers and words (see torch.load, weights_only)."""
        return copy.deepcopy(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "data": self.data.bit_generator.state,
                "steps": self.steps,
            }
        )

    def restore(self, state: dict) -> None:
        """Go on from a state."""
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.data.bit_generator.state = state["data"]
        self.steps = state["steps"]
