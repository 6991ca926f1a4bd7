"""Charts of plans: cost against time over the number of devices, and held-out runs against their prediction."""

import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme

COLORS = (theme.BLUE, theme.GREEN, theme.PURPLE, theme.SKY, theme.RED)


def frontier_figure(
    series, frontier: pd.DataFrame, chosen, this_run, cost_unit: str, deadline=None, most=None
) -> go.Figure:
    """Cost against days: every plan of each (label, table), those that no other beats, the chosen one and this run.

    Tables hold days, cost, num_devices; a series may hold low and high, the interval of days. `chosen` and `this_run` are
    (days, cost) or None; `deadline` [days] and `most` [cost] are limits that are drawn.
    """
    drawn = [theme.line("not beaten", frontier["days"], frontier["cost"], theme.GRAY, cost_unit, width=1.5)]
    for color, (label, table) in zip(COLORS, series, strict=False):
        mark = theme.points(label, table["days"], table["cost"], color, cost_unit)
        mark["marker"] = {"color": color, "size": 7, "symbol": "circle"}
        mark["customdata"] = [f"{devices:,} devices" for devices in table["num_devices"].tolist()]
        mark["hovertemplate"] = "%{customdata}: %{x:.3g} days, %{y:,.4g} " + cost_unit
        if "low" in table:
            mark["error_x"] = {
                "type": "data", "array": table["high"] - table["days"], "arrayminus": table["days"] - table["low"],
                "width": 2, "thickness": 1,
            }  # fmt: skip
        drawn.append(mark)
    if chosen is not None:
        best = theme.points("the plan above", [chosen[0]], [chosen[1]], theme.RED, cost_unit)
        best["marker"] = {
            "color": "rgba(0,0,0,0)",
            "size": 18,
            "symbol": "circle",
            "line": {"color": theme.RED, "width": 3},
        }
        drawn.append(best)
    if this_run is not None:
        drawn.append(theme.this_run(*this_run, cost_unit))
    x = theme.axis("Days to the goal", "log", theme.reach(drawn, "x"))
    y = theme.axis(f"Cost [{cost_unit}]", "log", theme.reach(drawn, "y"))
    layout = theme.layout(x, y, () if deadline is None else ((deadline, "deadline"),), hovermode="closest")
    if most is not None:
        line = {"color": theme.GRAY, "width": 1, "dash": "dot"}
        layout["shapes"] = [
            *layout["shapes"],
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": most, "y1": most, "line": line},
        ]
    return go.Figure({"data": drawn, "layout": layout})


def held_out_figure(tables) -> go.Figure:
    """Measured against predicted seconds of batches that no fit saw: (label, table with tokens_per_step, predicted, low, high, measured)."""
    drawn = []
    for color, (label, table) in zip((theme.BLUE, theme.GREEN), tables, strict=False):
        drawn.append(
            theme.points(
                f"predicted, {label}",
                table["tokens_per_step"],
                table["predicted"],
                color,
                "s",
                table["low"],
                table["high"],
            )
        )
    measured = tables[0][1]
    mark = theme.points("measured", measured["tokens_per_step"], measured["measured"], theme.RED, "s")
    mark["marker"] = {"color": theme.RED, "size": 10, "symbol": "x"}
    drawn.append(mark)
    x = theme.axis("Batch size [tokens per step]", "log", theme.reach(drawn, "x"))
    y = theme.axis("Wall-clock to the target loss [s]", "log", theme.reach(drawn, "y"))
    return go.Figure({"data": drawn, "layout": theme.layout(x, y)})
