"""What a sweep is asked to do, checked before anything is loaded or timed. Needs no PyTorch."""

from dataclasses import dataclass

from bsmath import checks

DEVICES = ("auto", "cpu", "cuda")
DTYPES = ("float32", "bfloat16")
LARGEST = 2**31 - 1
RANGES = {
    "global_batch_size": (1, LARGEST),
    "seq_len": (1, 2**20),
    "micro_batch_size": (1, LARGEST),
    "warmup_steps": (0, 10**6),
    "steps": (1, 10**6),
    "layers": (1, 1_000),
    "width": (1, 10**5),
    "heads": (1, 1_000),
    "threads": (1, 1_024),
    "repeats": (1, 1_000),
    "seed": (0, LARGEST),
}
"""Smallest and largest value accepted; the upper ends are far beyond use and only stop a typing error early."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One throughput sweep."""

    global_batch_sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    """Batch sizes to time. [sequences]"""
    seq_len: int = 128
    """[tokens/sequence]"""
    micro_batch_size: int | None = None
    """Sequences forwarded at once; larger batches are accumulated. None forwards every batch whole. [sequences]"""
    warmup_steps: int = 3
    """Steps of every measurement before the clock counts."""
    steps: int = 10
    """Steps of every measurement that are timed; their median is reported."""
    layers: int = 4
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
    """CPU threads; None leaves PyTorch's own choice."""
    repeats: int = 3
    """Measurements of every batch size."""
    seed: int = 0
    """Decides weights, data and the order of the measurements."""

    def __post_init__(self):
        for name, (low, high) in RANGES.items():
            if getattr(self, name, None) is not None:
                checks.whole(name, getattr(self, name), low, high)
        checks.one_of("device", self.device, DEVICES)
        checks.one_of("dtype", self.dtype, DTYPES)
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads ({self.heads}), got {self.width!r}")
        for batch in self.global_batch_sizes:
            checks.whole("global_batch_size", batch, *RANGES["global_batch_size"])
            if batch % self.micro_batch(batch):
                rule = f"be a multiple of micro_batch_size ({self.micro_batch_size})"
                raise ValueError(f"global_batch_size must {rule}, got {batch!r}")
        if len(set(self.global_batch_sizes)) < max(len(self.global_batch_sizes), 1):
            raise ValueError(f"global_batch_sizes must be one or more different sizes, got {self.global_batch_sizes!r}")

    def micro_batch(self, global_batch_size: int) -> int:
        """Sequences forwarded at once at this global batch: never more than the batch itself. [sequences]"""
        return min(global_batch_size, self.micro_batch_size or global_batch_size)
