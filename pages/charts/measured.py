"""Chart of measured series alone, with their fits."""

import plotly.graph_objects as go

from pages.charts import overlay, theme
from pages.charts.theme import BatchAxis


def measured_figure(measurements, title: str, unit: str, batch_axis: BatchAxis) -> go.Figure:
    """Points with the range of their repeats, fits and 90 % bands, over the batch sizes measured."""
    batches = [found.points["tokens_per_step"] for found in measurements]
    ends = min(batch.min() for batch in batches) / 2, max(batch.max() for batch in batches) * 2
    drawn = overlay.traces(measurements, batch_axis, unit)
    return theme.figure(drawn, theme.layout(batch_axis.axis(*ends), theme.axis(title, "log", theme.reach(drawn, "y"))))
