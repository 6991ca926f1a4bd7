"""Noise scale: a log drawn, signal and noise of the gradient and their ratio, and what it says about the batch."""

import streamlit as st

from pages.charts.noise import parts_figure
from pages.ui import here, loaded, noise, shell, state

scenario = state.scenario()
shell.frame(scenario, "pages/noise_scale.py")
one = loaded.log("noise")
log = one.record

answer = st.container()
group = st.selectbox("Parameters", log.groups, format_func=noise.group_name) if log.groups[1:] else log.groups[0]
with answer:
    st.markdown(noise.verdict(log, group))
    if log.has_parts:
        shell.metrics(*noise.numbers(log, group))
noise.chart(log, group)
here.origin(one)

if log.has_parts:
    st.markdown(
        "**Why it changes**: the ratio alone cannot say. Below are its two parts, the signal |G|² and the noise that the run's batch leaves in "
        "a gradient. Where the noise lies above the signal, a larger batch still helps; where they cross, the batch is the noise "
        "scale. Dots are single rows of the log; lines and intervals are averages over the rows around, each part by itself, since "
        "the mean of a ratio is not the ratio of means."
    )
    smoothed = noise.drawn(log, group)
    shell.chart(
        parts_figure(smoothed, noise.batch(log), noise.place(log)),
        key="noise_parts",
        alt="Signal and noise of the gradient through training.",
        table=smoothed,
    )
    if log.groups[1:]:
        st.subheader("Layer by layer", anchor=False)
        st.table(noise.by_group(log), hide_index=True)
        st.markdown("Both parts of the layers add up to the whole model's, their ratios do not.")
noise.problems(log)

shell.formula(
    r"B_{simple} = \frac{tr\,\Sigma}{|G|^2}",
    r"\widehat{|G|^2} = \frac{B_{big}|G_{big}|^2 - B_{small}|G_{small}|^2}{B_{big} - B_{small}}",
    r"\widehat{tr\,\Sigma} = \frac{|G_{small}|^2 - |G_{big}|^2}{1/B_{small} - 1/B_{big}}",
    source="Derived; both parts unbiased (McCandlish et al. 2018, arXiv 1812.06162, appendix A.1). Intervals: Fieller's theorem with variances "
    "from successive rows, 90 %. That the noise scale predicts the critical batch is empirical, to an order of magnitude: beside "
    "it, measured values were 0.4 to 18 times as large, and orders of magnitude smaller in one study of 1B and 7B models (Merrill "
    "et al. 2025, arXiv 2505.23971). Tokens of one sequence are correlated, so a noise scale in tokens is a convention.",
)
