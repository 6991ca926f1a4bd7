"""Chart of the loss curves of several runs with a target across them."""

from itertools import groupby

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from pages.charts import theme

MOST_POINTS = 20_000
"""Points drawn, of all curves together."""
LONELY = 20
"""Times the first place of a curve from which the second one is so far away that the axis begins there."""
SCALE, ENDS = "Viridis", (0.3, 0.85)
"""Colors from the smallest to the largest batch; the yellow end vanishes on white."""


def curves_figure(curves, target: float | None, unit: str, along: str) -> go.Figure:
    """Loss against steps or tokens on a logarithmic axis, one thin line a run, colored by its batch.

    Each of `curves` has label, steps [steps], loss [nats/token] and tokens_per_step [unit; nan where not known]; `along` is
    "steps" or what a batch is counted in.
    """
    most = MOST_POINTS // max(len(curves), 1)
    by_batch = sorted(curves, key=lambda one: (np.isnan(one.tokens_per_step), one.tokens_per_step))
    runs = [run for one in by_batch if (run := _run(one, most, along)) is not None]
    if not runs:
        return theme.figure([], theme.layout(theme.axis(_title(along)), theme.axis("Loss [nats/token]")))
    colors = _colors([run["size"] for run in runs])
    drawn = [
        _lines(_name(size, unit), list(same), colors.get(size, theme.GRAY), along)
        for size, same in groupby(runs, lambda run: run["size"])
    ]
    ends = _beyond_the_start(runs)
    height = theme.reach([{"y": run["y"][run["x"] >= ends[0]]} for run in runs], "y")
    if target is not None:
        drawn.append(_target(target, ends))
    x_axis, y_axis = theme.axis(_title(along), "log", ends), theme.axis("Loss [nats/token]", "log", height)
    return theme.figure(drawn, theme.layout(x_axis, y_axis, hovermode="closest"))


def _beyond_the_start(runs: list[dict]) -> tuple[float, float]:
    """The ends of the axis; a loss before the first step, far from all others, takes no room."""
    low, high = theme.reach(runs, "x")
    seconds = [run["x"][1] for run in runs if len(run["x"]) > 1]
    return (min(seconds) / 2 if seconds and min(seconds) > LONELY * low else low), high


def _title(along: str) -> str:
    return "Optimizer steps" if along == "steps" else f"Trained on [{along}]"


def _colors(sizes: list[float | None]) -> dict[float, str]:
    """A color for each different batch, by its logarithm."""
    known = sorted({size for size in sizes if size is not None and size > 0})
    if len(known) < 2:
        return dict.fromkeys(known, theme.BLUE)
    places = np.interp(np.log(known), np.log([known[0], known[-1]]), ENDS)
    return dict(zip(known, sample_colorscale(SCALE, places.tolist()), strict=True))


def _name(size: float | None, unit: str) -> str:
    return "batch not known" if size is None else f"{theme.readable(size, unit)[0]} per step"


def _run(one, most: int, along: str) -> dict | None:
    """What is drawn of a run: its batch (None where it is not known), label, and `most` places; None where there is nothing."""
    x = one.steps if along == "steps" else one.steps * one.tokens_per_step
    usable = np.isfinite(x) & (x > 0)
    x, loss = x[usable], one.loss[usable]
    loss = np.where(np.isfinite(loss) & (loss > 0), loss, np.nan)
    if np.isnan(loss).all():
        return None
    if len(x) > most:
        picked = np.searchsorted(x, np.geomspace(x[0], x[-1], max(most, 2)) * (1 - 1e-9))
        picked = np.unique(np.minimum(picked, len(x) - 1))
        x, loss = x[picked], loss[picked]
    size = None if np.isnan(one.tokens_per_step) else one.tokens_per_step
    return {"size": size, "label": one.label.replace("<", "").replace(">", "").replace("%{", ""), "x": x, "y": loss}


def _lines(name: str, runs: list[dict], color: str, along: str) -> dict:
    """The runs of one batch as one trace with a gap between them: a trace for every run would take a millisecond each."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": np.concatenate([np.append(run["x"], run["x"][-1]) for run in runs])[:-1],
        "y": np.concatenate([np.append(run["y"], np.nan) for run in runs])[:-1],
        "text": [label for run in runs for label in [run["label"]] * (len(run["x"]) + 1)][:-1],
        "line": {"color": color, "width": 1},
        # Unseen, they can be clicked on; a run of one place has no line.
        "marker": {"color": color, "size": 6, "opacity": _opacity([len(run["x"]) for run in runs])},
        "hovertemplate": f"%{{text}}<br>%{{y:.4g}} nats at %{{x:,.4g}} {along}",
    }


def _opacity(lengths: list[int]) -> float | np.ndarray:
    """Of the markers of runs of so many places, and of the gaps between them."""
    return np.repeat([float(length == 1) for length in lengths], np.add(lengths, 1))[:-1] if 1 in lengths else 0


def _target(target: float, ends: tuple[float, float]) -> dict:
    trace = theme.line("target", ends, [target] * 2, theme.RED, "nats/token", dash="dash", width=2)
    return trace | {"name": f"target {target:g}"}
