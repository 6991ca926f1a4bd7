"""The scenario: every input of the dashboard in one flat frozen record of plain numbers and words.

It is the only truth: widgets are drawn from it, links carry it, formulas receive its numbers. What follows from it
(devices, tokens per step, days) is derived in `bsmath.outlook` and never stored.
"""

import dataclasses
from dataclasses import dataclass

from bsmath import checks, dimensions, offers, presets, ramp_kinds
from bsmath.field_rules import CEILINGS, CHOICES, FOLLOWERS, OPTIONAL, RANGES


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One training run, as its user describes it. Every field is checked; a wrong one is a TypeError or ValueError."""

    num_params: float = 7.96e8
    """Parameters held in memory, N."""
    active_params: float = None  # takes num_params, see FOLLOWERS
    """Parameters used per token; they enter 6N. Below num_params for a mixture of experts."""
    seq_len: int = 2048
    """Tokens per packed sequence, T. [tokens/sequence]"""
    accelerator: str = "h200_sxm"
    """A name of data/hardware.toml, or a typed dense peak of one device as text. [FLOP/s]"""
    mfu: float = 0.71
    """Model-FLOPs utilization at the plateau, that is at large batches; the run's own MFU is derived."""
    fixed_time: float = 0.05
    """Seconds per optimizer step that do not grow with the batch: assumed until a sweep has measured it. [s]"""
    micro_batch_size: int = 48
    """Sequences that one replica forwards at once. [sequences]"""
    grad_accum_steps: int = 1
    """Micro-batches per replica and step."""
    data_parallel_size: int = 1
    """Replicas."""
    model_parallel_size: int = 1
    """Devices per replica: tensor x pipeline x context."""
    padding_fraction: float = 0.0
    """Share of padding among the tokens that the hardware processes."""
    critical_batch_size: float = 1e6
    """B_crit = E_min/S_min of the hyperbola. [real tokens]"""
    min_steps: float = 50_000.0
    """S_min, steps to the target loss at an infinite batch. [steps]"""
    goal: str = "target"
    """`target`: time to a target loss (S_min, B_crit). `budget`: time through a token budget."""
    token_budget: float = 5e10
    """Tokens of the run where the goal is a budget. [real tokens]"""
    optimizer: str = "adamw"
    """`adamw` or `sgd`; decides which learning-rate rules apply."""
    learning_rate: float = 3e-4
    """Peak rate tuned at the reference batch."""
    reference_tokens_per_step: float = 524_288.0
    """Batch at which the learning rate was tuned, B_0. [tokens]"""
    noise_scale: float = None  # takes critical_batch_size, see FOLLOWERS
    """Batch at which SGD's best rate is half its limit. [tokens]"""
    adam_saturation_batch: float = 1e6
    """B_n of the empirical AdamW law. [tokens]"""
    surge_peak_batch: float = 1e6
    """Batch at which the surge rule's rate peaks; not the gradient noise scale. [tokens]"""
    weight_decay: float = 0.1
    """AdamW's lambda, multiplied by the learning rate as in PyTorch."""
    beta1: float = 0.9
    """Decay of Adam's first moment per step."""
    beta2: float = 0.95
    """Decay of Adam's second moment per step."""
    warmup_tokens: float = 1e9
    """Length of the learning-rate warmup. [tokens]"""
    clip_norm: float = 1.0
    """Global gradient-norm threshold; 0 is off."""
    num_experts: int = 64
    """Routed experts per layer."""
    top_k: int = 8
    """Experts per token."""
    capacity_factor: float = 1.25
    """Room of an expert as a multiple of the mean load."""
    expert_parallel_size: int = 1
    """Replicas whose tokens are routed together."""
    price_per_device_hour: float | None = None
    """Price of one device for one hour, any currency; no default: cost is shown only once typed."""

    architecture: str = ""
    """The model's dimensions: a name of data/models.toml, or text such as `num_layers=32 hidden_size=4096 ...`; empty where
    they are assumed from num_params."""
    precision: str = "bf16"
    """Number format of the matmuls, `bf16` or `fp8`: which dense peak counts."""
    recompute: str = "selective"
    """Activations that the backward pass computes again: `none`, `selective` (attention scores, which FlashAttention never keeps) or
    `full` (everything but each layer's input)."""
    zero_stage: int = 0
    """What data-parallel replicas share out: 0 nothing, 1 optimizer states, 2 gradients too, 3 weights too (FSDP)."""
    gradient_dtype: str = "bf16"
    """Number format of the gradients in memory and on the network, `bf16` or `fp32`."""
    micro_batch_time: float = 0.0
    """Seconds per micro-batch that do not grow with its size (launches, data loading). [s]"""
    network_bandwidth: float | None = None
    """What one device sends to its data-parallel neighbor, one way; None takes the accelerator's link or a usual fabric. [bytes/s]"""
    overlap: float = 1.0
    """Share of the backward pass behind which communication can hide; 1 is the ideal."""
    target_loss: float | None = None
    """Loss at the end of the run, for published laws that are written in it; None leaves them out. [nats/token]"""

    min_learning_rate: float = 0.0
    """Rate at the end of the schedule."""
    decay: str = "coupled"
    """Whether weight decay is multiplied by the rate, as in PyTorch (`coupled`), or not (`independent`)."""
    epsilon: float = 1e-8
    """Adam's epsilon."""
    schedule: str = "cosine"
    """Shape of the rate after its warmup: `cosine`, `linear`, `wsd` or `constant`."""
    decay_tokens: float = 0.0
    """Length of the fall at the end of a wsd schedule. [tokens]"""
    schedule_unit: str = "steps"
    """What the trainer's configuration counts its schedule in, `steps` or `tokens` (or samples)."""
    checkpoint_tokens: float = 0.0
    """Tokens between checkpoints; 0 where not known. [tokens]"""
    eval_tokens: float = 0.0
    """Tokens between evaluations; 0 where not known. [tokens]"""
    loss_average: str = "token"
    """What the loss is the mean of: all tokens of a step, each `sequence` first, or each `micro_batch` first."""
    gradient_norm: float | None = None
    """Median gradient norm of the run before clipping; None where not known."""
    new_micro_batch_size: int = None  # these four take the values of the run, see FOLLOWERS
    """Micro-batch after the change of batch. [sequences]"""
    new_grad_accum_steps: int = None
    """Accumulation after it."""
    new_data_parallel_size: int = None
    """Replicas after it."""
    new_seq_len: int = None
    """Sequence length after it. [tokens/sequence]"""
    rate_rule: str = "usual"
    """How the rate moves with the batch: a name of `lr.RULES`, or the `usual` one of the optimizer (saturating)."""
    router_skew: float = 0.0
    """CV of the experts' true shares, however many tokens are routed together: 0 for a router that is even."""
    sequence_correlation: float = 0.0
    """How alike the routing of the tokens of one sequence is: 0 as if they were independent, 1 all the same."""
    beta_rule: str = "keep"
    """How Adam's betas move: `keep`, `half_life` (in tokens) or `malladi` (square-root rule)."""

    ramp: str = "linear_tokens"
    """Shape of the batch ramp that is looked at, a name of `ramp_kinds.KINDS`; its length and ends are in the fields below."""
    ramp_start: float | None = None
    """Batch at which the ramp starts; None takes an eighth of its end. [real tokens]"""
    ramp_end: float | None = None
    """Batch at which it ends; None takes this run's. [real tokens]"""
    ramp_tokens: float = 1e10
    """Length of a ramp that has one. [real tokens]"""
    ramp_levels: int = 8
    """Different batches of a staircase, both ends included."""
    ramp_factor: float = 1.0
    """Batch of a ramp that follows the critical batch, as a multiple of what its rule says."""
    ramp_stages: str = ""
    """Batches by threshold, `0:768 250B:1536`: [real tokens]:[sequences], for the kind `stages`."""
    ramps_compared: str = "linear_tokens law adaptive"
    """Kinds and published ramps that are shown beside it, by name."""
    critical_growth: str = "zhang_data"
    """How the critical batch moves through the run: `constant`, a published law, or a `noise` or `branch` log; its average stays."""

    most_devices: int = 64
    """Most devices that a plan may use."""
    device_memory: float | None = None
    """Memory of one device that a plan may use; None takes the accelerator's. [bytes]"""
    device_power: float | None = None
    """Mean power of one device with its share of the rest; no default: energy is shown only once typed. [W]"""
    deadline_days: float | None = None
    """The target must be reached by then; None where there is no deadline. [days]"""
    most_cost: float | None = None
    """Most that the run may cost, in the currency of the price, or in device-hours where none is typed; None without a limit."""
    other_offers: str = ""
    """Other accelerators to plan with, each with its price per device-hour: `h100_sxm 2.5, b200_sxm 6`."""

    def __post_init__(self):
        for follower, leader in FOLLOWERS.items():
            if getattr(self, follower) is None:
                object.__setattr__(self, follower, getattr(self, leader))
        for field in FIELDS:
            object.__setattr__(self, field, checked(field, getattr(self, field)))
        for ceiling, name in CEILINGS.items():
            most, value = getattr(self, ceiling), getattr(self, name)
            if value > most:
                raise ValueError(f"{name} must be at most {ceiling} ({most:g}), got {value:g}")
        if self.precision == "fp8" and self.device is not None and self.device.peak_flops_fp8 is None:
            raise ValueError(f"precision must be bf16 on {self.device.label}, which has no FP8 peak, got 'fp8'")

    @property
    def device(self) -> presets.Hardware | None:
        """The preset of the accelerator; None where its peak was typed."""
        return presets.hardware().get(self.accelerator)

    @property
    def matmul_ceiling(self) -> float | None:
        """Fastest BF16 matmul measured on the device over its peak, the most that an MFU can be; None where unknown. [0-1]"""
        return self.device.matmul_efficiency if self.device is not None and self.precision == "bf16" else None

    @property
    def peak_flops(self) -> float:
        """Dense peak of one device in the precision in use; a typed peak is taken as it is. [FLOP/s]"""
        if self.device is None:
            return float(self.accelerator)
        return self.device.peak_flops if self.precision == "bf16" else self.device.peak_flops_fp8

    def change(self, **changes) -> "Scenario":
        """A scenario with some fields changed; a follower that equals its leader goes along with it."""
        values = dataclasses.asdict(self)
        for follower, leader in FOLLOWERS.items():
            if values[follower] == values[leader]:
                values[follower] = None
        return Scenario(**(values | changes))


FIELDS = tuple(field.name for field in dataclasses.fields(Scenario))
WORDS = tuple(field.name for field in dataclasses.fields(Scenario) if field.type is str)
"""Fields that hold text."""
WHOLE = tuple(field.name for field in dataclasses.fields(Scenario) if field.type is int)


TEXTS = {
    "architecture": dimensions.checked,
    "ramp_stages": ramp_kinds.checked_stages,
    "ramps_compared": ramp_kinds.checked_names,
    "other_offers": offers.checked,
}
"""Checks of the fields that hold free text."""


def checked(name: str, value):
    """A field's value if it may stand alone, or the TypeError or ValueError that names it."""
    if name == "accelerator":
        return presets.accelerator(name, value)
    if name in TEXTS:
        return TEXTS[name](value)
    if name in CHOICES:
        return checks.one_of(name, value, CHOICES[name])
    if value is None and name in OPTIONAL:
        return None
    low, high = RANGES[name]
    return checks.whole(name, value, low, high) if name in WHOLE else checks.between(name, value, low, high)
