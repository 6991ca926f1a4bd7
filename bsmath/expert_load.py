"""What a scenario's batch means for its experts: the load where capacity applies and the load of the global batch.

CV^2 = skew^2 + (1 - skew^2/(E - 1)) deff (1 - p)/(M p)      skew: CV of the experts' true shares; deff: tokens of one text alike
dropped: exact for uniform routing (`moe`), the Dirichlet-multinomial for a skew (`moe_imbalance`), and where tokens are alike
the beta-binomial of the same variance (`moe_sequences`); the capacity is that of the real M in each
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize

from bsmath import dimensions, moe, moe_imbalance, moe_matmul, moe_polya, moe_sequences, moe_solve, presets, roofline
from bsmath.architecture import Architecture
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario

WANTED_DROP, WANTED_CV = 0.01, 0.1
"""Drop rate and load CV for which the least capacity factor and the least batch are told. Conventions."""
UNKNOWN = {"slowdown": float("nan"), "step_slowdown": float("nan")}
"""What the roofline says where a model's dimensions or a device's bandwidth are not known."""
LARGEST_SKEW = 0.999
"""Share of sqrt(E/k - 1), all tokens to the same k experts, that a skew may reach."""


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
    """Time of the experts' matmuls, padded to capacity, over that of all their picks at the peak; nan where not known."""
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
    """The scenario's skew, at most that of a router that sends nearly everything to the same k experts."""
    return min(scenario.router_skew, LARGEST_SKEW * (scenario.num_experts / scenario.top_k - 1) ** 0.5)


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
    if scenario.sequence_correlation > 0 and scenario.top_k < scenario.num_experts:
        return moe_sequences.dropped_fraction(
            routed_tokens, *routing, routed_tokens, _likeness(scenario, routed_tokens)
        )
    if skew := skew_of(scenario):
        return moe_imbalance.dropped_fraction(routed_tokens, *routing, skew)
    return moe.dropped_fraction(routed_tokens, *routing)


def skew_for_dropped(scenario: Scenario, share: float) -> float:
    """The skew at which the scenario's router, micro-batch and capacity factor drop this share, as a log of a real run tells it.

    Raises
    ------
    ValueError
        Where an even router drops as much already, or no router so much.
    """
    most = LARGEST_SKEW * (scenario.num_experts / scenario.top_k - 1) ** 0.5
    routed = moe.routed_tokens(scenario.micro_batch_size, scenario.seq_len, scenario.expert_parallel_size)

    def over(skew: float) -> float:
        return float(dropped(scenario.change(router_skew=skew), routed, scenario.capacity_factor)) - share

    least, largest = over(0.0) + share, over(most) + share if most > 0 else 0.0
    if not least < share < largest:
        raise ValueError(
            f"the dropped share must be from {least:.3g} (an even router) to {largest:.3g} (one that uses {scenario.top_k} experts alone) at "
            f"capacity factor {scenario.capacity_factor:g} and {routed:,} tokens routed together, got {share:.3g}"
        )
    return float(optimize.brentq(over, 0.0, most, xtol=1e-6))


def _likeness(scenario: Scenario, routed_tokens):
    """Correlation of any two tokens routed together that gives the load its CV: 1 + (M - 1) r times the variance of independent ones."""
    uniform = moe.expert_load_cv(routed_tokens, scenario.num_experts, scenario.top_k)
    ratio = (load_cv(scenario, routed_tokens) / uniform) ** 2
    return np.clip((ratio - 1) / np.maximum(np.subtract(routed_tokens, 1.0), 1), 0, 1)


def least_factor(scenario: Scenario, routed_tokens: int) -> float:
    """Smallest capacity factor that drops at most WANTED_DROP; E/k, room for every token, where no smaller one does."""
    mean = moe.tokens_per_expert(routed_tokens, scenario.num_experts, scenario.top_k)

    def enough(capacity):
        return dropped(scenario, routed_tokens, capacity / mean) <= WANTED_DROP

    capacity = float(moe_solve.smallest(enough, float(routed_tokens)))
    return min(capacity / mean, scenario.num_experts / scenario.top_k)


def tokens_for_cv(scenario: Scenario) -> float:
    """Tokens routed together from which the load CV is at most WANTED_CV; inf where the skew forbids it. [tokens]"""
    share, skew, alike = scenario.top_k / scenario.num_experts, skew_of(scenario), scenario.sequence_correlation
    left, room = 1 - skew**2 / max(scenario.num_experts - 1, 1), WANTED_CV**2 - skew**2
    if room <= 0:
        return float("inf")
    alone = left * (1 - share) / share
    within = (
        alone * (1 - alike) / (room - alone * alike) if room > alone * alike else float("inf")
    )  # less than a sequence
    return within if within <= scenario.seq_len else alone * (1 + (scenario.seq_len - 1) * alike) / room


def distribution(scenario: Scenario, routed_tokens: int, rows: int = 200) -> pd.DataFrame:
    """Probability of each load of one expert: load [tokens] and probability, see `moe.load_distribution`."""
    routing = scenario.num_experts, scenario.top_k
    if scenario.sequence_correlation > 0 and scenario.top_k < scenario.num_experts:
        mean, reach = moe.tokens_per_expert(routed_tokens, *routing), 5 * float(load_cv(scenario, routed_tokens))
        low, high = np.floor(max(mean * (1 - reach), 0)), np.ceil(min(mean * (1 + reach), routed_tokens))
        load = np.arange(low, high + 1, np.ceil((high - low + 1) / rows))
        weight = 1 / np.clip(_likeness(scenario, routed_tokens), 1e-12, 1 - 1e-9) - 1
        share = scenario.top_k / scenario.num_experts
        chance = np.exp(moe_polya.log_probability(load, routed_tokens, share * weight, (1 - share) * weight))
        return pd.DataFrame({"load": load, "probability": chance})
    if skew := skew_of(scenario):
        return moe_imbalance.load_distribution(routed_tokens, *routing, skew)
    return moe.load_distribution(routed_tokens, *routing)


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
        dropped=float(dropped(scenario, routed, scenario.capacity_factor)),
        least_factor=least_factor(scenario, routed),
        zipf=moe_imbalance.zipf_exponent(scenario.num_experts, skew),
        tokens_for_cv=tokens_for_cv(scenario),
        **_matmul(scenario, run, routed, capacity / mean),
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
    slowdown = float(moe_matmul.expert_slowdown(routed, *routing, *sizes, balance, padding))
    return {
        "matmul": float(roofline.compute_bound_tokens(balance, *sizes)),
        "answer": moe_matmul.answer(routed, run.padded_tokens_per_step, *routing, *sizes, balance),
        "slowdown": slowdown,
        "step_slowdown": float(moe_matmul.step_slowdown(slowdown, moe_matmul.expert_share(found, scenario.seq_len))),
    }
