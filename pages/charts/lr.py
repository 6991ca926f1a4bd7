"""Chart of the learning-rate rules against batch size."""

import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis

COLORS = (theme.GRAY, theme.GREEN, theme.RED, theme.PURPLE, theme.BLUE, theme.ORANGE)
DASHES = ("dot", "solid", "solid", "dash", "solid", "dashdot")


def rules_figure(
    rates: pd.DataFrame, labels: dict[str, str], reference: dict, run: dict, marks, batch_axis: BatchAxis
) -> go.Figure:
    """Peak learning rate by each rule against the batch, all through the reference.

    `rates` holds tokens_per_step [tokens] and one column a rule; `labels` names the rules to draw; `reference` and `run` are
    points with tokens_per_step and learning_rate.
    """
    x = batch_axis.place(rates["tokens_per_step"])
    drawn = [
        theme.line(labels[rule], x, rates[rule], color, "", dash=dash)
        for rule, color, dash in zip(labels, COLORS, DASHES, strict=False)
    ]
    tuned = theme.points(
        "tuned here",
        [batch_axis.place(reference["tokens_per_step"])],
        [reference["learning_rate"]],
        theme.GREEN,
        "",
    )
    drawn += [tuned, theme.this_run(batch_axis.place(run["tokens_per_step"]), run["learning_rate"], "")]
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    ends = rates["tokens_per_step"].iloc[0], rates["tokens_per_step"].iloc[-1]
    y = theme.axis("Peak learning rate", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y, marks, height=480))
