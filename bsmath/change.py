"""From an old run to a new batch: every setting that must move, by which rule, and how far that rule is to be trusted.

    k = B_new/B_old [real tokens]
    rate         by a rule of `bsmath.lr` through the old rate         lambda k (eta_old/eta_new), or lambda k where independent
    beta         kept, beta^k (half-life in tokens), 1 - k (1 - beta)  clip sqrt((1 + B_n/B_new)/(1 + B_n/B_old))
    lengths      the same tokens, in new steps                         run E(B_new)/E(B_old) times the tokens, to the same loss

Changing the batch and changing it back is the identity for each of these, wherever its rule holds; whole numbers of steps aside.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bsmath import change_settings, checks, critical
from bsmath.change_settings import Rules, Setting, rate_at
from bsmath.recipe import RANGES, Recipe

SPLIT = ("micro_batch_size", "grad_accum_steps", "data_parallel_size", "seq_len")
"""Fields by which the batch moves."""
NAMED = {
    "weight decay": "weight_decay",
    "beta 1": "beta1",
    "beta 2": "beta2",
    "epsilon": "epsilon",
    "clip norm": "clip_norm",
}
"""Settings beside the rate, and the fields that hold them."""
LENGTHS = {
    "warmup_tokens": "warmup",
    "decay_tokens": "decay at the end",
    "checkpoint_tokens": "checkpoint every",
    "eval_tokens": "evaluation every",
}
"""Lengths that keep their tokens, and their names."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """Both runs and every setting."""

    old: Recipe
    """As it was."""
    new: Recipe
    """As it should be."""
    settings: tuple[Setting, ...]
    """What moved, and what was kept although it could have."""

    @property
    def batch_ratio(self) -> float:
        """k = B_new/B_old."""
        return self.new.tokens_per_step / self.old.tokens_per_step


def changed(old: Recipe, split: Mapping[str, int], rules: Rules) -> Change:
    """The new run and what moved.

    Parameters
    ----------
    old : Recipe
        The run before; its rate is taken as tuned at its batch.
    split : mapping
        New values of some fields of SPLIT.
    rules : Rules
        What the new settings follow from.
    """
    for name in split:
        checks.one_of("split", name, SPLIT)
    new = old.change(**split)
    ratio = new.tokens_per_step / old.tokens_per_step
    rate = float(rate_at(new.tokens_per_step, old, rules))
    rate_ratio = rate / old.learning_rate
    settings = [
        change_settings.batch(old, new),
        change_settings.rate(old, rate, rules),
        change_settings.decay(old, ratio, rate_ratio),
        *change_settings.betas(old, ratio, rules),
        *change_settings.epsilon(old, ratio, rules),
        *change_settings.clip(old, new, rules),
    ]
    settings = [_possible(setting) for setting in settings]
    after = {setting.name: setting.after for setting in settings}
    longer = _longer(old, new, rules)
    new = new.change(
        learning_rate=rate,
        min_learning_rate=min(old.min_learning_rate * rate_ratio, RANGES["min_learning_rate"][1]),
        total_tokens=min(old.total_tokens * longer, RANGES["total_tokens"][1]),
        **{field: after[name] for name, field in NAMED.items() if name in after},
    )
    return Change(old=old, new=new, settings=(*settings, *_lengths(old, new, longer)))


def _possible(setting: Setting) -> Setting:
    """The setting within what can be set; what had to be cut is said."""
    if setting.name not in NAMED:
        return setting
    low, high = RANGES[NAMED[setting.name]]
    value = float(min(max(setting.after, low), high))
    if value == setting.after:
        return setting
    said = f"its rule says {setting.after:.4g}, beyond what can be set: so far apart the rule says nothing"
    return replace(setting, after=value, reason=said, confidence="weak")


def _longer(old: Recipe, new: Recipe, rules: Rules) -> float:
    """Tokens of the new run over those of the old one."""
    if rules.critical_batch_size is None:
        return 1.0
    tokens = [critical.tokens_to_target(run.tokens_per_step, rules.critical_batch_size, 1.0) for run in (new, old)]
    return tokens[0] / tokens[1]


def _lengths(old: Recipe, new: Recipe, longer: float) -> list[Setting]:
    """Lengths in steps; those that the old run does not have are left out."""
    found = [
        Setting(
            name=f"{label} [steps]",
            before=old.steps(getattr(old, name)),
            after=new.steps(getattr(new, name)),
            rule="the same tokens",
            reason="a length written in steps changes its meaning with the batch",
            status="definition",
            confidence="sure",
        )
        for name, label in LENGTHS.items()
        if getattr(old, name) > 0
    ]
    same = longer == 1.0
    total = Setting(
        name="run [steps]",
        before=old.steps(old.total_tokens),
        after=new.steps(new.total_tokens),
        rule="the same tokens" if same else "the same loss, E_min (1 + B/B_crit)",
        reason="at more tokens per step fewer steps" if same else f"{longer:.4g} times the tokens reach the same loss, as far as B_crit holds",
        status="definition" if same else "empirical",
        confidence="sure" if same else "fair",
    )  # fmt: skip
    return [*found, total]
