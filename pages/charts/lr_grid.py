"""Chart of a measured grid of learning rates and batches, its optima, and rules over it."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis

SCALE = "Cividis"
"""Sequential, and the same to color-blind readers."""
COLORS = (theme.BLUE, theme.GREEN, theme.PURPLE, theme.SKY, theme.GRAY)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
TRIANGLES = {"highest": "triangle-up-open", "lowest": "triangle-down-open"}
EMPTY = {"x": (1e3, 1e7), "y": (1e-5, 1e-2)}


def heat_figure(
    cells: pd.DataFrame, optima: pd.DataFrame, rules: dict[str, tuple], batch_axis: BatchAxis, cap: float | None = None
) -> go.Figure:
    """Value above each batch's best over batch and rate, with the optima and rules.

    Parameters
    ----------
    cells : DataFrame
        tokens_per_step [tokens], learning_rate, excess (value over the batch's best less 1; nan where runs diverged). Any
        grid will do: rates may differ from batch to batch.
    optima : DataFrame
        tokens_per_step [tokens], learning_rate, low, high, edge ("" or the side beyond which the optimum lies).
    rules : dict
        Label to (batches [tokens], rates).
    cap : float, optional
        Excess from which colors no longer differ; by default the median of the cells that are not best, so that no runs far
        off drown the valley.
    """
    ran = cells[np.isfinite(cells["excess"].astype(float))]
    lost = cells.drop(ran.index)
    drawn = [_cells(ran, batch_axis, cap)] if len(ran) else []
    if len(lost):
        drawn.append(_marks("diverged", lost, batch_axis, "x", theme.RED))
    inside = optima[optima["edge"] == ""]
    if len(inside):
        place, low, high = batch_axis.place(inside["tokens_per_step"]), inside["low"], inside["high"]
        drawn.append(theme.points("optimum, 90 %", place, inside["learning_rate"], theme.RED, "", low, high))
    for edge, symbol in TRIANGLES.items():
        beyond = optima[optima["edge"] == edge]
        if len(beyond):
            where = "higher" if edge == "highest" else "lower"
            drawn.append(_marks(f"optimum here or {where}", beyond, batch_axis, symbol, theme.RED))
    x, y = (theme.reach(drawn, side) if drawn else EMPTY[side] for side in "xy")
    for (label, (batch, rate)), color, dash in zip(rules.items(), COLORS, DASHES, strict=False):
        drawn.append(theme.line(label, batch_axis.place(batch), rate, color, "", dash=dash))
    ends = np.asarray(x) * (batch_axis.tokens_per_unit if drawn else 1)
    axes = batch_axis.axis(*ends), theme.axis("Peak learning rate", "log", y)
    return theme.figure(drawn, theme.layout(*axes, height=480, hovermode="closest"))


def _cells(cells: pd.DataFrame, batch_axis: BatchAxis, cap: float | None) -> dict:
    """One square a cell, colored by its excess in percent."""
    excess = cells["excess"].to_numpy(float)
    worse = excess[excess > 0]
    top = cap or (float(np.median(worse)) if worse.size else 0.01)
    bar = {"title": {"text": "Above the batch's best [%]", "side": "right"}, "thickness": 12}
    values = zip(theme.readable(cells["learning_rate"], ""), 100 * excess, strict=True)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "measured",
        "x": batch_axis.place(cells["tokens_per_step"]),
        "y": cells["learning_rate"].to_numpy(float),
        "marker": {"symbol": "square", "size": 20, "color": 100 * excess, "cmin": 0, "cmax": 100 * top}
        | {"colorscale": SCALE, "reversescale": True, "colorbar": bar},
        "customdata": [f"rate {rate.strip()}: {share:.2f} % above the best" for rate, share in values],
        "hovertemplate": theme.HOVER,
        "showlegend": False,
    }


def _marks(name: str, rows: pd.DataFrame, batch_axis: BatchAxis, symbol: str, color: str) -> dict:
    """Markers at batches and rates."""
    marks = theme.points(name, batch_axis.place(rows["tokens_per_step"]), rows["learning_rate"], color, "")
    return marks | {"marker": marks["marker"] | {"symbol": symbol, "size": 12}}
