"""Heat map of measured expert loads: which experts of which layers get more than their share."""

import numpy as np
import plotly.graph_objects as go

from pages.charts import theme

SCALE = (
    (0.0, "#053061"),
    (0.25, "#4393c3"),
    (0.5, "#f7f7f7"),
    (0.75, "#d6604d"),
    (1.0, "#67001f"),
)
"""ColorBrewer's blue to red, which color-blind readers tell apart; white is the mean load."""
STEEPEST, FLATTEST = 4, 0.5
"""Ends of the color scale, in doublings either side of the mean: never more, never less."""
ROW, MARGINS, MOST = 16, 120, 900
"""Height of a layer, of all around the map, and of the tallest figure. [pixels]"""


def heat_figure(loads, layers=None, sort_layer=None) -> go.Figure:
    """Load over the mean, a row a layer and a column an expert, in colors by doublings; white is the mean.

    Parameters
    ----------
    loads : array_like
        Loads or shares of one setting, layers by experts; nan where a layer has fewer experts.
    layers : sequence, optional
        Numbers of the layers; 0, 1, ... by default.
    sort_layer : optional
        Layer in which the experts are sorted by load, the busiest first, in every row the same; by number by default.
    """
    loads = np.atleast_2d(np.asarray(loads, float))
    names = [str(layer) for layer in (range(len(loads)) if layers is None else layers)]
    order = np.arange(loads.shape[1])
    if sort_layer is not None:
        order = np.argsort(-np.nan_to_num(loads[names.index(str(sort_layer))], nan=-1), kind="stable")
    ratio = _ratio(loads)[:, order]
    title = "Expert, by number" if sort_layer is None else f"Expert, by load in layer {sort_layer}"
    x = theme.axis(title, showgrid=False, zeroline=False) | _expert_ticks(order)
    y = theme.axis("Layer", autorange="reversed", showgrid=False, zeroline=False) | _ticks(names)
    height = min(max(theme.HEIGHT, ROW * len(names) + MARGINS), MOST)
    drawn = [_map(ratio, names, order)] if ratio.size else []
    return theme.figure(drawn, theme.layout(x, y, height=height, hovermode="closest"))


def _ratio(loads):
    """Loads over the mean of their layer; nan where a layer has none."""
    known = ~np.isnan(loads)
    total = np.where(known, loads, 0).sum(axis=1, keepdims=True)
    mean = total / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.divide(loads, mean, out=np.full(loads.shape, np.nan), where=mean > 0)


def _map(ratio, names: list[str], order) -> dict:
    """The map itself; an expert without a token has the color of the lowest end."""
    doublings = np.log2(np.maximum(ratio, 2.0 ** -(STEEPEST + 1)))
    known = np.abs(doublings[np.isfinite(doublings)])
    reach = float(np.clip(np.ceil(2 * known.max()) / 2 if len(known) else 0, FLATTEST, STEEPEST))
    ticks = np.array([-reach, -reach / 2, 0, reach / 2, reach])
    layer, expert = np.broadcast_arrays(np.array(names, object)[:, None], order)
    return {
        "type": "heatmap",
        "x": np.arange(ratio.shape[1]),
        "y": np.arange(ratio.shape[0]),
        "z": doublings,
        "zmin": -reach,
        "zmid": 0,
        "zmax": reach,
        "colorscale": SCALE,
        "customdata": np.stack([layer, expert.astype(object), ratio.astype(object)], axis=-1),
        "hovertemplate": "layer %{customdata[0]}, expert %{customdata[1]}<br>%{customdata[2]:.3g} x the mean load"
        "<extra></extra>",
        "hoverongaps": False,
        "colorbar": {"title": {"text": "Load over<br>the mean"}, "tickvals": ticks}
        | {"ticktext": [f"{2**tick:.3g}" for tick in ticks]},
    }


def _ticks(names: list[str]) -> dict:
    """Every layer's number, or about 25 of them."""
    places = np.arange(0, len(names), max(1, int(np.ceil(len(names) / 25))))
    return {"tickvals": places, "ticktext": [names[place] for place in places]}


def _expert_ticks(order) -> dict:
    """The numbers of about 16 experts along the axis."""
    places = np.arange(0, len(order), max(1, int(np.ceil(len(order) / 16))))
    return {"tickvals": places, "ticktext": [str(order[place]) for place in places]}
