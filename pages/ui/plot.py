"""How a figure is mounted: changed in place by the installed `bsmath_chart`, or by Streamlit's own chart.

Streamlit's chart is built anew on every change: it flickers, forgets the zoom, and a slider step takes longer (`tests/benchmarks/pages.py`).
It stays the way where a program reads the page instead of a browser: through `server.enableAgentApi`, or without an address; where points
can be selected; and where the component is not installed.
"""

import functools

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st
from streamlit.errors import StreamlitAPIException

CONFIG = {"displaylogo": False, "toImageButtonOptions": {"format": "png", "scale": 2}}


def plot(figure: go.Figure, key: str, alt: str, clicked=None) -> None:
    """Draw a figure. `clicked` is called with the key when a point was clicked on."""
    read_by_program = not st.context.url or st.get_option("server.enableAgentApi")
    in_place = None if clicked or read_by_program else _component()
    if in_place is not None:
        shown = figure.to_dict()
        del shown["layout"]["template"]  # the component has the page's; this one is longer than most figures
        in_place(data={"figure": pio.to_json(shown, validate=False), "alt": alt, "config": CONFIG}, key=key)
        return
    selection = {"on_select": lambda: clicked(key), "selection_mode": "points"} if clicked else {}
    st.plotly_chart(figure, key=key, alt=alt, config=CONFIG, **selection)


@functools.cache
def _component():
    """The installed component; None where there is none."""
    try:
        return st.components.v2.component("bsmath-chart.chart", js="chart.js", isolate_styles=False)
    except StreamlitAPIException:
        return None
