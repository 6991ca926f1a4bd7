"""Measured series as traces to lay over a theory: points with the range of their repeats, the fit, its 90 % band."""

from collections.abc import Sequence

import numpy as np

from pages.charts import theme
from pages.charts.theme import BatchAxis


def traces(measurements: Sequence, batch_axis: BatchAxis, hover: str, value=None) -> list[dict]:
    """Traces of some measurements (see bsmath.measured), at most four of them.

    `value` maps (batch sizes in tokens, values) to what the y axis shows; by default the value itself.
    """
    value = value or (lambda batch, measured: measured)
    drawn = []
    for color, found in zip(theme.SERIES, measurements, strict=False):
        points = found.points
        batch = points["tokens_per_step"].to_numpy()
        low, middle, high = (value(batch, points[name].to_numpy()) for name in ("low", "median", "high"))
        drawn.append(theme.points(found.series, batch_axis.place(batch), middle, color, low, high, hover))
        if found.fit is None:
            continue
        curve = found.curve()
        batch = curve["tokens_per_step"].to_numpy()
        low, middle, high = (value(batch, curve[name].to_numpy()) for name in ("low", "value", "high"))
        x = batch_axis.place(batch)
        drawn.append(theme.line(f"fit of {found.series}", x, middle, color, hover, dash="dash", width=1.5))
        if not found.fit.line.exact and np.isfinite(high).all():
            drawn.append(theme.band(x, low, high, color, f"90 % band of {found.series}"))
    return drawn
