"""MoE load: tokens per expert where capacity applies and in the global batch, and the tokens that are dropped."""

import streamlit as st

from bsmath import curves, moe
from bsmath.expert_load import expert_load
from pages.charts.moe import distribution_figure, dropped_figure, load_figure
from pages.ui import router, shell, state, text, words

FACTORS = (1.0, 1.1, 1.25, 2.0)

scenario = state.scenario()
run = shell.frame(scenario, "pages/moe_load.py")
load = expert_load(scenario, run)

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
        f"above {text.count(load.capacity)} tokens (factor {scenario.capacity_factor:g}), if routing is uniform",
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
    alt="Mean tokens per expert against tokens routed, with the spread of uniform routing.",
    table=curve,
)
st.markdown(words.matmul(scenario, load))

dropped = curves.dropped_percent(scenario, load.routed, FACTORS)
shell.chart(
    dropped_figure(dropped, FACTORS, {"routed_tokens": load.routed, "dropped_percent": load.dropped_percent}),
    key="dropped",
    alt="Percent of tokens dropped against tokens routed together, for four capacity factors.",
    table=dropped.rename(columns=str),
)
st.markdown(
    "**Uniform routing is the best case.** Sampling noise shrinks as more tokens are routed together; a skewed router does not. "
    "Measured routers are 10 to 230 times more uneven than this: load CV 0.3 to 1.35 in OLMoE, 0.04 to 0.25 in Mixtral, and "
    "a capacity factor of 1.25 dropped 4 to 11 % of tokens in OLMoE on web text. A larger batch cannot repair that; a "
    "balancing loss or bias can. Dropless models (DeepSeek-V3, MegaBlocks) have no capacity factor and drop nothing. Teeth at "
    "the left of the chart are real: capacity is a whole number of tokens."
)
spread = moe.load_distribution(load.routed, scenario.num_experts, scenario.top_k)
shell.chart(
    distribution_figure(spread, load.capacity, load.group_mean),
    key="distribution",
    alt="Probability of each expert load under uniform routing, with mean and capacity.",
    table=spread,
)
shell.view_switches()
router.section()
shell.formula(
    r"X \sim Binomial(M, k/E)",
    r"CV = \sqrt{\frac{1-p}{Mp}}",
    r"f = \frac{E[\max(X - C,\, 0)]}{Mp}",
    r"C = \lceil CF \cdot Mk/E \rceil",
    source="Derived, exact under uniform routing. M tokens are routed together (micro-batch x expert-parallel group), not the global "
    "batch. Capacity as in Switch (Fedus et al. 2021) and Megatron-LM. Measured loads: public OLMoE and Mixtral counts.",
)
