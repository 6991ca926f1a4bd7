"""A change of batch with what else is known of both runs, and what a check of it says."""

from dataclasses import dataclass

from bsmath.change import Change, Rules


@dataclass(frozen=True, kw_only=True)
class Case:
    """A change, and what else is known of the two runs."""

    change: Change
    """Both runs."""
    rules: Rules
    """What the new settings follow from."""
    schedule_unit: str = "steps"
    """`steps` or `tokens`: in which the trainer's configuration counts its schedule."""
    gradient_norm: float | None = None
    """Median gradient norm of the old run, before clipping; None where not known."""
    critical_batch_size: float
    """B_crit. [tokens]"""
    old_seconds: float
    """Wall-clock of the old run to its goal. [s]"""
    new_seconds: float
    """The same of the new run. [s]"""
    old_rate: float
    """Rate of the old run, whole job. [tokens/s]"""
    new_rate: float
    """Rate of the new run. [tokens/s]"""
    single_seconds: float
    """Wall-clock of the new run to its goal without accumulation. [s]"""
    num_experts: int = 1
    """Routed experts per layer; 1 for a dense model."""
    top_k: int = 1
    """Experts per token."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that breaks silently."""

    wrong: str
    """What is wrong."""
    cost: str
    """What it costs, in numbers."""
    remedy: str
    """What to set."""
    caused: bool = True
    """Whether it is the change that breaks it; else the run as it is."""
