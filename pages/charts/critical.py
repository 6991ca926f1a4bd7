"""Charts of the steps/tokens hyperbola."""

import pandas as pd
import plotly.graph_objects as go

from pages.charts import overlay, theme
from pages.charts.theme import BatchAxis


def pareto_figure(curve: pd.DataFrame, run: dict, marks: pd.DataFrame, measurements=()) -> go.Figure:
    """Tokens against steps to the target: every point is a batch size.

    `curve` and `marks` hold steps [steps] and tokens [tokens], `marks` also label and color; `run` is this run's steps and
    tokens. Measured series are drawn as points.
    """
    drawn = [
        theme.line("every batch size", curve["steps"], curve["tokens"], theme.BLUE, "tokens"),
        *(
            _dot(mark.label, mark.steps, mark.tokens, color)
            for mark, color in zip(marks.itertuples(), (theme.GREEN, theme.PURPLE, theme.SKY), strict=False)
        ),
        theme.this_run(run["steps"], run["tokens"], "tokens"),
    ]
    for color, found in zip(theme.SERIES, measurements, strict=False):
        used, out = found.split_points
        drawn.append(_measured(found.label, used, color))
        if len(out):
            drawn.append(overlay.left_out(_measured(f"{found.label}, left out", out, color)))
        if found.fit is not None:
            fit = found.curve
            tokens = fit["value"] * fit["tokens_per_step"]
            drawn.append(
                theme.line(f"fit of {found.label}", fit["value"], tokens, color, "tokens", dash="dash", width=1.5)
            )
    x = theme.axis("Optimizer steps to the target, S", "log", theme.reach(drawn, "x"))
    y = theme.axis("Tokens to the target, E [tokens]", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(x, y, hovermode="closest"))


def overhead_figure(curve: pd.DataFrame, run: dict, marks, batch_axis: BatchAxis) -> go.Figure:
    """S/S_min and E/E_min against the batch: where the two curves cross, both are 2."""
    x = batch_axis.place(curve["tokens_per_step"])
    drawn = [
        theme.line("steps, S / S_min", x, curve["step_overhead"], theme.BLUE, "x the least steps"),
        theme.line("tokens, E / E_min", x, curve["token_overhead"], theme.GREEN, "x the least tokens"),
        theme.this_run(batch_axis.place(run["tokens_per_step"]), run["step_overhead"], "x the least steps"),
    ]
    ends = curve["tokens_per_step"].iloc[[0, -1]]
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    y = theme.axis("Times the least possible", "log", (0.9, 100))
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y, marks))


def joint_figure(regions, batch_axis: BatchAxis) -> go.Figure:
    """What B_crit and S_min can be together: for each (label, B_crit, least S_min, largest S_min, best pair) a shaded region."""
    drawn = []
    for color, (label, knee, low, high, best) in zip(theme.SERIES, regions, strict=False):
        x = batch_axis.place(knee)
        drawn.append(theme.band(x, low, high, color, label))
        drawn.append(_dot(label, batch_axis.place(best[0]), best[1], color))
    x = theme.axis(f"B_crit [{batch_axis.unit} per step]", "log", theme.reach(drawn, "x"))
    y = theme.axis("S_min [steps]", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(x, y, hovermode="closest"))


def steps_figure(curve: pd.DataFrame, run: dict, marks, batch_axis: BatchAxis, measurements=()) -> go.Figure:
    """Steps to the target against the batch, with measured series over the assumed curve."""
    x = batch_axis.place(curve["tokens_per_step"])
    drawn = [
        theme.line("assumed", x, curve["steps"], theme.BLUE, "steps"),
        *overlay.traces(measurements, batch_axis, "steps"),
        theme.this_run(batch_axis.place(run["tokens_per_step"]), run["steps"], "steps"),
    ]
    ends = [curve["tokens_per_step"].iloc[0], curve["tokens_per_step"].iloc[-1]]
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    y = theme.axis("Optimizer steps to the target, S", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y, marks))


def _measured(name: str, points: pd.DataFrame, color: str) -> dict:
    return theme.points(name, points["median"], points["median"] * points["tokens_per_step"], color, "tokens")


def _dot(name: str, x: float, y: float, color: str) -> dict:
    mark = theme.points(name, [x], [y], color, "tokens")
    mark["marker"] = {"color": color, "size": 11, "symbol": "circle"}
    return mark
