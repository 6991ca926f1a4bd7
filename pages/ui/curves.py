"""The section of the Upload page on logs of runs: what each was, the loss curves with the target, and what reaches it where."""

import streamlit as st

from bsmath import loss_curves
from bsmath.logs import curve_columns
from bsmath.logs.curve_headers import LOSSES
from bsmath.logs.curves import EDITABLE
from bsmath.sweeps import Sweep
from pages.charts.loss_curves import curves_figure
from pages.ui import crossed, loaded, overlay, shell, tables, text, uploads
from pages.ui.crossed import Crossed

HEIGHT = 240
"""Most pixels of the table of runs."""
ROW = 35
"""Pixels of one of its rows."""
PLACES = 60
"""Places of the slider over the targets."""
SHOWN = {
    "B [tokens]": "B [tokens]",
    "Best rate": "Best rate",
    "Steps, median": "Steps",
    "Runs that never arrived": "Never arrived",
}
"""Columns of the table of best rates, and their names where there is little room."""


def section() -> None:
    """Everything about the loaded curves; nothing where there are none."""
    now = crossed.now()
    if now is None:
        return
    st.subheader(f"Logs of runs: {text.plain(now.record.name)}", anchor=False)
    st.markdown(_answer(now))
    for sentence in now.record.missing():
        st.info(text.plain(sentence))
    _runs(now)
    _questions(now)
    if not now.record.losses:
        return
    along = _how(now)
    _target(now)
    left, right = st.columns([3, 2])
    with left:
        _chart(now, along)
    with right:
        _reached()


def _answer(now: Crossed) -> str:
    """What the runs tell of the rate, and how many of them reach the target, in a sentence or two."""
    sweep, sizes = loaded.sweep(loaded.RUNS), now.record.batches(now.reading)[0].dropna()
    runs, batches = text.plural(len(now.record.runs), "run"), text.plural(sizes.nunique(), "batch size")
    if sweep is None:
        return f"{runs}, {batches}: nothing can be counted yet."
    return " ".join(filter(None, (_fast(now), _arrived(now, sweep, runs, batches))))


def _fast(now: Crossed) -> str:
    """The range of the measured rates; empty where none was logged."""
    rates = now.record.throughput(now.reading)
    if rates.empty:
        return ""
    out = int(rates["left_out"].sum())
    warm = f"{text.plural(out, 'logged step')} of warm-up left out" if out else "nothing left out as warm-up"
    sizes = text.plural(rates["tokens_per_step"].nunique(), "batch size")
    write = text.rate if now.record.batches(now.reading)[1] == "tokens" else text.sequence_rate
    return (
        f"**Throughput at {sizes}: {text.span(rates['tokens_per_second'].min(), rates['tokens_per_second'].max(), write)}**, the median "
        f"of {int(rates['count'].sum()):,} logged steps, {warm}."
    )


def _arrived(now: Crossed, sweep: Sweep, runs: str, batches: str) -> str:
    """How many runs and batches reach the target; empty where there is none."""
    if now.target is None:
        return ""
    arrived = sweep.table[sweep.table["steps"].notna()]
    reached = arrived["tokens_per_step"].nunique()
    fitted = (
        " The steps that each needed are fitted below like any sweep." if reached >= loss_curves.LEAST_BATCHES else ""
    )
    return f"**A loss of {now.target:g} is reached at {reached} of {batches}**, in {len(arrived):,} of {runs}.{fitted}"


def _questions(now: Crossed) -> None:
    """What the files leave open."""
    for question in now.record.questions(now.reading):
        if question.choices:
            st.selectbox(text.plain(question.text), question.choices, **crossed.answer(question))
        else:
            st.number_input(text.plain(question.text), min_value=1, value=None, step=1, **crossed.answer(question))


def _how(now: Crossed) -> str:
    """Which loss is read, how it is smoothed, and over what it is drawn, which is returned."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(now.record.losses) > 1:
            st.segmented_control("Loss", now.record.losses, required=True, **crossed.choice("loss"))
        st.segmented_control("Smoothing", loss_curves.SMOOTHINGS, required=True, **crossed.choice("smoothing"))
        if now.record.resolved(now.reading).smoothing != "none":
            st.select_slider(
                "over a share of the steps so far",
                loss_curves.WIDTHS,
                format_func=text.percent,
                **crossed.choice("width"),
            )
        unit = now.record.batches(now.reading)[1]
        return st.segmented_control("Chart over", ["steps", unit], default="steps", required=True, key="curves_along")


def _target(now: Crossed) -> None:
    """The target, and in words which can be chosen."""
    found = now.record.targets(now.reading)
    if found is None:
        return
    left, right = st.columns([3, 1])
    if found.low < found.high:
        options = sorted({*loss_curves.places(found, PLACES), now.target})
        tied = crossed.target("slider")
        left.select_slider("Target loss [nats/token]", options, format_func="{:.4g}".format, **tied)
    ends = {"min_value": found.low, "max_value": found.high}
    right.number_input("exact", **ends, step=0.01, format="%.4g", **crossed.target("number"))
    reach = f"{text.plural(found.batches, 'batch size')} reach{'es' if found.batches == 1 else ''}"
    st.caption(
        f"Also a click on a curve sets it. From {found.low:.4g}, the lowest that {reach}, to {found.high:.4g}, where the lowest "
        f"of the runs begins. {found.default:.4g} is the lowest that most of them reach. A lower target is nearer to a whole run; where a rate "
        "decays on a schedule, steps to a loss late in the run depend on that schedule too."
    )


def _chart(now: Crossed, along: str) -> None:
    curves, unit = now.record.curves(now.reading), now.record.batches(now.reading)[1]
    kind = LOSSES[now.record.resolved(now.reading).loss]
    target = "" if now.target is None else f", and the target of {now.target:.4g}"
    shell.chart(
        curves_figure(curves, now.target, unit, along),
        key="loss_curves",
        alt=f"{kind.capitalize()} of {text.plural(len(curves), 'run')} against {along}{target}.",
        table=now.record.points,
        clicked=crossed.click,
    )


def _reached() -> None:
    """Batch, best rate, steps, and what never arrived; without rates the steps alone."""
    for one in overlay.measurements("steps"):
        if one.source != loaded.RUNS:
            continue
        if one.tuning is not None:
            st.dataframe(tables.tuning(one.tuning)[list(SHOWN)].rename(columns=SHOWN), hide_index=True)
        else:
            st.dataframe(tables.steps(one), hide_index=True)


def _runs(now: Crossed) -> None:
    """Every run with what it was taken for; what a log did not say is typed in place, and what it said is corrected."""
    st.caption(
        "Batch, sequence length, devices, rate and seed come from the log, its first lines or its name. Click a cell to correct it or to fill it in; "
        "runs of another group become a series of their own."
    )
    unit = now.record.batches(now.reading)[1]
    shown = tables.runs(now.record.overview(now.reading), unit)
    st.data_editor(
        shown,
        hide_index=True,
        height=min(HEIGHT, ROW * (len(shown) + 1) + 3),
        disabled=[name for name in shown if name not in EDITABLE],
        column_config=tables.RUN_COLUMNS
        | {
            "tokens_per_step": st.column_config.NumberColumn(f"B [{unit} per step]", format="localized"),
            "tokens_per_second": st.column_config.NumberColumn(f"Whole job [{unit}/s]", format="localized"),
        },
        **crossed.editor(),
    )
    if now.record.columns:
        shell.folded("What each column was taken for", "run_columns", _columns, now)
    if now.record.problems:
        with st.expander(f"How the logs were read: {text.plural(len(now.record.problems), 'note')}"):
            st.markdown("\n".join(f"- {text.plain(sentence)}" for sentence in now.record.problems))


def _columns(now: Crossed) -> None:
    """The columns of tables of runs; a wrong meaning is corrected in place."""
    meanings = {meaning: said for meaning, (_, said) in curve_columns.HEADERS.items()}
    uploads.column_editor(tables.columns(now.record.columns).drop(columns="unit"), meanings, [], crossed.mapping())
