"""What a fitted throughput sweep can tell, in one word and in sentences."""

import numpy as np

from bsmath.step_fit import StepTimeFit
from bsmath.step_search import MISFIT

HOLDS = 0.10
"""Worst relative residual up to which the straight line is said to hold."""

PLUNGE = 0.5
"""Fall within one batch that may as well be a typing error."""
FLAT = 2
"""Smallest batch, in units of B_half, from which a sweep shows no knee: two thirds of the plateau are reached there."""

TWO_BATCHES, UNTOLD, FALLING, UNEXPLAINED, BROKEN, OVERHEAD, OVERLAP, SLOW, ROUGH, PLATEAU, KNEE = KINDS = (
    "two batches",
    "too close or too noisy",
    "falling rate",
    "not explained",
    "broken points",
    "overhead-bound",
    "overlapping costs",
    "slowly rising rate",
    "a line only roughly",
    "plateau reached",
    "knee inside the sweep",
)
LINEAR = (PLATEAU, KNEE)
"""The kinds of sweep of which the straight line is said to hold."""
IDENTIFIED = (FALLING, BROKEN, OVERLAP, SLOW, ROUGH, *LINEAR)
"""The kinds whose fixed time and plateau are both identified."""


def kind(fit: StepTimeFit, level: float = 0.90) -> str:
    """What the sweep shows, one of KINDS."""
    bounds = fit.interval(level) if not fit.line.exact else None
    if fit.fall:
        return FALLING
    if bounds is None:
        return TWO_BATCHES
    if abs(fit.worst[1]) > MISFIT:
        return UNEXPLAINED
    if bounds["half_batch"] == (0.0, np.inf):
        return UNTOLD
    if np.isinf(bounds["half_batch"][1]) or fit.largest < fit.half_batch:
        return OVERHEAD
    if fit.broken:
        return BROKEN
    if fit.curved:
        return OVERLAP if fit.line.power > 1 else SLOW
    if abs(fit.worst[1]) > HOLDS:
        return ROUGH
    return PLATEAU if FLAT * fit.half_batch <= fit.line.x[0] or not bounds["fixed_time"][0] else KNEE


def usable(fit: StepTimeFit) -> bool:
    """Whether the fitted numbers may enter a scenario: a fit with something left to check it, that describes the sweep."""
    finite = all(0 <= value < np.inf for value in fit.parameters.values())
    return not fit.line.exact and finite and abs(fit.worst[1]) <= MISFIT and kind(fit) != UNTOLD


def verdict(fit: StepTimeFit, level: float = 0.90) -> tuple[bool, str]:
    """Whether the data identify both parameters, and the sentences that say what the sweep shows and why."""
    found = kind(fit, level)
    sentences = [_SENTENCES[found](fit, level)]
    if fit.broken and found != UNEXPLAINED:
        several = len(fit.broken) > 1
        sentences.append(
            f"The point{'s' if several else ''} at {_listed(fit.broken)} tokens per step contradict{'' if several else 's'} "
            f"the others and {'are' if several else 'is'} left out (a cold first run, a swap, a typing error): measure "
            f"{'them' if several else 'it'} again."
        )
    if fit.line.dof == 1 and found not in (TWO_BATCHES, UNEXPLAINED):
        sentences.append("The intervals rest on a single degree of freedom: measure one more batch.")
    return found in IDENTIFIED and usable(fit), " ".join(sentences)


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:,.0f}" for value in values)


def _two_batches(fit: StepTimeFit, level: float) -> str:
    return "Two batch sizes always fit exactly: measure a third before trusting either number."


def _untold(fit: StepTimeFit, level: float) -> str:
    span = fit.line.x[-1] / fit.line.x[0]
    return (
        f"These batches, from smallest to largest a factor of {span:.3g}, do not tell a fixed cost from a growing one: both a plateau "
        "and none at all fit them. Measure batches farther apart, and repeat them."
    )


def _falling(fit: StepTimeFit, level: float) -> str:
    start = f"The rate falls by {_percent(fit.fall)} from its best to the largest batch ({_fall_cause(fit)})"
    if fit.beyond:
        return f"{start}: the fit uses the batches up to the best and leaves out {_listed(fit.beyond)} tokens per step."
    if usable(fit):
        return f"{start}, which a straight line cannot show."
    return f"{start}: too few batches rise for a fit. Measure smaller ones."


def _unexplained(fit: StepTimeFit, level: float) -> str:
    at, off = fit.worst
    return (
        f"A straight line does not describe this sweep: at {at:,.0f} tokens per step it is off by {_percent(abs(off))} (steps from tile "
        "sizes or kernels that change with the batch, a micro-batch or hardware that changed inside the sweep, or one wrong point, "
        "such as a cold first run)."
    )


def _overhead(fit: StepTimeFit, level: float) -> str:
    bounds = fit.interval(level)
    if np.isinf(bounds["half_batch"][1]):
        return (
            "Overhead-bound: step time hardly grows with the batch, so the plateau lies beyond every batch measured, at "
            f"{bounds['plateau'][0]:,.0f} tokens/s or more. Measure larger batches."
        )
    return (
        "Overhead-bound: the largest batch reaches less than half of the fitted plateau, so the plateau is extrapolated more than "
        f"two-fold. Take {bounds['plateau'][0]:,.0f} tokens/s as its lower bound, and measure larger batches."
    )


def _broken(fit: StepTimeFit, level: float) -> str:
    which = "points" if len(fit.broken) > 1 else "point"
    return f"Without the broken {which} a straight line describes this sweep."


def _overlap(fit: StepTimeFit, level: float) -> str:
    return (
        "Fixed and growing cost overlap: the longer hides the shorter, as when an all-reduce runs behind the backward pass. The "
        f"straight line is off by {_percent(_straight_worst(fit))}; t = (t_fixed^g + (B/R)^g)^(1/g) with g = {fit.line.power:.2g} is drawn instead."
    )


def _slow(fit: StepTimeFit, level: float) -> str:
    return (
        "The rate climbs more slowly than one fixed cost explains, as when kernels grow more efficient with the batch. The straight "
        f"line is off by {_percent(_straight_worst(fit))}; t = (t_fixed^g + (B/R)^g)^(1/g) with g = {fit.line.power:.2g} is drawn instead."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _fall_cause(fit: StepTimeFit) -> str:
    """Why a rate falls: a plunge of one last batch may also be a wrong number."""
    usual = "memory pressure, or hardware that changed inside the sweep"
    return f"{usual}, or a wrong number" if fit.fall > PLUNGE and len(fit.beyond) == 1 else usual


def _span(fit: StepTimeFit) -> str:
    """Shares of the plateau that the smallest and the largest batch used reach: 12 to 94 %."""
    low, high = fit.predict(fit.line.x[[0, -1]]) / fit.plateau
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def _straight_worst(fit: StepTimeFit) -> float:
    return float(np.abs(fit.straight.residuals).max())


def _rough(fit: StepTimeFit, level: float) -> str:
    at, off = fit.worst
    return (
        f"The straight line describes this sweep only roughly: at {at:,.0f} tokens per step it is off by {_percent(abs(off))} (steps from "
        "tile sizes, or noise: more repeats would tell)."
    )


def _plateau(fit: StepTimeFit, level: float) -> str:
    if not fit.interval(level)["fixed_time"][0]:
        return "Step time grows in proportion to the batch: the plateau is reached, fixed time is within the noise."
    return f"The plateau is reached: every batch measured is compute-bound, at {_span(fit)} of the plateau."


def _knee(fit: StepTimeFit, level: float) -> str:
    return (
        "The straight line holds. The knee from overhead-bound to compute-bound lies inside the sweep, which runs from "
        f"{_span(fit)} of the plateau."
    )


_SENTENCES = {
    TWO_BATCHES: _two_batches,
    UNTOLD: _untold,
    FALLING: _falling,
    UNEXPLAINED: _unexplained,
    OVERHEAD: _overhead,
    BROKEN: _broken,
    OVERLAP: _overlap,
    SLOW: _slow,
    ROUGH: _rough,
    PLATEAU: _plateau,
    KNEE: _knee,
}
