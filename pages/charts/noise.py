"""Charts of the noise scale: through a log, and over the batch."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis

TALL = 560
"""Pixels of a chart with two panels."""


def scale_figure(
    smoothed: pd.DataFrame,
    unit: str,
    levels: tuple[tuple[float, str], ...],
    place: str,
    beside: pd.DataFrame | None = None,
) -> go.Figure:
    """The noise scale through training with its interval.

    `smoothed` holds tokens [tokens], noise_scale, low and high [unit]; `levels` are (batch size, name) pairs drawn as
    horizontal lines; `place` titles the axis along training. `beside` is the same by a window, drawn thin where `smoothed`
    is another average.
    """
    shown = smoothed[smoothed["noise_scale"] > 0]
    x = shown["tokens"].to_numpy()
    bounded = shown[(shown["low"] > 0) & (shown["high"] < float("inf"))]
    ends = (bounded[name].to_numpy() for name in ("tokens", "low", "high"))
    drawn = [
        theme.band(*ends, theme.BLUE, "90 % interval"),
        theme.line("noise scale", x, shown["noise_scale"], theme.BLUE, unit),
    ]
    if beside is not None:
        rows = beside[beside["noise_scale"] > 0]
        style = {"width": 1.5}
        drawn.append(theme.line("by a window", rows["tokens"], rows["noise_scale"], theme.GRAY, unit, **style))
    if len(x):
        colors = (theme.RED, theme.GREEN, theme.PURPLE)
        for (level, name), color in zip(levels, colors, strict=False):
            drawn.append(theme.line(name, x[[0, -1]], [level] * 2, color, unit, dash="dot", width=1.5))
    y = theme.axis(f"Noise scale [{unit}]", "log", theme.reach(drawn, "y") if len(x) else None)
    return theme.figure(drawn, theme.layout(theme.axis(place), y))


def parts_figure(smoothed: pd.DataFrame, batch: str, place: str) -> go.Figure:
    """Both parts of the noise scale through training: |G|^2, and the noise that is left in a gradient at the run's batch.

    `smoothed` holds tokens [tokens], grad_sq_norm and noise (tr Sigma over the batch), and the same unsmoothed as
    raw_grad_sq_norm and raw_noise; `batch` names the batch, `place` titles the axis along training.
    """
    x = smoothed["tokens"].to_numpy()
    drawn = []
    parts = (("grad_sq_norm", "signal, |G|²", theme.BLUE), ("noise", f"noise at {batch}, tr(Σ)/B", theme.ORANGE))
    for column, name, color in parts:
        raw = {"type": "scatter", "mode": "markers", "x": x, "y": smoothed[f"raw_{column}"].to_numpy()}
        raw |= {"name": f"{name}, one row of the log", "marker": {"color": color, "size": 4, "opacity": 0.4}}
        raw |= {"showlegend": False, "hoverinfo": "skip"}
        drawn += [raw, theme.line(name, x, smoothed[column], color, "")]
    positive = (smoothed[["grad_sq_norm", "noise"]].to_numpy() > 0).any()
    y = theme.axis("Squared norm of the gradient", "log", theme.reach(drawn, "y") if positive else None)
    return theme.figure(drawn, theme.layout(theme.axis(place), y))


def batch_figure(curve: pd.DataFrame, run: dict, marks, batch_axis: BatchAxis) -> go.Figure:
    """Above, noise over signal against the batch; below, what a step gains of the most it could.

    `curve` holds tokens_per_step [tokens], and noise_to_signal and improvement, each also with _low and _high; `run` is
    this run under the same names.
    """
    x = batch_axis.place(curve["tokens_per_step"])
    ends = curve["tokens_per_step"].iloc[[0, -1]].to_numpy()
    here = batch_axis.place(run["tokens_per_step"])
    gain = curve[["improvement", "improvement_low", "improvement_high"]] * 100
    above = [
        *_banded("noise over signal, B_simple/B", x, curve, "noise_to_signal", theme.BLUE, ""),
        theme.line("noise = signal", batch_axis.place(ends), [1, 1], theme.GRAY, "", dash="dot", width=1.5),
        theme.this_run(here, run["noise_to_signal"], ""),
    ]
    below = [
        *_banded("gain of a step, and its best rate", x, gain, "improvement", theme.GREEN, "%"),
        theme.this_run(here, 100 * run["improvement"], "%") | {"showlegend": False},
    ]
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    top = theme.axis("Noise over signal", "log", theme.reach(above, "y"), domain=[0.56, 1])
    bottom = theme.axis("Share of the most [%]", "linear", (-3, 103), domain=[0, 0.44])
    layout = theme.layout(batch_axis.axis(*ends) | {"anchor": "y2"}, top, marks, yaxis2=bottom, height=TALL)
    return theme.figure([*above, *({**trace, "yaxis": "y2"} for trace in below)], layout)


def clip_figure(curve: pd.DataFrame, reference: dict, run: dict, marks, batch_axis: BatchAxis) -> go.Figure:
    """The clip threshold that means at each batch what the reference's means there.

    `curve` holds tokens_per_step [tokens] and clip_norm, also with _low and _high; `reference` and `run` are two batches
    under the same names.
    """
    x = batch_axis.place(curve["tokens_per_step"])
    tuned = theme.points(
        "tuned here", [batch_axis.place(reference["tokens_per_step"])], [reference["clip_norm"]], theme.RED, ""
    )
    drawn = [
        *_banded("threshold that clips as often", x, curve, "clip_norm", theme.BLUE, ""),
        tuned,
        theme.this_run(batch_axis.place(run["tokens_per_step"]), run["clip_norm"], ""),
    ]
    ends = curve["tokens_per_step"].iloc[[0, -1]].to_numpy()
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    y = theme.axis("Clip threshold, gradient norm", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y, marks))


def _banded(name: str, x: np.ndarray, curve: pd.DataFrame, column: str, color: str, unit: str) -> list[dict]:
    """A curve over the band between the ends of its interval."""
    low, high = curve[f"{column}_low"].to_numpy(), curve[f"{column}_high"].to_numpy()
    band = [theme.band(x, low, high, color, "90 % interval")] if (low < high).any() else []
    return [*band, theme.line(name, x, curve[column], color, unit)]
