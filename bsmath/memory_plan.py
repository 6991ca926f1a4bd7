"""Memory of one device at the peak of a training step, the largest micro-batch that fits, and what a smaller one frees.

    memory = states + b s (A + Q s)        affine in the micro-batch b; Q = 0 without kept attention scores

Each part is a formula of `memory`; where it is only known between two ends, both are carried.
"""

import math
from dataclasses import dataclass

from bsmath.memory import (
    HIDDEN_BYTES,
    LOGIT_BYTES,
    activation_bytes_per_layer,
    expert_buffer_bytes,
    gradient_bytes_total,
    logit_bytes,
    optimizer_bytes,
    score_bytes,
    weight_bytes,
)

SLACK = 1e-12
"""Share of the memory, a byte in a terabyte, by which float noise of the sums must not push out what fits exactly."""


@dataclass(frozen=True, kw_only=True)
class MemoryEstimate:
    """What one device holds at the peak of a training step; a pair is (low, high)."""

    weights: float
    """[bytes]"""
    gradients: float
    """[bytes]"""
    optimizer: float
    """Adam's states. [bytes]"""
    activations: tuple[float, float]
    """Low and high by HIDDEN_BYTES. [bytes]"""
    scores: float
    """Attention scores among the activations: they grow with the square of the sequence length. [bytes]"""
    logits: tuple[float, float]
    """Low and high by LOGIT_BYTES. [bytes]"""

    @property
    def states(self) -> float:
        """What does not grow with the micro-batch. [bytes]"""
        return self.weights + self.gradients + self.optimizer

    @property
    def per_batch(self) -> tuple[float, float]:
        """What is proportional to the micro-batch, low and high. [bytes]"""
        return self.activations[0] + self.logits[0], self.activations[1] + self.logits[1]

    @property
    def low(self) -> float:
        """Least total. [bytes]"""
        return self.states + self.per_batch[0]

    @property
    def high(self) -> float:
        """Largest total. [bytes]"""
        return self.states + self.per_batch[1]


def estimate(
    *,
    num_params,
    num_layers,
    hidden_size,
    num_heads,
    vocab_size,
    gated_mlp,
    seq_len,
    micro_batch_size,
    data_parallel_size,
    model_parallel_size,
    zero_stage,
    recompute,
    gradient_bytes,
) -> MemoryEstimate:
    """Memory of one device, low and high, from plain numbers.

    Assumes that the devices of a replica (tensor and sequence parallel) share states, activations and logits evenly. Not so
    the first stage of a 1F1B pipeline: it keeps as many micro-batches as there are stages, so its activations do not shrink.
    Full recomputation keeps, beside the inputs, all of the layer that runs again, without scores. In a mixture of experts the
    experts' buffers come on top (`expert_buffer_bytes`). The parameters are named and measured as in Scenario and
    Architecture; `gradient_bytes` is what one gradient takes, 2 or 4. [bytes]
    """
    tokens, n = micro_batch_size * seq_len, num_params / model_parallel_size
    inputs = num_layers * activation_bytes_per_layer(tokens, hidden_size, num_heads, seq_len, "full")
    scores = num_layers * score_bytes(tokens, num_heads, seq_len) if recompute == "none" else 0
    layers = [kept * tokens * hidden_size for kept in HIDDEN_BYTES[gated_mlp]]
    kept = [inputs + layer if recompute == "full" else num_layers * layer + scores for layer in layers]
    logits = [logit_bytes(tokens, vocab_size, each) for each in LOGIT_BYTES]
    return MemoryEstimate(
        weights=weight_bytes(n, zero_stage, data_parallel_size),
        gradients=gradient_bytes_total(n, zero_stage, data_parallel_size, gradient_bytes),
        optimizer=optimizer_bytes(n, zero_stage, data_parallel_size),
        activations=tuple(each / model_parallel_size for each in kept),
        scores=scores / model_parallel_size,
        logits=tuple(each / model_parallel_size for each in logits),
    )


def largest_micro_batch(memory, **job) -> tuple[int, int]:
    """Largest micro-batch that by this count surely fits (high total) and that may fit (low total), from 0. [sequences]

    Parameters
    ----------
    memory : float
        Of one device. [bytes]
    **job
        The parameters of `estimate` but for `micro_batch_size`.
    """
    return fitting_micro_batch(memory, estimate(micro_batch_size=1, **job), 1)


def fitting_micro_batch(memory, run: MemoryEstimate, micro_batch_size: int) -> tuple[int, int]:
    """As `largest_micro_batch`, from the estimate at another micro-batch: activations and logits are proportional to it."""
    low, high = run.per_batch
    room = _room(memory, run) * micro_batch_size
    return math.floor(room / high), math.floor(room / low)


def _room(memory, run: MemoryEstimate) -> float:
    return max(memory * (1 + SLACK) - run.states, 0)


def largest_seq_len(memory, **job) -> tuple[int, int]:
    """Longest sequence that surely fits and that may fit: room = b s (A + Q s) solved for s. [tokens/sequence]

    `memory` as in `largest_micro_batch`; `job` holds all parameters of `estimate`, whatever its `seq_len`.
    """
    run = estimate(**job)
    low, high = run.per_batch
    return _longest(memory, run, high, job["seq_len"]), _longest(memory, run, low, job["seq_len"])


def _longest(memory, run: MemoryEstimate, per_batch: float, seq_len: int) -> int:
    room = _room(memory, run)
    linear, quadratic = (per_batch - run.scores) / seq_len, run.scores / seq_len**2
    return math.floor(2 * room / (linear + math.sqrt(linear**2 + 4 * quadratic * room)))


@dataclass(frozen=True, kw_only=True)
class Freed:
    """What a smaller micro-batch frees on one device, and what that buys: one of these, not all."""

    memory: tuple[float, float]
    """Low and high; negative for a larger micro-batch. [bytes]"""
    same_memory_seq_len: int
    """Longest sequence at the new micro-batch that takes no more than the old run: it fits if that did. [tokens/sequence]"""
    seq_len: tuple[int, int]
    """Longest sequence at the new micro-batch that surely and that may fit the device. [tokens/sequence]"""
    largest_micro_batch: tuple[int, int]
    """Largest micro-batch at the old sequence length that surely and that may fit the device. [sequences]"""
    capacity_factor: tuple[float, float] | None
    """Capacity factor that a mixture of experts can add at the new micro-batch, by `expert_buffer_bytes`; None without."""


def freed(memory, new_micro_batch_size: int, top_k: int | None = None, **job) -> Freed:
    """What the run gains with another micro-batch.

    The same tokens fit as before, so without kept scores the sequence grows as the micro-batch shrinks, whatever the factors.

    Parameters
    ----------
    memory : float
        Of one device. [bytes]
    new_micro_batch_size : int
        At least 1. [sequences]
    top_k : int or None
        Routed experts per token, in every layer; None for a dense model.
    **job
        The parameters of `estimate` for the old run.
    """
    job_after, length = job | {"micro_batch_size": new_micro_batch_size}, job["seq_len"]
    old, new = estimate(**job), estimate(**job_after)
    low, high = new.per_batch
    gain = old.per_batch[0] - low, old.per_batch[1] - high
    capacity = None
    if top_k is not None:
        layers = 1 if job["recompute"] == "full" else job["num_layers"]
        unit = layers * expert_buffer_bytes(new_micro_batch_size * length, job["hidden_size"], top_k)
        capacity = tuple(each * job["model_parallel_size"] / unit for each in gain)
    return Freed(
        memory=gain,
        # Monotone in the factor between low and high, so the shorter of both ends fits whatever it is.
        same_memory_seq_len=min(_longest(old.low, new, low, length), _longest(old.high, new, high, length)),
        seq_len=largest_seq_len(memory, **job_after),
        largest_micro_batch=largest_micro_batch(memory, **{k: v for k, v in job.items() if k != "micro_batch_size"}),
        capacity_factor=capacity,
    )
