"""The settings of one training run that touch its batch: what a trainer's configuration holds and a change of batch moves.

Everything that is scheduled is in tokens (real ones, without padding), so that it means the same at every batch; steps follow from
`tokens_per_step`. A trainer's own units (steps, sequences, samples) exist in `bsmath.exports` alone.
"""

import dataclasses
from dataclasses import dataclass

from bsmath import checks

SCHEDULES = ("cosine", "linear", "wsd", "constant")
"""Shapes of the learning rate after its warmup; wsd is constant, then falls over `decay_tokens`."""
LOSS_AVERAGES = ("token", "sequence", "micro_batch")
"""What the loss is the mean of: all tokens of the step; each sequence, then all sequences; each micro-batch, then all of these."""

CHOICES = {
    "optimizer": ("adamw", "sgd"),
    "decay": ("coupled", "independent"),
    "schedule": SCHEDULES,
    "loss_average": LOSS_AVERAGES,
}
"""The words that a field may hold."""
WHOLE = {
    "micro_batch_size": (1, 10**6), "grad_accum_steps": (1, 10**6), "data_parallel_size": (1, 10**6),
    "model_parallel_size": (1, 10**5), "seq_len": (1, 2**20),
}  # fmt: skip
"""Least and most of the whole numbers."""
RANGES = {
    "padding_fraction": (0, 0.95), "learning_rate": (1e-8, 100), "min_learning_rate": (0, 100), "weight_decay": (0, 10),
    "beta1": (0, 0.999999), "beta2": (0, 0.99999999), "epsilon": (0, 1), "clip_norm": (0, 1e6), "warmup_tokens": (0, 1e13),
    "total_tokens": (1, 1e15), "decay_tokens": (0, 1e15), "checkpoint_tokens": (0, 1e15), "eval_tokens": (0, 1e15),
}  # fmt: skip
"""Least and most of the other numbers, in the field's unit."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One run's batch, optimizer and schedule. Every field is checked; a wrong one is a TypeError or ValueError."""

    micro_batch_size: int = 48
    """Sequences that one replica forwards at once. [sequences]"""
    grad_accum_steps: int = 1
    """Micro-batches per replica and step."""
    data_parallel_size: int = 1
    """Replicas."""
    model_parallel_size: int = 1
    """Devices per replica."""
    seq_len: int = 2048
    """Tokens per packed sequence. [tokens/sequence]"""
    padding_fraction: float = 0.0
    """Share of padding among the tokens of a step."""
    optimizer: str = "adamw"
    """`adamw` or `sgd`."""
    learning_rate: float = 3e-4
    """Peak rate."""
    min_learning_rate: float = 0.0
    """Rate at the end of the schedule."""
    weight_decay: float = 0.1
    """Decay, multiplied by the rate where `decay` is coupled (PyTorch), by itself where it is independent."""
    decay: str = "coupled"
    """`coupled` or `independent`."""
    beta1: float = 0.9
    """Decay of Adam's first moment per step; SGD's momentum."""
    beta2: float = 0.95
    """Decay of Adam's second moment per step."""
    epsilon: float = 1e-8
    """Adam's epsilon."""
    clip_norm: float = 1.0
    """Global gradient-norm threshold; 0 is off."""
    schedule: str = "cosine"
    """One of SCHEDULES."""
    warmup_tokens: float = 1e9
    """Length of the linear warmup. [real tokens]"""
    total_tokens: float = 5e10
    """Length of the run. [real tokens]"""
    decay_tokens: float = 0.0
    """Length of the fall at the end of a wsd schedule; of no other. [real tokens]"""
    checkpoint_tokens: float = 0.0
    """Tokens between checkpoints; 0 where not known. [real tokens]"""
    eval_tokens: float = 0.0
    """Tokens between evaluations; 0 where not known. [real tokens]"""
    loss_average: str = "token"
    """One of LOSS_AVERAGES."""

    def __post_init__(self):
        for name in FIELDS:
            value = getattr(self, name)
            if name in CHOICES:
                checks.one_of(name, value, CHOICES[name])
            elif name in WHOLE:
                object.__setattr__(self, name, checks.whole(name, value, *WHOLE[name]))
            else:
                object.__setattr__(self, name, checks.between(name, value, *RANGES[name]))

    @property
    def global_batch_size(self) -> int:
        """Sequences of one optimizer step. [sequences]"""
        return self.micro_batch_size * self.grad_accum_steps * self.data_parallel_size

    @property
    def num_devices(self) -> int:
        """Devices of the job."""
        return self.data_parallel_size * self.model_parallel_size

    @property
    def padded_tokens_per_step(self) -> int:
        """Tokens of one step, padding with them. [tokens]"""
        return self.global_batch_size * self.seq_len

    @property
    def tokens_per_step(self) -> float:
        """Real tokens of one step, B. [tokens]"""
        return self.padded_tokens_per_step * (1 - self.padding_fraction)

    def steps(self, tokens: float) -> int:
        """Whole steps nearest to a length in tokens; at least one where there is any length. [steps]"""
        return max(round(tokens / self.tokens_per_step), 1) if tokens > 0 else 0

    def rounded(self, digits: int = 4) -> "Recipe":
        """The same with as many digits of its settings as a configuration needs; of a beta, its distance from 1 counts."""
        short = {name: float(f"{getattr(self, name):.{digits}g}") for name in ROUNDED}
        betas = {name: round(1 - float(f"{1 - getattr(self, name):.{digits}g}"), 15) for name in ("beta1", "beta2")}
        return self.change(**short, **betas)

    def change(self, **changes) -> "Recipe":
        """A recipe with some fields changed."""
        return dataclasses.replace(self, **changes)


ROUNDED = ("learning_rate", "min_learning_rate", "weight_decay", "epsilon", "clip_norm")
"""Settings of which four digits are more than anyone can tell apart."""
FIELDS = tuple(field.name for field in dataclasses.fields(Recipe))
