"""Page sections about measurements: fits of the loaded sweep, calibration to one number, what a rate implies."""

import math

import streamlit as st

from bsmath import exact_flops, fitted_rate, flops, measured
from bsmath.measured import Measurement
from bsmath.model_shape import ModelShape
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.ui import actions, rate_words, text

NAMES = {
    "fixed_time": ("t_fixed", text.duration),
    "plateau": ("plateau", text.rate),
    "half_batch": ("B_half", text.tokens),
    "critical_batch_size": ("B_crit", text.tokens),
    "min_steps": ("S_min", text.whole),
    "min_tokens": ("E_min", text.tokens),
}


def fits(scenario: Scenario, found: list[Measurement], run: Outlook | None = None) -> None:
    """For each measured series: its numbers with their intervals, the verdict, and the button that uses them.

    With `run`, what a throughput fit means for it.
    """
    if not found:
        st.caption(
            "Nothing measured lies over this theory yet: load your own sweep, or the example, on the Upload page."
        )
    for one in found:
        with st.container(border=True):
            st.markdown(f"**{text.plain(one.label)}**: {one.verdict}")
            if one.fit is not None:
                st.markdown(describe(one))
                if run is not None:
                    _consequences(scenario, run, one)
                _use(scenario, one)


def numbers(one: Measurement) -> dict[str, str]:
    """Fitted numbers with their 90 % intervals, by their symbols; empty where there is no fit."""
    if one.fit is None:
        return {}
    bounds = one.bounds
    written = {}
    for name, value in one.fit.parameters.items():
        label, write = NAMES[name]
        if write is text.tokens and one.batch_unit != "tokens":
            write = in_sequences
        written[label] = (write(value) if math.isfinite(value) else "no bound") + (
            f" ({text.between(*bounds[name], write)})" if bounds else ""
        )
    return written


def in_sequences(value: float) -> str:
    """A batch or an amount of data in sequences or samples."""
    return f"{text.count(value)}{text.GAP}sequences"


def describe(one: Measurement) -> str:
    """Fitted numbers with their intervals and the largest misfit, in words."""
    listed = ", ".join(f"{label} {written}" for label, written in numbers(one).items())
    if one.fit.line.exact and len(one.points) > 2:
        return "Two points are left, too few for any number."
    if one.fit.line.exact:
        return f"{listed}: a line through two points, no interval."
    freedom = text.plural(one.fit.line.dof, "degree") + " of freedom"
    return (
        f"{listed}. In brackets: 90 % intervals from the fit's own scatter ({freedom}). "
        f"Worst point off by {text.percent(one.worst_residual)}."
    )


def _consequences(scenario: Scenario, run: Outlook, one: Measurement) -> None:
    """What a fitted throughput sweep means: the plateau's MFU, the next doubling, and what an unweighted fit would say."""
    meant = fitted_rate.consequences(scenario, run, one)
    if meant is None:
        return
    mfu, *bounds = meant.mfu
    gain, *gains = meant.gain
    plateau, half = meant.unweighted
    doubled = f"Doubling this run's batch would raise the rate by **{text.percent(gain)}** ({text.between(*gains, text.percent)})."
    if one.fit.fall:
        doubled = "Beyond its best batch the rate falls, so the fit says nothing of larger ones."
    if mfu > 1:
        st.markdown(
            f"Its plateau is {text.times(mfu)} what {text.plural(run.num_devices, 'device')} of this scenario can do at their peak with "
            f"{text.count(meant.active_params)} parameters, so the sweep comes from another model or device. {doubled}"
        )
        return
    st.markdown(
        f"Its plateau is **MFU {text.percent(mfu)}** ({text.between(*bounds, text.percent)}) of "
        f"{text.flops(scenario.peak_flops)} dense on {text.plural(run.num_devices, 'device')}, by 6N with "
        f"{text.count(meant.active_params)} parameters. {doubled}"
    )
    if warning := rate_words.above_ceiling(scenario, mfu):
        st.warning(warning)
    st.caption(
        f"An ordinary fit of the rates would say plateau {text.rate(plateau)}, B_half {text.tokens(half)}: it weighs absolute "
        "errors, so the fastest batches decide and the small ones, which show the fixed time, hardly count. This fit weighs "
        "relative errors of the step time."
    )


def _use(scenario: Scenario, one: Measurement) -> None:
    refusal = measured.refusal(one)
    st.button(
        "Use fitted values",
        key=f"use_{one.quantity}_{one.source}_{one.series}",
        on_click=actions.use_fit,
        args=(one,),
        disabled=bool(refusal),
        help=refusal or "Puts the fitted numbers into the scenario; Undo takes them back.",
    )


def weighting(fits) -> None:
    """A published sweep fitted by relative error and unweighted, and why they differ; `fits` gives bsmath.bloom's table."""
    table = fits()
    weighted, plain = table.to_dict("records")
    st.markdown(
        f"On 384 A100, BLOOM-176B ran at 8.04, 73, 113 and 149.8 TFLOP/s a device with 16, 192, 512 and 2,048 sequences a step. By relative "
        f"error the plateau is **{text.flops(weighted['plateau'])}** with B_half at **{text.whole(weighted['half_batch'])} "
        f"sequences**; an ordinary fit of the rates says {text.flops(plain['plateau'])} and "
        f"{text.whole(plain['half_batch'])}. They differ because the ordinary one weighs absolute errors: at 16 sequences it is off "
        f"by {text.percent(abs(plain['off'][0]))} and does not care, so its fixed time is too short and its plateau too low. By relative error "
        f"the worst point is off by {text.percent(max(map(abs, weighted['off'])))}. (BigScience, tr11-176B chronicles; the micro-batch was 2 "
        "at 16 and 512 sequences and 1 at 192, so neither curve is exact.)"
    )


def calibrate(run: Outlook) -> None:
    """A measured rate or MFU at a stated batch sets the plateau."""
    st.caption("One measured number sets the plateau's MFU, with t_fixed as it is. Rates count real tokens, whole job.")
    with st.form("calibrate", border=False):
        left, right = st.columns(2)
        left.text_input("Measured tok/s, or MFU such as 0.66", placeholder="136.7k", key="calibrate_rate")
        right.text_input("at tokens per step", placeholder=text.exact(run.tokens_per_step), key="calibrate_batch")
        st.form_submit_button("Calibrate", on_click=actions.calibrate, args=(run,))


def implied(scenario: Scenario, run: Outlook, shape: ModelShape) -> None:
    """The parameters and peak that this run's rate would mean under other readings."""
    if warning := rate_words.sparse_peak(scenario):
        st.warning(warning)
    peak = scenario.peak_flops
    padded = run.padded_tokens_per_second
    dense = flops.active_params(padded, run.mfu, peak, run.num_devices)
    sparse = flops.active_params(padded, run.mfu, 2 * peak, run.num_devices)
    half = flops.mfu(padded, run.flops_per_token, 2 * peak, run.num_devices)
    st.markdown(
        f"{text.rate(padded)} (padded) at MFU {text.percent(run.mfu)} imply **{text.count(dense)} active parameters** by 6N."
    )
    if scenario.device is None or scenario.device.sparse_peak_flops:
        st.markdown(
            f"Had that MFU been counted against a 2:4-sparse peak of {text.flops(2 * peak)}, the rate would imply {text.count(sparse)} "
            f"parameters; with these, it would read as MFU {text.percent(half)}. Vendors print the sparse figure in bold: divide it by two."
        )
    scores = exact_flops.exact_flops_per_token(shape.architecture, scenario.seq_len).attention
    share = flops.attention_share(scores, scenario.active_params)
    seen = run.mfu * (1 + share / 2)
    if seen > 1:
        st.warning(
            f"Sequences of {scenario.seq_len:,} make attention's scores {text.times(share)} as much work as 6N: even their visible half "
            f"makes this run execute {text.percent(seen)} of the peak, which is impossible. Lower the plateau's MFU, which counts 6N alone."
        )
    counted = flops.active_params_with_attention(padded, run.mfu, peak, run.num_devices, scores)
    if counted > 0:
        st.markdown(
            f"Had it been counted with attention's scores (PaLM's count: {text.percent(share)} more than 6N at sequences of "
            f"{scenario.seq_len:,}{', dimensions assumed' if shape.assumed else ''}), it would imply {text.count(counted)}. Compare "
            "MFUs only when both count alike, or compare tokens per second."
        )
    st.markdown(
        "GPU utilization is not MFU: 100 % in `nvidia-smi` says that some kernel was running at every moment, not how much of the "
        "peak it used."
    )
    st.markdown(
        f"Per device: {text.rate(run.tokens_per_second / run.num_devices)}. Work: {text.count(run.flops_per_token)} model "
        "FLOP per token, forward and backward."
    )
