"""Chart of the published laws, with this run and what was measured."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.charts import theme

AXES = {
    "tokens": ("Training tokens D [tokens]", {}),
    "parameters": ("Active parameters N", {}),
    "loss": ("Loss L [nats/token]", {"tickvals": [1.5, 2, 3, 4, 5, 6], "ticktext": ["1.5", "2", "3", "4", "5", "6"]}),
}
"""Titles and ticks by what the laws are drawn over."""

STYLES = {
    "critical": ((theme.RED, theme.PURPLE), 3.5),
    "optimal": ((theme.BLUE, theme.GREEN, theme.SKY), 1.8),
}
"""Critical laws are thick and red, optimal ones thin and blue or green; symbols tell laws of one color apart."""
SYMBOLS = ("circle", "square", "triangle-up")
DASHES = {True: "solid", False: "dash", None: "dot"}
"""Inside the fitted range, outside of it, and where no range is stated."""
UNVERIFIED = " (constants unverified)"
HEIGHT = 660
"""Tall enough for the curves above one row a law in the legend of a phone."""


def laws_figure(
    curves: pd.DataFrame,
    over: str,
    run: float | None,
    tokens_per_step: float,
    measured: Sequence[tuple[str, float, float, float]] = (),
) -> go.Figure:
    """Batch size by every law along one axis.

    Parameters
    ----------
    curves : DataFrame
        law, place (among all laws of its kind), short, kind, x, tokens_per_step [tokens], inside (True, False or None), unverified (empty or why).
    over : str
        A key of AXES, what `x` is.
    run : float or None
        Where this run stands on that axis; None where it is not known.
    tokens_per_step : float
        This run's batch. [tokens]
    measured : sequence
        (label, value, low, high) of each measured critical batch; an open end is 0 or inf. [tokens]
    """
    drawn = [trace for law in _styled(curves) for trace in law]
    ends = (curves["x"].min(), curves["x"].max())
    level = [[tokens_per_step] * 2, *([value] * 2 for _, value, _, _ in measured)]
    low, high = theme.reach([*drawn, *({"y": y} for y in level)], "y")
    for symbol, one in zip(("x", "star", "cross", "hexagon"), measured, strict=False):
        drawn += _measured(one, ends, (low, high), symbol)
    batch = theme.line("this run's batch", ends, level[0], theme.ORANGE, "tokens", width=2)
    drawn.append(batch | {"showlegend": run is None})
    if run is not None:
        drawn.append(theme.this_run(run, tokens_per_step, "tokens"))
    title, ticks = AXES[over]
    x = theme.axis(title, "log", ends) | ticks
    y = theme.axis("Batch size [tokens per step]", "log", (low, high))
    layout = theme.layout(x, y, () if run is None else ((run, "this run"),), height=HEIGHT, hovermode="closest")
    layout["legend"] |= {"tracegroupgap": 0, "font": {"size": 11}}
    return go.Figure({"data": drawn, "layout": layout})


def _styled(curves: pd.DataFrame):
    """The traces of each law: colors cycle within a kind, a new symbol with every turn."""
    columns = {name: curves[name].to_numpy() for name in curves}
    starts = np.flatnonzero(columns["law"][1:] != columns["law"][:-1]) + 1
    for rows in map(slice, np.append(0, starts), np.append(starts, len(curves))):
        law = {name: values[rows] for name, values in columns.items()}
        colors, width = STYLES[law["kind"][0]]
        turn, color = divmod(int(law["place"][0]), len(colors))
        yield _law(law, colors[color], width, SYMBOLS[turn % len(SYMBOLS)])


def _law(law: dict[str, np.ndarray], color: str, width: float, symbol: str) -> list[dict]:
    """One trace for each part of a law (inside, outside, not stated), in one legend entry.

    Parts meet: those outside hold their neighbors' nearest points too.
    """
    dashes = np.array([DASHES[value] for value in law["inside"]])
    name = law["short"][0] + (UNVERIFIED if law["unverified"][0] else "")
    whole = theme.line(name, law["x"], law["tokens_per_step"], color, "tokens")
    whole |= {"mode": "lines+markers", "marker": {"symbol": symbol, "size": 8, "maxdisplayed": 4, "color": color}}
    whole |= {"legendgroup": law["law"][0], "hovertemplate": f"{theme.HOVER}<extra>{name}</extra>"}
    traces = []
    for dash in [dash for dash in DASHES.values() if dash in dashes]:
        here = dashes == dash
        if dash != "solid":
            here = here | np.append(here[1:], False) | np.append(False, here[:-1])
        part = {"y": np.where(here, law["tokens_per_step"], np.nan), "showlegend": not traces}
        traces.append(whole | part | {"line": {"color": color, "width": width, "dash": dash}})
    return traces


def _measured(one: tuple, ends: tuple, reach: tuple, symbol: str) -> list[dict]:
    """A measured critical batch: a level, and its interval as a light band within the chart."""
    label, value, low, high = one
    x = np.array(ends)
    level = theme.line(f"measured, {label}", x, [value] * 2, theme.GRAY, "tokens", width=2)
    level |= {"mode": "lines+markers", "marker": {"symbol": symbol, "size": 10, "color": theme.GRAY}}
    band = theme.band(x, np.full(2, max(low, reach[0])), np.full(2, min(high, reach[1])), theme.GRAY, label)
    return [band, level]
