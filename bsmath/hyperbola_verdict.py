"""What measured steps to a target can tell about the critical batch, in one word and in sentences."""

import numpy as np

from bsmath.hyperbola_fit import HyperbolaFit

MISFIT, HOLDS = 0.25, 0.12
"""Worst relative residual above which the hyperbola does not describe a sweep, and up to which it is said to hold (on language
models whose rate was tuned at every batch: 0.06 to 0.12)."""
NARROW = 2
"""Largest batch, in units of the smallest, below which a side of the knee is not told from one bound alone."""
REFUSED = "Refused:"
"""How a verdict begins where the learning rate was not tuned at every batch."""
WIDE = 4
"""Ends of an interval this many times apart call for another batch."""

(
    TWO_BATCHES,
    RATE_HELD,
    TOO_FEW_RIGHT,
    UNEXPLAINED,
    UNTOLD,
    REJECTED,
    BELOW,
    BEYOND,
    ABOVE,
    BEFORE,
    HIDDEN,
    U_SHAPED,
    BRACKETED,
) = KINDS = (
    "two batches",
    "learning rate not re-tuned",
    "too few batches right of the cheapest",
    "not explained",
    "too close or too noisy",
    "another exponent fits better",
    "all below the knee",
    "knee beyond the largest batch",
    "all above the knee",
    "knee before the smallest batch",
    "knee left of a U's minimum",
    "U-shaped, knee to the right",
    "knee bracketed",
)
IDENTIFIED = (BEYOND, BEFORE, U_SHAPED, BRACKETED)
"""Kinds whose B_crit and S_min are both identified."""


def kind(fit: HyperbolaFit, level: float = 0.90) -> str:
    """What the sweep shows, one of KINDS."""
    if fit.tokens_fall:
        return RATE_HELD
    if fit.line.exact:
        return TOO_FEW_RIGHT if fit.left else TWO_BATCHES
    low, high = fit.interval(level)["critical_batch_size"]
    if low == 0 and np.isinf(high) or (low == 0 or np.isinf(high)) and fit.used[-1] < NARROW * fit.used[0]:
        return UNTOLD
    if fit.power is not None and _rejects(fit, high):
        return REJECTED
    if abs(fit.worst[1]) > MISFIT:
        return UNEXPLAINED
    if np.isinf(high):
        return BELOW
    if low == 0:
        return ABOVE
    if fit.critical_batch_size > fit.used[-1]:
        return BEYOND
    if fit.critical_batch_size < fit.used[0]:
        return HIDDEN if fit.left else BEFORE
    return U_SHAPED if fit.left else BRACKETED


def _rejects(fit: HyperbolaFit, high: float) -> bool:
    """Whether a better exponent says that the hyperbola does not hold: it is off by too much, or its knee vanishes."""
    finite = np.isfinite(fit.power.critical_batch_size)
    return bool(finite and abs(fit.worst[1]) > HOLDS or not finite and np.isfinite(high))


def verdict(fit: HyperbolaFit, level: float = 0.90, unit: str = "tokens") -> tuple[bool, str]:
    """Whether the data identify both parameters, and the sentences that say what the sweep shows and why, batches in this unit."""
    found = kind(fit, level)
    said = [_SENTENCES[found](fit, level, unit)]
    if fit.left and found != RATE_HELD:
        said.append(_left(fit, unit))
    if fit.broken:
        several = len(fit.broken) > 1
        said.append(
            f"The point{'s' if several else ''} at {_listed(fit.broken)} {unit} per step contradict{'' if several else 's'} the others "
            f"and {'are' if several else 'is'} left out (a wrong number, or a rate that was not tuned there)."
        )
    if found in IDENTIFIED:
        said += _how_sure(fit, level, unit)
    return found in IDENTIFIED, " ".join(said)


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:,.0f}" for value in values)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _left(fit: HyperbolaFit, unit: str) -> str:
    cheapest, excess = fit.cheapest
    return (
        f"Tokens are U-shaped in the batch: the smallest needs {_percent(excess)} more than {cheapest:,.0f} {unit} per step, which no "
        f"hyperbola does. Betas, decay or minimum rate that were held fixed are the likely cause. The fit leaves out {_listed(fit.left)}."
    )


def _how_sure(fit: HyperbolaFit, level: float, unit: str) -> list[str]:
    low, high = fit.interval(level)["critical_batch_size"]
    at, off = fit.worst
    said = []
    if fit.power is not None:
        said.append(
            f"An exponent of {fit.power.exponent:.2f} fits still better (chance {_chance(fit)}) and puts B_crit at "
            f"{_knee(fit, unit)}; both are drawn, and their difference says how far B_crit can be trusted."
        )
    if abs(off) > HOLDS:
        said.append(
            f"The hyperbola describes it only roughly: at {at:,.0f} {unit} per step it is off by {_percent(abs(off))}."
        )
    if fit.line.dof == 1:
        said.append("The intervals rest on a single degree of freedom: measure one more batch.")
    elif high > WIDE * low:
        said.append("The interval is wide: one more batch size would help.")
    return said


def _chance(fit: HyperbolaFit) -> str:
    return f"{fit.power.chance:.2g}" if fit.power.chance >= 1e-4 else "below 0.0001"


def _knee(fit: HyperbolaFit, unit: str) -> str:
    knee = fit.power.critical_batch_size
    return f"{float(f'{knee:.3g}'):,.0f} {unit}" if np.isfinite(knee) else "no finite batch"


def _two_batches(fit: HyperbolaFit, level: float, unit: str) -> str:
    return "Two batch sizes always fit exactly: measure a third before trusting either number."


def _rate_held(fit: HyperbolaFit, level: float, unit: str) -> str:
    saved = 1 - fit.tokens[-1] / fit.tokens[0]
    return (
        f"{REFUSED} the largest batch needs {_percent(saved)} fewer tokens than the smallest, which no hyperbola does. Most often the "
        "learning rate was held fixed over the batches: tune it at each. No critical batch can be read from this."
    )


def _too_few_right(fit: HyperbolaFit, level: float, unit: str) -> str:
    return "Too few batches lie right of the cheapest for a fit: measure larger ones."


def _unexplained(fit: HyperbolaFit, level: float, unit: str) -> str:
    at, off = fit.worst
    return (
        f"A hyperbola does not describe this sweep: at {at:,.0f} {unit} per step it is off by {_percent(abs(off))}. Usual causes: a "
        "learning rate not tuned at one end, noise of single runs (repeat them), a coarse evaluation grid, settings that changed inside "
        "the sweep."
    )


def _untold(fit: HyperbolaFit, level: float, unit: str) -> str:
    span = fit.used[-1] / fit.used[0]
    return (
        f"These batches, from smallest to largest a factor of {span:.3g}, do not tell a knee from none: the scatter is too large for so "
        "few or so close batches. Measure batches farther apart."
    )


def _rejected(fit: HyperbolaFit, level: float, unit: str) -> str:
    return (
        f"The hyperbola is rejected: S = S_min (1 + (B_crit/B)^alpha) with alpha = {fit.power.exponent:.2f} fits clearly better (chance "
        f"{_chance(fit)}) and puts B_crit at {_knee(fit, unit)}. Both are drawn; B_crit depends on which is believed, so take it as a rough size. Check "
        "that the rate was tuned at every batch."
    )


def _below(fit: HyperbolaFit, level: float, unit: str) -> str:
    bounds = fit.interval(level)
    return (
        "Every batch lies below the knee: S_min is not identified, it is at most "
        f"{bounds['min_steps'][1]:,.0f} steps, and B_crit is at least {bounds['critical_batch_size'][0]:,.0f} {unit}. Measure a larger "
        "batch."
    )


def _beyond(fit: HyperbolaFit, level: float, unit: str) -> str:
    return f"The curve bends, but the knee lies beyond the largest batch, {fit.used[-1]:,.0f} {unit} per step: B_crit is extrapolated."


def _above(fit: HyperbolaFit, level: float, unit: str) -> str:
    high = fit.interval(level)["critical_batch_size"][1]
    return (
        f"Steps hardly fall with the batch: every batch lies above the knee, and B_crit is not identified, it is at most {high:,.0f} {unit}. "
        "Measure a smaller batch."
    )


def _before(fit: HyperbolaFit, level: float, unit: str) -> str:
    return f"The knee lies before the smallest batch, {fit.used[0]:,.0f} {unit} per step: B_crit is extrapolated."


def _hidden(fit: HyperbolaFit, level: float, unit: str) -> str:
    return (
        f"Right of the cheapest batch, {fit.used[0]:,.0f} {unit} per step, tokens rise so fast that the knee would lie left of it, where "
        "small batches cost extra: B_crit cannot be told."
    )


def _u_shaped(fit: HyperbolaFit, level: float, unit: str) -> str:
    return "Right of the cheapest batch the knee is bracketed."


def _bracketed(fit: HyperbolaFit, level: float, unit: str) -> str:
    return "The knee lies inside the sweep: smaller batches cost steps, larger ones tokens."


_SENTENCES = {
    TWO_BATCHES: _two_batches,
    RATE_HELD: _rate_held,
    TOO_FEW_RIGHT: _too_few_right,
    UNEXPLAINED: _unexplained,
    UNTOLD: _untold,
    REJECTED: _rejected,
    BELOW: _below,
    BEYOND: _beyond,
    ABOVE: _above,
    BEFORE: _before,
    HIDDEN: _hidden,
    U_SHAPED: _u_shaped,
    BRACKETED: _bracketed,
}
