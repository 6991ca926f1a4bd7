"""Overview and entry point: the run at a glance, what batch it should use, and text to copy."""

import streamlit as st

from bsmath import curves
from bsmath.levers import levers
from pages.charts.throughput import time_figure
from pages.ui import overlay, shell, state, text, words

scenario = state.scenario()
run = shell.frame(scenario, "app.py")
aim = "budget" if scenario.goal == "budget" else "target"

st.markdown(words.verdict(scenario, run))
shell.metrics(
    ("Tokens per step", text.count(run.tokens_per_step), f"{words.hyperbola_place(scenario, run)}"),
    (
        "Rate [tok/s]",
        text.count(run.tokens_per_second, 4),
        f"MFU {text.percent(run.mfu)}; {'compute' if run.compute_bound else 'overhead'}-bound, "
        f"{text.percent(run.plateau_fraction)} of the plateau",
    ),
    (f"Steps to {aim}", text.whole(run.steps), f"{text.tokens(run.tokens)} in all"),
    (f"Time to {aim}", text.duration(run.seconds), words.cost(run)),
)

table = curves.over_batch(scenario, run)
shell.chart(
    time_figure(
        table,
        run.flat_range if scenario.goal == "target" else None,
        shell.run_point(run),
        shell.marks(scenario, run),
        shell.batch_axis(scenario),
    ),
    key="time",
    alt=f"Days to the goal against batch size on this hardware; this run takes {text.duration(run.seconds)}.",
    table=table[["tokens_per_step", "days", "steps", "tokens", "tokens_per_second"]],
)
st.markdown(
    "Below the shaded batches fixed costs per step are paid too often; above them tokens are spent on a gradient that is "
    f"already clean. {words.feasibility(scenario, run, overlay.fixed_time_is_fitted())}"
    if scenario.goal == "target"
    else "For a fixed number of tokens the hardware alone sets the time: it falls until fixed costs no longer matter, then "
    "stays flat. What the larger batch costs in loss does not show here: set the goal to `target` to see it."
)
st.markdown(words.first_change(levers(scenario)))
shell.link_to(
    "pages/change_batch.py", "More devices, another batch? What must move with it, and the configuration to paste"
)

start, share = st.columns(2)
with start:
    st.subheader("Start from", anchor=False)
    shell.presets()
with share:
    st.subheader("As text", anchor=False)
    st.code(words.report(scenario, run, state.address()), language=None, wrap_lines=True)
shell.view_switches()
shell.formula(
    r"T(B) = S_{min}\left(1 + \frac{B_{crit}}{B}\right)\left(t_{fixed} + \frac{B}{R}\right)",
    r"B_{fast} = \sqrt{B_{half}\,B_{crit}}",
    r"B_{half} = t_{fixed} R",
    source="Derived: the steps/tokens hyperbola (McCandlish et al. 2018, arXiv 1812.06162) times a step time linear in the batch; "
    "goodput after Pollux (Qiao et al. 2021). What both leave out stands on the Reference page.",
)
