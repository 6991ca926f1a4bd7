"""Charts of rate, goodput and time against batch size."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.charts import overlay, theme
from pages.charts.theme import BatchAxis


def rate_figure(
    curve: pd.DataFrame, plateau: float, run: dict, marks, batch_axis: BatchAxis, measurements=()
) -> go.Figure:
    """Tokens per second and goodput against the batch, with the plateau.

    `curve` holds tokens_per_step [tokens], tokens_per_second and goodput [tokens/s]; `marks` are (batch in tokens, label).
    """
    x = batch_axis.place(curve["tokens_per_step"])
    ends = [curve["tokens_per_step"].iloc[0], curve["tokens_per_step"].iloc[-1]]
    drawn = [
        theme.line("plateau", batch_axis.place(ends), [plateau, plateau], theme.GRAY, "tok/s", dash="dot", width=1.5),
        theme.line("rate", x, curve["tokens_per_second"], theme.BLUE, "tok/s"),
        theme.line("goodput: rate x token efficiency", x, curve["goodput"], theme.GREEN, "tok/s"),
        *overlay.traces(measurements, batch_axis, "tok/s"),
        theme.this_run(batch_axis.place(run["tokens_per_step"]), run["tokens_per_second"], "tok/s"),
    ]
    top = max([plateau, *(found.points["high"].max() for found in measurements)])
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    y = theme.axis("Whole job, real tokens [tok/s]", "linear", (0, 1.12 * top))
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y, marks))


def time_figure(
    curve: pd.DataFrame, flat: tuple[float, float] | None, run: dict, marks, batch_axis: BatchAxis
) -> go.Figure:
    """Days to the goal against the batch on this hardware; the shaded batches are within 5 % of the best feasible time.

    `curve` and `run` hold tokens_per_step [tokens] and days.
    """
    x = batch_axis.place(curve["tokens_per_step"])
    ends = [curve["tokens_per_step"].iloc[0], curve["tokens_per_step"].iloc[-1]]
    drawn = [
        theme.line("time to the goal", x, curve["days"], theme.BLUE, "days"),
        theme.this_run(batch_axis.place(run["tokens_per_step"]), run["days"], "days"),
    ]
    least = float(np.min(curve["days"]))
    y = theme.axis("Wall-clock to the goal [days]", "log", (least / 1.3, min(curve["days"].max(), 40 * least)))
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    layout = theme.layout(batch_axis.axis(*ends), y, marks)
    if flat:
        low, high = batch_axis.place(flat)
        layout["shapes"].append(
            {"type": "rect", "x0": low, "x1": high, "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
            | {"fillcolor": "rgba(0,158,115,0.15)", "line": {"width": 0}}
        )
    return theme.figure(drawn, layout)
