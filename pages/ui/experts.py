"""Sections of the MoE page: the router's imbalance, definitions of capacity, balancing methods, and what measured loads predict."""

import pandas as pd
import streamlit as st

from bsmath import expert_fit, moe_balancing, moe_capacity
from bsmath.expert_fit import Imbalance
from bsmath.expert_load import ExpertLoad
from bsmath.logs import Log
from bsmath.scenario import Scenario
from pages.charts.expert_heat import heat_figure
from pages.ui import actions, loaded, shell, state, text, tied

PREDICTED = (1.0, 1.25, 1.5, 2.0)
"""Capacity factors whose drops are predicted from measured loads."""
MOST_FITTED, MOST_LAYERS = 1000, 100
"""Layers of all settings that are fitted, and layers in one map."""


def imbalance() -> None:
    """The inputs that make routing uneven."""
    left, right = st.columns(2)
    left.text_input(
        "Router skew",
        help="CV of the experts' true shares, however many tokens: 0 is even. Measured: 0.04 to 0.25 in Mixtral, 0.3 to 1.35 in OLMoE.",
        **tied.typed("router_skew"),
    )
    right.text_input(
        "Likeness within a sequence",
        help="Correlation of the routing of two tokens of one sequence, 0 to 1: tokens of one text are alike, and count as fewer.",
        **tied.typed("sequence_correlation"),
    )


def from_drop_rate() -> None:
    """The skew from what a real run's log says of its dropped tokens."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Measured drop rate [%]",
            key="drop_rate",
            width=220,
            placeholder="from a log",
            help="Share of routed tokens that found their expert full, at this micro-batch and capacity factor.",
        )
        st.button("Take the skew from it", on_click=actions.fit_skew)


def definitions(scenario: Scenario, load: ExpertLoad) -> None:
    """What a capacity factor means in each trainer, with the one that gives the same room; and how loads are kept even."""
    section = st.expander(
        "What a capacity factor means in each trainer, and how loads are kept even", **tied.section("capacities")
    )
    if not section.open:
        return
    with section:
        st.table(_capacities(scenario), hide_index=True)
        st.caption(
            f"Here and in Megatron-LM a factor is over the mean load M k/E and rounded up: {text.count(load.capacity)} tokens. The second column "
            f"gives the same room, rounding aside; dropless models have none. Read in: {_sources()}."
        )
        st.table(
            pd.DataFrame(
                {
                    "Method": [one.name for one in moe_balancing.METHODS],
                    "What it does": [one.what for one in moe_balancing.METHODS],
                    "Balanced over": [one.scope for one in moe_balancing.METHODS],
                    "Source": [one.source for one in moe_balancing.METHODS],
                }
            ),
            hide_index=True,
        )


def _sources() -> str:
    return "; ".join(f"{one.label}: {one.source}" for one in moe_capacity.CAPACITIES.values())


def _capacities(scenario: Scenario) -> pd.DataFrame:
    known = moe_capacity.CAPACITIES
    return pd.DataFrame(
        {
            "Definition": [one.label for one in known.values()],
            "Same room": [
                f"{moe_capacity.converted(scenario.capacity_factor, 'megatron', name, scenario.top_k):.4g}"
                for name in known
            ],
            "Counted over": [one.base for one in known.values()],
            "Rounded": [one.rounding for one in known.values()],
            "Dropless": [one.dropless for one in known.values()],
        }
    )


def measured(scenario: Scenario, one: Log, routed_tokens: float) -> None:
    """The fitted imbalance of measured loads: a map of experts and layers, and the drops that it predicts for this run."""
    fits = loaded.once("experts", one, lambda: expert_fit.fit_table(one.record.table)[:MOST_FITTED])
    if not fits:
        return
    settings = list(dict.fromkeys(fit.setting for fit in fits))
    setting = settings[0] if len(settings) == 1 else st.selectbox("Loads of", settings, key="expert_setting")
    own = [fit for fit in fits if fit.setting == setting][:MOST_LAYERS]
    width = max(len(fit.shares) for fit in own)
    shares = [[*fit.shares, *[float("nan")] * (width - len(fit.shares))] for fit in own]
    shell.chart(
        heat_figure(shares, [fit.layer for fit in own]),
        key="expert_heat",
        alt=f"Load of each expert over the mean, by layer, as measured; the experts' true shares vary by "
        f"{text.span(min(fit.skew for fit in own), max(fit.skew for fit in own), text.percent)}.",
        table=pd.DataFrame(shares, index=[f"layer {fit.layer}" for fit in own]),
    )
    st.table(_predicted(one, own, routed_tokens), hide_index=True)
    st.caption(
        f"Drops are predicted for {text.tokens(routed_tokens)} routed together, as in this run, from the fitted shares of the experts; texts of "
        "another domain keep other experts busy: across domains of public OLMoE counts such predictions were off by about half (median). Skew: CV of the experts' true shares, 90 % interval."
    )
    skew = sorted(fit.skew for fit in own)[len(own) // 2]
    st.button(
        "Use the measured skew",
        on_click=state.change,
        kwargs={"router_skew": float(f"{skew:.3g}")},
        help=f"The median over layers, {skew:.3g}.",
    )


def _predicted(one: Log, own: list[Imbalance], routed_tokens: float) -> pd.DataFrame:
    made = loaded.once("drops", one, dict)  # of the last setting and size alone
    if (asked := (own[0].setting, routed_tokens)) not in made:
        made.clear()
        made[asked] = [fit.predict(PREDICTED, routed_tokens) for fit in own]
    found = made[asked]
    drops = {
        f"Dropped at {factor:g}": [text.percent(float(each[place])) for each in found]
        for place, factor in enumerate(PREDICTED)
    }
    return pd.DataFrame(
        {
            "Layer": [str(fit.layer) for fit in own],
            "Skew": [f"{fit.skew:.3g} ({fit.low:.2g} to {fit.high:.2g})" for fit in own],
            "Over sampling noise": [text.times(fit.excess) for fit in own],
        }
        | drops
    )
