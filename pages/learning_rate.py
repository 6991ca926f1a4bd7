"""Learning rate: every scaling rule from the user's reference, and the decay, betas and warmup that go with the batch."""

import streamlit as st

from bsmath import curves, lr, lr_sweep
from bsmath.change_outlook import usual_rule
from bsmath.companions import companions
from pages.charts.lr import rules_figure
from pages.ui import disagreements, rate_grid, shell, state, tables, text, words

scenario = state.scenario()
run = shell.frame(scenario, "pages/learning_rate.py")
rates = curves.rule_table(scenario, run.tokens_per_step)
chosen = usual_rule(scenario)
suggested = float(curves.rate_by(chosen, scenario, run.tokens_per_step))
tried = lr_sweep.rates(suggested, rates["rate"].min(), rates["rate"].max())

st.markdown(words.rate_advice(scenario, run, rates, suggested))
st.markdown(
    "**What the data say.** In the largest public grid (AdamW, 17 model and data sizes, 10 batches, 12 rates) a saturating law fits best in 16 "
    "of 17 groups: its local slope falls from about 0.65 at small batches to about 0 at large ones. Linear wins nowhere there, square root "
    "only locally, and one global exponent (about 0.3) misleads. The optimum is flat: a factor 2 in rate stays within 0.2 % of the best loss."
)
shell.metrics(
    ("Center of a sweep", text.scientific(suggested), f"{lr.RULES[chosen].label}"),
    (
        "Rates to try",
        text.whole(len(tried)),
        f"{', '.join(map(text.scientific, tried))}; widen it if the best is the first or last",
    ),
    (
        "Spread of the rules",
        text.spread(rates["rate"]),
        f"{text.scientific(rates['rate'].min())} to {text.scientific(rates['rate'].max())} for {scenario.optimizer}",
    ),
    (
        "B / B_0",
        text.times(run.reference_ratio),
        f"{text.scientific(scenario.learning_rate)} was tuned at {text.tokens(scenario.reference_tokens_per_step)}",
    ),
)

curve = curves.learning_rates(scenario, run)
shell.chart(
    rules_figure(
        curve,
        {name: rule.label for name, rule in lr.RULES.items()},
        {"tokens_per_step": scenario.reference_tokens_per_step, "learning_rate": scenario.learning_rate},
        {"tokens_per_step": run.tokens_per_step, "learning_rate": suggested},
        ((scenario.reference_tokens_per_step, "reference"), (run.tokens_per_step, "this run")),
        shell.batch_axis(scenario),
    ),
    key="rules",
    alt=f"Peak learning rate against batch size by {text.plural(len(rates), 'rule')}, all through the reference rate; at this run's batch from "
    f"{text.span(rates['rate'].min(), rates['rate'].max(), text.scientific)}.",
    table=curve,
)
st.table(tables.rules(rates), hide_index=True)
with st.expander("What each rule rests on, and where it holds"):
    st.markdown(tables.rule_notes())
shell.view_switches()

rate_grid.section(scenario, run)

st.subheader("What else moves with the batch", anchor=False)
st.table(tables.companions(companions(scenario, run, suggested)), hide_index=True)
st.markdown(
    "**Why Adam is not SGD.** SGD's step is proportional to the gradient, so below the noise scale averaging k batches allows a "
    "k times larger rate. Adam divides by the gradient's own size: where noise dominates, its step per coordinate does not "
    "depend on the batch at all. Raising the rate by the square root of k keeps the noise, and the signal, that each *token* "
    "adds the same; it does not keep the variance per update, which was already fixed."
)
with st.expander("Do large batches generalize worse?"):
    st.markdown(
        "Keskar et al. (2017, arXiv 1609.04836) found that large-batch SGD, over many epochs, ended in sharper minima that tested worse. Most of "
        "that gap went when the rate was tuned anew at each batch, warmup was added, and runs were compared at equal epochs rather than equal "
        "steps: Shallue et al. (2018, 1811.03600) saw no loss of quality in 35 workloads where budgets were equal and tuning was redone. LARS and "
        "LAMB (You et al. 2019, 1904.00962) trained at batches of tens of thousands by scaling each layer's rate; Nado et al. (2021, 2102.06356) "
        "then matched both with tuned Nesterov momentum and Adam. At equal *steps* a difference remains (see below). In pretraining for a single "
        "epoch the question hardly binds: no example is seen twice, so training and test loss fall together, and what a too large batch costs "
        "is tokens, which the Critical batch page counts."
    )
disagreements.show("learning_rate")
shell.link_to("pages/change_batch.py", "Move a whole run to another batch")

shell.formula(
    r"\eta_{lin} = \eta_0 \frac{B}{B_0}",
    r"\eta_{sqrt} = \eta_0 \sqrt{\frac{B}{B_0}}",
    r"\eta_{sat} = \frac{\eta_{max}}{1 + B_n/B}",
    r"\eta_{surge} = \frac{2\,\eta_{max}}{\sqrt{B_s/B} + \sqrt{B/B_s}}",
    source="Linear: Goyal et al. 2017 (arXiv 1706.02677), SGD. Square root: Malladi et al. 2022 (2205.10287). Saturating: McCandlish et al. "
    "2018 (1812.06162), derived for SGD, empirical for AdamW. Surge: Li et al. 2024 (2405.14578). Decay: Wang and Aitchison "
    "2024 (2405.13698). Half-life of betas: Marek et al. 2025 (2507.07101). Shallue et al. 2018 found no rule universal.",
)
