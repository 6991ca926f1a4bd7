"""The costs of a scenario's optimizer step, as `step_terms` takes them: what is known, what is assumed and from where."""

import numpy as np
import pandas as pd
from scipy import optimize

from bsmath import batch, communication, flops, step_terms, throughput
from bsmath.scenario import Scenario
from bsmath.step_terms import StepTerms

FABRIC = 50e9
"""One-way network bandwidth of a device beyond its fast links: one 400 Gb/s port each, as in 8-device servers. [bytes/s]"""
BYTES = {"bf16": 2, "fp32": 4}
"""Bytes of a number in each format."""
MOST_OVERHEAD = 1e3
"""How many times faster than the effective plateau the arithmetic alone is taken to be at most."""
TERMS = {
    "fixed": "fixed per step",
    "micro_overhead": "overhead per micro-batch",
    "compute": "compute at the plateau's rate",
    "weight_reads": "reading weights (beyond compute)",
    "all_reduce": "communication not hidden",
}
"""The terms of a step and what to call them."""


def bandwidth(scenario: Scenario) -> tuple[float, str]:
    """What one device can send to its data-parallel neighbor [bytes/s], and where the number comes from."""
    if scenario.network_bandwidth is not None:
        return scenario.network_bandwidth, "as typed"
    device = scenario.device
    devices = batch.num_devices(scenario.data_parallel_size, scenario.model_parallel_size)
    share = communication.SPEC_SHARE
    if device is not None and device.link_bandwidth is not None and devices <= (device.scale_up_devices or 1):
        return share * device.link_bandwidth, f"{share:.0%} of the accelerator's own link, assumed"
    return share * FABRIC, f"{share:.0%} of a 400 Gb/s port for each device, assumed"


def expert_params(scenario: Scenario) -> float:
    """Parameters of routed experts, X = (N - A) / (1 - k/E): a token leaves out all but k of E. 0 for a dense model."""
    if scenario.active_params == scenario.num_params or scenario.top_k == scenario.num_experts:
        return 0.0
    unused = 1 - scenario.top_k / scenario.num_experts
    return min((scenario.num_params - scenario.active_params) / unused, scenario.num_params)


def expert_holders(scenario: Scenario) -> int:
    """Replicas that share one set of experts out: the expert-parallel group."""
    return min(scenario.expert_parallel_size, scenario.data_parallel_size)


def device_params(scenario: Scenario) -> float:
    """Parameters that one device multiplies by: its share of a replica, and of the group's experts."""
    experts = expert_params(scenario)
    held = scenario.num_params - experts + experts / expert_holders(scenario)
    return held / scenario.model_parallel_size


def gradient_bytes(scenario: Scenario) -> float:
    """Gradients that one device reduces. [bytes]"""
    return BYTES[scenario.gradient_dtype] * device_params(scenario)


def plateau(scenario: Scenario) -> float:
    """Rate that the stated MFU stands for, whole job, before overheads that `step_terms` adds. [padded tokens/s]"""
    devices = batch.num_devices(scenario.data_parallel_size, scenario.model_parallel_size)
    work = flops.flops_per_token(scenario.active_params)
    return throughput.plateau(scenario.peak_flops, scenario.mfu, work, devices)


def costs(scenario: Scenario) -> dict:
    """The arguments of `step_terms.over_batch` but for the batch.

    Every expert that a device holds is read in a micro-batch. Gradients of experts are reduced among fewer replicas than
    others; the ring counts all of them, which hardly changes (n-1)/n.
    """
    return {
        "fixed_time": scenario.fixed_time,
        "micro_batch_time": scenario.micro_batch_time,
        "data_parallel_size": scenario.data_parallel_size,
        "plateau": plateau(scenario),
        "gradient_bytes_total": gradient_bytes(scenario),
        "bandwidth": bandwidth(scenario)[0],
        "overlap": scenario.overlap,
        "zero_stage": scenario.zero_stage,
        "weight_bytes": BYTES["bf16"] * device_params(scenario),
        "memory_bandwidth": np.inf if scenario.device is None else scenario.device.memory_bandwidth,
    }


def effective(scenario: Scenario, raw: float | None = None) -> tuple[float, float]:
    """Fixed time [s] and plateau [padded tokens/s] of the step time at the scenario's micro-batch, all terms together.

    `raw` stands in for the plateau of the stated MFU. [padded tokens/s]
    """
    micro_tokens = batch.tokens_per_step(scenario.micro_batch_size, scenario.seq_len)
    given = costs(scenario) if raw is None else costs(scenario) | {"plateau": raw}
    fixed, limit = step_terms.effective(micro_tokens=micro_tokens, **given)
    return float(fixed), float(limit)


def raw_plateau(scenario: Scenario, wanted: float) -> float | None:
    """The plateau of an MFU that becomes the wanted one once all terms are added; None where no MFU does. [padded tokens/s]"""

    def short(log_raw: float) -> float:
        return effective(scenario, np.exp(log_raw))[1] / wanted - 1

    least, most = np.log(wanted), np.log(wanted) + np.log(MOST_OVERHEAD)
    if short(least) > -1e-9:
        return wanted
    if short(most) < 0:
        return None
    return float(np.exp(optimize.brentq(short, least, most, xtol=1e-12)))


def terms_at(scenario: Scenario, padded_tokens_per_step) -> StepTerms:
    """The terms of a step at these batches; below one micro-batch on every replica the micro-batch shrinks."""
    sequences = scenario.micro_batch_size * scenario.data_parallel_size
    smallest = batch.tokens_per_step(sequences, scenario.seq_len)
    return step_terms.over_batch(padded_tokens_per_step, smallest, **costs(scenario))


def over_batch(scenario: Scenario, tokens_per_step) -> pd.DataFrame:
    """The terms against the batch.

    Returns
    -------
    DataFrame
        tokens_per_step [real tokens], and for each key of TERMS its seconds.
    """
    sizes = np.asarray(tokens_per_step, float)
    terms = terms_at(scenario, batch.padded_tokens(sizes, scenario.padding_fraction))
    return pd.DataFrame({"tokens_per_step": sizes} | {name: getattr(terms, name) for name in TERMS})
