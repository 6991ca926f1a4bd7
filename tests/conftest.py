"""The same examples in every run, so that a commit that passed here passes in CI; HYPOTHESIS_PROFILE=search looks for new ones."""

import json
import os

import plotly.graph_objects as go
import pytest
from hypothesis import settings

from pages.charts import theme

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(autouse=True)
def checked_figures(monkeypatch):
    """Every figure that a test draws is checked by Plotly, and says the same as the unchecked one of the dashboard."""
    unchecked = theme.figure

    def figure(traces, layout):
        drawn = unchecked(traces, layout)
        assert _said(drawn) == _said(go.Figure({"data": traces, "layout": layout}))
        return drawn

    monkeypatch.setattr(theme, "figure", figure)


def _said(figure: go.Figure):
    """A figure without what the check writes otherwise: names that are numbers, named color scales, empty lists, a template."""
    said = json.loads(figure.to_json())
    for trace in said["data"]:
        trace["name"] = str(trace.get("name"))
        trace.get("marker", {}).pop("colorscale", None)
    del said["layout"]["template"]
    return said["data"], {name: value for name, value in said["layout"].items() if value != []}
