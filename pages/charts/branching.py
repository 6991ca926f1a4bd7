"""Chart of a branched run."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go

from pages.charts import theme
from pages.charts.theme import BatchAxis


def branch_figure(branches: Sequence, tolerance: float, batch_axis: BatchAxis) -> go.Figure:
    """How much worse each larger batch ends than the unchanged one, one curve a checkpoint.

    Each of `branches` holds label, tokens_per_step [tokens], excess and error (two standard errors) [nats/token].
    """
    drawn, sizes = [], []
    for color, branch in zip(cycle((theme.BLUE, theme.GREEN, *theme.SERIES)), branches):
        batch, excess, error = (
            np.asarray(getattr(branch, name), float) for name in ("tokens_per_step", "excess", "error")
        )
        sizes.append(batch)
        marks = theme.points(
            branch.label, batch_axis.place(batch), excess, color, "nats", excess - error, excess + error
        )
        drawn.append(marks | {"mode": "markers+lines", "line": {"color": color, "width": 1.5}})
    ends = (np.concatenate(sizes).min() / 1.5, np.concatenate(sizes).max() * 1.5) if sizes else (1, 10)
    place = batch_axis.place(ends)
    drawn.append(theme.line("tolerance", place, [tolerance] * 2, theme.GRAY, "nats", dash="dot", width=1.5))
    y = theme.axis("Loss above the unchanged batch [nats/token]")
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), y))
