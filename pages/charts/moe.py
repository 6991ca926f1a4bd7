"""Charts of expert load and dropped tokens."""

from itertools import cycle

import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis


def load_figure(curve: pd.DataFrame, run: dict, matmul: float, marks, batch_axis: BatchAxis) -> go.Figure:
    """Mean tokens per expert against the batch, with two standard deviations of the load.

    `curve` holds tokens_per_step [tokens], tokens_per_expert, low and high [tokens]; `matmul` is the load above which an
    expert's matmul can be compute-bound.
    """
    x = batch_axis.place(curve["tokens_per_step"])
    ends = curve["tokens_per_step"].iloc[0], curve["tokens_per_step"].iloc[-1]
    drawn = [
        theme.band(x, curve["low"].to_numpy(), curve["high"].to_numpy(), theme.BLUE, "two standard deviations"),
        theme.line("mean load", x, curve["tokens_per_expert"], theme.BLUE, "tokens per expert"),
        theme.this_run(batch_axis.place(run["tokens_per_step"]), run["tokens_per_expert"], "tokens per expert"),
    ]
    if matmul:
        label = "least load for a compute-bound matmul"
        style = {"dash": "dot", "width": 1.5}
        drawn.insert(1, theme.line(label, batch_axis.place(ends), [matmul] * 2, theme.GRAY, "tokens", **style))
    marks = tuple((batch_axis.place(position), label) for position, label in marks)
    y = theme.axis("Tokens per expert [tokens]", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends, "Tokens routed"), y, marks))


def dropped_figure(curve: pd.DataFrame, factors: tuple[float, ...], run: dict) -> go.Figure:
    """Dropped share of tokens against the tokens routed together, one curve a capacity factor.

    `curve` holds routed_tokens [tokens] and a column of percent dropped for each factor.
    """
    colors = (theme.RED, theme.PURPLE, theme.BLUE, theme.GREEN)
    drawn = [
        theme.line(f"capacity factor {factor:g}", curve["routed_tokens"], curve[factor], color, "% dropped")
        for factor, color in zip(factors, colors, strict=False)
    ]
    drawn.append(theme.this_run(run["routed_tokens"], run["dropped_percent"], "% dropped"))
    ends = curve["routed_tokens"].iloc[0], curve["routed_tokens"].iloc[-1]
    top = max(float(curve[factors[0]].max()), 1)
    x = theme.axis("Tokens routed together [tokens]", "log", ends)
    y = theme.axis("Dropped tokens [%]", "linear", (-0.03 * top, 1.1 * top))
    return theme.figure(drawn, theme.layout(x, y))


def evenness_figure(curve: pd.DataFrame, labels: dict, run: dict) -> go.Figure:
    """Load CV against the tokens routed together: it falls with the batch down to the router's skew, and no further.

    `curve` holds routed_tokens [tokens], `this` and one column of percent for each key of `labels`; `run` routed_tokens and cv.
    """
    x = curve["routed_tokens"]
    colors = (theme.BLUE, theme.GREEN, theme.PURPLE, theme.RED)
    drawn = [
        theme.line(label, x, curve[column], color, "% CV", dash="dot", width=1.5)
        for (column, label), color in zip(labels.items(), colors, strict=False)
    ]
    drawn.append(theme.line("this router", x, curve["this"], theme.GRAY, "% CV"))
    drawn.append(theme.this_run(run["routed_tokens"], run["cv"], "% CV"))
    axes = theme.axis("Tokens routed together [tokens]", "log", (x.iloc[0], x.iloc[-1]))
    return theme.figure(drawn, theme.layout(axes, theme.axis("Load CV [%]", "log", theme.reach(drawn, "y"))))


def router_figure(loads: pd.DataFrame) -> go.Figure:
    """Unevenness of measured expert loads against the tokens routed together, beside that of uniform routing.

    `loads` holds setting, routed_tokens [tokens], load_cv and uniform_cv (see bsmath.expert_counts.summary).
    """
    drawn = []
    uniform = loads.drop_duplicates("routed_tokens").sort_values("routed_tokens")
    for color, (setting, rows) in zip(cycle(theme.SERIES), loads.groupby("setting", sort=False)):
        rows = rows.sort_values("routed_tokens")
        points = theme.points(setting, rows["routed_tokens"], rows["load_cv"], color, "CV")
        drawn.append(points | {"mode": "markers+lines", "line": {"color": color, "width": 1.5}})
    style = {"dash": "dash", "width": 1.5}
    even = theme.line("uniform routing", uniform["routed_tokens"], uniform["uniform_cv"], theme.BLUE, "CV", **style)
    drawn.append(even | {"mode": "lines+markers"})
    axes = theme.axis("Tokens routed together [tokens]", "log", theme.reach(drawn, "x"))
    uneven = (loads[["load_cv", "uniform_cv"]] > 0).any(axis=None)
    y = theme.axis("Load CV", "log", theme.reach(drawn, "y") if uneven else None)
    return theme.figure(drawn, theme.layout(axes, y))


def distribution_figure(table: pd.DataFrame, capacity: float, mean: float) -> go.Figure:
    """How often an expert gets a load, with its capacity; `table` holds load [tokens] and probability."""
    drawn = [
        {
            "type": "bar",
            "name": "probability of this load",
            "x": table["load"],
            "y": table["probability"],
            "marker": {"color": theme.BLUE, "line": {"width": 0}},
            "hovertemplate": "%{y:.2e}",
        }
    ]
    ends = min(table["load"].iloc[0], mean), max(table["load"].iloc[-1], capacity * 1.02)
    x = theme.axis("Tokens that one expert gets [tokens]", "linear", ends)
    y = theme.axis("Probability")
    return theme.figure(drawn, theme.layout(x, y, ((mean, "mean"), (capacity, "capacity")), bargap=0))
