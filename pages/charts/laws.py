"""Chart of the published laws, with this run and what was measured."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go

from pages.charts import theme

LOSSES = (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 10, 20)
AXES = {
    "tokens": ("Training tokens D [tokens]", {}),
    "parameters": ("Active parameters N", {}),
    "loss": ("Loss L [nats/token]", {"tickvals": list(LOSSES), "ticktext": [f"{loss:g}" for loss in LOSSES]}),
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
MEASURED = ("x", "star", "cross", "hexagon", "pentagon", "bowtie")
"""Symbols of measured series, in turn."""
UNVERIFIED = " (constants unverified)"
HEIGHT = 660
"""Tall enough for the curves above one row a law in the legend of a phone."""


def laws_figure(
    lines: Sequence,
    over: str,
    run: float | None,
    tokens_per_step: float,
    measured: Sequence[tuple[str, float, float, float]] = (),
) -> go.Figure:
    """Batch size by every law along one axis.

    Parameters
    ----------
    lines : sequence
        One a law: name, law (with its short, kind and unverified), place (among all laws of its kind), x, tokens_per_step
        [tokens] and inside (True, False or None), arrays.
    over : str
        A key of AXES, what `x` is.
    run : float or None
        Where this run stands on that axis; None where it is not known.
    tokens_per_step : float
        This run's batch. [tokens]
    measured : sequence
        (label, value, low, high) of each measured critical batch; an open end is 0 or inf. [tokens]
    """
    drawn = [trace for line in lines for trace in _law(line)]
    ends = (float(lines[0].x[0]), float(lines[0].x[-1]))
    levels = [tokens_per_step, *(value for _, value, _, _ in measured)]
    low, high = theme.reach([{"y": line.tokens_per_step} for line in lines] + [{"y": levels}], "y")
    for symbol, one in zip(cycle(MEASURED), measured):  # noqa: B905 (a cycle has no end)
        drawn += _measured(one, ends, (low, high), symbol)
    batch = theme.line("this run's batch", ends, levels[:1] * 2, theme.ORANGE, "tokens", width=2)
    drawn.append(batch | {"showlegend": run is None})
    if run is not None:
        drawn.append(theme.this_run(run, tokens_per_step, "tokens"))
    title, ticks = AXES[over]
    x = theme.axis(title, "log", ends) | ticks
    y = theme.axis("Batch size [tokens per step]", "log", (low, high))
    layout = theme.layout(x, y, () if run is None else ((run, "this run"),), height=HEIGHT, hovermode="closest")
    layout["legend"] |= {"tracegroupgap": 0, "font": {"size": 11}}
    return theme.figure(drawn, layout)


def _law(line) -> list[dict]:
    """One trace for each part of a law (inside, outside, not stated), in one legend entry; colors cycle within a kind.

    Parts meet: those outside hold their neighbors' nearest points too. They are lists, which plotly checks and writes several
    times faster than arrays as short as these.
    """
    colors, width = STYLES[line.law.kind]
    turn, color = divmod(line.place, len(colors))
    name = line.law.short + (UNVERIFIED if line.law.unverified else "")
    marker = {"symbol": SYMBOLS[turn % len(SYMBOLS)], "size": 8, "maxdisplayed": 4, "color": colors[color]}
    common = {"type": "scatter", "mode": "lines+markers", "name": name, "legendgroup": line.name, "marker": marker}
    common["hovertemplate"] = f"{theme.HOVER}<extra>{name}</extra>"
    said = theme.readable(line.tokens_per_step, "tokens")
    columns = {"x": line.x.tolist(), "y": line.tokens_per_step.tolist(), "customdata": said}
    traces = []
    for state, dash in DASHES.items():
        rows = _rows(line.inside.tolist(), state)
        if rows:
            part = {key: [None if row is None else values[row] for row in rows] for key, values in columns.items()}
            style = {"color": colors[color], "width": width, "dash": dash}
            traces.append(common | part | {"line": style, "showlegend": not traces})
    return traces


def _rows(states: list, state: bool | None) -> list[int | None]:
    """The points in one state, with None at a gap; all but those inside hold their neighbors too."""
    near = (0,) if state is True else (-1, 0, 1)
    found = {at + step for at, one in enumerate(states) if one is state for step in near}
    rows = []
    for row in sorted(found & set(range(len(states)))):
        rows += [row] if not rows or rows[-1] == row - 1 else [None, row]
    return rows


def _measured(one: tuple, ends: tuple, reach: tuple, symbol: str) -> list[dict]:
    """A measured critical batch: a level, and its interval as a light band within the chart."""
    label, value, low, high = one
    x = np.array(ends)
    level = theme.line(f"measured, {label}", x, [value] * 2, theme.GRAY, "tokens", width=2)
    level |= {"mode": "lines+markers", "marker": {"symbol": symbol, "size": 10, "color": theme.GRAY}}
    band = theme.band(x, np.full(2, max(low, reach[0])), np.full(2, min(high, reach[1])), theme.GRAY, label)
    return [band, level]
