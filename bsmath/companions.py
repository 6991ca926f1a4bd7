"""The settings that change meaning when the batch moves, and the values that keep their meaning."""

from dataclasses import dataclass

from bsmath import lr
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Companion:
    """One setting before and after a change of batch."""

    name: str
    """The setting, with its unit."""
    before: float
    """Its value at the reference batch."""
    after: float | None
    """The value at this run's batch that keeps its meaning; None where none does."""
    reason: str
    """What is kept, by which rule, with what status."""


def companions(scenario: Scenario, run: Outlook, learning_rate: float) -> list[Companion]:
    """What moves with the batch from the reference to this run, at the learning rate chosen for it."""
    old, new = scenario.reference_tokens_per_step, run.tokens_per_step
    ratio = new / old
    decay = lr.weight_decay_keeping_timescale(scenario.weight_decay, ratio, learning_rate / scenario.learning_rate)
    malladi = lr.beta_malladi(scenario.beta2, ratio)
    clip = lr.clip_norm_ratio(new, old, scenario.noise_scale)
    return [
        Companion(
            name="weight decay (AdamW)",
            before=scenario.weight_decay,
            after=decay,
            reason="keeps the decay's timescale B/(rate x decay) in tokens; derived (Wang and Aitchison 2024)",
        ),
        Companion(
            name="beta 1",
            before=scenario.beta1,
            after=lr.beta_keeping_half_life(scenario.beta1, ratio),
            reason="keeps the half-life in tokens; most production runs keep 0.9 at every batch",
        ),
        Companion(
            name="beta 2",
            before=scenario.beta2,
            after=lr.beta_keeping_half_life(scenario.beta2, ratio),
            reason="keeps the half-life in tokens; empirical (Marek et al. 2025), contested: most runs keep 0.95",
        ),
        Companion(
            name="beta 2, square-root rule",
            before=scenario.beta2,
            after=None if malladi != malladi else malladi,
            reason="1 - k (1 - beta); derived in the small-rate limit (Malladi et al. 2022), impossible once k (1 - beta) reaches 1",
        ),
        Companion(
            name="warmup [steps]",
            before=lr.warmup_steps(scenario.warmup_tokens, old),
            after=lr.warmup_steps(scenario.warmup_tokens, new),
            reason="the same tokens of warmup: a schedule written in steps changes its meaning with the batch",
        ),
        Companion(
            name="clip norm",
            before=scenario.clip_norm,
            after=scenario.clip_norm * clip,
            reason="the gradient norm falls as sqrt(1 + noise scale / B): at this threshold clipping is as frequent; derived",
        ),
    ]
