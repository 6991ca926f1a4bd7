"""The section on published laws: how far they disagree about this run's batch, a chart of all of them, and their sources."""

import pandas as pd
import streamlit as st

from bsmath import law_curves, laws
from bsmath.law import EVIDENCE
from bsmath.laws import Prediction
from bsmath.measured import Measurement
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.charts.laws import laws_figure
from pages.ui import shell, state, text, tied

INSIDE = {True: "yes", False: "no", None: "not known"}
SYMBOLS = {"num_params": "N", "tokens": "D", "compute": "C", "loss": "L"}
KINDS = {
    "critical": "tokens start to be wasted (critical batch)",
    "optimal": "the loss at a fixed budget is least (optimal batch)",
}
DISAGREEMENT = (
    "**Where the literature disagrees.** *On what the batch depends*: Kaplan says the loss, most later work the tokens D and hardly the "
    "size N, DeepSeek and Moonlight the compute C. Along compute-optimal runs all of these grow together, so the laws part where you "
    "train longer than that. *How steeply it grows*: from D^0.38 to D^0.57, so two laws that agree on a small run do not on a large one. "
    "*How it moves within one run*: it grows, about tenfold to the end (McCandlish), or early from near zero and then no more "
    "(Merrill); one batch for the whole run is a compromise."
)


def section(scenario: Scenario, run: Outlook, found: list[Measurement]) -> None:
    """What published laws say for this run; `found` are the user's measured steps."""
    inputs = scenario.active_params, run.tokens, scenario.target_loss
    size, tokens, loss = inputs
    over = state.view().laws_over
    predictions = list(laws.predict(*inputs).values())
    st.subheader("What published laws say", anchor=False)
    st.markdown(answer(predictions, size, run))
    st.segmented_control("Laws over", **tied.view_choice("laws_over"))
    lines = law_curves.lines(*inputs, over)
    at = {"tokens": tokens, "parameters": size, "loss": loss}[over]
    levels, unit_problem = measured(found)
    shell.chart(
        laws_figure(lines, over, at, run.tokens_per_step, levels),
        key="laws",
        alt=f"Batch size by every published law against {over}: {spread(predictions)}.",
        table=law_curves.table(lines),
    )
    st.caption(reading(loss, over))
    shell.paragraphs(unit_problem)
    shell.folded("Every law at this run, and where it was fitted", "laws", _every, inputs)
    st.markdown(DISAGREEMENT)


def _every(inputs: tuple) -> None:
    predictions = laws.predictions(*inputs)
    st.table(table(predictions), hide_index=True)
    st.markdown(notes(predictions))
    st.markdown("How steeply each of them rises:")
    st.table(steepness(), hide_index=True)
    st.caption("Laws without a published level have an exponent only, so they are not in the chart.")


def answer(predictions: list[Prediction], num_params: float, run: Outlook) -> str:
    """How far the laws whose constants are verified disagree, where this run stands among them, and how many apply to it."""
    sure = _sure(predictions)
    above = sum(one.tokens_per_step > run.tokens_per_step for one in sure)
    place = {0: "above all of them", len(sure): "below all of them"}.get(above, f"below {above} of these {len(sure)}")
    within = sum(one.inside is True for one in predictions)
    doubted = len(predictions) - len(sure)
    applies = (
        f"This run lies inside the stated range of {within} of the {len(predictions)} laws; the others are extrapolated, or do not say "
        "where they were fitted."
        if within
        else f"This run lies inside the stated range of none of the {len(predictions)} laws: take the order of magnitude, not the number."
    )
    return (
        f"**For {text.count(num_params)} active parameters and {text.tokens(run.tokens)}, {spread(predictions)}. This run's "
        f"{text.tokens(run.tokens_per_step)} per step are {place}.** {applies} The ranges leave out the "
        f"{doubted} whose constants are unverified."
    )


def _sure(predictions: list[Prediction]) -> list[Prediction]:
    """Those of laws whose constants were all read."""
    return [one for one in predictions if not one.law.unverified]


def spread(predictions: list[Prediction]) -> str:
    """From where to where each kind of law reaches, those with unverified constants left out."""
    parts = []
    for kind, meaning in KINDS.items():
        batches = [one.tokens_per_step for one in _sure(predictions) if one.law.kind == kind]
        low, high = text.count(min(batches)), text.tokens(max(batches))
        parts.append(f"{meaning} at {low} to {high} per step, {text.spread(batches)} apart")
    return f"{parts[0]}; {parts[1]}"


def reading(loss: float | None, over: str) -> str:
    """How to read the chart, and which laws are missing in it."""
    missing = (
        " Laws written in the loss (Kaplan, MiniCPM) need a target loss: type one in the sidebar."
        if loss is None and over != "loss"
        else ""
    )
    return (
        "Thick lines are critical batches, thin ones optimal. Solid: within the range that the law was fitted on; dashed: outside; "
        f"dotted: not known. All but the axis stays at this run's values; C = 6 N D.{missing}"
    )


def measured(found: list[Measurement]) -> tuple[list[tuple[str, float, float, float]], str]:
    """The measured critical batches with their intervals, and why some are not shown."""
    known = [one for one in found if one.fit is not None and one.identified]
    if known and any(one.batch_unit != "tokens" for one in known):
        return [], "Your steps to a target count the batch in sequences, not in tokens, and are not in the chart."
    levels = []
    for one in known:
        value = one.fit.critical_batch_size
        levels.append((one.label, value, *one.bounds.get("critical_batch_size", (value, value))))
    return levels, ""


def table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Published laws at one size and number of tokens; what each rests on is in `notes`."""
    return pd.DataFrame(
        {
            "Law": predictions["label"],
            "Batch [tokens]": predictions["tokens_per_step"].map(text.count),
            "What it predicts": predictions["definition"],
            "Inside its range?": [INSIDE[value] for value in predictions["inside"]],
            "Constants verified?": predictions["evidence"].map(EVIDENCE),
        }
    )


def notes(predictions: pd.DataFrame) -> str:
    """Where each law was fitted, its source, and what in it no source was found for."""
    doubts = predictions["unverified"].map(lambda doubt: f" Unverified: {doubt}." if doubt else "")
    return "\n".join(
        f"- **{law.label}**: {law.valid_range}. {law.source}.{doubt}"
        for law, doubt in zip(predictions.itertuples(), doubts, strict=True)
    )


def steepness() -> pd.DataFrame:
    """The exponents of all laws, those without a published level too."""
    slopes = law_curves.slopes()
    return pd.DataFrame(
        {
            "Law": slopes["label"],
            "Exponent": [
                f"{SYMBOLS[variable]}^{exponent:.3g}"
                for variable, exponent in zip(slopes["variable"], slopes["exponent"], strict=True)
            ],
            "Batch at twice that": slopes["growth"].map(text.times),
            "Level published?": slopes["level"].map({True: "yes", False: "no, exponent only"}),
            "Source": slopes["source"],
        }
    )
