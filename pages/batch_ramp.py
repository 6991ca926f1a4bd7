"""Batch ramp: schedules of the batch side by side in tokens, what each saves, how the rate follows, and what steps would do to it."""

import streamlit as st

from bsmath import ramp_curves, ramp_outlook, ramp_trap
from pages.charts.ramp import batch_figure, pareto_figure, rate_figure, trap_figure
from pages.ui import disagreements, loaded, ramp, ramp_export, ramp_tables, ramp_takeover, shell, state, text

scenario = state.scenario()
run = shell.frame(scenario, "pages/batch_ramp.py")
log = loaded.log(scenario.critical_growth).record if scenario.critical_growth in ("noise", "branch") else None
found = ramp_outlook.ramp_outlook(scenario, log)
chosen = found.chosen

st.markdown(ramp.answer(scenario, found))
ramp.choose(scenario)
ramp_takeover.section(scenario)
shell.paragraphs(*ramp.doubts(found))
shell.metrics(*ramp.numbers(scenario, found))

tables = [(one.label, ramp_curves.over_tokens(one)) for one in found.schedules]
course = ramp_curves.course_over_tokens(found)
shell.chart(
    batch_figure(tables, course, found.smallest_step),
    key="ramp_batch",
    alt=f"Batch against tokens seen: {ramp.alt(found)}; the critical batch grows {text.times(found.course.growth)} over the last "
    "hundredth to all of the run.",
    table=ramp_curves.joined(found.schedules),
)
st.caption(
    "The dotted line is B_crit as a flat run meets it. Above it more than half of the tokens are wasted, far below it steps are: a ramp "
    "moves along it. Its course is a law or a log, its level the scenario's B_crit."
)
st.table(ramp_tables.compared(found), hide_index=True)
if scenario.goal == "target":
    flat, best, points = ramp_curves.pareto(found)
    shell.chart(
        pareto_figure(flat, best, points),
        key="ramp_pareto",
        alt=f"Tokens against steps of every schedule beside those of flat batches; the best ramp's overheads are {text.times(found.gamma)} those of flat ones.",
        table=points,
    )
    st.caption(
        f"Below the blue line a ramp beats every flat batch. No ramp comes below the green one: with this growth of B_crit, "
        f"gamma = {found.gamma:.3f}, the product of both overheads, which is 1 for flat batches."
    )

st.subheader("The learning rate that goes with it", anchor=False)
followed = [(one.label, ramp_curves.rates(scenario, one)) for one in (chosen, found.flat)]
shell.chart(
    rate_figure([(label, table["tokens"], table["learning_rate"]) for label, table in followed]),
    key="ramp_rate",
    alt=f"Learning rate against tokens seen, by {ramp.rule_label(scenario, chosen)} times the {scenario.schedule} schedule.",
    table=followed[0][1],
)
st.caption(ramp.rate_words(scenario, chosen))

st.subheader("The same in steps: the trap", anchor=False)
trap = ramp_trap.trap(scenario, chosen)
st.markdown(ramp.trapped(scenario, chosen, trap))
shell.chart(
    rate_figure(
        [
            ("as meant, in tokens", trap.rates["tokens"], trap.rates["meant"]),
            ("written in steps", trap.rates["tokens"], trap.rates["in_steps"]),
        ]
    ),
    key="ramp_trap",
    alt="The learning rate as meant in tokens and as a schedule written in steps makes it, which is over after "
    f"{text.tokens(trap.rate_ends)} of {text.tokens(chosen.tokens)}.",
    table=trap.rates,
)
shell.chart(
    trap_figure(trap.batches),
    key="ramp_trap_batch",
    alt=f"The ramp as meant in tokens, over after {text.tokens(chosen.rises)}, and what one with thresholds in steps comes to, over after "
    f"{text.tokens(trap.ramp_ends)}.",
    table=trap.batches,
)


st.subheader("For your trainer", anchor=False)
ramp_export.section(scenario, found)

st.subheader("Ramps of published runs", anchor=False)
ramp_tables.published_section()
disagreements.show("batch_ramp")

shell.formula(
    r"S = \int \frac{dD}{B(D)} = \frac{T}{B_1 - B_0}\,\ln\frac{B_1}{B_0}\ \text{(linear in tokens)},\quad \frac{2T}{B_0 + B_1}\ \text{(in steps)}",
    r"dE = \left(1 + \frac{B}{B_n(u)}\right)du, \qquad B_{crit} = \frac{u}{\int du/B_n}",
    r"B = \sqrt{r\,B_n}, \qquad \left(\frac{S}{S_{min}} - 1\right)\left(\frac{E}{E_{min}} - 1\right) = \gamma",
    source="Steps: integrals, derived. Waste and the square-root rule: derived for a local quadratic model with the rate tuned at every moment "
    "(McCandlish et al. 2018, arXiv 1812.06162, appendix D). That B_crit grows, and as which power, is empirical. Doubling when B_crit has "
    "doubled: Merrill et al. 2025 (2505.23971). Seesaw: Meterez et al. 2025 (2510.14717), same loss at equal tokens at 150M to 600M.",
)
