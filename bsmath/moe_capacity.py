"""What "capacity factor" means in each trainer: tokens that an expert accepts, and the same room in another's factor.

    Switch, expert choice   C = CF M/E                  a factor over the tokens: k times the next ones'
    Megatron-LM, DeepSpeed  C = ceil(CF M k/E)          over the mean load of one device's tokens
    MegaBlocks              C = floor(CF g M k/E)       over the mean load of all g devices of the expert-parallel group

M are the tokens of one device. A capacity of each device bounds what it *sends* to an expert, so that an expert
accepts g C in all: the same room as one over the group, but loads are not pooled and more is dropped. Functions
calculate in the order and precision of their source, so that the rounding is theirs: 1.1 times a mean of 100 makes
111 in Megatron-LM, where `moe.expert_capacity` forgives float noise and says 110. `numeric` is a float, an array or a
Series.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DEEPSPEED_LEAST = 4
"""DeepSpeed's default `min_capacity`. [tokens]"""


def switch_capacity(tokens, num_experts, top_k, capacity_factor, expert_parallel_size=1):
    """Tokens of each routing group that an expert accepts, floor(CF M/E) and at most M; k does not enter. [tokens]

    Mesh TensorFlow's lower bound, moe_min_expert_capacity, is left out.

    Parameters
    ----------
    tokens : numeric
        M, tokens of one routing group, here one device. [tokens]
    num_experts, top_k : numeric
        E, and k experts of each token.
    capacity_factor : numeric
        CF, in the meaning of this definition.
    expert_parallel_size : numeric
        g, devices that exchange tokens.
    """
    return np.minimum(np.floor(tokens * capacity_factor / num_experts), tokens)


def megatron_capacity(tokens, num_experts, top_k, capacity_factor, expert_parallel_size=1):
    """Tokens of each device that an expert accepts, ceil(M k/E CF). Parameters as in `switch_capacity`. [tokens]"""
    return np.ceil(tokens * top_k / num_experts * capacity_factor)


def megablocks_capacity(tokens, num_experts, top_k, capacity_factor, expert_parallel_size=1):
    """Tokens of the group that an expert accepts, floor(CF k M g/E). Parameters as in `switch_capacity`. [tokens]

    A result of 0 stands for dropless: experts are then padded to the busiest one.
    """
    return np.floor(capacity_factor * (top_k * tokens * expert_parallel_size / num_experts))


def deepspeed_capacity(
    tokens, num_experts, top_k, capacity_factor, expert_parallel_size=1, min_capacity=DEEPSPEED_LEAST
):
    """Tokens of each device that an expert accepts, max(ceil(M/E CF k), min_capacity) in single precision. [tokens]

    Parameters as in `switch_capacity`; `min_capacity` is in tokens.
    """
    mean, factor = np.asarray(tokens / num_experts, np.float32), np.asarray(capacity_factor * top_k, np.float32)
    return np.maximum(np.ceil(mean * factor).astype(float), min_capacity)


def expert_choice_capacity(tokens, num_experts, top_k, capacity_factor, expert_parallel_size=1):
    """Tokens that each expert picks, exactly floor(CF M/E). Parameters as in `switch_capacity`. [tokens]"""
    return np.floor(tokens * capacity_factor / num_experts)


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """One definition of the capacity factor."""

    label: str
    """Name for people."""
    capacity: Callable
    """(tokens, num_experts, top_k, capacity_factor, expert_parallel_size) -> capacity. [tokens]"""
    counts_top_k: bool
    """Whether the factor is over the mean load M k/E, or over M/E."""
    pools_group: bool
    """Whether the capacity is that of the whole expert-parallel group, or of each sender."""
    rounding: str
    """How it becomes a whole number."""
    base: str
    """Which tokens M counts."""
    dropless: str
    """How a configuration says that no token may be dropped."""
    source: str
    """File or paper in which this was read."""
    note: str = ""
    """What else its user should know."""


CAPACITIES = {
    "switch": Capacity(
        label="Switch Transformer",
        capacity=switch_capacity,
        counts_top_k=False,
        pools_group=False,
        rounding="down in Mesh TensorFlow; the paper's equation leaves it open",
        base="one routing group, a part of the batch; the paper writes tokens per batch",
        dropless="no setting; a factor of E has room for every token",
        source="arXiv 2101.03961, eq. 3; tensorflow/mesh, mesh_tensorflow/transformer/moe.py",
        note="Routing is top-1. For two experts a token, the factor is spent on both.",
    ),
    "megatron": Capacity(
        label="Megatron-LM",
        capacity=megatron_capacity,
        counts_top_k=True,
        pools_group=False,
        rounding="up",
        base="one device's tokens of a micro-batch",
        dropless="moe_expert_capacity_factor None, the default",
        source="NVIDIA/Megatron-LM, megatron/core/transformer/moe/moe_utils.py: get_capacity",
        note="Drops the lowest probabilities, or the last positions; nothing where the capacity exceeds the tokens.",
    ),
    "megablocks": Capacity(
        label="MegaBlocks",
        capacity=megablocks_capacity,
        counts_top_k=True,
        pools_group=True,
        rounding="down",
        base="tokens of a micro-batch in the whole expert-parallel group",
        dropless="moe_capacity_factor 0, or the dMoE layer, which has no capacity",
        source="databricks/megablocks, megablocks/layers/moe.py: expert_capacity",
        note="With expert parallelism the version read counts rows repeated k times already: k times the room.",
    ),
    "deepspeed": Capacity(
        label="DeepSpeed",
        capacity=deepspeed_capacity,
        counts_top_k=True,
        pools_group=False,
        rounding="up, and at least min_capacity (4 by default)",
        base="one device's tokens of a micro-batch",
        dropless="drop_tokens=False: the busiest expert's load becomes the capacity of all",
        source="deepspeedai/DeepSpeed, deepspeed/moe/sharded_moe.py: _capacity, top2gating, topkgating; layer.py",
        note="The gates for two and for k experts multiply the factor by 2 and k themselves.",
    ),
    "expert_choice": Capacity(
        label="Expert choice",
        capacity=expert_choice_capacity,
        counts_top_k=False,
        pools_group=False,
        rounding="taken down here",
        base="the tokens among which an expert picks",
        dropless="does not apply: experts are always full, and a token may get none",
        source="arXiv 2202.09368, as summarized by others",
        note="The factor is the mean number of experts of a token; the paper mostly uses 2.",
    ),
}
"""Definitions by name."""


def room(name: str, tokens, num_experts, top_k, capacity_factor, expert_parallel_size=1):
    """Tokens that one expert accepts from the whole expert-parallel group. [tokens]

    `name` is one of CAPACITIES; the other parameters are as in `switch_capacity`.
    """
    definition = _definition("name", name)
    capacity = definition.capacity(tokens, num_experts, top_k, capacity_factor, expert_parallel_size)
    return capacity if definition.pools_group else expert_parallel_size * capacity


def converted(factor: float, source: str, target: str, top_k: int) -> float:
    """The factor that gives the same room in another definition, but for rounding and least capacities. Derived. [-]

    Parameters
    ----------
    factor : float
        CF in the meaning of `source`.
    source, target : str
        Names in CAPACITIES.
    top_k : int
        k, experts of each token.
    """
    if not factor > 0:
        raise ValueError(f"factor must be above 0 (dropless is no factor: see dropless_factor), got {factor!r}")
    over_load = factor if _definition("source", source).counts_top_k else factor / top_k
    return over_load if _definition("target", target).counts_top_k else over_load * top_k


def dropless_factor(name: str, num_experts: int, top_k: int) -> float:
    """Least factor at which one expert has room for every token, E/k over the mean load: nothing can be dropped. [-]"""
    return num_experts / top_k if _definition("name", name).counts_top_k else float(num_experts)


def _definition(field: str, name: str) -> Capacity:
    if name not in CAPACITIES:
        raise ValueError(f"{field} must be one of {', '.join(CAPACITIES)}, got {name!r}")
    return CAPACITIES[name]
