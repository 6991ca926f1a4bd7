"""What a fit of learning rates says, in a few plain sentences."""

import numpy as np

from bsmath.lr_grid_laws import GRID_LAWS
from bsmath.numerals import count

MISFIT = 2.0
"""Scale of the residuals, in units of the optima's own errors, from which the best law does not describe them."""


def verdict(fit) -> str:
    """Sentences for a `GridFit`: the law, the others, the exponent, the slope along the range, and what was left out."""
    parts = [_law(fit), _others(fit), _exponent(fit), _falling(fit), _gap(fit), _left(fit)]
    return " ".join(part for part in parts if part)


def _law(fit) -> str:
    best = fit.laws[fit.best]
    text = f"The {_name(fit.best)} law describes the optima best"
    shape = best.law.shape
    if shape and shape != "exponent":
        low, high = best.interval[shape]
        what = "peak" if shape == "peak_batch" else "saturation"
        text += f" ({what} batch {count(best.parameters[shape])} tokens, {_span(low, high)})"
    if best.scale > MISFIT:
        text += f", but leaves {best.scale:.1f} times the scatter that the grid explains: none describes them"
    return text + "."


def _others(fit) -> str:
    table = fit.table[fit.table["law"] != fit.best]
    words = {"supported": "as well supported", "in doubt": "in doubt", "rejected": "rejected"}
    words["left out"] = "not compared, for want of batches"
    said = []
    for standing, word in words.items():
        names = [_name(name) for name in table["law"][table["standing"] == standing]]
        if names:
            said.append(f"{word}: {', '.join(names)}")
    text = "; ".join(said)
    return text[0].upper() + text[1:] + "."


def _exponent(fit) -> str:
    value, low, high = fit.exponent
    ends = fit.points.batch[[0, -1]]
    return f"One exponent over {count(ends[0])} to {count(ends[1])} tokens is {value:.2f} ({low:.2f} to {high:.2f})."


def _falling(fit) -> str:
    slopes = fit.slopes
    first, last = slopes.iloc[0], slopes.iloc[-1]
    if len(slopes) > 1 and first["least"] > last["most"]:
        return f"It misleads: the slope falls from {first['slope']:.2f} at small batches to {last['slope']:.2f} at large ones."
    return ""


def _gap(fit) -> str:
    batch = fit.points.batch
    gaps = np.diff(np.log(batch))
    widest = int(gaps.argmax())
    if batch.size < 4 or gaps[widest] <= gaps.sum() / 2:
        return ""
    low, high = map(count, batch[widest : widest + 2])
    return f"No batch lies between {low} and {high} tokens, more than half of the range: the choice of law rests on one end."


def _left(fit) -> str:
    bounds = int((~fit.points.known).sum())
    said = (
        f"{bounds} of {fit.points.batch.size} optima lie at an edge of the rates tried and are bounds."
        if bounds
        else ""
    )
    few = f"{fit.skipped} with too few rates {'is' if fit.skipped == 1 else 'are'} left out." if fit.skipped else ""
    return " ".join(part for part in (said, few and f"Batches: {few}") if part)


def _name(law: str) -> str:
    return GRID_LAWS[law].label


def _span(low: float, high: float) -> str:
    if not low and np.isinf(high):
        return "no bound"
    if np.isinf(high):
        return f"at least {count(low)}"
    return f"{count(low)} to {count(high)}" if low else f"at most {count(high)}"
