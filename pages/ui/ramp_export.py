"""The ramp in a trainer's own syntax."""

import streamlit as st

from bsmath import ramp_curves, ramp_stages
from bsmath.ramp_exports import RAMP_EXPORTS
from bsmath.ramp_outlook import RampOutlook
from bsmath.scenario import Scenario
from pages.ui import text

NOTABLE = 0.1
"""Change of a batch by rounding from which it is said, as a share."""


def section(scenario: Scenario, found: RampOutlook) -> None:
    """The scenario's ramp as whole stages, to copy and as a file; what a trainer cannot say is named."""
    one = found.chosen
    kind = st.segmented_control(
        "Form",
        list(RAMP_EXPORTS),
        default=next(iter(RAMP_EXPORTS)),
        required=True,
        format_func=lambda name: RAMP_EXPORTS[name].label,
        key="ramp_form",
        label_visibility="collapsed",
    )
    make = ramp_stages.powers if kind == "olmo" else ramp_stages.staged
    replica_sequences = scenario.micro_batch_size * scenario.data_parallel_size
    try:
        stages = make(
            one.ramp,
            scenario.seq_len,
            replica_sequences,
            one.tokens,
            ramp_stages.most_stages_of(one.ramp),
            scenario.padding_fraction,
        )
    except ValueError as error:
        st.warning(text.plain(f"This ramp has no stages to write: {error}."))
        return
    chosen = RAMP_EXPORTS[kind]
    change = ramp_stages.largest_change(stages)
    gone = " and leaves a single one" if len(stages) == 1 and one.ramp.smallest < one.ramp.largest else ""
    if abs(change) > NOTABLE:
        st.info(
            f"This job steps in whole multiples of {text.plural(replica_sequences, 'sequence')} (micro-batch x replicas), which changes a batch of the "
            f"ramp by up to {text.percent(abs(change))}{gone}: a smaller micro-batch or fewer replicas come nearer."
        )
    if refused := chosen.unfit(stages):
        st.info(text.plain(refused))
        return
    rates = [float(ramp_curves.rule_rate(scenario, one, stage.tokens_per_step)) for stage in stages]
    written = chosen.write(stages, rates, scenario.seq_len, one.tokens)
    st.code(written, language=chosen.language, wrap_lines=True)
    st.download_button(f"Download {chosen.file}", written, chosen.file, "text/plain", on_click="ignore")
    for sentence in chosen.notes(stages, rates, scenario.seq_len):
        st.caption(text.plain(sentence))
