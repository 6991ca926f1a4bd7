"""Throughput: tokens per second and goodput against batch size, the plateau, where a step's time goes, what fits."""

import streamlit as st

from bsmath import bloom, curves, headroom, memory_outlook, model_shape, throughput
from pages.charts.throughput import rate_figure
from pages.ui import (
    dimensions,
    disagreements,
    here,
    measure,
    memory,
    next_run,
    overlay,
    rate_words,
    shell,
    split,
    state,
    step,
    text,
    work,
)

scenario = state.scenario()
run = shell.frame(scenario, "pages/throughput.py")
fastest = headroom.fastest_range(scenario, run, scenario.matmul_ceiling)
most = throughput.batch_at_plateau_fraction(0.9, run.half_batch)

st.markdown(rate_words.rate_verdict(scenario, run, fastest))
shell.metrics(
    (
        "Plateau [tok/s]",
        text.count(run.plateau, 4),
        f"{text.percent(run.plateau_mfu)} of {text.flops(scenario.peak_flops)} dense, {text.plural(run.num_devices, 'device')}",
    ),
    (
        "This run [tok/s]",
        text.count(run.tokens_per_second, 4),
        f"MFU {text.percent(run.mfu)}, a step takes {text.duration(run.step_time)}",
    ),
    (
        "B_half [tokens]",
        text.count(run.half_batch),
        f"half the plateau; 90 % at {text.count(most)}. {text.duration(run.fixed_time)} fixed per step",
    ),
    (
        "Goodput [tok/s]",
        text.count(run.goodput, 4),
        f"{text.percent(run.token_efficiency)} of the rate counts toward the target",
    ),
)

found = overlay.measurements("tokens_per_second")
table = curves.over_batch(scenario, run, found)
shell.chart(
    rate_figure(
        table, run.plateau, shell.run_point(run), shell.marks(scenario, run), shell.batch_axis(scenario), found
    ),
    key="rate",
    alt=f"Tokens per second and goodput against batch size; the plateau is {text.rate(run.plateau)}.",
    table=table[["tokens_per_step", "tokens_per_second", "goodput"]],
)
measure.fits(scenario, found, run)
next_run.section(scenario, found)
st.markdown(
    "The rate climbs while fixed costs per step dominate (overhead-bound, left of B_half) and goes flat once the matmuls do "
    "(compute-bound). A flat rate cannot choose a batch; goodput can: it is the rate times the share of tokens that still "
    "teach, and it peaks at B_fast."
)
shell.paragraphs(rate_words.fastest_open(scenario, run, fastest))
shell.view_switches()

step.section(scenario, run, table["tokens_per_step"])

shape = model_shape.of(scenario)
held = memory_outlook.outlook(scenario, shape)
st.subheader("What fits in memory", anchor=False)
shell.paragraphs(memory.verdict(scenario, shape, held), memory.freed(scenario, shape, held))
shell.folded("Memory by part", "memory_parts", memory.section, scenario, held)
shell.folded("Splits of a global batch", "splits", split.section, scenario, run, held)
shell.folded("Dimensions of the model, config.json", "dimensions", dimensions.section, scenario, shape)

st.subheader("Calibrate to a measurement", anchor=False)
measure.calibrate(run)
st.subheader("MFU, and what a rate implies", anchor=False)
shell.paragraphs(rate_words.ceiling(scenario, run), rate_words.accelerator_notes(scenario))
measure.implied(scenario, run, shape)
shell.folded("6N, exact count and HFU of this run", "work", work.section, scenario, run, shape)
shell.folded("Why fits weigh relative errors: four points of BLOOM-176B", "bloom", measure.weighting, bloom.fits)
here.throughput(scenario)

disagreements.show("throughput")

shell.formula(
    r"t = t_{fixed} + a\,t_{micro} + \frac{P}{R} + t_{exposed}",
    r"R = \frac{n \cdot peak \cdot MFU}{6N}",
    r"tok/s = \frac{B}{t}",
    r"goodput = \frac{tok/s}{1 + B/B_{crit}}",
    source="Empirical: over 63 public sweeps the straight line's worst residual is at most 5 % in 20, 5 to 15 % in 23, above in 20. P "
    "counts padded tokens, B real ones, a micro-batches. At a fixed micro-batch every term is constant per step or per micro-batch, "
    "so t stays a straight line in B. 6N is model FLOPs without attention scores or recomputation (Kaplan et al. 2020, "
    "arXiv 2001.08361); the ring all-reduce takes 2(n-1)/n of the gradients' bytes over the bandwidth; goodput is Pollux's (Qiao "
    "et al. 2021, OSDI).",
)
