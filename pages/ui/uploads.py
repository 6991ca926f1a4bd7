"""The sections of the Upload page: choosing data, what was recognized, what is asked, what was wrong, which series to show."""

import streamlit as st

from bsmath import sweeps
from bsmath.measured import Measurement
from bsmath.scenario import Scenario
from bsmath.sweeps import Sweep
from pages.charts.measured import measured_figure
from pages.ui import shell, state, tables, text

MEGABYTES = sweeps.MAX_BYTES // 10**6


def choose() -> None:
    """Three ways to data: a file, pasted text, the measured example."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(
            "Load the measured example", on_click=state.load_example, help="A small GPT timed on a laptop-class CPU."
        )
        if state.sweep():
            st.button("Remove the data", on_click=state.forget_sweep)
    st.file_uploader(
        f"A table as CSV or TSV, or printed benchmark lines; up to {MEGABYTES} MB",
        max_upload_size=MEGABYTES,
        help="Nothing is written to disk or kept after this session.",
        **state.upload(),
    )
    with st.expander("Or paste a table"):
        st.text_area(
            "Rows with a header, or lines such as `B=   8  step_time=  146.3ms  tok/s=111,989`",
            key="pasted",
            height=140,
        )
        st.button("Read the pasted text", on_click=state.load_pasted)


def summary(loaded: Sweep) -> None:
    """What is loaded, in a sentence."""
    batches = loaded.table["tokens_per_step"].nunique()
    kinds = [
        name for name, has in (("throughput", loaded.has_throughput), ("steps to a target", loaded.has_steps)) if has
    ]
    st.markdown(
        f"**{text.plain(loaded.name)}**: {len(loaded.table):,} usable rows, {batches} batch sizes, {len(loaded.series)} series; "
        f"{' and '.join(kinds)}."
    )
    if loaded.comments:
        with st.expander("What the file says about itself"):
            st.code("\n".join(loaded.comments), language=None, wrap_lines=True)


def questions(loaded: Sweep) -> None:
    """What the file leaves open, with the likeliest answer chosen."""
    for question in loaded.questions:
        if question.choices:
            st.selectbox(question.text, **state.answer_choice(question))
        else:
            st.number_input(question.text, min_value=1, step=1, **state.answer_number(question))


def problems(loaded: Sweep) -> None:
    """Every value that could not be used, with its row."""
    if loaded.problems:
        with st.expander(
            f"{text.plural(len(loaded.problems), 'note')} on what could not be taken as it stands",
            expanded=len(loaded.problems) < 4,
        ):
            st.dataframe(tables.problems(loaded), hide_index=True)


def series(loaded: Sweep) -> None:
    """Which series lie over the theory, four at most."""
    if len(loaded.series) > 1:
        st.multiselect("Series to show, four at most", max_selections=4, **state.series_choice(loaded))


def columns(loaded: Sweep) -> None:
    """Each column with what it was taken for; a wrong one is corrected here."""
    st.dataframe(tables.columns(loaded), hide_index=True)
    left, right = st.columns(2)
    left.selectbox("Correct the column", [column.header for column in loaded.columns], key="correct_header")
    right.selectbox("which holds", sweeps.MEANINGS, key="correct_meaning")
    st.button("Read it again so", on_click=state.correct_column)


def figure(scenario: Scenario, found: list[Measurement], quantity: str) -> None:
    """The shown series with their fits and bands."""
    rate = quantity == "tokens_per_second"
    title, unit = ("Whole job [tok/s]", "tok/s") if rate else ("Optimizer steps to the target", "steps")
    shell.chart(
        measured_figure(found, title, unit, shell.batch_axis(scenario)),
        key=f"measured_{quantity}",
        alt=f"{title} against batch size as measured, with fits and 90 % bands.",
        table=tables.points(found),
    )
