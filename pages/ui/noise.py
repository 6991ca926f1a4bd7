"""Sentences, numbers and tables of the Noise scale page."""

import pandas as pd
import streamlit as st

from bsmath import noise
from bsmath.logs.noise import ALL, LATE, OWN, NoiseLog
from pages.charts.noise import scale_figure
from pages.ui import shell, text

DRAWN, LISTED = 3000, 100
"""Rows in a chart and layer groups in the table, at most."""


def group_name(group: str) -> str:
    """What to call a layer group."""
    return "all parameters" if group == ALL else group


def amount(log: NoiseLog, value: float) -> str:
    """A noise scale or batch with its unit."""
    if log.unit == OWN:
        return f"{text.count(value)} in {OWN}"
    return text.tokens(value) if log.unit == "tokens" else f"{text.count(value)} {log.unit}"


def batch(log: NoiseLog) -> str:
    """The batch of the log's run, in words."""
    sizes = log.batches
    if not sizes:
        return "this batch"
    return (
        amount(log, sizes[0])
        if len(sizes) == 1
        else f"the run's batch, {amount(log, sizes[0])} to {text.count(sizes[-1])}"
    )


def levels(log: NoiseLog) -> tuple[tuple[float, str], ...]:
    """Horizontal lines of the chart: the batch of the run, where it is one."""
    return ((log.batches[0], "batch of the run"),) if len(log.batches) == 1 else ()


def place(log: NoiseLog) -> str:
    """Title of the axis along training."""
    return "Tokens trained [tokens]" if log.place == "tokens" else f"Training [{log.place}]"


def verdict(log: NoiseLog, group: str) -> str:
    """The answer in one sentence, or why there is none."""
    if not log.has_parts:
        return (
            "**This log has the ratio alone**: without its two parts it has no average and no interval, so read the curve as a "
            "trend only."
        )
    found = log.estimate(group, LATE)
    known, sentence = found.verdict()
    if not known:
        return f"**In the second half of the run the noise scale of {text.plain(group_name(group))} is not identified.** {sentence}"
    start = (
        f"**In the second half of the run the noise scale of {text.plain(group_name(group))} is {amount(log, found.noise_scale)}** (90 % "
        f"interval {text.between(*found.interval())})"
    )
    if len(log.batches) != 1:
        return f"{start}. {sentence}"
    error = noise.relative_error(log.batches[0], found.noise_scale)
    gain = noise.improvement(log.batches[0], found.noise_scale)
    return (
        f"{start}: at {batch(log)} per step a squared gradient holds {text.times(error)} as much noise as signal, and by the theory "
        f"for SGD a step gains {text.percent(gain)} of what one without noise would. {sentence}"
    )


def drawn(log: NoiseLog, group: str) -> pd.DataFrame:
    """What the charts show of a group: its smoothed rows, evenly picked where they are more than a chart can show."""
    smoothed = log.smoothed(group)
    return smoothed.iloc[:: -(-len(smoothed) // DRAWN) or 1]


def chart(log: NoiseLog, group: str) -> None:
    """The noise scale through training."""
    smoothed, rows = drawn(log, group), len(log.rows(group))
    if len(smoothed) < rows:
        st.caption(f"Drawn are {len(smoothed):,} of {rows:,} rows; averages and intervals are over all of them.")
    shell.chart(
        scale_figure(smoothed, log.unit, levels(log), place(log)),
        key="noise_scale",
        alt="The noise scale through training with its 90 % interval, and the batch of the run.",
        table=smoothed,
    )


def numbers(log: NoiseLog, group: str) -> tuple[tuple[str, str, str], ...]:
    """The average of the run and of its second half, and both parts."""
    whole, late = log.estimate(group), log.estimate(group, LATE)
    unit = f" [{log.unit}]"
    return (
        (f"Second half{unit}", text.count(late.noise_scale), _interval(late)),
        (f"Whole run{unit}", text.count(whole.noise_scale), f"{_interval(whole)}; its first steps weigh most"),
        ("|G|²", _small(late.grad_sq_norm), "signal: squared norm of the gradient without noise, second half"),
        ("tr(Σ)", _small(late.trace), "noise: variance of the gradient at a batch of 1, second half"),
    )


def _interval(found: noise.NoiseScaleEstimate) -> str:
    return f"{text.between(*found.interval())}, 90 % interval"


def _small(value: float) -> str:
    return f"{value:.3g}"


def by_group(log: NoiseLog) -> pd.DataFrame:
    """One row a layer group: its noise scale over the second half of the run, and its share of both parts."""
    whole = log.estimate(log.groups[0], LATE)
    rows = []
    for group in log.groups[:LISTED]:
        found = log.estimate(group, LATE)
        rows.append(
            {
                "Parameters": text.plain(group_name(group)),
                f"Noise scale [{log.unit}]": text.count(found.noise_scale),
                "90 % interval": text.between(*found.interval()),
                "Share of |G|²": text.percent(found.grad_sq_norm / whole.grad_sq_norm),
                "Share of tr(Σ)": text.percent(found.trace / whole.trace),
            }
        )
    return pd.DataFrame(rows)


def problems(log: NoiseLog) -> None:
    """What could not be used of the file, and what is not shown."""
    if log.has_parts and log.groups[LISTED:]:
        st.caption(
            f"Listed are the first {LISTED} of {len(log.groups):,} groups of parameters; any can be chosen above."
        )
    for sentence in log.problems:
        st.caption(text.plain(sentence))
