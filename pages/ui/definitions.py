"""The section of the Critical batch page on what "critical" means: definitions side by side, and five published models."""

import pandas as pd
import streamlit as st

from bsmath import cbs_definitions, critical, published
from bsmath.cbs_definitions import DEFINITIONS, ZHANG_OPTIMAL_BATCH
from bsmath.measured import Measurement
from bsmath.outlook import Outlook
from bsmath.quantities import parse_number
from bsmath.scenario import RANGES, Scenario
from pages.charts.measured import measured_figure
from pages.ui import shell, text

DRAWN = ("85M", "302M", "1.2B")
"""Published models in the chart: more bands would hide each other."""


def marks(scenario: Scenario, optimal_batch: float = ZHANG_OPTIMAL_BATCH) -> tuple[tuple[float, str], ...]:
    """Batch sizes that charts over the batch mark, with their names: both definitions of critical."""
    knee = scenario.critical_batch_size
    return (knee, "B_crit (2x/2x)"), (cbs_definitions.overhead_batch(knee, optimal_batch), "20 % CBS")


def section(scenario: Scenario, run: Outlook, found: list[Measurement]) -> float:
    """What each definition says of this scenario and of what was measured; returns the B_opt in use. [tokens]"""
    st.subheader('What "critical" means', anchor=False)
    place = st.container()
    optimal = _optimal_batch()
    with place:
        st.markdown(verdict(scenario, run, optimal))
        st.table(scenario_table(scenario, optimal), hide_index=True)
        st.caption(counted_from(scenario, optimal))
        _measured(found, optimal)
    shell.folded("Five published models by both definitions", "zhang", _published, scenario)
    return optimal


def verdict(scenario: Scenario, run: Outlook, optimal_batch: float) -> str:
    """How far the definitions are apart for this hyperbola, and where the run stands among them."""
    sizes = cbs_definitions.batches(scenario.critical_batch_size, optimal_batch).values()
    low, high = min(sizes), max(sizes)
    place = "below all of them" if run.tokens_per_step < low else "above all of them"
    if low <= run.tokens_per_step <= high:
        place = "among them: whether it is too large depends on which is meant"
    return (
        f"**One hyperbola, several critical batches: from {text.count(low)} to {text.tokens(high)} for this scenario, "
        f"{text.times(high / low)} apart.** This run, {text.tokens(run.tokens_per_step)} per step, is {place}. Ask which is meant before "
        "comparing two numbers."
    )


def scenario_table(scenario: Scenario, optimal_batch: float) -> pd.DataFrame:
    """One row a definition: its batch for this scenario, and what happens there."""
    knee = scenario.critical_batch_size
    sizes = cbs_definitions.batches(knee, optimal_batch)
    rows = []
    for key, one in DEFINITIONS.items():
        batch, then = "measured only", "no formula: branch a run to measure it"
        if key in sizes:
            batch = text.count(sizes[key])
            steps, tokens = critical.step_overhead(sizes[key], knee), critical.token_overhead(sizes[key], knee)
            then = f"steps {text.times(steps)}, tokens {text.times(tokens)} the least"
        elif key == "noise":
            batch, then = _noise(scenario)
        whose = one.author.split(",")[0]
        there = f"{one.says[0].upper()}{one.says[1:]}; {then}"
        rows.append({"Definition": f"{one.label} ({whose})", "Batch [tokens]": batch, "What happens there": there})
    return pd.DataFrame(rows)


def counted_from(scenario: Scenario, optimal_batch: float) -> str:
    """What B_opt itself wastes, which the 20 % definition does not count."""
    least = critical.token_overhead(optimal_batch, scenario.critical_batch_size)
    share = least - 1
    more = f"{text.percent(share)} more tokens than the least" if share < 1 else f"{text.times(least)} the least tokens"
    warning = (
        " That is more than the 20 % themselves: choose a smaller B_opt." if share > cbs_definitions.OVERHEAD else ""
    )
    return (
        f"The 20 % CBS counts from B_opt = {text.tokens(optimal_batch)}, which itself needs {more}."
        f"{warning} B* = 1.2 B_opt + 0.2 B_crit holds exactly on the hyperbola. arXiv 1812.06162 (McCandlish), 2410.21676 (Zhang), "
        "2505.23971 (Merrill)."
    )


def measured_table(found: list[Measurement], optimal_batch: float) -> pd.DataFrame:
    """Each fit by every definition that converts, with its 90 % interval carried through."""
    rows = []
    for one in found:
        ends = one.bounds.get("critical_batch_size")
        row = {"Series": text.plain(one.label)}
        for definition in DEFINITIONS.values():
            if definition.batch is not None:
                value = text.count(definition.batch(one.fit.critical_batch_size, optimal_batch))
                bounds = [definition.batch(end, optimal_batch) for end in ends] if ends else []
                row[f"{definition.label} [tokens]"] = f"{value} ({text.between(*bounds)})" if bounds else value
        rows.append(row)
    return pd.DataFrame(rows)


def _noise(scenario: Scenario) -> tuple[str, str]:
    """The scenario's noise scale, and the critical batches that would go with it."""
    low, high = cbs_definitions.from_noise_scale(scenario.noise_scale)
    assumed = " (set equal to B_crit)" if scenario.noise_scale == scenario.critical_batch_size else ""
    return (
        f"{text.count(scenario.noise_scale)}{assumed}",
        f"going by runs that measured both, B_crit {text.between(low, high)}",
    )


def _optimal_batch() -> float:
    """The typed B_opt, or that of Zhang et al. where nothing usable is typed. [tokens]"""
    typed = st.text_input(
        "B_opt [tokens per step], from which the 20 % are counted",
        value=text.exact(ZHANG_OPTIMAL_BATCH),
        key="cbs_optimal_batch",
        help="The batch from which linear scaling is ideal. Zhang et al. took 256 sequences of 512 tokens. Not kept in the link.",
    )
    low, high = RANGES["reference_tokens_per_step"]
    try:
        value = parse_number(typed)
    except ValueError as error:
        st.warning(text.plain(str(error)))
        return ZHANG_OPTIMAL_BATCH
    if not low <= value <= high:
        st.warning(text.plain(f"B_opt must be from {low:g} to {high:g}, got {typed!r}"))
        return ZHANG_OPTIMAL_BATCH
    return value


def _measured(found: list[Measurement], optimal_batch: float) -> None:
    """The user's fits by each definition, as far as they identify a critical batch in tokens."""
    if not found:
        return
    if any(one.batch_unit != "tokens" for one in found):
        st.caption(
            "Your steps to a target count the batch in sequences, not in tokens, so B_opt does not apply to them."
        )
        return
    known = [one for one in found if one.identified]
    if known:
        st.table(measured_table(known, optimal_batch), hide_index=True)
        st.caption("Your fits by each definition, in brackets 90 % intervals. B_opt is taken as given.")
    if missing := [text.plain(one.label) for one in found if not one.identified]:
        st.caption(f"Not converted, since the data do not identify a critical batch: {', '.join(missing)}.")


def _published(scenario: Scenario) -> None:
    """Why both definitions are three to four times apart, on the steps of five published models."""
    fits, series = published.zhang_fits(), published.zhang_measurements()
    small, large = fits["overhead20_batch"], fits["critical_batch_size"]
    exponents = [published.growth(fits, name) for name in ("overhead20_batch", "critical_batch_size")]
    st.markdown(
        f"**The same step counts give a 20 % CBS of {text.span(small.min(), small.max())} tokens and a B_crit of "
        f"{text.span(large.min(), large.max())}: {text.span(fits['ratio'].min(), fits['ratio'].max(), text.times)} as large.** The first "
        f"holds a fifth of the second plus 1.2 B_opt = {text.tokens(1.2 * ZHANG_OPTIMAL_BATCH)} for every model, so it also grows more "
        f"slowly with the tokens trained on, as D^{exponents[0]:.2f} and not D^{exponents[1]:.2f}."
    )
    st.table(published_table(fits), hide_index=True)
    shell.chart(
        measured_figure(
            [one for one in series if one.label in DRAWN],
            "Optimizer steps to the target",
            "steps",
            shell.batch_axis(scenario),
        ),
        key="zhang_steps",
        alt=f"Steps to a loss against batch size of {', '.join(DRAWN)}: proportional to 1/B at first, then flat.",
        table=published.zhang(),
    )
    doubted = [one.label for one in series if not one.identified]
    st.caption(
        "Decoder models on C4, sequences of 512, rate swept at every batch; each model has its own target loss. Step counts as adjusted and "
        f"fitted by Zhang et al. 2024, arXiv 2410.21676; the chart has {len(DRAWN)} of the five."
        + (f" A curve with a free exponent fits {', '.join(doubted)} better." if doubted else "")
    )


def published_table(fits: pd.DataFrame) -> pd.DataFrame:
    """The five fits as they are shown."""
    ends = zip(fits["low"], fits["high"], strict=True)
    return pd.DataFrame(
        {
            "Model": fits["model"],
            "Tokens D": fits["budget_tokens"].map(text.count),
            "S_min [steps]": fits["min_steps"].map(text.whole),
            "E_min [tokens]": fits["min_tokens"].map(text.count),
            "B_crit [tokens]": [
                f"{text.count(value)} ({text.between(*pair)})"
                for value, pair in zip(fits["critical_batch_size"], ends, strict=True)
            ],
            "20 % CBS [tokens]": fits["overhead20_batch"].map(text.count),
            "B_crit / CBS": fits["ratio"].map(text.times),
        }
    )
