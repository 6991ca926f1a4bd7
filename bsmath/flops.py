"""Floating-point work per token, and the three readings of one identity: MFU, tokens per second, parameters.

    flops_per_token = 6 N                    tokens/s = n peak mfu / flops_per_token
    with attention    6 N + 12 L H Q T       half the second term if only the visible half of the scores counts

6N is 2N forward and 4N backward per matmul parameter (Kaplan et al. 2020, arXiv 2001.08361); it leaves out attention
scores and recomputation. 12 L H Q T counts the scores of L layers with H heads of width Q over a sequence of T tokens as
if every token saw all of them (Chowdhery et al. 2022, PaLM, arXiv 2204.02311, app. B). All counts are derived; which one
a reported MFU used is a convention, so it must be asked: nanoGPT and PaLM take 12 L H Q T, llm.c half of it, others 6N
alone. MFU counts model FLOPs, HFU those executed, recomputation included. For a mixture of experts N is the parameters
active per token. `peak_flops` is the dense peak of the dtype in use: with the 2:4-sparse headline figure MFU comes out
half. Counts from a model's dimensions are in exact_flops.py. `numeric` is a float, an array or a Series.
"""

SECONDS_PER_DAY = 86_400


def flops_per_token(active_params):
    """Model FLOPs per token, forward and backward, 6N. [FLOP/token]"""
    return 6 * active_params


def attention_flops_per_token(num_layers, num_heads, head_dim, seq_len, causal=False, value_head_dim=None):
    """Model FLOPs per token of attention's scores and their use on values, forward and backward. [FLOP/token]

    6 L H (Q + Q_v) T, which is PaLM's 12 L H Q T where values are as wide as keys. Key and value heads shared in groups
    do not lessen it. Sliding windows would.

    Parameters
    ----------
    num_layers, num_heads : numeric
        Layers L and query heads H.
    head_dim : numeric
        Width of a query or key head, Q.
    seq_len : numeric
        Tokens per sequence, T. [tokens]
    causal : bool
        Count only the visible half of the scores (T/2; exactly it is (T + 1)/2), as kernels for causal attention do.
    value_head_dim : numeric, optional
        Width of a value head, Q_v; as wide as a key head if not given.
    """
    widths = head_dim + (head_dim if value_head_dim is None else value_head_dim)
    return (3 if causal else 6) * num_layers * num_heads * widths * seq_len


def attention_share(attention_flops_per_token, active_params):
    """Attention's scores relative to 6N: how far an MFU that counts them lies above one that does not. [-]"""
    return attention_flops_per_token / flops_per_token(active_params)


def megatron_flops_per_step(tokens_per_step, num_layers, hidden_size, seq_len, vocab_size, full_recompute=False):
    """FLOPs of one step of a GPT with a plain 4h MLP, as Megatron-LM reports them. [FLOP/step]

    72 B l h^2 (1 + s/(6 h) + V/(12 l h)); with full recomputation the forward pass runs twice, all but the logits, and
    the *executed* FLOPs are 96 B l h^2 (1 + s/(6 h) + V/(16 l h)) (Narayanan et al. 2021, arXiv 2104.04473, eq. 3).
    Older Megatron logs print the second form, so their FLOP/s over the peak are HFU, not MFU.

    Parameters
    ----------
    tokens_per_step : numeric
        Global batch size B, in tokens (sequences times s). [tokens]
    num_layers, hidden_size, vocab_size : numeric
        l, h and V.
    seq_len : numeric
        Tokens per sequence, s. [tokens]
    full_recompute : bool
        Whether activations are recomputed in the backward pass.
    """
    factor, logits = (96, 16) if full_recompute else (72, 12)
    per_layer = 1 + seq_len / (6 * hidden_size) + vocab_size / (logits * num_layers * hidden_size)
    return factor * tokens_per_step * num_layers * hidden_size**2 * per_layer


def training_days(tokens, active_params, num_devices, achieved_flops, full_recompute=True):
    """Days to train on `tokens`, 8 D P / (n X); 6 D P / (n X) without recomputation. [days]

    Parameters
    ----------
    tokens : numeric
        Length of the run, D. [tokens]
    active_params : numeric
        P.
    num_devices : numeric
        n.
    achieved_flops : numeric
        FLOPs that one device executes in a second, X: recomputation included (HFU times the peak). [FLOP/s]
    full_recompute : bool
        Whether the forward pass runs twice.
    """
    executed = (8 if full_recompute else 6) * active_params
    return tokens * executed / (num_devices * achieved_flops) / SECONDS_PER_DAY


def mfu(tokens_per_second, flops_per_token, peak_flops, num_devices):
    """Model-FLOPs utilization implied by a measured rate.

    Parameters
    ----------
    tokens_per_second : numeric
        Whole job, padded tokens: padding is work too. [tokens/s]
    flops_per_token : numeric
        [FLOP/token]
    peak_flops : numeric
        Dense peak of one device in the dtype in use. [FLOP/s]
    num_devices : numeric
        Devices of the job.
    """
    return tokens_per_second * flops_per_token / (num_devices * peak_flops)


def hfu(tokens_per_second, hardware_flops_per_token, peak_flops, num_devices):
    """Hardware-FLOPs utilization: as `mfu`, with the FLOPs executed, recomputation included. [0-1]"""
    return mfu(tokens_per_second, hardware_flops_per_token, peak_flops, num_devices)


def tokens_per_second(mfu, flops_per_token, peak_flops, num_devices):
    """Rate of the whole job at a given MFU, the inverse of `mfu`. [padded tokens/s]

    The batch does not appear, because MFU is given; MFU itself depends on it (throughput.py).
    """
    return num_devices * peak_flops * mfu / flops_per_token


def active_params(tokens_per_second, mfu, peak_flops, num_devices):
    """N implied by a measured rate and a reported MFU, if that MFU was counted by 6N. Parameters as in `mfu`."""
    return num_devices * peak_flops * mfu / (6 * tokens_per_second)


def active_params_with_attention(tokens_per_second, mfu, peak_flops, num_devices, attention_flops_per_token):
    """N implied by a measured rate and a reported MFU, if that MFU also counted attention's scores.

    Not positive where the scores alone would need more than the MFU grants: then it was not counted so.
    """
    counted = num_devices * peak_flops * mfu / tokens_per_second
    return (counted - attention_flops_per_token) / 6


def mfu_headroom(mfu, matmul_efficiency):
    """How many times faster a run could be if every FLOP ran at the fastest matmul measured on the device."""
    return matmul_efficiency / mfu
