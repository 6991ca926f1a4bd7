"""What a scenario asks of the harness: the settings that its batch, rate and experts decide, one function a measurement."""

from bsmath import batch, moe
from bsmath.bench import settings
from bsmath.scenario import Scenario

BRANCH_STEPS = 256
"""Steps of the unchanged branch, as at the harness's defaults; a multiple of every branching factor."""
RATE_FACTORS = (0.25, 0.5, 1, 2, 4)
"""Learning rates that are tried, as multiples of the scenario's."""
ROUTER_TOKENS = 65_536
"""A training step of the model whose router is measured has no more, so that one device can hold them. [tokens]"""
ROUTED_SIZES = 8
"""Powers of two at which a router is measured, besides the scenario's own routed tokens."""


def sequences(scenario: Scenario) -> int:
    """The scenario's global batch. [sequences]"""
    return batch.global_batch_size(scenario.micro_batch_size, scenario.grad_accum_steps, scenario.data_parallel_size)


def batches(scenario: Scenario, below: int, count: int) -> tuple[int, ...]:
    """Global batches at powers of two from the scenario's, in equal whole micro-batches on every replica. [sequences]

    They begin `below` powers under the scenario's batch, or at one sequence a replica.
    """
    micro = scenario.micro_batch_size
    share = micro * scenario.grad_accum_steps
    first = -min(below, share.bit_length() - 1)
    shares = {share << power if power > 0 else share >> -power for power in range(first, first + count)}
    whole = {one if one <= micro else one - one % micro for one in shares}
    found = sorted(one * scenario.data_parallel_size for one in whole)
    return tuple(one for one in found if one <= max(settings.LARGEST, sequences(scenario)))


def throughput(scenario: Scenario) -> dict[str, object]:
    """Seven batches around the scenario's, in its micro-batches."""
    return {
        "global_batch_sizes": batches(scenario, below=4, count=7),
        "micro_batch_sizes": (scenario.micro_batch_size,),
        "peak_flops": scenario.peak_flops,
    }


def convergence(scenario: Scenario) -> dict[str, object]:
    """Eight batches around the scenario's, at rates around its rate."""
    low, high = settings.NUMBERS["learning_rate"]
    rates = (float(f"{scenario.learning_rate * factor:.6g}") for factor in RATE_FACTORS)
    return {
        "global_batch_sizes": batches(scenario, below=4, count=8),
        "micro_batch_size": scenario.micro_batch_size,
        "learning_rates": tuple(rate for rate in rates if low <= rate <= high),
        "seeds": 1,
    }


def noise(scenario: Scenario) -> dict[str, object]:
    """The scenario's batch; where it is one micro-batch, in the fewest equal parts: the estimator needs two batch sizes."""
    micro, count = scenario.micro_batch_size, scenario.grad_accum_steps * scenario.data_parallel_size
    if count == 1:
        whole = max(micro, 2)
        count = next(parts for parts in range(2, whole + 1) if whole % parts == 0)
        micro = whole // count
    return {
        "global_batch_size": micro * count,
        "micro_batch_size": micro,
        "learning_rate": scenario.learning_rate,
    }


def branch(scenario: Scenario) -> dict[str, object]:
    """Branches from a run at the scenario's batch and rate."""
    return {
        "global_batch_size": sequences(scenario),
        "micro_batch_size": scenario.micro_batch_size,
        "learning_rate": scenario.learning_rate,
        "branch_tokens": BRANCH_STEPS * sequences(scenario) * scenario.seq_len,
        "seeds": 1,
    }


def router(scenario: Scenario) -> dict[str, object]:
    """The scenario's experts, up to the tokens that it routes together."""
    most = scenario.micro_batch_size * scenario.expert_parallel_size
    powers = range(max(0, most.bit_length() - ROUTED_SIZES), most.bit_length())
    together = sorted({1 << power for power in powers} | {most})
    return {
        "global_batch_size": min(settings.Router.global_batch_size, max(1, ROUTER_TOKENS // scenario.seq_len)),
        "num_experts": scenario.num_experts,
        "top_k": scenario.top_k,
        "routed_tokens_list": tuple(moe.routed_tokens(one, scenario.seq_len, 1) for one in together),
    }


ASKED = {"throughput": throughput, "convergence": convergence, "noise": noise, "branch": branch, "router": router}
"""Measurement -> its function."""
