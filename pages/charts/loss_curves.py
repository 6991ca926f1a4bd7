"""Chart of the loss curves of several runs with a target across them."""

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from pages.charts import theme

MOST_POINTS = 20_000
"""Points drawn, of all curves together."""
LONELY = 20
"""Times the first place of a curve from which the second one is so far away that the axis begins there."""
SCALE, ENDS = "Viridis", (0.05, 0.85)
"""Colors from the smallest to the largest batch; the yellow end vanishes on white."""


def curves_figure(curves, target: float | None, unit: str, along: str) -> go.Figure:
    """Loss against steps or tokens on a logarithmic axis, one thin line a run, colored by its batch.

    Each of `curves` has label, steps [steps], loss [nats/token] and tokens_per_step [unit; nan where not known]; `along` is
    "steps" or what a batch is counted in.
    """
    most = MOST_POINTS // max(len(curves), 1)
    colors = _colors([one.tokens_per_step for one in curves])
    drawn, named = [], set()
    for one in sorted(curves, key=lambda one: (np.isnan(one.tokens_per_step), one.tokens_per_step)):
        x = one.steps if along == "steps" else one.steps * one.tokens_per_step
        usable = np.isfinite(x) & (x > 0)
        if (usable & np.isfinite(one.loss) & (one.loss > 0)).any():
            size = one.tokens_per_step
            name = "batch not known" if np.isnan(size) else f"{theme.readable(size, unit)[0]} per step"
            trace = _line(name, one, x[usable], one.loss[usable], most, colors.get(size, theme.GRAY), along)
            drawn.append(trace | {"showlegend": name not in named})
            named.add(name)
    if not drawn:
        return go.Figure(
            {"data": [], "layout": theme.layout(theme.axis(_title(along)), theme.axis("Loss [nats/token]"))}
        )
    ends = _beyond_the_start(drawn)
    height = theme.reach([{"y": trace["y"][trace["x"] >= ends[0]]} for trace in drawn], "y")
    if target is not None:
        drawn.append(_target(target, ends))
    x_axis, y_axis = theme.axis(_title(along), "log", ends), theme.axis("Loss [nats/token]", "log", height)
    return go.Figure({"data": drawn, "layout": theme.layout(x_axis, y_axis, hovermode="closest")})


def _beyond_the_start(drawn: list[dict]) -> tuple[float, float]:
    """The ends of the axis; a loss before the first step, far from all others, takes no room."""
    low, high = theme.reach(drawn, "x")
    seconds = [trace["x"][1] for trace in drawn if len(trace["x"]) > 1]
    return (min(seconds) / 2 if seconds and min(seconds) > LONELY * low else low), high


def _title(along: str) -> str:
    return "Optimizer steps" if along == "steps" else f"Trained on [{along}]"


def _colors(sizes: list[float]) -> dict[float, str]:
    """A color for each different batch, by its logarithm."""
    known = sorted({size for size in sizes if size > 0})
    if len(known) < 2:
        return dict.fromkeys(known, theme.BLUE)
    places = np.interp(np.log(known), np.log([known[0], known[-1]]), ENDS)
    return dict(zip(known, sample_colorscale(SCALE, places.tolist()), strict=True))


def _line(name: str, one, x: np.ndarray, loss: np.ndarray, most: int, color: str, along: str) -> dict:
    if len(x) > most:
        picked = np.searchsorted(x, np.geomspace(x[0], x[-1], max(most, 2)) * (1 - 1e-9))
        picked = np.unique(np.minimum(picked, len(x) - 1))
        x, loss = x[picked], loss[picked]
    label = one.label.replace("<", "").replace(">", "").replace("%{", "")
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "legendgroup": name,
        "x": x,
        "y": np.where(np.isfinite(loss) & (loss > 0), loss, np.nan),
        "line": {"color": color, "width": 1},
        "marker": {"color": color, "size": 6, "opacity": 0 if len(x) > 1 else 1},  # unseen, they can be clicked on
        "hovertemplate": f"{label}<br>%{{y:.4g}} nats at %{{x:,.4g}} {along}",
    }


def _target(target: float, ends: tuple[float, float]) -> dict:
    trace = theme.line("target", ends, [target] * 2, theme.RED, "nats/token", dash="dash", width=2)
    return trace | {"name": f"target {target:g}"}
