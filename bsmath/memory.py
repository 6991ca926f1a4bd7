"""Device memory of a training step, the largest micro-batch that fits, and what a smaller one frees.

    states       2 N weights + 2 or 4 N gradients + 12 N optimizer             mixed-precision Adam: master weights, m, v
                 ZeRO shares out by stage: 1 optimizer, 2 gradients too, 3 weights too (arXiv 1910.02054)
    activations  per layer  s b h (34 + 5 a s/h) none, 34 s b h selective, 2 s b h full (Korthikanti et al., arXiv 2205.05198)
    logits       4 s b V in fp32, 6 s b V with their bf16 copy, nothing where the loss runs over chunks
    memory       states + b s (A + Q s)                                        affine in b; Q = 0 with FlashAttention

The counts of states and of the plain MLP (4 h wide, GELU, dropout, bf16) are derived from what Adam and the backward pass
keep; HIDDEN_BYTES of a gated MLP are measured. Not counted: CUDA context and kernels' workspace, fragmentation, buffers of
communication, the layers that ZeRO-3 gathers. Accumulation changes none of it. `numeric` is a float, an array or a Series.
"""

import math
from dataclasses import dataclass

WEIGHT_BYTES = 2
OPTIMIZER_BYTES = 12
"""Adam's bytes per parameter in mixed precision, K of the ZeRO paper: fp32 master weights, first and second moment."""

HIDDEN_BYTES = {False: (34, 34), True: (48, 96)}
"""Low and high bytes that one layer keeps per token and unit of width, attention scores left out, by `gated_mlp`.

Plain: derived, arXiv 2205.05198, eq. 2 (MLP 4 h wide, dropout). Gated: measured on models of Hugging Face in bf16, 24 to 48
copies of the hidden state (28, that is 56 bytes, for Llama-3.1-8B):
https://github.com/stas00/ml-engineering/blob/master/training/performance/benchmarks/activation-memory-per-layer.py
"""

LOGIT_BYTES = (0, 6)
"""Low and high bytes of a logit: cross-entropy over chunks keeps none, otherwise bf16 and fp32; more where gradients stay."""

SLACK = 1e-12
"""Share of the memory, well below a byte, by which float noise of the sums must not push out what fits exactly."""


def weight_bytes(num_params, zero_stage, data_parallel_size):
    """Weights in bf16 on one device; ZeRO shares them out from stage 3 on. Parameters as in `state_bytes`. [bytes]"""
    return WEIGHT_BYTES * num_params / _ranks(zero_stage, 3, data_parallel_size)


def gradient_bytes_total(num_params, zero_stage, data_parallel_size, gradient_bytes=2):
    """Gradients on one device; ZeRO shares them out from stage 2 on. Parameters as in `state_bytes`. [bytes]"""
    return gradient_bytes * num_params / _ranks(zero_stage, 2, data_parallel_size)


def optimizer_bytes(num_params, zero_stage, data_parallel_size):
    """Adam's states on one device; ZeRO shares them out from stage 1 on. Parameters as in `state_bytes`. [bytes]"""
    return OPTIMIZER_BYTES * num_params / _ranks(zero_stage, 1, data_parallel_size)


def _ranks(zero_stage: int, first_stage: int, data_parallel_size):
    return data_parallel_size if zero_stage >= first_stage else 1


def state_bytes(num_params, zero_stage, data_parallel_size, gradient_bytes=2):
    """Weights, gradients and optimizer on one device: 16 bytes per parameter, 18 with fp32 gradients, less by ZeRO. [bytes]

    Parameters
    ----------
    num_params : numeric
        Parameters held by one replica, all experts included, over its devices.
    zero_stage : int
        0 to 3.
    data_parallel_size : numeric
        Replicas that share the states out.
    gradient_bytes : numeric
        Bytes of one gradient: 2 in bf16, 4 in fp32. [bytes]
    """
    return (
        weight_bytes(num_params, zero_stage, data_parallel_size)
        + gradient_bytes_total(num_params, zero_stage, data_parallel_size, gradient_bytes)
        + optimizer_bytes(num_params, zero_stage, data_parallel_size)
    )


def score_bytes(micro_tokens, num_heads, seq_len, precision_bytes=2):
    """What attention without a fused kernel keeps per layer: scores, softmax and a dropout mask, (2q+1) a s. [bytes]"""
    return micro_tokens * (2 * precision_bytes + 1) * num_heads * seq_len


def activation_bytes_per_layer(
    micro_tokens,
    hidden_size,
    num_heads,
    seq_len,
    recompute="selective",
    *,
    precision_bytes=2,
    tensor_parallel_size=1,
    sequence_parallel=False,
):
    """What one layer with a plain MLP keeps for the backward pass on one device, s b h (16q+2 + (2q+1) a s/h). [bytes]

    Tensor parallelism t leaves 4q+2 of 16q+2 on every device, norms, dropout masks and the inputs of both blocks
    (10 + 24/t; https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/theoretical_memory_usage.py); with
    sequence parallelism everything is shared out.

    Parameters
    ----------
    micro_tokens : numeric
        s b, tokens of one micro-batch. [tokens]
    hidden_size, num_heads, seq_len : numeric
        h, a and s.
    recompute : str
        `none` keeps everything, `selective` no scores (as FlashAttention), `full` the layer's input alone.
    precision_bytes : numeric
        q, bytes of one activation. [bytes]
    tensor_parallel_size : numeric
        t, devices that share a layer.
    sequence_parallel : bool
        Whether these share the sequence too where they do not share the matrices.
    """
    q, t, hidden = precision_bytes, tensor_parallel_size, micro_tokens * hidden_size
    u = t if sequence_parallel else 1
    if recompute == "full":
        return q * hidden / u
    kept = hidden * ((4 * q + 2) / u + 12 * q / t)
    return kept + score_bytes(micro_tokens, num_heads, seq_len, q) / t if recompute == "none" else kept


def logit_bytes(micro_tokens, vocab_size, bytes_per_logit=4):
    """Logits of one micro-batch: 4 bytes each in fp32, 6 with the bf16 that they are made from. [bytes]"""
    return bytes_per_logit * micro_tokens * vocab_size


def expert_buffer_bytes(micro_tokens, hidden_size, top_k, capacity_factor=1.0, precision_bytes=2):
    """What the experts of one layer take in and give out, 2 q CF k s b h; rule of thumb. [bytes]

    Derived for these two buffers: E experts have room for CF M k/E tokens each, whatever E and however many replicas share
    them. What an expert keeps inside comes on top, so a unit of capacity factor costs at least this.

    Parameters
    ----------
    micro_tokens : numeric
        Tokens of one micro-batch of one replica. [tokens]
    hidden_size, top_k, capacity_factor : numeric
        h, k and CF.
    precision_bytes : numeric
        q, bytes of one value. [bytes]
    """
    return 2 * precision_bytes * capacity_factor * top_k * micro_tokens * hidden_size


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
    one = estimate(micro_batch_size=1, **job)
    low, high = one.per_batch
    room = _room(memory, one)
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
