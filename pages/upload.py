"""Upload: read logs and sweeps, show what was recognized, let it be corrected, fit each series and lay it over the theory."""

import streamlit as st

from bsmath import sweeps
from pages.ui import (
    contrast,
    crossed,
    curves,
    harness,
    here,
    loaded,
    measure,
    overlay,
    sharing,
    shell,
    state,
    tables,
    uploads,
)

scenario = state.scenario()
shell.frame(scenario, "pages/upload.py")

uploads.choose()
uploads.unmapped()
uploads.logs(scenario)
curves.section()
sweep = loaded.sweep()
if sweep is None:
    if not loaded.logs_loaded() and crossed.now() is None:
        st.markdown(
            "**Drop the logs of your runs, a benchmark sweep, steps to a target loss; or a noise-scale log, a branched run, the loads of a "
            "router.** Trainers' logs are known by their lines, tables by their headers, which may be yours. The fit then appears on the "
            "Throughput and Critical batch pages, over the theory. The file stays in this session: nothing is stored on the server, and "
            "nothing enters the link but what you choose."
        )
        st.subheader("A template", anchor=False)
        st.code(sweeps.TEMPLATE, language=None)
    harness.section(scenario)
    st.stop()

uploads.overview()
uploads.summary(sweep)
uploads.questions()
uploads.columns(sweep)
uploads.problems(sweep)
uploads.series()

for quantity, title, page in (
    ("tokens_per_second", "Throughput", "pages/throughput.py"),
    ("steps", "Critical batch", "pages/critical_batch.py"),
):
    found = overlay.measurements(quantity)
    if found:
        st.subheader(title, anchor=False)
        uploads.figure(scenario, found, quantity)
        contrast.section(found)
        measure.fits(scenario, found)
        for one in found:
            here.tuning(one)
        shell.link_to(page, f"See it over the theory on the {title} page")

st.subheader("Every series", anchor=False)
st.dataframe(tables.every_series(overlay.every_measurement()), hide_index=True)
sharing.section(scenario)
harness.section(scenario)
