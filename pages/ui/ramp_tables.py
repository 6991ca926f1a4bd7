"""The tables of the Batch ramp page: the schedules that are compared, and the ramps of published runs."""

import pandas as pd
import streamlit as st

from bsmath import published_ramps
from bsmath.ramp_outlook import RampOutlook
from pages.ui import shell, text


def compared(found: RampOutlook) -> pd.DataFrame:
    """Every schedule in a row, against the flat batch at the ramp's end."""
    flat, rows = found.flat, (*found.schedules, found.start)
    return pd.DataFrame(
        {
            "Schedule": [f"{one.label} (chosen)" if one is found.chosen else one.label for one in rows],
            "Batch [tokens]": [text.span(one.ramp.at(0.0), one.ramp.at(one.tokens)) for one in rows],
            "Ramp [tokens]": [text.count(one.rises) if one.ramp.length else "none" for one in rows],
            "Steps": [f"{text.whole(one.steps)} ({text.signed(one.steps / flat.steps)})" for one in rows],
            "Tokens": [f"{text.count(one.tokens)} ({text.signed(one.tokens / flat.tokens)})" for one in rows],
            "Wasted": [text.percent(one.progress.waste) for one in rows],
            "Time": [f"{text.duration(one.seconds)} ({text.signed(one.seconds / flat.seconds)})" for one in rows],
        }
    )  # fmt: skip


def published_section() -> None:
    """The table of published ramps, folded."""
    with_table = len(published_ramps.ramps())
    shell.folded(f"{with_table} published schedules, with sources", "published_ramps", _published)


def _published() -> None:
    st.table(published(), hide_index=True)


def published() -> pd.DataFrame:
    """The ramps of published runs: what is published, what was read into it, and where."""
    rows = published_ramps.ramps().values()
    return pd.DataFrame(
        {
            "Run": [one.label for one in rows],
            "Batch [tokens]": [text.span(one.ramp.at(0.0), one.ramp.end) for one in rows],
            "Ramp [tokens]": [text.count(one.ramp.length) if one.ramp.length else "none" for one in rows],
            "What is published": [one.note for one in rows],
            "Source": [one.source for one in rows],
        }
    )
