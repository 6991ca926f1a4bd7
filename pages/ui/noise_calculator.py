"""A calculator: two gradient norms typed in, both parts of the noise scale out, and how many steps would make it sure."""

import streamlit as st

from bsmath import noise_reading
from bsmath.noise_reading import NoiseReading
from bsmath.quantities import parse_number
from pages.ui import noise, shell, text

FIELDS = {
    "tokens_small": ("Small batch b [tokens]", "65536", "Of one replica or micro-batch."),
    "tokens_big": ("Big batch B [tokens]", "1048576", "Of the whole step."),
    "norm_small": ("Small norm", "2.0625", "Mean over the small batches, before the all-reduce."),
    "norm_big": ("Big norm", "1.06640625", "After averaging, before clipping."),
    "averaged": ("Small norms averaged", "", "1 where one replica logs its own; empty: all B/b of a step."),
    "steps": ("Steps averaged", "1", "Optimizer steps that both norms are means of."),
    "effective_dimension": (
        "Effective dimension",
        f"{noise_reading.EFFECTIVE_DIMENSION:g}",
        "Directions the noise spreads over, tr(Σ)²/tr(Σ²). Assumed: this project's own log of a 0.1M model has about 50. A log measures the "
        "spread itself.",
    ),
}
"""Label, first value and help of every field."""
FIELD_WIDTH = 140
"""Pixels: two fit inside an expander on a phone of 390."""
SQUARED, ROOTS = "squared norms", "norms"


def section() -> None:
    """The form and what follows from it."""
    with st.form("noise_calculator", border=False):
        kind = st.segmented_control("Given are", (SQUARED, ROOTS), default=SQUARED, required=True)
        with st.container(horizontal=True):
            typed = {name: _field(name) for name in FIELDS}
        st.form_submit_button("Compute")
    try:
        found = noise_reading.reading(squared=kind == SQUARED, **_numbers(typed))
    except ValueError as error:
        st.warning(text.plain(f"{error}."))
        return
    st.markdown(answer(found))
    shell.metrics(*_numbers_shown(found))
    st.caption(
        "One step's uncertainty is derived for Gaussian gradients and an assumed effective dimension. In this project's own log tr(Σ) "
        "spread more than that, so take it for the least; a log of many rows measures it."
    )


def _field(name: str) -> str:
    label, first, help = FIELDS[name]
    return st.text_input(label, first, key=f"calculator_{name}", help=help, width=FIELD_WIDTH)


def _numbers(typed: dict[str, str]) -> dict[str, float]:
    """The fields that are not empty, as numbers."""
    found = {}
    for name, written in typed.items():
        if written.strip():
            found[name] = _number(FIELDS[name][0], written)
        elif name in ("tokens_small", "tokens_big", "norm_small", "norm_big"):
            raise ValueError(f"{FIELDS[name][0]} must be a number, got ''")
    return found


def _number(label: str, written: str) -> float:
    try:
        return parse_number(written)
    except ValueError:
        raise ValueError(f"{label} must be a number such as 0.53, 7.3e9, 512k or 2^20, got {written!r}") from None


def answer(found: NoiseReading) -> str:
    """The noise scale with its uncertainty and the steps that 10 % takes, or why there is none."""
    if found.refusal:
        return f"**Not identified.** {found.refusal}"
    steps = "1 step" if found.steps == 1 else f"{text.count(found.steps)} steps"
    said = (
        f"**B_simple is {text.tokens(found.noise_scale)}**, {text.times(found.relative_error)} the batch, give or take "
        f"{text.percent(found.relative_deviation)} (one standard deviation, {steps})."
    )
    need = max(found.steps_needed, 1)
    wanted = text.percent(noise_reading.WANTED)
    if found.steps >= need:
        return f"{said} That is within {wanted}; {text.plural(_up(need), 'step')} would do."
    return f"{said} For {wanted} average **{text.count(_up(need))} steps**, each part by itself."


def _up(steps: float) -> int:
    return int(-(-steps // 1))


def _numbers_shown(found: NoiseReading) -> tuple[tuple[str, str, str], ...]:
    parts = (
        ("|G|²", noise.squared(found.grad_sq_norm), "signal: squared norm of the gradient without noise"),
        ("tr(Σ)", noise.squared(found.trace), "noise: variance of the gradient of one token"),
    )
    if found.refusal:
        return parts
    signal = text.percent(found.signal_deviation)
    return (
        *parts,
        (
            "B_simple [tokens]",
            text.count(found.noise_scale),
            f"one step alone knows |G|² to {signal}, one standard deviation",
        ),
        (
            "Steps for 10 %",
            text.count(_up(max(found.steps_needed, 1))),
            f"at r = B_simple/B = {found.relative_error:.3g}",
        ),
    )
