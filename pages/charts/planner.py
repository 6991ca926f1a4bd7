"""Charts of plans: cost against time over the number of devices, one job over its batch, held-out runs against their prediction."""

import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis

COLORS = (theme.BLUE, theme.GREEN, theme.PURPLE, theme.SKY, theme.RED)
NEAR = {"fillcolor": "rgba(0,158,115,0.15)", "line": {"width": 0}}
"""The look of the batches that are nearly as good as the best."""
HIGHEST = 40
"""How many times the least time a chart over the batch reaches up."""


def frontier_figure(
    series,
    frontier: pd.DataFrame,
    chosen,
    this_run,
    cost_unit: str,
    time_unit: tuple[str, float],
    deadline=None,
    most=None,
) -> go.Figure:
    """Cost against time: every plan of each (label, table), those that no other beats, the chosen one and this run.

    Tables hold seconds, cost, num_devices; a series may hold low and high, the interval of seconds. `chosen` and `this_run` are
    (seconds, cost) or None; `deadline` [s] and `most` [cost] are limits that are drawn. `time_unit` is a name and its seconds.
    """
    unit, size = time_unit
    drawn = [theme.line("not beaten", frontier["seconds"] / size, frontier["cost"], theme.GRAY, cost_unit, width=1.5)]
    for color, (label, table) in zip(COLORS, series, strict=False):
        mark = theme.points(label, table["seconds"] / size, table["cost"], color, cost_unit)
        mark["marker"] = {"color": color, "size": 7, "symbol": "circle"}
        mark["customdata"] = [f"{devices:,} devices" for devices in table["num_devices"].tolist()]
        mark["hovertemplate"] = f"%{{customdata}}: %{{x:.3g}} {unit}, %{{y:,.4g}} {cost_unit}"
        if "low" in table:
            more, less = (table["high"] - table["seconds"]) / size, (table["seconds"] - table["low"]) / size
            mark["error_x"] = {"type": "data", "array": more, "arrayminus": less, "width": 2, "thickness": 1}
        drawn.append(mark)
    if chosen is not None:
        drawn.append(_ring(chosen[0] / size, chosen[1], cost_unit))
    if this_run is not None:
        drawn.append(theme.this_run(this_run[0] / size, this_run[1], cost_unit))
    x = theme.axis(f"Time to the goal [{unit}]", "log", theme.reach(drawn, "x"))
    y = theme.axis(f"Cost [{cost_unit}]", "log", theme.reach(drawn, "y"))
    layout = theme.layout(x, y, () if deadline is None else ((deadline / size, "deadline"),), hovermode="closest")
    if most is not None:
        line = {"color": theme.GRAY, "width": 1, "dash": "dot"}
        layout["shapes"].append(
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": most, "y1": most, "line": line}
        )
    return theme.figure(drawn, layout)


def job_figure(
    table: pd.DataFrame,
    near: tuple[float, float],
    chosen: dict,
    this_run: dict | None,
    marks,
    batch_axis: BatchAxis,
    time_unit,
) -> go.Figure:
    """Time to the goal against the batch on some devices; the shaded batches are nearly as good as the best.

    `table` holds tokens_per_step [tokens] and seconds, and where they are known low and high; `chosen` and `this_run` the first two.
    """
    unit, size = time_unit
    x, least = batch_axis.place(table["tokens_per_step"]), float(table["seconds"].min()) / size
    drawn = [theme.line("time to the goal", x, table["seconds"] / size, theme.BLUE, unit)]
    if "low" in table:
        low, high = table["low"].to_numpy() / size, table["high"].to_numpy() / size
        drawn.insert(0, theme.band(x, low, high, theme.BLUE, "90 %"))
    highest = min(float(table["seconds"].max()) / size, HIGHEST * least)
    y = theme.axis(f"Time to the goal [{unit}]", "log", (least / 1.5, 1.2 * highest))
    return _over_batch(drawn, y, "seconds", size, unit, table, near, chosen, this_run, marks, batch_axis)


def goodput_figure(
    table: pd.DataFrame, near: tuple[float, float], chosen: dict, this_run: dict | None, marks, batch_axis: BatchAxis
) -> go.Figure:
    """The same as goodput, beside the rate: `table`, `chosen` and `this_run` hold goodput [tokens/s], the table tokens_per_second too."""
    x = batch_axis.place(table["tokens_per_step"])
    drawn = [
        theme.line("rate", x, table["tokens_per_second"], theme.BLUE, "tok/s"),
        theme.line("goodput", x, table["goodput"], theme.GREEN, "tok/s"),
    ]
    y = theme.axis("Whole job, real tokens [tok/s]", "linear", (0, 1.12 * float(table["tokens_per_second"].max())))
    return _over_batch(drawn, y, "goodput", 1, "tok/s", table, near, chosen, this_run, marks, batch_axis)


def _over_batch(drawn, y, name, size, unit, table, near, chosen, this_run, marks, batch_axis) -> go.Figure:
    drawn.append(_ring(batch_axis.place(chosen["tokens_per_step"]), chosen[name] / size, unit))
    if this_run is not None:
        drawn.append(theme.this_run(batch_axis.place(this_run["tokens_per_step"]), this_run[name] / size, unit))
    ends = table["tokens_per_step"].iloc[0] / 1.2, table["tokens_per_step"].iloc[-1] * 1.2
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    layout = theme.layout(batch_axis.axis(*ends), y, marks)
    low, high = batch_axis.place(near)
    area = {"type": "rect", "x0": low, "x1": high, "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    layout["shapes"].append(area | NEAR)
    return theme.figure(drawn, layout)


def _ring(x: float, y: float, unit: str) -> dict:
    """The mark of the plan that the page speaks of."""
    line = {"color": theme.RED, "width": 3}
    ring = {"color": "rgba(0,0,0,0)", "size": 18, "symbol": "circle", "line": line}
    return theme.points("the plan above", [x], [y], theme.RED, unit) | {"marker": ring}


def held_out_figure(tables) -> go.Figure:
    """Measured against predicted seconds of batches that no fit saw: (label, table with tokens_per_step, predicted, low, high, measured)."""
    drawn = []
    for color, (label, table) in zip((theme.BLUE, theme.GREEN), tables, strict=False):
        x, y, ends = table["tokens_per_step"], table["predicted"], (table["low"], table["high"])
        drawn.append(theme.points(f"predicted, {label}", x, y, color, "s", *ends))
    measured = tables[0][1]
    mark = theme.points("measured", measured["tokens_per_step"], measured["measured"], theme.RED, "s")
    mark["marker"] = {"color": theme.RED, "size": 10, "symbol": "x"}
    drawn.append(mark)
    x = theme.axis("Batch size [tokens per step]", "log", theme.reach(drawn, "x"))
    y = theme.axis("Wall-clock to the target loss [s]", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(x, y))
