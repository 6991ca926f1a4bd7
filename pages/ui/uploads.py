"""The sections of the Upload page: choosing data, what was recognized, what is asked, what was wrong, which series to show."""

import pandas as pd
import streamlit as st

from bsmath import intake, sweeps
from bsmath.measured import Measurement
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from bsmath.sweeps import Sweep
from pages.charts.measured import measured_figure
from pages.ui import crossed, here, loaded, loading, mapping, noise, overlay, rate_grid, router, shell, tables, text

EXAMPLES = {
    "throughput": "Throughput sweep",
    "convergence": "Steps to a loss",
    "noise": "Noise scale",
    "branch": "Branched run",
    "router": "Router loads",
    "zhang": "Five published models",
}
"""Kinds of shipped measurements, and what their buttons say."""
TITLES = {"noise": "Noise scale", "branch": "Branched run", "router": "Router loads", "grid": "Learning rates"}
MEGABYTES = sweeps.MAX_BYTES // 10**6
MEANING_WIDTH = 260
"""Pixels of the column that says what a column was taken for."""
FEW_COLUMNS = 8
"""Columns up to which the table of them is open: a first look then shows what was made of the file."""


def choose() -> None:
    """Three ways to data: files, pasted text, the measured examples."""
    st.caption(
        "Examples, measured with this project's harness on a small GPT on two CPU cores; the last is published (Zhang et al. 2024):"
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for kind, title in EXAMPLES.items():
            st.button(title, key=f"example_{kind}", on_click=loading.example, args=(kind,))
        if loaded.entries() or crossed.now() or loaded.logs_loaded():
            st.button("Remove all data", on_click=loaded.forget)
    st.file_uploader(
        f"Logs of a trainer (one run a file, several at once or zipped), an export of W&B, TensorBoard or MLflow, a table as CSV, TSV, "
        f"JSON, Parquet or Markdown; up to {MEGABYTES} MB",
        accept_multiple_files=True,
        max_upload_size=MEGABYTES,
        help="Nothing is written to disk or kept after this session.",
        **loading.upload(),
    )
    with st.expander("Or paste a table or the lines of a log"):
        st.text_area(
            "Rows with a header, lines such as `B=   8  step_time=  146.3ms  tok/s=111,989`, or what a trainer printed",
            key="pasted",
            height=140,
        )
        st.button("Read the pasted text", on_click=loading.pasted)
    loading.work()


def overview() -> None:
    """The loaded sweeps: which is looked at, its name, and its removal."""
    several = len(loaded.entries()) > 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if several:
            st.selectbox("Look at", width=320, **mapping.choice())
        st.text_input("Name in the charts", max_chars=80, width=320, **mapping.name())
        if several:
            st.button("Remove this one", on_click=loaded.remove, args=(loaded.chosen(),))


def logs(scenario: Scenario) -> None:
    """Every loaded log, drawn, with a link to the page that says more."""
    for one in loaded.logs_loaded():
        st.subheader(f"{TITLES[one.kind]}: {text.plain(one.record.name)}", anchor=False)
        if one.kind == "noise":
            st.markdown(noise.verdict(one.record, one.record.groups[0]))
            noise.chart(one.record, one.record.groups[0])
            noise.problems(one.record)
            shell.link_to("pages/noise_scale.py", "See both parts on the Noise scale page")
        elif one.kind == "grid":
            rate_grid.draw(scenario, outlook(scenario), one.record.in_tokens(scenario.seq_len))
            shell.link_to("pages/learning_rate.py", "See it beside the rules on the Learning rate page")
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
        f"{' and '.join(kinds) or 'no result yet'}."
    )
    if sweep.comments and not mapping.possible():  # from a link or a scenario file
        st.caption(text.plain(" ".join(sweep.comments)))
    elif sweep.comments:
        with st.expander("What the file says about itself"):
            st.code("\n".join(sweep.comments), language=None, wrap_lines=True)


def questions() -> None:
    """What the file leaves open, with the likeliest answer chosen."""
    for question in mapping.questions():
        if question.choices:
            st.selectbox(text.plain(question.text), question.choices, **mapping.answer(question))
        else:
            st.number_input(text.plain(question.text), min_value=1, value=None, step=1, **mapping.answer(question))


def problems(sweep: Sweep) -> None:
    """Every value that could not be used, with its row."""
    if sweep.problems:
        with st.expander(
            f"{text.plural(len(sweep.problems), 'note')} on what could not be taken as it stands",
            expanded=len(sweep.problems) < 4,
        ):
            st.dataframe(tables.problems(sweep), hide_index=True)


def series() -> None:
    """Which series lie over the theory."""
    chosen = overlay.series_choice()
    if len(chosen["options"]) > 1:
        most = loaded.MOST_SHOWN
        st.multiselect(f"Series over the theory, {most} at most", max_selections=most, **chosen)


def columns(sweep: Sweep) -> None:
    """Each column with what it was taken for; a wrong meaning or unit is corrected in place, and the result follows."""
    if not mapping.possible():  # made of the logs of runs, which are corrected in their own table, or came with a link
        return
    with st.expander("What each column was taken for", expanded=len(sweep.columns) <= FEW_COLUMNS):
        st.caption("Click a cell of the second or third column to correct it; everything below follows.")
        column_editor(tables.columns(sweep.columns), sweeps.MEANINGS, tables.units(sweep.columns), mapping.editor())


def unmapped() -> None:
    """Tables that could not be read by their headers: what is missing, and the columns, which can be mapped by hand."""
    for one in mapping.unmapped():
        st.warning(text.plain(one.sentence))
        st.caption("If a column holds what is missing, say so: click its cell under *Taken for*.")
        column_editor(tables.columns(one.columns).drop(columns="unit"), intake.MEANINGS, [], mapping.rescue(one))


def column_editor(table: pd.DataFrame, meanings: dict[str, str], units: list[str], tied: dict) -> None:
    """A table of columns (see `tables.columns`) in which the meaning, and the unit where there are some, can be edited."""
    st.data_editor(
        table,
        hide_index=True,
        disabled=["header", "first", "note"],
        column_config={
            "header": "Column",
            "meaning": st.column_config.SelectboxColumn(
                "Taken for",
                options=[mapping.IGNORED, *meanings],
                format_func=lambda name: meanings.get(name, name),
                required=True,
                width=MEANING_WIDTH,
            ),
            "unit": st.column_config.SelectboxColumn("Unit", options=units),
            "first": "First values",
            "note": "How it was used",
        },
        **tied,
    )


def figure(scenario: Scenario, found: list[Measurement], quantity: str) -> None:
    """The shown series with their fits and bands."""
    rate = quantity == "tokens_per_second"
    title, unit = ("Whole job [tok/s]", "tok/s") if rate else ("Optimizer steps to the target", "steps")
    shell.chart(
        measured_figure(found, title, unit, shell.batch_axis(scenario)),
        key=f"measured_{quantity}",
        alt=f"{title} against batch size as measured, with fits and 90 % bands. {' '.join(one.verdict for one in found)}",
        table=tables.points(found),
    )
