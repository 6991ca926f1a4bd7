"""What every page shares: the list of pages, the frame, the sidebar with the scenario, the share box, the one chart function."""

import dataclasses
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bsmath import batch, flops
from bsmath.outlook import Outlook, outlook
from bsmath.scenario import Scenario
from pages.charts.theme import BatchAxis
from pages.ui import actions, controls, loaded, state, text, tied, words
from pages.ui.plot import plot


@dataclass(frozen=True)
class Page:
    """One page of the dashboard."""

    path: str
    """File, relative to the main script."""
    title: str
    """Heading and link label."""
    question: str
    """What the page answers."""


PAGES = (
    Page("app.py", "Overview", "What batch size should this run use?"),
    Page("pages/throughput.py", "Throughput", "How does the rate grow with the batch, and where does it go flat?"),
    Page("pages/critical_batch.py", "Critical batch", "What do fewer steps cost in tokens?"),
    Page("pages/learning_rate.py", "Learning rate", "Which rate, decay and warmup go with this batch?"),
    Page("pages/moe_load.py", "MoE load", "How evenly are experts loaded, and how many tokens are dropped?"),
    Page(
        "pages/noise_scale.py",
        "Noise scale",
        "How much of a gradient is noise, and what does that say about the batch?",
    ),
    Page(
        "pages/batch_ramp.py", "Batch ramp", "Does it pay to start small and grow the batch, and how is that scheduled?"
    ),
    Page("pages/planner.py", "Planner", "How many devices, which batch, how long, and for how much?"),
    Page(
        "pages/change_batch.py",
        "Change batch",
        "From an old run to a new batch: what must move, and what breaks if it does not?",
    ),
    Page("pages/upload.py", "Upload", "What do my own measurements say?"),
    Page("pages/reference.py", "Reference", "Which formula, from where, and what is not covered?"),
)

METRIC_WIDTH = 170
"""Pixels: four fit beside the sidebar at 1280, two on a phone of 390."""


def frame(scenario: Scenario, path: str) -> Outlook:
    """Draw the frame of a page (links, sidebar, heading, scenario in words) and return what follows from the scenario."""
    page = next(page for page in PAGES if page.path == path)
    state.enter(path)
    st.set_page_config(page_title=f"{page.title} - batch size", layout="wide", initial_sidebar_state=340)
    derived = outlook(scenario)
    with st.container(horizontal=True, gap="small"):
        for other in PAGES:
            link_to(other.path, other.title)
    with st.sidebar:
        _sidebar(scenario)
    st.header(page.title, anchor=False)
    st.caption(f"{page.question} This run: **{words.summary(scenario, derived)}**.")
    refused, notes = state.take_sentences()
    for sentence in refused:
        st.warning(text.plain(sentence))
    for sentence in notes:
        st.info(sentence)
    _run_again_elsewhere()
    return derived


@st.fragment(run_every=86_400)
def _run_again_elsewhere() -> None:
    """Nothing. But a client that must repeat a fragment also runs the page when another replica takes its session over; without
    it, what the user does first there would be lost, since that replica had not drawn the widgets."""


def link_to(path: str, label: str) -> None:
    """A link to another page that carries the scenario, so that it also works in a new tab."""
    st.page_link(path, label=label, query_params=state.query())


def _sidebar(scenario: Scenario) -> None:
    controls.draw(scenario)
    with st.container(horizontal=True):
        st.button("Undo", on_click=state.undo, disabled=not state.can_undo(), help="Take back the last change.")
        st.button("Reset", on_click=state.reset, help="Back to the default scenario: 0.8B parameters on one H200.")
    loaded.write_share()
    st.caption("**Copy link**: it opens this page with this scenario, in any browser.")
    st.code(state.address(), language=None, wrap_lines=True)
    if loaded.entries():
        st.toggle(
            "Put the shown measurements into the link",
            help="Medians, spread and count of each batch, not the files. Off: the link has the scenario alone.",
            **loaded.share_switch("sidebar"),
        )
        kept = "the link keeps what is shown" if state.shared_text() else "a reload of the page forgets it"
        st.caption(
            f"Loaded for this session: {text.listed(one.sweep.name for one in loaded.entries().values())}; {kept}."
        )
    state.write_address()


def batch_axis(scenario: Scenario) -> BatchAxis:
    """How this session shows batch sizes; a sequence holds its real tokens."""
    view = state.view()
    real = batch.tokens_per_step(1, scenario.seq_len, scenario.padding_fraction)
    return BatchAxis(view.batch_unit, view.batch_scale, 1.0 if view.batch_unit == "tokens" else real)


def marks(scenario: Scenario, run: Outlook) -> tuple:
    """The batch sizes that every chart over B marks."""
    return (
        (run.half_batch, "B_half"),
        (run.fastest_batch, "B_fast"),
        (run.fastest_feasible_batch, "fastest feasible"),
        (scenario.critical_batch_size, "B_crit"),
    )


def run_point(run: Outlook) -> dict:
    """This run's numbers under the names that charts use."""
    return dataclasses.asdict(run) | {
        "days": run.seconds / flops.SECONDS_PER_DAY,
    }


def presets() -> None:
    """Examples, published runs and models, one click away."""
    with st.container(horizontal=True):
        st.button(
            "Worked example",
            on_click=actions.load_run,
            args=("worked_example",),
            help="B_crit 1M tokens, S_min 50,000.",
        )
        st.button(
            "One H200", on_click=actions.load_run, args=("founding_question",), help="0.8B at 48 sequences of 2,048."
        )
    st.selectbox("A published run", **tied.picker("run"))
    st.selectbox("The size of a model", **tied.picker("model"))


def view_switches() -> None:
    """The switches that change how charts over the batch are drawn."""
    with st.container(horizontal=True):
        st.segmented_control("Batch in", **tied.view_choice("batch_unit"))
        st.segmented_control("Batch axis", **tied.view_choice("batch_scale"))


def chart(figure: go.Figure, key: str, alt: str, table: pd.DataFrame, clicked=None) -> None:
    """Draw a figure; below it, on request, its data as a table that can be saved as CSV. Every chart comes through here.

    `clicked` is called with the key when a point was clicked on; `state.held(key)` then has the selection.
    """
    plot(figure, key, alt, clicked)
    data = st.expander("Data of this chart", key=f"{key}_data", on_change="rerun")
    if data.open:
        data.dataframe(table, hide_index=True)


def paragraphs(*said: str) -> None:
    """Paragraphs of text; an empty one leaves no gap."""
    for paragraph in filter(None, said):
        st.markdown(paragraph)


def folded(title: str, key: str, body, *args) -> None:
    """A part of a page that runs only while it is open."""
    part = st.expander(title, key=f"part_{key}", on_change="rerun")
    if part.open:
        with part:
            body(*args)


def metrics(*shown: tuple[str, str, str]) -> None:
    """Numbers in a row, each (label, value, consequence); on a phone two stand side by side."""
    with st.container(horizontal=True):
        for label, value, consequence in shown:
            with st.container(width=METRIC_WIDTH, gap=None):
                st.metric(label, value)
                st.caption(consequence)


def formula(*latex: str, source: str) -> None:
    """Formulas, one a line so that none is cut on a phone, with their status and source."""
    for line in latex:
        st.latex(line)
    st.caption(source)
