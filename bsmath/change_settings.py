"""Settings that move with the batch, one by one: the new value, the rule that gives it, and how far that is to be trusted."""

from dataclasses import dataclass

from bsmath import checks, lr
from bsmath.recipe import Recipe

BETA_RULES = {"keep": "kept", "half_life": "same half-life in tokens", "malladi": "square-root rule"}
"""What happens to Adam's betas, and how that is worded."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the new settings follow from."""

    rate_rule: str = "saturating_adamw"
    """A key of `lr.RULES`."""
    saturation_batch: float | None = None
    """Its saturation batch where it has one. [tokens]"""
    beta_rule: str = "keep"
    """A key of BETA_RULES."""
    noise_scale: float | None = None
    """Batch at which gradient noise and signal are equal, for the clip threshold; None where it is only assumed: the threshold then
    stays. [tokens]"""
    critical_batch_size: float | None = None
    """B_crit where the new run is to reach the old one's loss; None where both get the same tokens. [tokens]"""

    def __post_init__(self):
        checks.one_of("rate_rule", self.rate_rule, lr.RULES)
        checks.one_of("beta_rule", self.beta_rule, BETA_RULES)
        if lr.RULES[self.rate_rule].saturation and self.saturation_batch is None:
            raise ValueError(f"saturation_batch must be a number for the rule {self.rate_rule}, got None")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting before and after."""

    name: str
    """In words, with its unit."""
    before: float
    """Its value in the old run."""
    after: float
    """Its value in the new run."""
    rule: str
    """What sets it, in a few words."""
    reason: str
    """What is kept by that, and where it fails."""
    status: str
    """`definition`, `derived`, `empirical` or `rule of thumb`."""
    confidence: str
    """`sure`, `fair` or `weak`."""


def rate_at(tokens_per_step, old: Recipe, rules: Rules):
    """The peak rate at a batch by the chosen rule through the old run's rate and batch."""
    rule = lr.RULES[rules.rate_rule]
    return rule.function(tokens_per_step, old.learning_rate, old.tokens_per_step, rules.saturation_batch)


def batch(old: Recipe, new: Recipe) -> Setting:
    return Setting(
        name="tokens per step",
        before=old.tokens_per_step,
        after=new.tokens_per_step,
        rule="micro-batch x accumulation x replicas x sequence, less padding",
        reason="whatever changes one of them changes the batch, although no line of the configuration says batch",
        status="definition",
        confidence="sure",
    )


def rate(old: Recipe, rate: float, rules: Rules) -> Setting:
    rule = lr.RULES[rules.rate_rule]
    fits = old.optimizer in rule.optimizers
    return Setting(
        name="peak learning rate",
        before=old.learning_rate,
        after=rate,
        rule=rule.label.lower() if rule.label[1:].islower() else rule.label,
        reason=f"{rule.validity}; sweep a factor 2 either side"
        + ("" if fits else f"; it was not made for {old.optimizer}"),
        status=rule.status.split(" (")[0].split(",")[0],
        confidence="fair" if fits else "weak",
    )


def decay(old: Recipe, ratio: float, rate_ratio: float) -> Setting:
    coupled = old.decay == "coupled"
    return Setting(
        name="weight decay",
        before=old.weight_decay,
        after=lr.weight_decay_keeping_timescale(old.weight_decay, ratio, rate_ratio)
        if coupled
        else lr.independent_decay_keeping_timescale(old.weight_decay, ratio),
        rule="same memory in tokens, B/(rate x decay)" if coupled else "same memory in tokens, B/decay",
        reason="the weights forget after as many tokens as before (Wang and Aitchison 2024); too large a batch leaves few steps to forget in",
        status="derived",
        confidence="fair",
    )


def betas(old: Recipe, ratio: float, rules: Rules) -> list[Setting]:
    if old.optimizer != "adamw":
        return []
    return [_beta(name, value, ratio, rules.beta_rule) for name, value in (("1", old.beta1), ("2", old.beta2))]


def _beta(name: str, beta: float, ratio: float, rule: str) -> Setting:
    half_life = lr.beta_keeping_half_life(beta, ratio)
    malladi = lr.beta_malladi(beta, ratio)
    found = {
        "keep": (beta, "most production runs keep 0.9 and 0.95 at every batch", "rule of thumb", "fair"),
        "half_life": (half_life, "the average spans the same tokens (Marek et al. 2025); contested", "empirical", "fair"),
        "malladi": (malladi, "of the square-root rule, for small rates (Malladi et al. 2022)", "derived", "fair"),
    }  # fmt: skip
    if rule == "malladi" and not 0 <= malladi <= 1:
        said = f"1 - k (1 - beta) is impossible at k = {ratio:.3g}: the same half-life in tokens stands in for it"
        found["malladi"] = (half_life, said, "rule of thumb", "weak")
    value, reason, status, confidence = found[rule]
    return Setting(
        name=f"beta {name}",
        before=beta,
        after=float(value),
        rule=BETA_RULES[rule],
        reason=reason,
        status=status,
        confidence=confidence,
    )


def epsilon(old: Recipe, ratio: float, rules: Rules) -> list[Setting]:
    if old.optimizer != "adamw" or rules.beta_rule != "malladi":
        return []
    return [
        Setting(
            name="epsilon",
            before=old.epsilon,
            after=lr.epsilon_malladi(old.epsilon, ratio),
            rule="1/sqrt(k)",
            reason="follows sqrt(v), which falls as 1/sqrt(B) where noise dominates (Malladi et al. 2022)",
            status="derived",
            confidence="fair",
        )
    ]


def clip(old: Recipe, new: Recipe, rules: Rules) -> list[Setting]:
    if old.clip_norm == 0:
        return []
    known = rules.noise_scale is not None
    scale = lr.clip_norm_ratio(new.tokens_per_step, old.tokens_per_step, rules.noise_scale) if known else 1.0
    return [
        Setting(
            name="clip norm",
            before=old.clip_norm,
            after=old.clip_norm * scale,
            rule="the expected gradient norm, sqrt(1 + B_n/B)" if known else "kept",
            reason="clips as often as before, as far as the noise scale is right (it is often off by 2 to 7 times)"
            if known
            else "most runs keep 1.0; with a measured noise scale it would follow the expected gradient norm",
            status="derived" if known else "rule of thumb",
            confidence="weak" if known else "fair",
        )
    ]
