"""Change batch: from an old run to a new one, every setting that must move, and the new settings in a trainer's own syntax."""

import streamlit as st

from bsmath.change_outlook import applied, ways
from pages.ui import change, exporting, shell, state, text, tied

scenario = state.scenario()
run = shell.frame(scenario, "pages/change_batch.py")
found = change.worked_out(scenario)

if found is not None:
    st.markdown(change.answer(found))
old_section = st.expander(
    "The old run: paste its configuration, or type what the sidebar does not hold", **tied.section("old_run")
)
if old_section.open:
    with old_section:
        exporting.paste()
        change.old_run(scenario)
change.wanted(scenario)
if found is None:
    st.stop()
change.tuned_elsewhere(scenario, found)

old, new = found.change.old, found.change.new
shell.metrics(
    ("Batch [tokens]", text.count(new.tokens_per_step), f"{text.count(old.tokens_per_step)} before; {text.times(found.change.batch_ratio)}"),
    (
        "Peak rate",
        text.scientific(new.learning_rate),
        f"{text.scientific(old.learning_rate)} before; rules say {text.scientific(found.rates['rate'].min())} to {text.scientific(found.rates['rate'].max())}",
    ),
    ("Steps", text.whole(found.new.steps), f"{text.whole(found.old.steps)} before; {text.tokens(found.new.tokens)} in all"),
    ("Time", text.duration(found.new.seconds), f"{text.duration(found.old.seconds)} before"),
)  # fmt: skip

st.subheader("Ways to use the new devices", anchor=False)
change.ways(ways(scenario))
change.division(scenario)

st.subheader("What breaks silently if only the batch moves", anchor=False)
st.markdown(
    change.checks(found.checks) or "Nothing: the batch did not move, and nothing in the old run breaks by itself."
)

st.subheader("Old and new settings", anchor=False)
st.table(change.settings(found.change.settings), hide_index=True)
st.caption(
    "Status says what a rule rests on, and how far it is to be trusted: a definition is sure; a derived rule is as good as its "
    "assumptions; an empirical one holds where it was measured. The rules' spread is the honest error bar of the rate."
)

st.subheader("The new run for your trainer", anchor=False)
exporting.new_run(found)
with st.container(horizontal=True):
    st.button(
        "Make the new run this run",
        on_click=state.assign,
        args=(applied(scenario, found.change),),
        disabled=old == new,
        help="All pages then show the new run; Undo takes it back.",
    )

shell.formula(
    r"\lambda' = \lambda\,k\,\frac{\eta}{\eta'}",
    r"\beta' = \beta^{k}",
    r"\beta' = 1 - k(1-\beta)",
    r"c' = c\,\sqrt{\frac{1 + B_n/B'}{1 + B_n/B}}",
    source="k is the new batch over the old one, in real tokens. Decay: Wang and Aitchison 2024 (arXiv 2405.13698), derived. Half-life of betas: "
    "Marek et al. 2025 (2507.07101), empirical. Square-root rule: Malladi et al. 2022 (2205.10287), derived for small rates. "
    "Clip threshold: derived from the expected gradient norm. Rates: see the Learning rate page.",
)
