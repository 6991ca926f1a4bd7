"""Measured series as traces to lay over a theory: points with the range of their repeats, the fit, its 90 % band."""

from collections.abc import Sequence

import numpy as np

from pages.charts import theme
from pages.charts.theme import BatchAxis


def traces(measurements: Sequence, batch_axis: BatchAxis, unit: str) -> list[dict]:
    """Traces of some measurements (see bsmath.measured), at most four of them, with values in this unit."""
    drawn = []
    for color, found in zip(theme.SERIES, measurements, strict=False):
        used, out = found.split_points
        drawn.append(_points(found.label, used, color, unit, batch_axis))
        if len(out):
            drawn.append(left_out(_points(f"{found.label}, left out", out, color, unit, batch_axis)))
        if found.fit is None:
            continue
        curve = found.curve
        x = batch_axis.place(curve["tokens_per_step"])
        drawn.append(theme.line(f"fit of {found.label}", x, curve["value"], color, unit, dash="dash", width=1.5))
        if "other" in curve:
            other = theme.line(f"other exponent, {found.label}", x, curve["other"], color, unit, dash="dot", width=1.5)
            drawn.append(other)
        low, high = curve["low"].to_numpy(), curve["high"].to_numpy()
        if not found.fit.line.exact and np.isfinite(high).all():
            drawn.append(theme.band(x, low, high, color, f"90 % band of {found.label}"))
    return drawn


def left_out(points: dict) -> dict:
    """Measured points that a fit does not use, as crosses."""
    return points | {"marker": points["marker"] | {"symbol": "x-thin-open"}}


def _points(name: str, points, color: str, unit: str, batch_axis: BatchAxis) -> dict:
    low, middle, high = (points[column].to_numpy() for column in ("low", "median", "high"))
    return theme.points(name, batch_axis.place(points["tokens_per_step"]), middle, color, unit, low, high)
