"""What the noise scale says about the batch: noise over signal, gain and best rate of a step, and the clip threshold."""

import streamlit as st

from bsmath import noise_outlook
from bsmath.logs.noise import NoiseLog
from bsmath.noise_outlook import NoiseLevel
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.charts.noise import batch_figure, clip_figure
from pages.ui import shell, text

CURVES = ["tokens_per_step", "noise_to_signal", "improvement", "norm_ratio"]


def section(scenario: Scenario, run: Outlook, log: NoiseLog | None) -> None:
    """Noise over signal and the gain of a step against the batch; `log` is the user's own, or None."""
    level = noise_outlook.level(scenario, log)
    here = noise_outlook.at_batch(scenario, run.tokens_per_step, level)
    curve = noise_outlook.over_batch(scenario, run, level)
    st.subheader("What it says about the batch", anchor=False)
    st.markdown(_answer(scenario, run, level, here))
    shell.chart(
        batch_figure(curve, here, _marks(level, log), shell.batch_axis(scenario)),
        key="noise_batch",
        alt=f"Noise over signal, and the gain of a step, against the batch; this run has {text.times(here['noise_to_signal'])} as much "
        f"noise as signal and gains {text.percent(here['improvement'])} of the most a step can.",
        table=curve[CURVES],
    )
    st.caption(
        "Below the dotted line of the upper panel a gradient is mostly signal. The lower panel is derived for SGD on a quadratic loss "
        "(McCandlish et al. 2018, eq. 2.6-2.7); the best rate follows the same curve, and a step above twice the best raises the "
        f"loss. {_origin(level, log)}"
    )
    shell.folded("Clipping when the batch changes", "noise_clip", _clipping, scenario, run, level)


def _answer(scenario: Scenario, run: Outlook, level: NoiseLevel, here: dict) -> str:
    double = noise_outlook.at_batch(scenario, 2 * run.tokens_per_step, level)
    return (
        f"**At this run's {text.tokens(run.tokens_per_step)} per step a squared gradient holds {text.times(here['noise_to_signal'])} as "
        f"much noise as signal**, so a step gains {text.percent(here['improvement'])} of what one without noise would. Twice the batch "
        f"would gain {text.percent(double['improvement'])}."
    )


def _marks(level: NoiseLevel, log: NoiseLog | None) -> tuple[tuple[float, str], ...]:
    """The noise scale, and the batch at which it was measured."""
    measured = ((log.batches[0], "the log's batch"),) if log and level.measured and len(log.batches) == 1 else ()
    return ((level.value, "noise scale"), *measured)


def _origin(level: NoiseLevel, log: NoiseLog | None) -> str:
    """Which noise scale was taken, and why."""
    if level.measured:
        return (
            f"Drawn for the second half of your log, {text.tokens(level.value)} (90 % interval "
            f"{text.between(level.low, level.high)})."
        )
    why = "no log of your own is loaded" if log is None else "your log does not identify one in tokens"
    return f"Drawn for the scenario's noise scale, {text.tokens(level.value)}, which is assumed: {why}."


def _clipping(scenario: Scenario, run: Outlook, level: NoiseLevel) -> None:
    """The gradient's length at this run's batch and the reference's, and the threshold that goes with it."""
    here = noise_outlook.at_batch(scenario, run.tokens_per_step, level)
    tuned = noise_outlook.at_batch(scenario, scenario.reference_tokens_per_step, level)
    lengths = (
        f"Noise makes a gradient longer: {text.times(tuned['norm_ratio'])} its signal at the reference batch of "
        f"{text.tokens(scenario.reference_tokens_per_step)}, {text.times(here['norm_ratio'])} at this run's "
        f"{text.tokens(run.tokens_per_step)}."
    )
    if not scenario.clip_norm:
        st.markdown(f"{lengths} Clipping is off in this scenario (clip norm 0), so no threshold has to move.")
        return
    st.markdown(
        f"{lengths} **A clip threshold of {scenario.clip_norm:.3g} tuned there means the same here at {here['clip_norm']:.3g}**; left as "
        "it is, it clips more often at smaller batches and may never act at larger ones."
    )
    curve = noise_outlook.over_batch(scenario, run, level)
    shell.chart(
        clip_figure(curve, tuned, here, _marks(level, None), shell.batch_axis(scenario)),
        key="noise_clip",
        alt=f"The clip threshold that clips as often against the batch: {scenario.clip_norm:.3g} at the reference batch is "
        f"{here['clip_norm']:.3g} at this run's.",
        table=curve[["tokens_per_step", "norm_ratio", "clip_norm"]],
    )
    st.caption(
        "Root mean square of |g_B|/|G| is sqrt(1 + B_simple/B), derived. That clipping is then as frequent is a rule of thumb: lengths also "
        "vary less at larger batches."
    )
