"""What a scenario's batch means for its experts: the load where capacity applies and the load of the global batch."""

from dataclasses import dataclass

from bsmath import moe, presets
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class ExpertLoad:
    """Expert loads of one run under uniform routing; padded tokens are routed like real ones."""

    routed: int
    """Tokens routed together, where capacity applies: micro-batch x expert-parallel group. [padded tokens]"""
    group_mean: float
    """Mean tokens per expert among them. [tokens]"""
    global_mean: float
    """Mean tokens per expert in the global batch, which an expert's gradient sees. [tokens]"""
    cv: float
    """Coefficient of variation of the load among the tokens routed together."""
    busiest: float
    """Rule-of-thumb load of the busiest expert. [tokens]"""
    idle: float
    """Expected number of experts without a token."""
    capacity: float
    """Tokens that one expert accepts. [tokens]"""
    dropped: float
    """Share of tokens beyond capacity."""
    matmul: float
    """Least tokens per expert for a compute-bound matmul on this accelerator, if its matrices are large; 0 if unknown. [tokens]"""

    @property
    def dropped_percent(self) -> float:
        """Share of tokens beyond capacity. [%]"""
        return 100 * self.dropped


def expert_load(scenario: Scenario, run: Outlook) -> ExpertLoad:
    """Derive the expert loads of a run."""
    routed = moe.routed_tokens(scenario.micro_batch_size, scenario.seq_len, scenario.expert_parallel_size)
    routing = scenario.num_experts, scenario.top_k
    device = presets.hardware().get(scenario.accelerator)
    return ExpertLoad(
        routed=routed,
        group_mean=moe.tokens_per_expert(routed, *routing),
        global_mean=moe.tokens_per_expert(run.padded_tokens_per_step, *routing),
        cv=float(moe.expert_load_cv(routed, *routing)),
        busiest=float(moe.max_load(routed, *routing)),
        idle=float(moe.expected_idle_experts(routed, *routing)),
        capacity=float(moe.expert_capacity(routed, *routing, scenario.capacity_factor)),
        dropped=float(moe.dropped_fraction(routed, *routing, scenario.capacity_factor)),
        matmul=device.peak_flops / device.memory_bandwidth if device else 0.0,
    )
