"""Published laws along one of their inputs, the others held at a run's values, and how steeply each of them rises."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import laws
from bsmath.law import Law
from bsmath.optimal_laws import EXPONENTS

AXES = {"tokens": "tokens", "parameters": "num_params", "loss": "loss"}
"""What the laws can be drawn over, and the input of the laws that it is."""
DECADES = 2.5
"""How far an axis of tokens or parameters reaches either side of the run."""
LOSSES = (1.5, 6.0)
"""Ends of the axis of the loss where the run's lies between them. [nats/token]"""
POINTS = 31
"""Points of an axis, besides those where a range of a law begins or ends."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """One law along an axis."""

    name: str
    """Its key in `laws.LAWS`."""
    law: Law
    """The law."""
    place: int
    """Its place among all laws of its kind."""
    x: np.ndarray
    """Points of the axis, ascending, in the axis' unit."""
    tokens_per_step: np.ndarray
    """The law's batch at each. [tokens]"""
    inside: np.ndarray
    """Whether the inputs there lie in the law's stated range; None where that is not known (see `law.Law.inside`)."""


def lines(num_params: float, tokens: float, loss: float | None = None, over: str = "tokens") -> list[Line]:
    """Every law along one axis; one that does not depend on it is horizontal. Compute is 6 N D at every point.

    Parameters
    ----------
    num_params, tokens : float
        N, active per token, and D of the run. [parameters, tokens]
    loss : float, optional
        L; without it laws in the loss are drawn only over the loss. [nats/token]
    over : str
        A key of AXES.
    """
    run = {"num_params": num_params, "tokens": tokens, "loss": loss}
    x = axis(run, over)
    known = laws.inputs(**run | {AXES[over]: x})
    return [
        Line(
            name=name,
            law=law,
            place=_place(name),
            x=x,
            tokens_per_step=np.broadcast_to(law.at(known), x.shape),
            inside=np.broadcast_to(law.inside(known), x.shape),
        )
        for name, law in laws.applicable(known).items()
    ]


def table(drawn: list[Line]) -> pd.DataFrame:
    """The same as a table.

    Returns
    -------
    DataFrame
        One row a law and point: law, place, short, kind, unverified, x (in the axis' unit), tokens_per_step [tokens], inside.
    """
    count = [one.x.size for one in drawn]
    words = {"law": [one.name for one in drawn], "place": [one.place for one in drawn]}
    words |= {field: [getattr(one.law, field) for one in drawn] for field in ("short", "kind", "unverified")}
    columns = {field: np.repeat(np.array(values), count) for field, values in words.items()}
    columns["x"] = np.concatenate([one.x for one in drawn])
    columns["tokens_per_step"] = np.concatenate([one.tokens_per_step for one in drawn])
    columns["inside"] = np.concatenate([one.inside.astype(object) for one in drawn])
    return pd.DataFrame(columns)


def _place(name: str) -> int:
    return [other for other, law in laws.LAWS.items() if law.kind == laws.LAWS[name].kind].index(name)


def axis(run: dict, over: str) -> np.ndarray:
    """Points of an axis, even in the logarithm and at every end of a stated range; around the run, of the loss between fixed ends
    or as far as the run's.

    `run` holds num_params, tokens and loss as in `lines`.
    """
    along = AXES[over]
    low, high = LOSSES
    if over == "loss" and run["loss"] is not None:
        low, high = min(low, 0.9 * run["loss"]), max(high, 1.1 * run["loss"])
    points = np.geomspace(low, high, POINTS) if over == "loss" else run[along] * np.logspace(-DECADES, DECADES, POINTS)
    per_unit = {along: 1.0}
    if over != "loss":
        per_unit["compute"] = laws.inputs(**run | {along: 1.0})["compute"]
    ends = [
        end / per_unit[name]
        for law in laws.LAWS.values()
        for name, stated in law.range.items()
        if name in per_unit
        for end in stated
        if points[0] < end / per_unit[name] < points[-1]
    ]
    return np.union1d(points, ends)


def slopes() -> pd.DataFrame:
    """Exponent of every law in its one variable, those without a published prefactor too.

    Returns
    -------
    DataFrame
        label, kind, variable, exponent (d log B / d log variable), growth (times the batch at twice the variable), level
        (whether a prefactor is published), unverified, source.
    """
    rows = [
        {"label": law.label, "kind": law.kind, "variable": need, "exponent": _exponent(law), "level": True}
        | {"unverified": law.unverified, "source": law.source}
        for law in laws.LAWS.values()
        for need in law.needs
    ]
    rows += [
        {"label": one.label, "kind": "optimal", "variable": one.variable, "exponent": one.exponent, "level": False}
        | {"unverified": "", "source": one.source}
        for one in EXPONENTS
    ]
    table = pd.DataFrame(rows)
    return table.assign(growth=2 ** table["exponent"])


def _exponent(law: Law) -> float:
    """Every law is a power law, so two points give its exponent."""
    return float(np.log2(law.function(2.0) / law.function(1.0)))
