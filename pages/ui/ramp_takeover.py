"""Taking over a ramp: what the trainer has, pasted, or that of a published run."""

import streamlit as st

from bsmath import published_ramps, ramp_takeover
from bsmath.scenario import Scenario
from pages.ui import actions, shell, text, tied


def section(scenario: Scenario) -> None:
    """Both, folded."""
    shell.folded("Take over a ramp: your trainer's, or a published one", "ramp_takeover", _ways, scenario)


def _ways(scenario: Scenario) -> None:
    written = st.text_area(
        "Ramp of your trainer",
        height=110,
        placeholder="--rampup-batch-size 16 8 300000 --global-batch-size 1024 --seq-length 2048",
        help="Megatron-LM's `--rampup-batch-size` or `--step-batch-size-schedule`, OLMo-core's `BatchSizeSchedulerCallback`, the table of "
        "this page, or stages such as `0:768 250B:1536`. Sequence length and last batch are this run's where the text has none.",
        **tied.pasted("ramp"),
    )
    if written.strip():
        _read(scenario, written)
    st.button("Use this ramp", key="use_pasted_ramp", on_click=actions.use_pasted_ramp)
    known = published_ramps.ramps()
    name = st.selectbox(
        "Ramp of a published run",
        list(known),
        index=None,
        format_func=lambda name: known[name].label,
        placeholder="Choose one",
        help="With its own batches and thresholds, in tokens.",
        key="published_ramp",
    )
    if name is not None:
        st.markdown(text.plain(" ".join(ramp_takeover.published(scenario, name).said)))
        st.button("Use this ramp", key="use_published_ramp", on_click=actions.use_published_ramp, args=(name,))


def _read(scenario: Scenario, written: str) -> None:
    """The pasted ramp in words, or why it cannot be used."""
    try:
        found = ramp_takeover.pasted(scenario, written)
    except ValueError as error:
        st.warning(text.plain(f"{error}."))
        return
    st.markdown(text.plain(" ".join(found.said)))
