"""Device memory of a training step, part by part.

    states       2 N weights + 2 or 4 N gradients + 12 N optimizer             mixed-precision Adam: master weights, m, v
                 ZeRO shares out by stage: 1 optimizer, 2 gradients too, 3 weights too (arXiv 1910.02054)
    activations  per layer  s b h (34 + 5 a s/h) none, 34 s b h selective, 2 s b h full (Korthikanti et al., arXiv 2205.05198)
    logits       4 s b V in fp32, 6 s b V with their bf16 copy, nothing where the loss runs over chunks

The counts of states and of the plain MLP (4 h wide, GELU, dropout, bf16) are derived from what Adam and the backward pass
keep; HIDDEN_BYTES of a gated MLP are measured. Not counted: CUDA context and kernels' workspace, fragmentation, buffers of
communication, the layers that ZeRO-3 gathers. Accumulation changes none of it. `numeric` is a float, an array or a Series.
"""

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
