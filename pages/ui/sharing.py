"""What leaves the page: a file of the scenario with its data, the import as a tidy CSV, the fits as JSON."""

import streamlit as st

from bsmath import downloads, scenario_file, shared, sweeps
from bsmath.scenario import Scenario
from bsmath.sweeps import SweepError
from pages.ui import loaded, overlay, shell, state, text


def section(scenario: Scenario) -> None:
    """The link with the data, and the downloads, which are made only while their part is open."""
    st.subheader("Send it, save it", anchor=False)
    st.toggle("Put the shown measurements into the link", **loaded.share_switch("page"))
    if state.shared_text():
        st.code(state.address(), language=None, wrap_lines=True)
        st.caption(
            f"A teammate's browser shows the same points and fits: {len(state.shared_text()):,} of {shared.MAX_TEXT:,} characters. It holds the median, "
            "spread and count of each batch, not the files."
        )
    shell.folded("Files: scenario with data, tidy CSV, fits", "sharing", _downloads, scenario)


def _downloads(scenario: Scenario) -> None:
    kept = [one.sweep for one in loaded.entries().values()]
    st.caption(
        "The scenario file holds the numbers of the sidebar and everything that is loaded; drop it on Upload to open it. Text that a spreadsheet would run "
        "as a formula is written with an apostrophe."
    )
    with st.container(horizontal=True):
        try:
            whole = scenario_file.to_json(scenario, state.view(), kept, state.pinned())
        except SweepError as error:
            st.warning(text.plain(str(error)))
        else:
            _download("Scenario file (JSON)", whole, "scenario.json", "application/json")
        if loaded.sweep() is not None:
            found = [one for quantity in sweeps.QUANTITIES for one in overlay.measurements(quantity)]
            _download("This import as tidy CSV", downloads.tidy_csv(loaded.sweep()), "sweep.csv", "text/csv")
            _download("The shown fits as JSON", downloads.fits_json(found, scenario), "fits.json", "application/json")


def _download(label: str, content: str, name: str, kind: str) -> None:
    st.download_button(label, content, name, kind, on_click="ignore")
