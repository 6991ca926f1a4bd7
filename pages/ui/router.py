"""Measured expert loads: the project's own or the user's, beside uniform routing."""

import pandas as pd
import streamlit as st

from bsmath.logs import Log
from bsmath.scenario import Scenario
from pages.charts.moe import router_figure
from pages.ui import experts, here, loaded, shell, text

FACTORS = (1.0, 1.25, 2.0)
MARKED = 1.25
"""The capacity factor of the sentence."""
DRAWN, NAMED, LISTED = 8, 4, 100
"""Settings in the chart, in the sentence and in the table, at most."""


def section(scenario: Scenario, routed_tokens: float) -> None:
    """On the MoE page: what a real router does."""
    one = loaded.log("router")
    st.subheader("Measured here" if loaded.is_shipped(one) else "Measured by you", anchor=False)
    st.markdown(verdict(one.record.summary(FACTORS)))
    here.origin(one)
    details = st.expander("The loads behind this", key="router_here", on_change="rerun")
    if details.open:
        with details:
            loads(one)
            experts.measured(scenario, one, routed_tokens)


def loads(one: Log) -> None:
    """The chart of load CV over the tokens routed together, and the table."""
    found = one.record.summary(FACTORS)
    settings = list(found["setting"].unique())
    if settings[DRAWN:]:
        listed = "all of them" if len(settings) <= LISTED else f"the first {LISTED}"
        st.caption(f"The chart shows the first {DRAWN} of {len(settings)} settings, the table {listed}.")
    shell.chart(
        router_figure(found[found["setting"].isin(settings[:DRAWN])]),
        key="router",
        alt="Coefficient of variation of measured expert loads against tokens routed together, beside that of uniform routing: "
        f"{text.span(found['load_cv'].min(), found['load_cv'].max(), text.percent)} against "
        f"{text.span(found['uniform_cv'].min(), found['uniform_cv'].max(), text.percent)}.",
        table=found,
    )
    st.table(table(found), hide_index=True)
    for sentence in one.record.problems:
        st.caption(text.plain(sentence))


def largest(found: pd.DataFrame) -> pd.DataFrame:
    """The row of the largest groups of each setting: there the least of the unevenness is sampling noise."""
    return found.sort_values("routed_tokens").groupby("setting", sort=False).tail(1).sort_index()


def verdict(found: pd.DataFrame) -> str:
    """How uneven the loads are against uniform routing, what that drops, and what stays however large the batch."""
    said = [
        f"**{text.plain(row['setting'])}**: of {text.tokens(row['routed_tokens'])} routed together the load CV is "
        f"{text.percent(row['load_cv'])}, where uniform routing would give {text.percent(row['uniform_cv'])}, and a capacity "
        f"factor of {MARKED:g} would drop {text.percent(row[f'dropped_{MARKED:g}'])}"
        for row in largest(found).head(NAMED).to_dict("records")
    ]
    return (
        f"{'; '.join(said)}. What lies above uniform routing is the router's own skew and the likeness of tokens in one "
        "text: more tokens routed together repair only the second."
    )


def table(found: pd.DataFrame) -> pd.DataFrame:
    """Largest groups of each setting: load CV, skew, busiest expert, dropped tokens by capacity factor."""
    rows = largest(found).head(LISTED)
    shown = {
        "Setting": rows["setting"].map(text.plain),
        "Routed together [tokens]": rows["routed_tokens"].map(text.count),
        "Experts": rows["num_experts"].map("{:g}".format) + ", top " + rows["top_k"].map("{:g}".format),
        "Load CV": rows["load_cv"].map(text.percent),
        "Uniform": rows["uniform_cv"].map(text.percent),
        "Skew": rows["skew"].map(text.percent),
        "Busiest / mean": rows["busiest"].map(text.times),
    }
    return pd.DataFrame(shown | {f"Dropped at {cf:g}": rows[f"dropped_{cf:g}"].map(text.percent) for cf in FACTORS})
