"""The work of one token: 6N, the exact count with attention, what is executed, and the MFU that each of them reads."""

import streamlit as st

from bsmath import exact_flops, flops, model_shape
from bsmath.model_shape import ModelShape
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.ui import model_tables, text


def section(scenario: Scenario, run: Outlook, shape: ModelShape) -> None:
    """The readings of one rate, and why an MFU from elsewhere may not be comparable."""
    count = exact_flops.exact_flops_per_token(shape.architecture, scenario.seq_len)
    share = flops.attention_share(count.attention, scenario.active_params)
    st.markdown(
        f"This run's {text.rate(run.padded_tokens_per_second)} (padded) read by every usual count. Attention's "
        f"scores add {text.percent(share)} to 6N at sequences of {scenario.seq_len:,}: an MFU that counts them is that much "
        "higher at the same speed, and must not be compared with one by 6N."
    )
    st.dataframe(model_tables.readings(model_shape.readings(scenario, run, shape.architecture)), hide_index=True)
    st.caption(
        f"By part, of {text.count(count.total)} FLOP a token: layers {text.percent(count.linear / count.total)}, attention's scores "
        f"{text.percent(count.attention / count.total)}, logits {text.percent(count.logits / count.total)}. MFU counts model FLOPs, "
        "HFU those executed, recomputation included: full recomputation makes HFU up to 4/3 of MFU at the same speed."
    )
