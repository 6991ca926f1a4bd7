"""Charts of what one optimizer step consists of: its time against the batch, its memory against the micro-batch."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis

COLORS = (theme.GRAY, theme.ORANGE, theme.BLUE, theme.PURPLE, theme.RED, theme.SKY)


def step_time_figure(
    table: pd.DataFrame, parts: Mapping[str, str], run: dict, marks, batch_axis: BatchAxis
) -> go.Figure:
    """Share of each part in the time of a step, stacked, against the batch.

    `table` holds tokens_per_step [tokens] and, for each key of `parts`, seconds; `parts` maps columns to names. Parts that
    are zero everywhere are left out.
    """
    x = batch_axis.place(table["tokens_per_step"])
    ends = [table["tokens_per_step"].iloc[0], table["tokens_per_step"].iloc[-1]]
    total = table[list(parts)].sum(axis=1)
    drawn = []
    for color, (column, name) in zip(COLORS, parts.items(), strict=False):
        seconds = table[column].to_numpy()
        if np.any(seconds > 0):
            drawn.append(_area(name, x, 100 * seconds / total, theme.readable(1e3 * seconds, "ms"), color))
    position = batch_axis.place(run["tokens_per_step"])
    marks = tuple((batch_axis.place(place), label) for place, label in marks) + ((position, "this run"),)
    y = theme.axis("Share of a step's time [%]", "linear", (0, 100))
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y, marks))


def _area(name: str, x, y, hover: list[str], color: str) -> dict:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": np.asarray(y),
        "stackgroup": "parts",
        "line": {"color": color, "width": 0.5},
        "customdata": hover,
        "hovertemplate": "%{customdata}, %{y:.3g} %",
    }


def memory_figure(low: Mapping[str, float], high: Mapping[str, float], memory: float | None) -> go.Figure:
    """Memory of one device by part, as two stacked bars (the least and the most that the count allows), with what it has.

    `low` and `high` map parts to bytes.
    """
    gigabyte = 1e9
    drawn = []
    for color, part in zip(COLORS, low, strict=False):
        values = [low[part] / gigabyte, high[part] / gigabyte]
        drawn.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": part,
                "y": ["least", "most"],
                "x": values,
                "marker": {"color": color},
                "customdata": [f"{value:.3g} GB" for value in values],
                "hovertemplate": "%{customdata}",
            }
        )
    most = max(sum(high.values()), memory or 0) / gigabyte
    x = theme.axis("Memory of one device [GB]", "linear", (0, 1.08 * most))
    marks = () if memory is None else ((memory / gigabyte, "device memory"),)
    layout = theme.layout(x, theme.axis("Estimate", type="category"), marks)
    return theme.figure(drawn, layout | {"barmode": "stack", "hovermode": "y unified", "height": 260})
