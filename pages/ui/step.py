"""Where the time of an optimizer step goes, and what that says about the batch."""

import streamlit as st

from bsmath import step_costs
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.charts.step_time import step_time_figure
from pages.ui import shell, text


def section(scenario: Scenario, run: Outlook, sizes) -> None:
    """The parts of a step against the batch, the longest at this run, and which of them stand inside the plateau's MFU."""
    st.subheader("Where a step's time goes", anchor=False)
    st.markdown(dominant(scenario, run))
    table = step_costs.over_batch(scenario, sizes)
    shell.chart(
        step_time_figure(
            table, step_costs.TERMS, shell.run_point(run), shell.marks(scenario, run), shell.batch_axis(scenario)
        ),
        key="step",
        alt=f"Parts of a step's time against batch size. {dominant(scenario, run)}",
        table=table,
    )
    st.markdown(
        "*Inside* the plateau's MFU: how well large matmuls run, attention, recomputation, tensor and pipeline parallelism. "
        "*Beside* it, added here: the fixed time, overhead of every micro-batch, reading the weights where a micro-batch is too "
        "small to cover it, and communication that no arithmetic hides. Below one micro-batch on every replica the micro-batch "
        "shrinks; above it accumulation grows: what is paid once a step thins out, what is paid once a micro-batch keeps its share."
        + _network(scenario)
    )


def dominant(scenario: Scenario, run: Outlook) -> str:
    """Which part of this run's step is the longest, and what follows for the batch."""
    terms = step_costs.terms_at(scenario, run.padded_tokens_per_step)
    name = step_costs.TERMS[str(terms.dominant)]
    share = text.percent(getattr(terms, str(terms.dominant)) / terms.total)
    advice = {
        "compute": "a larger batch does not shorten it, only a higher MFU or fewer FLOPs do",
        "fixed": "it is paid once a step, so a larger batch spreads it over more tokens",
        "micro_overhead": "it is paid once a micro-batch, so larger micro-batches spread it over more tokens, accumulation does not",
        "weight_reads": "the micro-batch is too small to keep the arithmetic units busy: enlarge it before you accumulate",
        "all_reduce": "larger micro-batches hide more of it, and accumulation pays the gradients' part less often per token",
    }[str(terms.dominant)]
    return f"Of each {text.duration(terms.total)} step, **{share} is {name}**: {advice}."


def _network(scenario: Scenario) -> str:
    if scenario.data_parallel_size == 1:
        return ""
    rate, origin = step_costs.bandwidth(scenario)
    return (
        f" Gradients of {text.size(step_costs.gradient_bytes(scenario))} a device cross the network at "
        f"{text.size(rate)}/s ({origin})."
    )
