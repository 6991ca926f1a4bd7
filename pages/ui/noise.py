"""Sentences, numbers and tables of the Noise scale page."""

import math

import pandas as pd
import streamlit as st

from bsmath import noise, noise_along
from bsmath.logs.noise import ALL, LATE, OWN, WINDOW, NoiseLog
from bsmath.noise_estimate import LEAST_ROWS, NoiseScaleEstimate
from pages.charts.noise import parts_figure, scale_figure
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
        return "the initial batch" if log.unit == "initial batches" else "a batch of 1"
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


def late(log: NoiseLog, group: str) -> str:
    """The finding of the charts in one sentence, without Markdown."""
    if not log.has_parts:
        return "The log has no intervals."
    found = log.estimate(group, LATE)
    if not found.verdict()[0]:
        return "It is not identified in the second half of the run."
    return f"In the second half of the run it is {amount(log, found.noise_scale)}, 90 % interval {text.between(*found.interval())}."


def more_rows(log: NoiseLog, group: str) -> str:
    """How sure the second half's average is, and how many rows make it sure to 10 %; empty where no row can say."""
    found = log.estimate(group, LATE)
    need, identified = found.rows_needed(), found.verdict()[0]
    if found.rows < LEAST_ROWS or not 0 < need < math.inf or (need <= found.rows and not identified):
        return ""
    said = f"One standard deviation of the second half's noise scale is {text.percent(found.relative_deviation)} from {found.rows:,} rows"
    if need <= found.rows:
        return f"{said}; {_up(need)} would do for 10 %."
    return f"{said}: for 10 % log about {_up(need - found.rows)} more."


def drawn(log: NoiseLog, group: str, average: str = WINDOW) -> pd.DataFrame:
    """What the charts show of a group: its smoothed rows, evenly picked where they are more than a chart can show."""
    smoothed = log.smoothed(group, average=average)
    return smoothed.iloc[:: -(-len(smoothed) // DRAWN) or 1]


def chart(log: NoiseLog, group: str, average: str = WINDOW) -> None:
    """The noise scale through training; a window lies beside another average."""
    smoothed, rows = drawn(log, group, average), len(log.rows(group))
    if len(smoothed) < rows:
        st.caption(f"Drawn are {len(smoothed):,} of {rows:,} rows; averages and intervals are over all of them.")
    beside = None if average == WINDOW or not log.has_parts else drawn(log, group)
    shell.chart(
        scale_figure(smoothed, log.unit, levels(log), place(log), beside),
        key="noise_scale",
        alt=f"The noise scale through training with its 90 % interval, and the batch of the run. {late(log, group)}",
        table=smoothed,
    )


def averaging(log: NoiseLog, group: str, average: str) -> str:
    """What a point of the curve averages, in a sentence or two."""
    rows = len(log.rows(group))
    if average == WINDOW:
        return f"Each point averages up to {log.window(group):,} rows around it, both parts separately."
    decay = float(average)
    sure = noise_along.effective_rows(decay)
    said = (
        f"Each point averages all rows up to it, a row k back with weight {average}^k, both parts separately: once settled as sure as "
        f"{text.count(sure)} rows that count alike."
    )
    if sure < rows:
        return f"{said} It lags: where the window's curve has turned, earlier rows still weigh in it, those with a large |G|² most."
    return f"{said} The log has only {rows:,}, so its first rows still weigh at the end, most of all where |G|² fell since."


def parts(log: NoiseLog, group: str, average: str) -> None:
    """Both parts through training."""
    smoothed = drawn(log, group, average)
    which = "the run's batch" if log.batches else batch(log)
    st.markdown(
        f"**Why it changes**: the ratio alone cannot say. Where the noise that {which} leaves lies above the signal |G|², a larger "
        "batch still helps; where they cross, the batch is the noise scale. Dots are single rows of the log."
    )
    shell.chart(
        parts_figure(smoothed, batch(log), place(log)),
        key="noise_parts",
        alt=f"Signal and noise of the gradient through training, with the noise that {which} leaves. Their ratio is the noise scale. {late(log, group)}",
        table=smoothed,
    )


def numbers(log: NoiseLog, group: str) -> tuple[tuple[str, str, str], ...]:
    """The average of the run and of its second half, and both parts."""
    whole, late = log.estimate(group), log.estimate(group, LATE)
    unit = f" [{log.unit}]"
    early = "; its early rows, with a larger |G|², weigh more" if whole.grad_sq_norm > late.grad_sq_norm else ""
    return (
        (f"Second half{unit}", text.count(late.noise_scale), _interval(late)),
        (f"Whole run{unit}", text.count(whole.noise_scale), f"{_interval(whole)}{early}"),
        ("|G|²", squared(late.grad_sq_norm), "signal: squared norm of the gradient without noise, second half"),
        ("tr(Σ)", squared(late.trace), "noise: variance of the gradient at a batch of 1, second half"),
    )


def _interval(found: NoiseScaleEstimate) -> str:
    return f"{text.between(*found.interval())}, 90 % interval"


def _up(rows: float) -> str:
    return text.whole(-(-rows // 1))


def squared(value: float) -> str:
    """A part of the noise scale, of any size and sign: 0.0955, 68, 6.96e4."""
    if not math.isfinite(value):
        return "unknown"
    return f"{value:.3g}" if 1e-4 <= abs(value) < 1e4 or value == 0 else text.scientific(value)


def _share(part: float, whole: float, known: bool = True) -> str:
    """A layer's share of a part of the whole model's; there is none of a whole that is not clear of zero."""
    return text.percent(part / whole) if known and whole > 0 else "unknown"


def layers(log: NoiseLog) -> None:
    """The noise scale of every layer group."""
    st.table(by_group(log), hide_index=True)
    st.markdown("Both parts of the layers add up to the whole model's, their ratios do not.")


def by_group(log: NoiseLog) -> pd.DataFrame:
    """One row a layer group: its noise scale over the second half of the run, and its share of both parts."""
    whole = log.estimate(log.groups[0], LATE)
    known, _ = whole.verdict()
    rows = []
    for group in log.groups[:LISTED]:
        found = log.estimate(group, LATE)
        rows.append(
            {
                "Parameters": text.plain(group_name(group)),
                f"Noise scale [{log.unit}]": text.count(found.noise_scale),
                "90 % interval": text.between(*found.interval()),
                "Share of |G|²": _share(found.grad_sq_norm, whole.grad_sq_norm, known),
                "Share of tr(Σ)": _share(found.trace, whole.trace),
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
