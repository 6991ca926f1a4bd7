"""Charts of batch ramps: the batch and the rate through a run, and where each schedule lies between steps and tokens."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme

COLORS = (theme.BLUE, theme.GREEN, theme.RED, theme.PURPLE, theme.SKY, theme.ORANGE)
USUAL_CURVES, LEGEND_LINE = 5, 19
"""Curves of a chart of the usual height, and pixels of one line of a legend."""
DASHES = ("solid",) * 2 + ("dash",) * 4 + ("dot",) * 4 + ("dashdot",) * 4
"""One for each of the most curves: the chosen ramp, the flat batch and twelve more."""


def batch_figure(curves, critical: pd.DataFrame, smallest: float) -> go.Figure:
    """The batch against the tokens seen: (label, table) pairs, the chosen one first; the critical batch as a shade's edge.

    `smallest` is the batch below which replicas stand still; it is marked where a curve comes near.
    """
    drawn = [
        theme.line("B_crit", critical["tokens"], critical["critical_batch_size"], theme.GRAY, "tokens", dash="dot"),
        *(
            theme.line(
                label, table["tokens"], table["tokens_per_step"], COLORS[place % len(COLORS)], "tokens per step",
                dash=DASHES[place], width=3.5 if place == 0 else 2,
            )
            for place, (label, table) in enumerate(curves)
        ),
    ]  # fmt: skip
    x = theme.axis(
        "Tokens seen [tokens]",
        "log",
        (min(table["tokens"].min() for _, table in curves), theme.reach(drawn[1:], "x")[1]),
    )
    low, high = theme.reach(drawn, "y")
    y = theme.axis("Batch size [tokens per step]", "log", (low, high))
    shapes = {}
    if low < smallest:
        shapes = {"shapes": [_floor(smallest)], "annotations": [_floor_label(smallest)]}
    return theme.figure(drawn, theme.layout(x, y, height=_height(drawn)) | shapes)


def _height(drawn: list[dict]) -> int:
    """Pixels that leave the plot its room where a phone lists every curve on a line of its own."""
    return theme.HEIGHT + LEGEND_LINE * max(0, len(drawn) - USUAL_CURVES)


def _floor(smallest: float) -> dict:
    style = {"line": {"color": theme.GRAY, "width": 1, "dash": "dot"}, "layer": "below"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": smallest, "y1": smallest} | style


def _floor_label(smallest: float) -> dict:
    place = {"xref": "paper", "x": 1, "y": np.log10(smallest), "xanchor": "right", "yanchor": "bottom"}
    return place | {"text": "one sequence per replica", "showarrow": False, "font": {"size": 12}}


def pareto_figure(flat: pd.DataFrame, frontier: pd.DataFrame, points: pd.DataFrame) -> go.Figure:
    """Tokens against steps to the target: every flat batch, the best that any ramp could do, and each schedule as a point.

    `flat` and `frontier` hold steps and tokens; `points` label, steps, tokens, the chosen one first.
    """
    drawn = [
        theme.line("flat batches", flat["steps"], flat["tokens"], theme.BLUE, "tokens"),
        theme.line("best possible ramps", frontier["steps"], frontier["tokens"], theme.GREEN, "tokens", dash="dash"),
    ]
    for place, row in enumerate(points.itertuples()):
        mark = theme.points(row.label, [row.steps], [row.tokens], COLORS[place % len(COLORS)], "tokens")
        mark["marker"] = {
            "color": COLORS[place % len(COLORS)],
            "size": 13 if place == 0 else 10,
            "symbol": _symbol(place),
        }
        drawn.append(mark)
    x = theme.axis("Optimizer steps to the target, S", "log", theme.reach(drawn[2:], "x"))
    y = theme.axis("Tokens to the target, E [tokens]", "log", theme.reach(drawn[2:], "y"))
    return theme.figure(drawn, theme.layout(x, y, hovermode="closest", height=_height(drawn)))


def _symbol(place: int) -> str:
    return "diamond" if place == 0 else ("circle", "square", "triangle-up", "cross", "x")[place % 5]


def rate_figure(curves) -> go.Figure:
    """Learning rates against the tokens seen: (label, tokens, rates), the chosen one first."""
    drawn = [
        theme.line(label, tokens, rates, COLORS[place % len(COLORS)], "", dash=DASHES[place] if place < 2 else "dash")
        for place, (label, tokens, rates) in enumerate(curves)
    ]
    x = theme.axis("Tokens seen [tokens]")
    y = theme.axis("Learning rate", rangemode="tozero", exponentformat="e")
    return theme.figure(drawn, theme.layout(x, y))


def trap_figure(table: pd.DataFrame) -> go.Figure:
    """The batch as meant and as a ramp written in steps makes it: tokens, meant, in_steps."""
    drawn = [
        theme.line("as meant, in tokens", table["tokens"], table["meant"], COLORS[0], "tokens per step", width=3.5),
        theme.line("written in steps", table["tokens"], table["in_steps"], COLORS[1], "tokens per step", dash="dash"),
    ]
    x = theme.axis("Tokens seen [tokens]", "log", theme.reach(drawn, "x"))
    y = theme.axis("Batch size [tokens per step]", "log", theme.reach(drawn, "y"))
    return theme.figure(drawn, theme.layout(x, y))
