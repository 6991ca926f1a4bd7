"""One look for every chart: colors that stay apart for color-blind readers and on light and dark, axes with units, marks.

A chart is one dict of traces and layout and then one figure: growing a figure with `update_*` or `add_*` costs ten times as
long, and Plotly's check of every property thirty times: tests run it on every chart. Background, font and grid come from the page's own theme.
"""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

# Okabe and Ito's palette, less its yellow and black, which vanish on one of the two backgrounds.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
GRAY = "#8a939c"
SERIES = (RED, PURPLE, SKY, ORANGE)
"""Colors of measured series; the theory's own are blue and green."""

HEIGHT = 400
HOVER = "%{customdata}"


@dataclass(frozen=True)
class BatchAxis:
    """How batch sizes are shown: in tokens or sequences, on a logarithmic or linear axis."""

    unit: str = "tokens"
    """`tokens` or `sequences`."""
    scale: str = "log"
    """`log` or `linear`."""
    tokens_per_unit: float = 1.0
    """1 for tokens, tokens per sequence for sequences."""

    def place(self, tokens):
        """Batch sizes in tokens as positions on the axis."""
        return np.asarray(tokens, float) / self.tokens_per_unit

    def axis(self, low: float, high: float, title: str = "Batch size") -> dict:
        """The axis between two batch sizes in tokens."""
        ends = self.place((low, high))
        return axis(f"{title} [{self.unit} per step]", self.scale, ends)


def axis(title: str, scale: str = "linear", ends=None, **more) -> dict:
    """An axis with a title that names the unit; on a log axis ticks stand at decades, or at 1, 2 and 5 where it is short."""
    span = {} if ends is None else {"range": list(np.log10(ends) if scale == "log" else ends)}
    ticks = _log_ticks(*ends) if scale == "log" and ends is not None else {}
    return {"title": {"text": title}, "type": scale, "exponentformat": "B", **span, **ticks, **more}


def _log_ticks(low: float, high: float) -> dict:
    decades = np.log10(high / low)
    mantissas = (1, 2, 5) if decades < 2.2 else (1,)
    step = max(1, int(np.ceil(decades / 8)))
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1, step)
    places = [float(f"{mantissa}e{power}") for power in powers for mantissa in mantissas]
    return {"tickvals": places, "ticktext": [_suffixed(place) for place in places]}


def reach(drawn: list[dict], side: str) -> tuple[float, float]:
    """A little beyond everything positive that is drawn on one side, `x` or `y`, for a log axis."""
    values = np.concatenate([np.asarray(trace[side], float) for trace in drawn])
    values = values[np.isfinite(values) & (values > 0)]
    return values.min() / 1.3, values.max() * 1.3


def readable(values, unit: str) -> list[str]:
    """Values for a hover label, with the suffixes that the page uses (1B, not 1G) and their unit."""
    return [f"{_suffixed(value)} {unit}" for value in np.atleast_1d(np.asarray(values, float)).tolist()]


def _suffixed(value: float) -> str:
    for size, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{suffix}"
    return f"{value:.4g}" if abs(value) >= 0.01 or value == 0 else f"{value:.3g}".replace("e-0", "e-")


def layout(x: dict, y: dict, marks: tuple = (), **more) -> dict:
    """The layout of a figure; `marks` are (position, label) pairs of vertical lines, labelled in rising rows."""
    shapes, labels = [], []
    log = x.get("type") == "log"
    for row, (position, label) in enumerate(sorted(marks)):
        shapes.append(
            {"type": "line", "x0": position, "x1": position, "yref": "paper", "y0": 0, "y1": 1}
            | {"line": {"color": GRAY, "width": 1, "dash": "dot"}, "layer": "below"}
        )
        labels.append(
            {
                "x": np.log10(position) if log else position,
                "yref": "paper",
                "y": 1.02 + 0.065 * (row % 3),
                "text": label,
            }
            | {"showarrow": False, "xanchor": "center", "yanchor": "bottom", "font": {"size": 12}}
        )
    return {
        "xaxis": x,
        "yaxis": y,
        "shapes": shapes,
        "annotations": labels,
        "height": HEIGHT,
        "hovermode": "x unified",
        "margin": {"l": 10, "r": 10, "t": 76 if marks else 24, "b": 10},
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
    } | more


def figure(traces: list[dict], layout: dict) -> go.Figure:
    """The figure of traces and a layout, its properties not checked."""
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


def line(name: str, x, y, color: str, unit: str, **style) -> dict:
    """A curve; hovering writes its value with the unit."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": np.asarray(x),
        "y": np.asarray(y),
        "line": {"color": color, "width": 2.5} | style,
        "customdata": readable(y, unit),
        "hovertemplate": HOVER,
    }


def this_run(x: float, y: float, unit: str) -> dict:
    """The mark of this run, the same in every chart."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "this run",
        "x": [x],
        "y": [y],
        "marker": {"symbol": "diamond", "size": 13, "color": ORANGE, "line": {"color": "#1a2129", "width": 1.5}},
        "customdata": readable(y, unit),
        "hovertemplate": HOVER,
    }


def band(x, low, high, color: str, name: str) -> dict:
    """A shaded region between two curves, as one closed outline."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([high, low[::-1]]),
        "fill": "toself",
        "fillcolor": f"rgba({int(color[1:3], 16)},{int(color[3:5], 16)},{int(color[5:7], 16)},0.15)",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def points(name: str, x, y, color: str, unit: str, low=None, high=None) -> dict:
    """Measured points; bars from the lowest to the highest repeat."""
    error = {}
    if low is not None:
        error = {"error_y": {"type": "data", "array": high - y, "arrayminus": y - low, "width": 3, "thickness": 1.5}}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": np.asarray(x),
        "y": np.asarray(y),
        "marker": {"color": color, "size": 9, "symbol": "circle-open", "line": {"width": 2.5}},
        "customdata": readable(y, unit),
        "hovertemplate": HOVER,
    } | error
