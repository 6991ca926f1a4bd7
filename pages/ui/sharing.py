"""What leaves the page: a file of the scenario with its data, the import as a tidy CSV, the fits as JSON."""

import streamlit as st

from bsmath import downloads, scenario_file, sweeps
from bsmath.scenario import Scenario
from pages.ui import loaded, shell, state


def section(scenario: Scenario) -> None:
    """The downloads; they are made only while the section is open."""
    shell.folded("Save or send: scenario file, tidy CSV, fits", "sharing", _downloads, scenario)


def _downloads(scenario: Scenario) -> None:
    kept = [one.sweep for one in loaded.entries().values()]
    st.caption(
        "A teammate sees these measurements over the same theory with the link, once the switch beside it is on, or with the scenario file, which Upload "
        "opens; it holds everything that is loaded and has no limit of 4,000 characters. Text cells that a spreadsheet would run as a formula "
        "are written with an apostrophe."
    )
    with st.container(horizontal=True):
        st.download_button(
            "Scenario file (JSON)",
            scenario_file.to_json(scenario, state.view(), kept),
            "scenario.json",
            "application/json",
            on_click="ignore",
        )
        if loaded.sweep() is not None:
            st.download_button(
                "This import as tidy CSV",
                downloads.tidy_csv(loaded.sweep()),
                "sweep.csv",
                "text/csv",
                on_click="ignore",
            )
            found = [one for quantity in sweeps.QUANTITIES for one in loaded.measurements(quantity)]
            st.download_button(
                "The shown fits as JSON",
                downloads.fits_json(found, scenario),
                "fits.json",
                "application/json",
                on_click="ignore",
            )
