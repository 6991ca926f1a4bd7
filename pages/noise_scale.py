"""Noise scale: a log drawn, signal and noise of the gradient and their ratio, and what it says about the batch."""

import streamlit as st

from pages.ui import here, loaded, noise, noise_batch, noise_calculator, noise_norms, shell, state, tied

scenario = state.scenario()
run = shell.frame(scenario, "pages/noise_scale.py")
one = loaded.log("noise")
log = one.record
average = state.view().noise_average

answer = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    group = st.selectbox("Parameters", log.groups, format_func=noise.group_name) if log.groups[1:] else log.groups[0]
    if log.has_parts:
        st.segmented_control(
            "Average",
            help="A window around each row, or an exponential average with this decay per row.",
            **tied.view_choice("noise_average"),
        )
with answer:
    st.markdown(noise.verdict(log, group))
    if log.has_parts:
        shell.metrics(*noise.numbers(log, group))
        shell.paragraphs(noise.more_rows(log, group))
noise.chart(log, group, average)
if log.has_parts:
    st.caption(noise.averaging(log, group, average))
here.origin(one)
noise.problems(log)

if log.has_parts:
    noise.parts(log, group, average)
noise_batch.section(scenario, run, None if loaded.is_shipped(one) else log)

st.subheader("In depth", anchor=False)
if log.has_parts and log.groups[1:]:
    shell.folded("Layer by layer", "noise_layers", noise.layers, log)
shell.folded("Compute it from two norms", "noise_calculator", noise_calculator.section)
shell.folded("Which two norms to log", "noise_norms", noise_norms.which)
shell.folded("What it cannot tell you", "noise_limits", noise_norms.limits)

shell.formula(
    r"B_{simple} = \frac{tr\,\Sigma}{|G|^2}",
    r"\widehat{|G|^2} = \frac{B_{big}|G_{big}|^2 - B_{small}|G_{small}|^2}{B_{big} - B_{small}}",
    r"\widehat{tr\,\Sigma} = \frac{|G_{small}|^2 - |G_{big}|^2}{1/B_{small} - 1/B_{big}}",
    source="Derived; both parts unbiased (McCandlish et al. 2018, arXiv 1812.06162, appendix A.1). Intervals: Fieller's theorem with variances "
    "from successive rows, 90 %. That the noise scale predicts the critical batch is empirical, to an order of magnitude. Tokens of one "
    "sequence are correlated, so a noise scale in tokens is a convention.",
)
