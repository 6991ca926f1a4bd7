"""The memory of a scenario's device: what the step needs, what fits, and what a smaller micro-batch frees."""

import dataclasses
from dataclasses import dataclass
from functools import partial

from bsmath import memory, memory_plan, step_costs
from bsmath.architecture import Architecture
from bsmath.memory_plan import Freed, MemoryEstimate
from bsmath.model_shape import ModelShape
from bsmath.scenario import Scenario
from bsmath.step_costs import BYTES

ASSUMED = 1.4
"""By how much activations may be off either way where dimensions are assumed: layers times width of the dense models of
data/models.toml are 0.69 to 1.41 times the assumed ones (a test of `shape`)."""

FITS, MAY_FIT, TOO_LARGE = "fits", "may fit", "does not fit"


@dataclass(frozen=True, kw_only=True)
class MemoryOutlook:
    """Memory of one device at the scenario's micro-batch."""

    estimate: MemoryEstimate
    """What the step needs, low and high. [bytes]"""
    available: float | None
    """What the device has; None where it is not known. [bytes]"""
    largest_micro_batch: tuple[int, int] | None
    """Largest micro-batch that surely and that may fit; None without known memory. [sequences]"""

    @property
    def verdict(self) -> str | None:
        """Whether the scenario's micro-batch fits; None without known memory."""
        if self.available is None:
            return None
        if self.estimate.high <= self.available:
            return FITS
        return MAY_FIT if self.estimate.low <= self.available else TOO_LARGE

    @property
    def parts(self) -> tuple[dict[str, float], dict[str, float]]:
        """Low and high estimate by part. [bytes]"""
        one = self.estimate
        states = {"weights": one.weights, "gradients": one.gradients, "optimizer": one.optimizer}
        return tuple(states | {"activations": one.activations[i], "logits": one.logits[i]} for i in (0, 1))


def job(scenario: Scenario, architecture: Architecture) -> dict:
    """The arguments of `memory_plan.estimate`."""
    return {
        "num_params": scenario.num_params,
        "num_layers": architecture.num_layers,
        "hidden_size": architecture.hidden_size,
        "num_heads": architecture.num_heads,
        "vocab_size": architecture.vocab_size,
        "gated_mlp": architecture.gated_mlp,
        "seq_len": scenario.seq_len,
        "micro_batch_size": scenario.micro_batch_size,
        "data_parallel_size": scenario.data_parallel_size,
        "model_parallel_size": scenario.model_parallel_size,
        "zero_stage": scenario.zero_stage,
        "recompute": scenario.recompute,
        "gradient_bytes": BYTES[scenario.gradient_dtype],
    }


def outlook(scenario: Scenario, shape: ModelShape) -> MemoryOutlook:
    """What the step needs of a device and what fits."""
    one = _with_experts(scenario, memory_plan.estimate(**job(scenario, shape.architecture)))
    if shape.assumed:
        low, high = one.activations
        one = dataclasses.replace(one, activations=(low / ASSUMED, high * ASSUMED))
    available = None if scenario.device is None else scenario.device.memory
    largest = None
    if available is not None:
        largest = memory_plan.fitting_micro_batch(available, one, scenario.micro_batch_size)
    return MemoryOutlook(estimate=one, available=available, largest_micro_batch=largest)


def _with_experts(scenario: Scenario, one: MemoryEstimate) -> MemoryEstimate:
    """The estimate with routed experts held once in each expert-parallel group, and shared out further among its copies."""
    experts, holders = step_costs.expert_params(scenario), step_costs.expert_holders(scenario)
    if holders == 1 or not experts:
        return one
    copies = scenario.data_parallel_size / holders
    parts = {
        "weights": memory.weight_bytes,
        "gradients": partial(memory.gradient_bytes_total, gradient_bytes=BYTES[scenario.gradient_dtype]),
        "optimizer": memory.optimizer_bytes,
    }
    dense = (scenario.num_params - experts) / scenario.model_parallel_size
    held = experts / holders / scenario.model_parallel_size
    stage = scenario.zero_stage
    return dataclasses.replace(
        one,
        **{
            name: part(dense, stage, scenario.data_parallel_size) + part(held, stage, copies)
            for name, part in parts.items()
        },
    )


def freed_by(scenario: Scenario, shape: ModelShape, micro_batch_size: int) -> Freed | None:
    """What another micro-batch frees on the scenario's device; None where its memory is not known.

    The memory freed carries the uncertainty of assumed dimensions, as in `outlook`.
    """
    if scenario.device is None or scenario.device.memory is None:
        return None
    arch = shape.architecture
    routed = arch.top_k if arch.num_experts is not None else None
    found = memory_plan.freed(scenario.device.memory, micro_batch_size, routed, **job(scenario, arch))
    share = 1 - micro_batch_size / scenario.micro_batch_size
    return dataclasses.replace(
        found, memory=tuple(share * each for each in outlook(scenario, shape).estimate.per_batch)
    )
