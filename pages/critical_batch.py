"""Critical batch: steps and tokens to a target loss, where this run stands, and the price of the next doubling."""

import streamlit as st

from bsmath import critical, curves
from pages.charts.critical import overhead_figure, pareto_figure, steps_figure
from pages.ui import (
    critical_fit,
    definitions,
    disagreements,
    here,
    laws,
    measure,
    next_run,
    overlay,
    shell,
    state,
    tables,
    text,
    words,
)

scenario = state.scenario()
run = shell.frame(scenario, "pages/critical_batch.py")
knee, least = scenario.critical_batch_size, scenario.min_steps
steps = critical.steps_to_target(run.tokens_per_step, knee, least)
tokens = critical.tokens_to_target(run.tokens_per_step, knee, least)

st.markdown(words.doubling(scenario, run))
shell.metrics(
    ("B / B_crit", text.times(run.knee_ratio), f"B_crit is {text.tokens(knee)}"),
    (
        "Steps to target",
        text.whole(steps),
        f"{text.times(critical.step_overhead(run.tokens_per_step, knee))} the least possible, {text.whole(least)}",
    ),
    (
        "Tokens to target",
        text.count(tokens),
        f"{text.times(critical.token_overhead(run.tokens_per_step, knee))} the least possible, "
        f"{text.count(critical.min_tokens(knee, least))}",
    ),
)

found = overlay.measurements("steps")
table = curves.over_batch(scenario, run, found)
point = {"steps": steps, "tokens": tokens, "tokens_per_step": run.tokens_per_step}
point["step_overhead"] = critical.step_overhead(run.tokens_per_step, knee)
point["token_overhead"] = critical.token_overhead(run.tokens_per_step, knee)
marked = tables.marked_batches(scenario, run)
shell.chart(
    pareto_figure(table, point, marked, found),
    key="pareto",
    alt=f"Tokens against steps to the target; this run needs {text.whole(steps)} steps and {text.tokens(tokens)}.",
    table=table[["tokens_per_step", "steps", "tokens"]],
)
st.markdown(
    "Every point of the curve is a batch size: left are large batches (few steps, many tokens), right small ones. The knee is "
    "not sharp: from a tenth to ten times B_crit the price moves from 11x the steps to 11x the tokens."
)
axis, marks = shell.batch_axis(scenario), (*shell.marks(scenario, run)[:3], *definitions.marks(scenario))
shell.chart(
    steps_figure(table, point, marks, axis, found),
    key="steps",
    alt=f"Optimizer steps to the target against batch size, falling towards {text.whole(least)}; {text.whole(steps)} at this run's "
    f"{text.tokens(run.tokens_per_step)}.",
    table=table[["tokens_per_step", "steps"]],
)
measure.fits(scenario, found)
critical_fit.together(found, axis)
next_run.section(scenario, found)
shell.chart(
    overhead_figure(table, point, marks, axis),
    key="overheads",
    alt=f"Steps and tokens as multiples of the least possible; they cross at twice the least, at B_crit. This run takes "
    f"{text.times(point['step_overhead'])} the steps and {text.times(point['token_overhead'])} the tokens.",
    table=table[["tokens_per_step", "step_overhead", "token_overhead"]],
)
shell.view_switches()

st.subheader("The table of this scenario", anchor=False)
st.table(tables.worked_example(scenario, run), hide_index=True)
definitions.section(scenario, run, found)
laws.section(scenario, run, found)
here.critical(scenario)
disagreements.show("critical_batch")

shell.formula(
    r"S = S_{min}\left(1 + \frac{B_{crit}}{B}\right)",
    r"E = B\,S = E_{min}\left(1 + \frac{B}{B_{crit}}\right)",
    r"\left(\frac{S}{S_{min}} - 1\right)\left(\frac{E}{E_{min}} - 1\right) = 1",
    source="Derived from a local quadratic model with the learning rate tuned at every batch (McCandlish et al. 2018, arXiv "
    "1812.06162, eq. 2.11). Measured on five language models of 85M to 1.2B: residuals of 4 to 8 %. Where the rate is not "
    "tuned, or small batches cost tokens too, it does not hold.",
)
