"""Charts of a noise-scale log."""

import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme


def scale_figure(smoothed: pd.DataFrame, unit: str, levels: tuple[tuple[float, str], ...], place: str) -> go.Figure:
    """The noise scale through training with its interval.

    `smoothed` holds tokens [tokens], noise_scale, low and high [unit]; `levels` are (batch size, name) pairs drawn as
    horizontal lines; `place` titles the axis along training.
    """
    shown = smoothed[smoothed["noise_scale"] > 0]
    x = shown["tokens"].to_numpy()
    bounded = shown[(shown["low"] > 0) & (shown["high"] < float("inf"))]
    drawn = [
        theme.band(
            bounded["tokens"].to_numpy(),
            bounded["low"].to_numpy(),
            bounded["high"].to_numpy(),
            theme.BLUE,
            "90 % interval",
        ),
        theme.line("noise scale", x, shown["noise_scale"], theme.BLUE, unit),
    ]
    if len(x):
        colors = (theme.GRAY, theme.RED, theme.GREEN, theme.PURPLE)
        for (level, name), color in zip(levels, colors, strict=False):
            drawn.append(theme.line(name, x[[0, -1]], [level] * 2, color, unit, dash="dot", width=1.5))
    y = theme.axis(f"Noise scale [{unit}]", "log", theme.reach(drawn, "y") if len(x) else None)
    return go.Figure({"data": drawn, "layout": theme.layout(theme.axis(place), y)})


def parts_figure(smoothed: pd.DataFrame, batch: str, place: str) -> go.Figure:
    """Both parts of the noise scale through training: |G|^2, and the noise that is left in a gradient at the run's batch.

    `smoothed` holds tokens [tokens], grad_sq_norm and noise (tr Sigma over the batch), and the same unsmoothed as
    raw_grad_sq_norm and raw_noise; `batch` names the batch, `place` titles the axis along training.
    """
    x = smoothed["tokens"].to_numpy()
    drawn = []
    parts = (("grad_sq_norm", "signal, |G|²", theme.BLUE), ("noise", f"noise at {batch}, tr(Σ)/B", theme.ORANGE))
    for column, name, color in parts:
        raw = theme.points(f"{name}, one row of the log", x, smoothed[f"raw_{column}"], color, "")
        raw |= {"marker": {"color": color, "size": 4, "opacity": 0.4}, "showlegend": False, "hoverinfo": "skip"}
        drawn += [raw, theme.line(name, x, smoothed[column], color, "")]
    shown = [trace for trace in drawn if (smoothed[["grad_sq_norm", "noise"]] > 0).any(axis=None)]
    y = theme.axis("Squared norm of the gradient", "log", theme.reach(shown, "y") if len(shown) else None)
    return go.Figure({"data": drawn, "layout": theme.layout(theme.axis(place), y)})
