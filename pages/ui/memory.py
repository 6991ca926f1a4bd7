"""Memory of one device: what a step needs, the largest micro-batch, and what a smaller one frees."""

import streamlit as st

from bsmath import memory_outlook
from bsmath.memory_outlook import MemoryOutlook
from bsmath.model_shape import ModelShape
from bsmath.scenario import Scenario
from pages.charts.step_time import memory_figure
from pages.ui import model_tables, shell, text


def verdict(scenario: Scenario, shape: ModelShape, found: MemoryOutlook) -> str:
    """Whether the micro-batch fits, and the largest that does, in a sentence or two."""
    one = found.estimate
    needs = text.span(one.low, one.high, text.size)
    start = f"A step needs about **{needs}** of each device"
    origin = " (dimensions are assumed)" if shape.assumed else ""
    if found.available is None:
        return f"{start}{origin}; the accelerator's memory is not known, so nothing says whether that fits."
    sure, may = found.largest_micro_batch
    if may == 0 and one.states > found.available:
        limit = "the states alone are too large: share them out (ZeRO), or put more devices into a replica"
    elif may == 0:
        limit = "no micro-batch fits: recompute activations, shorten the sequence, or put more devices into a replica"
    elif sure == 0:
        limit = f"no micro-batch surely fits, up to {text.plural(may, 'sequence')} may"
    else:
        limit = f"the largest micro-batch that surely fits is {text.plural(sure, 'sequence')}" + (
            f", up to {may:,} may" if may > sure else ""
        )
    one_only = scenario.micro_batch_size == 1
    judged = {
        memory_outlook.FITS: "fits" if one_only else "fit",
        memory_outlook.MAY_FIT: "may fit",
        memory_outlook.TOO_LARGE: "does not fit" if one_only else "do not fit",
    }[found.verdict]
    size = f"{text.plural(scenario.micro_batch_size, 'sequence')} of {scenario.seq_len:,}"
    return f"{start} with {text.size(found.available)}{origin}: **{size} {judged}**; {limit}."


def section(scenario: Scenario, found: MemoryOutlook) -> None:
    """The parts of the memory, least and most."""
    low, high = found.parts
    shell.chart(
        memory_figure(low, high, found.available),
        key="memory",
        alt=f"Memory of one device by part, from {text.size(found.estimate.low)} to {text.size(found.estimate.high)}.",
        table=model_tables.memory(low, high),
    )
    st.caption(
        "*Least*: logits computed in chunks, few copies of the hidden state in each layer. *Most*: logits kept in 16 and 32 bit, "
        "many copies. A plain MLP keeps 34 bytes per token, layer and unit of width (Korthikanti et al. 2022, arXiv 2205.05198); "
        "gated ones were measured between 48 and 96. Weights, gradients and Adam's states take 16 bytes a parameter, 18 with "
        "fp32 gradients, before ZeRO. Devices of a replica are taken to share everything evenly, which the first stage of a "
        "pipeline does not. Not counted: the CUDA context, workspaces, fragmentation, buffers of communication and of experts."
    )


def freed(scenario: Scenario, shape: ModelShape, found: MemoryOutlook) -> str:
    """What half the micro-batch frees and what that buys."""
    half = max(scenario.micro_batch_size // 2, 1)
    bought = memory_outlook.freed_by(scenario, shape, half)
    if bought is None or half == scenario.micro_batch_size or found.verdict == memory_outlook.TOO_LARGE:
        return ""
    amount = text.span(*bought.memory, text.size)
    buys = [f"sequences of {bought.same_memory_seq_len:,} instead of {scenario.seq_len:,}"]
    if bought.capacity_factor is not None:
        least, most = bought.capacity_factor
        buys.append(f"{least:.2g} to {most:.2g} more capacity factor for the experts (their buffers alone)")
    return (
        f"**What a smaller batch frees.** Micro-batches of {half:,} free {amount} of each device. In the same memory that buys "
        f"{' or '.join(buys)}."
        + (
            " With twice the accumulation the global batch and the update stay as they are."
            if 2 * half == scenario.micro_batch_size
            else ""
        )
    )
