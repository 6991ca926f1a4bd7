"""The sections of the Upload page: choosing data, what was recognized, what is asked, what was wrong, which series to show."""

import streamlit as st

from bsmath import sweeps
from bsmath.measured import Measurement
from bsmath.scenario import Scenario
from bsmath.sweeps import Sweep
from pages.charts.measured import measured_figure
from pages.ui import crossed, here, loaded, loading, noise, router, shell, tables, text

EXAMPLES = {
    "throughput": "Throughput sweep",
    "convergence": "Steps to a loss",
    "noise": "Noise scale",
    "branch": "Branched run",
    "router": "Router loads",
    "zhang": "Five published models",
}
"""Kinds of shipped measurements, and what their buttons say."""
TITLES = {"noise": "Noise scale", "branch": "Branched run", "router": "Router loads"}
MEGABYTES = sweeps.MAX_BYTES // 10**6


def choose() -> None:
    """Three ways to data: files, pasted text, the measured examples."""
    st.caption(
        "Examples, measured with this project's harness on a small GPT on two CPU cores; the last is published (Zhang et al. 2024):"
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for kind, title in EXAMPLES.items():
            st.button(title, key=f"example_{kind}", on_click=loading.example, args=(kind,))
        if loaded.sweep() or crossed.now() or loaded.logs_loaded():
            st.button("Remove the data", on_click=loaded.forget)
    st.file_uploader(
        f"A table as CSV, TSV, JSON, JSON lines or Markdown, or printed benchmark lines; up to {MEGABYTES} MB. Of loss curves "
        "several files together, one a run",
        accept_multiple_files=True,
        max_upload_size=MEGABYTES,
        help="Nothing is written to disk or kept after this session.",
        **loading.upload(),
    )
    with st.expander("Or paste a table"):
        st.text_area(
            "Rows with a header, or lines such as `B=   8  step_time=  146.3ms  tok/s=111,989`",
            key="pasted",
            height=140,
        )
        st.button("Read the pasted text", on_click=loading.pasted)


def logs(scenario: Scenario) -> None:
    """Every loaded log, drawn, with a link to the page that says more."""
    for one in loaded.logs_loaded():
        st.subheader(f"{TITLES[one.kind]}: {text.plain(one.record.name)}", anchor=False)
        if one.kind == "noise":
            st.markdown(noise.verdict(one.record, one.record.groups[0]))
            noise.chart(one.record, one.record.groups[0])
            noise.problems(one.record)
            shell.link_to("pages/noise_scale.py", "See both parts on the Noise scale page")
        elif one.kind == "branch":
            here.branched(scenario, one)
            shell.link_to("pages/critical_batch.py", "See it beside other measurements on the Critical batch page")
        else:
            st.markdown(router.verdict(one.record.summary(router.FACTORS)))
            router.loads(one)
            shell.link_to("pages/moe_load.py", "See it beside uniform routing on the MoE load page")


def summary(sweep: Sweep) -> None:
    """What is sweep, in a sentence."""
    batches = sweep.table["tokens_per_step"].nunique()
    kinds = [
        name for name, has in (("throughput", sweep.has_throughput), ("steps to a target", sweep.has_steps)) if has
    ]
    st.markdown(
        f"**{text.plain(sweep.name)}**: {len(sweep.table):,} usable rows, {text.plural(batches, 'batch size')}, {len(sweep.series)} series; "
        f"{' and '.join(kinds)}."
    )
    if sweep.comments:
        with st.expander("What the file says about itself"):
            st.code("\n".join(sweep.comments), language=None, wrap_lines=True)


def questions() -> None:
    """What the file leaves open, with the likeliest answer chosen."""
    for question in loaded.questions():
        if question.choices:
            st.selectbox(text.plain(question.text), question.choices, **loaded.answer(question))
        else:
            st.number_input(text.plain(question.text), min_value=1, value=None, step=1, **loaded.answer(question))


def problems(sweep: Sweep) -> None:
    """Every value that could not be used, with its row."""
    if sweep.problems:
        with st.expander(
            f"{text.plural(len(sweep.problems), 'note')} on what could not be taken as it stands",
            expanded=len(sweep.problems) < 4,
        ):
            st.dataframe(tables.problems(sweep), hide_index=True)


def series(sweep: Sweep) -> None:
    """Which series lie over the theory, four at most."""
    if len(sweep.series) > 1:
        st.multiselect("Series to show, four at most", max_selections=4, **loaded.series_choice())


def columns(sweep: Sweep) -> None:
    """Each column with what it was taken for; a wrong one is corrected here."""
    if not sweep.columns:  # made of loss curves, whose runs are corrected in their own table
        return
    with st.expander("What each column was taken for"):
        st.dataframe(tables.columns(sweep), hide_index=True)
        left, right = st.columns(2)
        left.selectbox("Correct the column", [column.header for column in sweep.columns], key="correct_header")
        right.selectbox("which holds", sweeps.MEANINGS, key="correct_meaning")
        st.button("Read it again so", on_click=loaded.correct_column)


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
