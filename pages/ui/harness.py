"""The section on measuring one's own run: the command for this scenario, one for a laptop, and lines for one's own loop."""

import streamlit as st

from bsmath import commands
from bsmath.scenario import Scenario

TITLES = {
    "throughput": "Throughput",
    "convergence": "Steps to a loss",
    "noise": "Noise scale",
    "branch": "Branched run",
    "router": "Router",
}


def section(scenario: Scenario) -> None:
    """One tab a measurement, each with commands ready to copy."""
    st.subheader("Measure your own run", anchor=False)
    st.markdown(
        "From a checkout of this project, `make bench-install` adds PyTorch to its virtual environment; then the harness trains a "
        "plain GPT on the sources of Python's standard library and writes a file that this dashboard reads. Interrupted with "
        "Ctrl-C, the same command goes on where it stopped."
    )
    for tab, measure in zip(st.tabs(list(TITLES.values())), commands.MEASURES, strict=True):
        with tab:
            _commands(scenario, measure)


def _commands(scenario: Scenario, measure: str) -> None:
    own, small = commands.command(scenario, measure), commands.laptop(measure)
    st.markdown(f"**This scenario.** {own.note}")
    if own.command:
        st.code(own.command, language="bash", wrap_lines=True)
    st.markdown(f"**On a laptop.** {small.note}")
    st.code(small.command, language="bash", wrap_lines=True)
    example = commands.wrap_example(measure)
    if example:
        st.markdown("**Your own model.** Three lines in your training loop write the same file:")
        st.code(example, language="python")
