"""How a wanted global batch can be split on the scenario's devices."""

import streamlit as st

from bsmath.memory_outlook import MemoryOutlook
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from bsmath.split_outlook import SplitOutlook, split_outlook
from pages.ui import model_tables, state, text


def section(scenario: Scenario, run: Outlook, found: MemoryOutlook) -> None:
    """The wanted batch, its splits by predicted rate, and the nearest batches where there is none."""
    wanted = st.number_input(
        "Wanted global batch [sequences]",
        min_value=1,
        max_value=10**12,
        value=min(run.global_batch_size, 10**12),
        step=1,
        help="`train_batch_size`, `--global-batch-size`; in sequences, over the whole job.",
    )
    if wanted is None:
        st.caption("Type a global batch to see how it can be split.")
        return
    outcome = split_outlook(scenario, run, found, wanted)
    if outcome.table.empty:
        st.markdown(_none(scenario, run, outcome, wanted))
        return
    st.dataframe(model_tables.splits(outcome.table), hide_index=True)
    if outcome.tied:
        st.caption(
            "All have the same predicted rate: nothing in this scenario costs time per micro-batch or per exchange. Type the overhead "
            "per micro-batch, or fit it, to tell them apart; the larger micro-batch stands first."
        )
    best = outcome.table.iloc[0]
    st.button(
        "Use the first split",
        on_click=state.change,
        kwargs={name: int(best[name]) for name in ("micro_batch_size", "grad_accum_steps", "data_parallel_size")},
    )


def _none(scenario: Scenario, run: Outlook, outcome: SplitOutlook, wanted: int) -> str:
    """Why there is no split, and what is nearest."""
    below, above = outcome.nearest
    if below is None and above is None:
        return (
            f"No split of {wanted:,} sequences: not even a micro-batch of one sequence of {scenario.seq_len:,} fits a device by this "
            "count. Recompute activations, raise the ZeRO stage, shorten the sequence or put more devices into a replica."
        )
    if wanted in outcome.nearest:
        return (
            f"{text.plural(wanted, 'sequence')} could be split, but only with more than a million accumulation steps or micro-batches of more "
            "than a million sequences: use more replicas."
        )
    near = " and ".join(f"**{each:,}**" for each in (below, above) if each is not None)
    return (
        f"No whole numbers of micro-batches and accumulation make {text.plural(wanted, 'sequence')} on {text.plural(scenario.data_parallel_size, 'replica')}: "
        f"a global batch is a multiple of the replicas. The nearest that are: {near} sequences."
    )
