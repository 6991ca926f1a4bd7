"""Measured series as traces to lay over a theory: points with the range of their repeats, the fit, its 90 % band."""

from collections.abc import Sequence

import numpy as np

from pages.charts import theme
from pages.charts.theme import BatchAxis


def traces(measurements: Sequence, batch_axis: BatchAxis, unit: str) -> list[dict]:
    """Traces of some measurements (see bsmath.measured), at most four of them, with values in this unit."""
    drawn = []
    for color, found in zip(theme.SERIES, measurements, strict=False):
        points = found.points
        batch = batch_axis.place(points["tokens_per_step"])
        low, middle, high = (points[name].to_numpy() for name in ("low", "median", "high"))
        drawn.append(theme.points(found.label, batch, middle, color, unit, low, high))
        if found.fit is None:
            continue
        curve = found.curve
        x = batch_axis.place(curve["tokens_per_step"])
        drawn.append(theme.line(f"fit of {found.label}", x, curve["value"], color, unit, dash="dash", width=1.5))
        low, high = curve["low"].to_numpy(), curve["high"].to_numpy()
        if not found.fit.line.exact and np.isfinite(high).all():
            drawn.append(theme.band(x, low, high, color, f"90 % band of {found.label}"))
    return drawn
