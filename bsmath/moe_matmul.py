"""Whether a batch is too small for the matmuls of its experts, and what that costs a step's compute.

    m  = g b T k/E                              tokens of one expert in one matmul: g replicas exchange their tokens
    AI = 1 / (1/m + 1/d + 1/f)                  [m, d] x [d, f]; the two matmuls of the backward pass have the same
    m* = 1 / (1/balance - 1/d - 1/f)            tokens from which arithmetic can limit, not reading the weights
    expert slowdown = (m'/m) max(1, balance/AI(m'))   m' rows are computed for m useful ones
    step slowdown   = 1 - s + s (expert slowdown)     s, share of the FLOPs in routed experts

Derived, from the roofline of roofline.py: each matrix crosses the memory bus once. The step is compared to one whose
experts are compute-bound and unpadded, so a measured MFU already holds the slowdown, and so do the weight reads of
step_terms.py: use one of the two. Every expert is taken at its mean load; uneven loads cost more, as the device with
the busiest expert sets the time. Left out: the all-to-all of expert parallelism, permuting tokens, launches and
efficiency of grouped kernels, activations kept in cache, and gate and up projections fused into one wider matmul.
`numeric` is a float, an array or a Series.
"""

import numpy as np
from scipy.stats import binom

from bsmath import moe, numerals, presets, roofline
from bsmath.architecture import Architecture, parameter_table
from bsmath.exact_flops import exact_flops_per_token

LEAST_PUBLISHED = 512
"""Fewest tokens per expert and step of a published run seen here (second-hand): Switch-C, 2^20 over 2048. [tokens]"""
BLOCK = 128
"""Rows of a tile that block-sparse and grouped kernels commonly fill; a convention. [tokens]"""


def tokens_per_matmul(micro_batch_size, seq_len, expert_parallel_size, num_experts, top_k):
    """m, mean tokens of one expert in one matmul, g b T k/E. [tokens]

    Parameters
    ----------
    micro_batch_size, seq_len, expert_parallel_size : numeric
        b [sequences], T [tokens/sequence] and g, as in `moe.routed_tokens`.
    num_experts, top_k : numeric
        As in `moe.tokens_per_expert`.
    """
    return moe.tokens_per_expert(moe.routed_tokens(micro_batch_size, seq_len, expert_parallel_size), num_experts, top_k)


def peak_share(tokens, hidden_size, expert_ffn_size, machine_balance):
    """Most of the peak that an expert's matmul can reach, min(1, AI/balance). [0-1]

    Parameters
    ----------
    tokens : numeric
        m, tokens of one expert in one matmul. [tokens]
    hidden_size, expert_ffn_size : numeric
        d and f, the dimensions of its weights.
    machine_balance : numeric
        Of the accelerator, see `roofline.machine_balance`. [FLOP/byte]
    """
    return np.minimum(1, roofline.matmul_intensity(tokens, hidden_size, expert_ffn_size) / machine_balance)


def capacity_padding(capacity, routed_tokens, num_experts, top_k, dropped_fraction=0.0):
    """Rows computed over useful rows if every expert is padded to its capacity, E C / (M k - dropped). [-]

    Parameters
    ----------
    capacity : numeric
        C, rows of one expert. [tokens]
    routed_tokens, num_experts, top_k : numeric
        M [tokens], E and k, as in `moe.tokens_per_expert`.
    dropped_fraction : numeric
        Share of the M k picks that are dropped, as in `moe.dropped_fraction`. [0-1]
    """
    return num_experts * capacity / (routed_tokens * top_k * (1 - dropped_fraction))


def block_padding(tokens, block=BLOCK):
    """Rows computed over useful rows if a load of exactly `tokens` fills whole blocks, ceil(m/block) block/m. [-]"""
    return np.ceil(tokens / block) * block / tokens


def mean_block_padding(routed_tokens: float, num_experts: int, top_k: int, block: int = BLOCK) -> float:
    """Expected rows in whole blocks over useful rows, block sum_j P[X > j block] / (M k/E). [-]

    Exact under uniform routing (X binomial, see moe.py); an expert without a token fills no block. About
    1 + block/(2 m) where the loads spread over several blocks.
    """
    full = np.arange(np.ceil(routed_tokens / block)) * block
    blocks = binom.sf(full, routed_tokens, top_k / num_experts).sum()
    return float(block * blocks / moe.tokens_per_expert(routed_tokens, num_experts, top_k))


def expert_slowdown(routed_tokens, num_experts, top_k, hidden_size, expert_ffn_size, machine_balance, padding=1.0):
    """Time of the experts' matmuls over that of their useful FLOPs at the peak, at least `padding`. [-]

    Padding costs little while weights are what takes the time: the rows it adds raise the intensity too.

    Parameters
    ----------
    routed_tokens, num_experts, top_k : numeric
        M of one micro-batch in the expert-parallel group [tokens], E and k, as in `moe.tokens_per_expert`.
    hidden_size, expert_ffn_size, machine_balance : numeric
        As in `peak_share`.
    padding : numeric
        Rows computed over useful ones, from `capacity_padding` or `mean_block_padding`.
    """
    rows = padding * moe.tokens_per_expert(routed_tokens, num_experts, top_k)
    return padding / peak_share(rows, hidden_size, expert_ffn_size, machine_balance)


def expert_share(architecture: Architecture, seq_len=0, causal: bool = True):
    """s, share of a token's model FLOPs in its routed experts; attention's scores count over `seq_len` tokens. [0-1]"""
    experts = 6 * parameter_table(architecture, active=True)["routed_experts"]
    return experts / exact_flops_per_token(architecture, seq_len, causal).total


def step_slowdown(expert_slowdown, expert_share):
    """Factor on the compute time of a whole step, 1 - s + s (expert slowdown): Amdahl's law. [-]"""
    return 1 - expert_share + expert_share * expert_slowdown


def answer(
    routed_tokens: float,
    global_tokens: float,
    num_experts: int,
    top_k: int,
    hidden_size: int,
    expert_ffn_size: int,
    machine_balance: float,
) -> str:
    """Two sentences: is the batch too small for the experts' matmuls, and for their gradients?

    `global_tokens` are those of one optimizer step [tokens]; the rest is as in `expert_slowdown`.
    """
    mean = moe.tokens_per_expert(routed_tokens, num_experts, top_k)
    least = roofline.compute_bound_tokens(machine_balance, hidden_size, expert_ffn_size)
    start = f"{_tokens(routed_tokens)} tokens routed together give each expert {_tokens(mean)} on average"
    share = f"at most {peak_share(mean, hidden_size, expert_ffn_size, machine_balance):.0%} of the peak"
    if mean >= least:
        matmul = f"{start}, enough for a compute-bound matmul on this accelerator (from {_tokens(least)})."
    elif np.isinf(least):
        matmul = f"{start}, but experts as narrow as these are memory-bound with any number: {share}."
    else:
        times = numerals.significant(least / mean, 3)
        matmul = (
            f"{start}, below the {_tokens(least)} from which the matmul can be compute-bound on this accelerator: it "
            f"is memory-bound, {share}, unless a larger micro-batch or expert parallelism gathers {times} times "
            "as many."
        )
    return f"{matmul} {_gradient(moe.tokens_per_expert(global_tokens, num_experts, top_k))}"


def preset_answer(
    name: str,
    micro_batch_size: int,
    seq_len: int,
    expert_parallel_size: int,
    global_tokens: float,
    accelerator: str,
) -> str:
    """`answer` for a mixture of experts of data/models.toml on an accelerator of data/hardware.toml."""
    known = {key: model.architecture for key, model in presets.models().items()}
    known = {key: arch for key, arch in known.items() if arch is not None and arch.num_experts is not None}
    devices = presets.hardware()
    for field, value, names in (("name", name, known), ("accelerator", accelerator, devices)):
        if value not in names:
            raise ValueError(f"{field} must be one of {', '.join(names)}, got {value!r}")
    arch, device = known[name], devices[accelerator]
    routed = moe.routed_tokens(micro_batch_size, seq_len, expert_parallel_size)
    balance = roofline.machine_balance(device.peak_flops, device.memory_bandwidth)
    shape = arch.num_experts, arch.top_k, arch.hidden_size, arch.expert_ffn_size
    return answer(routed, global_tokens, *shape, balance)


def _gradient(seen: float) -> str:
    if seen < LEAST_PUBLISHED:
        return (
            f"In a whole step each expert sees {_tokens(seen)}, fewer than the {LEAST_PUBLISHED} of Switch-C, the "
            "fewest of a published run seen here: the batch may be too small for its gradient."
        )
    return (
        f"In a whole step each expert sees {_tokens(seen)}: not too small for its gradient as far as published runs "
        f"tell, which go down to {LEAST_PUBLISHED} (Switch-C)."
    )


def _tokens(value: float) -> str:
    return numerals.whole(value) if value < 1e5 else numerals.count(value)
