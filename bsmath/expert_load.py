"""What a scenario's batch means for its experts: the load where capacity applies and the load of the global batch.

CV^2 = skew^2 + (1 - skew^2/(E - 1)) deff (1 - p)/(M p)      skew: CV of the experts' true shares; deff: tokens of one text alike
dropped: exact for uniform routing (`moe`); with a skew the Dirichlet-multinomial (`moe_imbalance`) of M/deff tokens
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import dimensions, moe, moe_imbalance, moe_matmul, moe_sequences, moe_solve, presets, roofline
from bsmath.architecture import Architecture
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario

WANTED_DROP, WANTED_CV = 0.01, 0.1
"""Drop rate and load CV for which the least capacity factor and the least batch are told. Conventions."""
UNKNOWN = {"slowdown": float("nan"), "step_slowdown": float("nan")}
"""What the roofline says where a model's dimensions or a device's bandwidth are not known."""
LARGEST_SKEW = 0.999
"""Share of sqrt(E - 1), all tokens to one expert, that a skew may reach."""


@dataclass(frozen=True, kw_only=True)
class ExpertLoad:
    """Expert loads of one run; padded tokens are routed like real ones."""

    routed: int
    """Tokens routed together, where capacity applies: micro-batch x expert-parallel group. [padded tokens]"""
    group_mean: float
    """Mean tokens per expert among them. [tokens]"""
    global_mean: float
    """Mean tokens per expert in the global batch, which an expert's gradient sees. [tokens]"""
    cv: float
    """Coefficient of variation of the load among the tokens routed together."""
    uniform_cv: float
    """The same under uniform routing of independent tokens."""
    skew: float
    """CV of the experts' true shares: what is left of the unevenness in a large batch."""
    busiest: float
    """Rule-of-thumb load of the busiest expert. [tokens]"""
    idle: float
    """Expected number of experts without a token."""
    capacity: float
    """Tokens that one expert accepts. [tokens]"""
    dropped: float
    """Share of tokens beyond capacity."""
    least_factor: float
    """Smallest capacity factor that drops at most WANTED_DROP."""
    tokens_for_cv: float
    """Tokens routed together from which the load CV is at most WANTED_CV; inf where the skew forbids it. [tokens]"""
    matmul: float
    """Least tokens per expert for a compute-bound matmul on this accelerator; 0 if unknown. [tokens]"""
    answer: str
    """Whether the batch is too small for the experts' matmuls and gradients, where the dimensions are known; else empty."""
    slowdown: float
    """Time of the experts' matmuls over that at the peak, by the roofline and padding to capacity; nan where not known."""
    step_slowdown: float
    """The same for the compute of a whole step, in which the experts have their share; nan where not known."""
    zipf: float
    """Exponent of the Zipf law of expert popularity that is as uneven as the skew."""

    @property
    def cv_percent(self) -> float:
        """Coefficient of variation of the load. [%]"""
        return 100 * self.cv

    @property
    def dropped_percent(self) -> float:
        """Share of tokens beyond capacity. [%]"""
        return 100 * self.dropped


def skew_of(scenario: Scenario) -> float:
    """The scenario's skew, at most that of a router that sends nearly everything to one expert."""
    return min(scenario.router_skew, LARGEST_SKEW * max(scenario.num_experts - 1, 0) ** 0.5)


def load_cv(scenario: Scenario, routed_tokens, skew: float | None = None):
    """CV of an expert's load in groups of these sizes, at the scenario's skew or another. Numeric."""
    skew = skew_of(scenario) if skew is None else skew
    noise = moe_sequences.expert_load_cv(
        routed_tokens, scenario.num_experts, scenario.top_k, scenario.seq_len, scenario.sequence_correlation
    )
    left = 1 - skew**2 / max(scenario.num_experts - 1, 1)
    return np.sqrt(skew**2 + left * noise**2)


def dropped(scenario: Scenario, routed_tokens, capacity_factor):
    """Share of picks beyond capacity in groups of these sizes. Numeric."""
    routing = scenario.num_experts, scenario.top_k, capacity_factor
    skew, correlation = skew_of(scenario), scenario.sequence_correlation
    if skew > 0:
        alone = moe_sequences.effective_tokens(routed_tokens, scenario.seq_len, correlation)
        return moe_imbalance.dropped_fraction(np.maximum(np.round(alone), 1), *routing, skew)
    if correlation > 0:
        return moe_sequences.dropped_fraction(routed_tokens, *routing, scenario.seq_len, correlation)
    return moe.dropped_fraction(routed_tokens, *routing)


def distribution(scenario: Scenario, routed_tokens: int) -> pd.DataFrame:
    """Probability of each load of one expert: load [tokens] and probability, see `moe.load_distribution`."""
    if skew := skew_of(scenario):
        return moe_imbalance.load_distribution(routed_tokens, scenario.num_experts, scenario.top_k, skew)
    return moe.load_distribution(routed_tokens, scenario.num_experts, scenario.top_k)


def experts_of(scenario: Scenario) -> Architecture | None:
    """The dimensions of the scenario's model, where they hold the experts that it routes over."""
    found = dimensions.read(scenario.architecture) if scenario.architecture else None
    same = found is not None and (found.num_experts, found.top_k) == (scenario.num_experts, scenario.top_k)
    return found if same else None


def expert_load(scenario: Scenario, run: Outlook) -> ExpertLoad:
    """Derive the expert loads of a run."""
    routed = moe.routed_tokens(scenario.micro_batch_size, scenario.seq_len, scenario.expert_parallel_size)
    routing, skew = (scenario.num_experts, scenario.top_k), skew_of(scenario)
    alone = max(
        round(float(moe_sequences.effective_tokens(routed, scenario.seq_len, scenario.sequence_correlation))), 1
    )
    mean, cv = moe.tokens_per_expert(routed, *routing), float(load_cv(scenario, routed))
    share = float(dropped(scenario, routed, scenario.capacity_factor))
    capacity = float(moe.expert_capacity(routed, *routing, scenario.capacity_factor))
    idle = (
        moe_imbalance.expected_idle_experts(alone, *routing, skew)
        if skew
        else moe.expected_idle_experts(alone, *routing)
    )
    return ExpertLoad(
        routed=routed,
        group_mean=mean,
        global_mean=moe.tokens_per_expert(run.padded_tokens_per_step, *routing),
        cv=cv,
        uniform_cv=float(moe.expert_load_cv(routed, *routing)),
        skew=skew,
        busiest=float(min(mean * (1 + cv * np.sqrt(2 * np.log(scenario.num_experts))), routed)),
        idle=float(idle),
        capacity=capacity,
        dropped=share,
        least_factor=float(moe_solve.least_capacity_factor(WANTED_DROP, alone, *routing, skew)),
        zipf=moe_imbalance.zipf_exponent(scenario.num_experts, skew),
        tokens_for_cv=float(moe_solve.min_routed_tokens_for_cv(WANTED_CV, *routing, skew)),
        **_matmul(scenario, run, routed, moe_matmul.capacity_padding(capacity, routed, *routing, share)),
    )


def _matmul(scenario: Scenario, run: Outlook, routed: int, padding: float) -> dict:
    """What of ExpertLoad depends on the accelerator and the dimensions."""
    device, found = presets.hardware().get(scenario.accelerator), experts_of(scenario)
    if device is None:
        return {"matmul": 0.0, "answer": ""} | UNKNOWN
    balance = roofline.machine_balance(scenario.peak_flops, device.memory_bandwidth)
    if found is None:
        return {"matmul": balance, "answer": ""} | UNKNOWN
    sizes = found.hidden_size, found.expert_ffn_size
    routing = scenario.num_experts, scenario.top_k
    slowdown = float(moe_matmul.expert_slowdown(routed, *routing, *sizes, balance, max(padding, 1.0)))
    return {
        "matmul": float(roofline.compute_bound_tokens(balance, *sizes)),
        "answer": moe_matmul.answer(routed, run.padded_tokens_per_step, *routing, *sizes, balance),
        "slowdown": slowdown,
        "step_slowdown": float(moe_matmul.step_slowdown(slowdown, moe_matmul.expert_share(found, scenario.seq_len))),
    }
