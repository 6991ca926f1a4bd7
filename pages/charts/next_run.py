"""Chart of what each candidate for the next run of a sweep would tell."""

import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis


def gain_figure(table: pd.DataFrame, best: float, batch_axis: BatchAxis) -> go.Figure:
    """Gain for its cost against the batch.

    `table` holds tokens_per_step [tokens], information [1 at the best new batch] and repeat (measured already); `best` is the batch
    that is advised. [tokens]
    """
    unit = "% of the best"
    drawn = []
    for name, rows, style in (
        ("new batch", table[~table["repeat"]], {"color": theme.BLUE}),
        (
            "repeat, at most",
            table[table["repeat"]],
            {"color": theme.GRAY, "symbol": "circle-open", "line": {"width": 2.5}},
        ),
    ):
        gain = 100 * rows["information"]
        trace = theme.points(name, batch_axis.place(rows["tokens_per_step"]), gain, style["color"], unit)
        drawn.append(trace | {"marker": {"size": 9, "symbol": "circle"} | style})
    ends = table["tokens_per_step"].min() / 1.3, table["tokens_per_step"].max() * 1.3
    y = theme.axis("Gain for its cost [% of the best]", ends=(-5, 108))
    marks = ((float(batch_axis.place(best)), "measure next"),)
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y, marks, height=300))
