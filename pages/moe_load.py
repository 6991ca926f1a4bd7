"""MoE load: tokens per expert where capacity applies and in the global batch, and the tokens that are dropped."""

import streamlit as st

from bsmath import curves, expert_load
from pages.charts.moe import distribution_figure, dropped_figure, evenness_figure, load_figure
from pages.ui import experts, router, shell, state, text, words

FACTORS = (1.0, 1.1, 1.25, 2.0)
SKEWS = {0.0: "even router", 0.1: "skew 0.1 (Mixtral: 0.04-0.25)", 0.3: "skew 0.3", 1.0: "skew 1 (OLMoE: 0.3-1.35)"}

scenario = state.scenario()
run = shell.frame(scenario, "pages/moe_load.py")
load = expert_load.expert_load(scenario, run)

st.markdown(words.experts_verdict(scenario, load))
shell.metrics(
    (
        "Per expert, together",
        text.count(load.group_mean),
        f"tokens, of {text.count(load.routed)} routed together: a micro-batch of {text.plural(scenario.expert_parallel_size, 'replica')}",
    ),
    (
        "Per expert, global",
        text.count(load.global_mean),
        f"tokens, of {text.count(run.padded_tokens_per_step)}: what an expert's gradient sees in a step",
    ),
    (
        "Dropped",
        text.percent(load.dropped),
        f"above {text.count(load.capacity)} tokens (factor {scenario.capacity_factor:g})",
    ),
    (
        "Load CV",
        text.percent(load.cv),
        f"busiest of {scenario.num_experts} experts about {text.count(load.busiest)} tokens",
    ),
)

curve = curves.expert_loads(scenario, run)
shell.chart(
    load_figure(
        curve,
        {"tokens_per_step": load.routed, "tokens_per_expert": load.group_mean},
        load.matmul,
        ((load.routed, "routed together"), (run.padded_tokens_per_step, "global batch")),
        shell.batch_axis(scenario),
    ),
    key="load",
    alt=f"Mean tokens per expert against tokens routed, with the spread of the load; {text.count(load.group_mean)} of "
    f"{text.tokens(load.routed)} routed together, {text.count(load.global_mean)} of the global batch.",
    table=curve,
)
st.markdown(words.matmul(scenario, load))

st.subheader("How uneven, and what is dropped", anchor=False)
experts.imbalance()
experts.from_drop_rate()
st.markdown(words.experts_solved(load))
even = curves.evenness(scenario, load.routed, tuple(SKEWS))
shell.chart(
    evenness_figure(even, SKEWS, {"routed_tokens": load.routed, "cv": load.cv_percent}),
    key="evenness",
    alt="Coefficient of variation of an expert's load against tokens routed together: it falls with the batch "
    f"down to the router's skew; {text.percent(load.cv)} here.",
    table=even.rename(columns=str),
)
st.markdown(
    "**Sampling noise shrinks with the batch; a skewed router does not.** Below the bend a larger micro-batch or expert-parallel group evens "
    "loads out; beyond it only a balancing loss or bias can. Measured routers are 10 to 230 times more uneven than sampling: load CV 0.3 to "
    "1.35 in OLMoE, 0.04 to 0.25 in Mixtral, and a capacity factor of 1.25 dropped 4 to 11 % of tokens in OLMoE on web text."
)

dropped = curves.dropped_percent(scenario, load.routed, FACTORS)
shell.chart(
    dropped_figure(dropped, FACTORS, {"routed_tokens": load.routed, "dropped_percent": load.dropped_percent}),
    key="dropped",
    alt=f"Percent of tokens dropped against tokens routed together, for {text.plural(len(FACTORS), 'capacity factor')}; this run drops "
    f"{text.percent(load.dropped)} with {scenario.capacity_factor:g}.",
    table=dropped.rename(columns=str),
)
st.markdown(
    "Dropless models (DeepSeek-V3, MegaBlocks) have no capacity factor and drop nothing. Teeth at the left of the chart are real: capacity is "
    "a whole number of tokens."
)
experts.definitions(scenario, load)
spread = expert_load.distribution(scenario, load.routed)
shell.chart(
    distribution_figure(spread, load.capacity, load.group_mean),
    key="distribution",
    alt=f"Probability of each expert load, with its mean of {text.count(load.group_mean)} and the capacity of {text.tokens(load.capacity)}.",
    table=spread,
)
shell.view_switches()
router.section(scenario, load.routed)
shell.formula(
    r"X \sim Binomial(M, k/E)",
    r"CV = \sqrt{\frac{1-p}{Mp}}",
    r"f = \frac{E[\max(X - C,\, 0)]}{Mp}",
    r"C = \lceil CF \cdot Mk/E \rceil",
    r"CV^2 \approx skew^2 + \frac{E-1}{Mk}",
    source="Derived, exact under uniform routing; with a skew, shares drawn from a Dirichlet distribution. M tokens are routed together (micro-batch x expert-parallel group), not the global "
    "batch. Capacity as in Switch (Fedus et al. 2021) and Megatron-LM. Measured loads: public OLMoE and Mixtral counts.",
)
