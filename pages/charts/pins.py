"""Chart of pinned scenarios against each other."""

from html import escape

import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis

STYLES = (
    (theme.BLUE, "solid"),
    (theme.GREEN, "dash"),
    (theme.RED, "dot"),
    (theme.PURPLE, "dashdot"),
    (theme.SKY, "longdash"),
)
"""Color and dash of each curve: this scenario's first, then the pins'."""
SHOWN = 100
"""Times the least at which the axis of time ends: the ends of a curve say little."""
MOST_LABEL = 28
"""Characters of a name in the legend, so that it stays within a phone's width."""


def times_figure(curves: pd.DataFrame, runs: list[dict], batch_axis: BatchAxis) -> go.Figure:
    """Days to the goal against the batch for several scenarios, with a diamond where each of them runs.

    `curves` holds label, tokens_per_step [tokens] and days; `runs` the same of each run, this scenario's first.
    """
    lines, marks = [], []
    for run, (color, dash) in zip(runs, STYLES, strict=False):
        rows, name = curves[curves["label"] == run["label"]], _short(run["label"])
        x = batch_axis.place(rows["tokens_per_step"])
        lines.append(theme.line(name, x, rows["days"], color, "days", dash=dash))
        marks.append(_diamond(name, batch_axis.place(run["tokens_per_step"]), run["days"], color, first=run is runs[0]))
    least, most = theme.reach(lines + marks, "y")
    highest = max(run["days"] for run in runs)
    y = theme.axis("Wall-clock to the goal [days]", "log", (least, min(most, max(SHOWN * least, 1.3 * highest))))
    ends = curves["tokens_per_step"].min(), curves["tokens_per_step"].max()
    return theme.figure(lines + marks, theme.layout(batch_axis.axis(*ends), y))


def _diamond(name: str, x: float, y: float, color: str, first: bool) -> dict:
    """The mark of a run: this scenario's looks as in every chart, a pin's has the color of its curve and no entry in the legend."""
    mark = theme.this_run(float(x), y, "days")
    if first:
        return mark
    return mark | {"name": name, "marker": mark["marker"] | {"color": color}, "showlegend": False}


def _short(label: str) -> str:
    """A name as plain text: Plotly would take what stands in angle brackets for markup."""
    return escape(label if len(label) <= MOST_LABEL else label[: MOST_LABEL - 3].rstrip() + "...", quote=False)
