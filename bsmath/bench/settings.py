"""What each measurement is asked to do, checked before anything is loaded or timed. Needs no PyTorch."""

from dataclasses import dataclass

from bsmath import checks

DEVICES = ("auto", "cpu", "cuda")
DTYPES = ("float32", "bfloat16")
LARGEST = 2**31 - 1
WHOLE = {
    "global_batch_size": (1, LARGEST),
    "seq_len": (1, 2**20),
    "micro_batch_size": (1, LARGEST),
    "warmup_steps": (0, 10**6),
    "steps": (1, 10**9),
    "layers": (1, 1_000),
    "width": (1, 10**5),
    "heads": (1, 1_000),
    "threads": (1, 1_024),
    "repeats": (1, 1_000),
    "seed": (0, LARGEST),
    "seeds": (1, 1_000),
    "max_steps": (1, 10**9),
    "lr_warmup_steps": (0, 10**9),
    "eval_sequences": (1, 10**6),
    "average_steps": (1, 10**6),
    "checkpoint_step": (1, 10**9),
    "branch_tokens": (1, 10**15),
    "batch_factor": (1, 10**6),
    "routed_tokens": (1, LARGEST),
    "num_experts": (2, 10_000),
    "top_k": (1, 10_000),
    "groups": (1, 10**6),
}
"""Smallest and largest whole number accepted; the upper ends are far beyond use and only stop a typing error early."""
NUMBERS = {
    "learning_rate": (1e-9, 100.0),
    "target_loss": (1e-3, 20.0),
    "patience": (1.0, 1e6),
    "tolerance": (1e-6, 10.0),
    "peak_flops": (1e6, 1e21),
    "balancing_loss": (0.0, 100.0),
}
LISTS = {
    "global_batch_sizes": "global_batch_size",
    "micro_batch_sizes": "micro_batch_size",
    "learning_rates": "learning_rate",
    "checkpoint_steps": "checkpoint_step",
    "batch_factors": "batch_factor",
    "routed_tokens_list": "routed_tokens",
    "balancing_losses": "balancing_loss",
}
"""Fields that hold several values, and the name by which each value is checked."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every measurement is told: the model, the machine, the seed."""

    seq_len: int = 64
    """[tokens/sequence]"""
    layers: int = 2
    """Transformer blocks."""
    width: int = 64
    """Features per token."""
    heads: int = 2
    """Attention heads."""
    device: str = "auto"
    """auto takes CUDA where there is one."""
    dtype: str = "float32"
    """Type of the matrix products; weights and optimizer stay float32."""
    threads: int | None = None
    """CPU threads of each process; None leaves PyTorch's own choice."""
    seed: int = 0
    """Decides weights, data and the order of the measurements."""

    def __post_init__(self):
        for name, (low, high) in WHOLE.items():
            if getattr(self, name, None) is not None:
                checks.whole(name, getattr(self, name), low, high)
        for name, (low, high) in NUMBERS.items():
            if getattr(self, name, None) is not None:
                checks.between(name, getattr(self, name), low, high)
        for name, each in LISTS.items():
            self._check_list(name, each)
        checks.one_of("device", self.device, DEVICES)
        checks.one_of("dtype", self.dtype, DTYPES)
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads ({self.heads}), got {self.width!r}")

    def _check_list(self, name: str, each: str) -> None:
        values = getattr(self, name, None)
        if values is None:
            return
        for value in values:
            if each in WHOLE:
                checks.whole(each, value, *WHOLE[each])
            else:
                checks.between(each, value, *NUMBERS[each])
        if len(set(values)) < max(len(values), name not in ("micro_batch_sizes",)):
            raise ValueError(f"{name} must be one or more different values, got {values!r}")

    @property
    def batches(self) -> tuple[int, ...]:
        """Every global batch size that is trained. [sequences]"""
        return getattr(self, "global_batch_sizes", None) or (self.global_batch_size,)


@dataclass(frozen=True, kw_only=True)
class Throughput(Settings):
    """Tokens per second against batch size."""

    global_batch_sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    """Batch sizes to time. [sequences]"""
    seq_len: int = 128
    layers: int = 4
    micro_batch_sizes: tuple[int, ...] = ()
    """Sequences that a process forwards at once; larger batches are accumulated. None forwards every batch whole; several
    time the same batch once each. [sequences]"""
    warmup_steps: int = 3
    """Steps of every measurement before the clock counts."""
    steps: int = 10
    """Steps of every measurement that are timed; their median is reported."""
    repeats: int = 3
    """Measurements of every batch size."""
    compile: bool = False
    """Whether the model goes through torch.compile."""
    peak_flops: float | None = None
    """Dense peak of one device, for the MFU; None takes that of the accelerator if it is a known one. [FLOP/s]"""


@dataclass(frozen=True, kw_only=True)
class Training(Settings):
    """What a measurement that trains is told besides: how the rate warms up and how the model is evaluated."""

    micro_batch_size: int | None = None
    """Sequences that a process forwards at once; None forwards its share of the batch whole. [sequences]"""
    lr_warmup_steps: int = 10
    """Steps over which the learning rate rises linearly from 0; after that it stays constant."""
    eval_sequences: int = 64
    """Held-out sequences on which the loss is evaluated, always the same ones."""

    def check_micro_batch(self, global_batch_size: int, processes: int = 1) -> None:
        """Refuse a batch that micro-batches do not divide: the loss would not be the mean over its tokens."""
        share, micro = global_batch_size // processes, self.micro_batch_size or global_batch_size
        if share > micro and share % micro:
            rule = f"a multiple of micro_batch_size ({micro})" + (
                f" on each of {processes} processes" if processes > 1 else ""
            )
            raise ValueError(f"global_batch_size must be {rule}, got {global_batch_size!r}")


@dataclass(frozen=True, kw_only=True)
class Convergence(Training):
    """Steps to a target loss over batch sizes, learning rates and seeds."""

    global_batch_sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256, 512)
    """[sequences]"""
    learning_rates: tuple[float, ...] = (1e-3, 2e-3, 4e-3, 8e-3, 16e-3)
    """Peak rates tried at every batch."""
    seeds: int = 3
    """Runs at each batch and rate; each has its own weights and data."""
    target_loss: float = 2.2
    """Held-out loss that ends a run. [nats/token]"""
    max_steps: int = 4_000
    """A run that has not arrived by then is recorded as not arrived."""
    patience: float = 2.0
    """A run also ends at this multiple of the fewest steps that any run at its batch has needed so far."""


@dataclass(frozen=True, kw_only=True)
class Noise(Training):
    """The gradient noise scale through one training run."""

    global_batch_size: int = 32
    """[sequences]"""
    micro_batch_size: int = 1
    """The small batch of the two-batch estimator: each is a gradient of its own. [sequences]"""
    learning_rate: float = 4e-3
    """Peak rate."""
    steps: int = 400
    """Optimizer steps of the run."""
    average_steps: int = 10
    """Steps whose squared norms are averaged into one row of the file."""
    target_loss: float | None = None
    """Held-out loss that ends the run early. [nats/token]"""


@dataclass(frozen=True, kw_only=True)
class Branch(Training):
    """The critical batch by branching: from a checkpoint, a k times larger batch at sqrt(k) times the rate."""

    global_batch_size: int = 4
    """Batch of the run that is branched. [sequences]"""
    learning_rate: float = 2e-3
    """Peak rate of the run that is branched."""
    eval_sequences: int = 256
    checkpoint_steps: tuple[int, ...] = (50, 100, 250, 1_000)
    """Steps of the run at which it is branched."""
    batch_factors: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """k: each branch trains with k times the batch and sqrt(k) times the rate."""
    branch_tokens: int = 65_536
    """Length of every branch, the same for all. [tokens]"""
    tolerance: float = 0.03
    """A branch has recovered when its loss is at most this far above the unchanged one's. [nats/token]"""
    seeds: int = 6
    """Branches at each factor; each has its own data."""

    def __post_init__(self):
        super().__post_init__()
        if 1 not in self.batch_factors:
            raise ValueError(f"batch_factors must hold 1, the unchanged branch, got {self.batch_factors!r}")
        for batch in self.batches:
            if self.branch_tokens % (batch * self.seq_len):
                rule = f"whole steps of every branch, a multiple of {batch} x {self.seq_len} tokens"
                raise ValueError(f"branch_tokens must be {rule}, got {self.branch_tokens!r}")
        if min(self.checkpoint_steps) < self.lr_warmup_steps:
            rule = f"at least lr_warmup_steps ({self.lr_warmup_steps})"
            raise ValueError(f"checkpoint_step must be {rule}, got {min(self.checkpoint_steps)!r}")

    @property
    def batches(self) -> tuple[int, ...]:
        """That of the run and of every branch. [sequences]"""
        return tuple(factor * self.global_batch_size for factor in self.batch_factors)


@dataclass(frozen=True, kw_only=True)
class Router(Training):
    """Expert loads of a small top-k mixture of experts over the tokens that are routed together."""

    global_batch_size: int = 32
    """Batch with which the model is trained. [sequences]"""
    learning_rate: float = 4e-3
    steps: int = 300
    """Optimizer steps before the loads are measured."""
    num_experts: int = 16
    top_k: int = 2
    """Experts that each token is sent to."""
    balancing_losses: tuple[float, ...] = (0.0, 0.01)
    """Weights of the balancing loss; one model is trained with each."""
    routed_tokens_list: tuple[int, ...] = (64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384)
    """Tokens routed together, multiples of seq_len. [tokens]"""
    groups: int = 8
    """Groups of held-out tokens that are routed at each size."""
    seeds: int = 1
    """Models trained with each weight."""

    def __post_init__(self):
        super().__post_init__()
        if self.top_k > self.num_experts:
            raise ValueError(f"top_k must be at most num_experts ({self.num_experts}), got {self.top_k!r}")
        for routed in self.routed_tokens_list:
            if routed % self.seq_len:
                raise ValueError(f"routed_tokens must be a multiple of seq_len ({self.seq_len}), got {routed!r}")
