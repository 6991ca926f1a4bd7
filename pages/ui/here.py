"""Sections on measurements of the critical batch beside each other: the project's own, made with its harness, and the user's."""

import streamlit as st

from bsmath import comparison, shipped
from bsmath.comparison import Value
from bsmath.logs import Log
from bsmath.measured import Measurement
from bsmath.scenario import Scenario
from pages.charts.branching import branch_figure
from pages.charts.measured import measured_figure
from pages.ui import loaded, measure, overlay, shell, tables, text

MODEL = "A GPT of 0.1M parameters, trained on a CPU on the sources of Python's standard library,"

MEANINGS = {
    comparison.HYPERBOLA: "Hyperbola: there whole runs need twice their least steps and twice their least tokens.",
    comparison.NOISE: "Noise scale: there a gradient holds as much noise as signal.",
    comparison.BRANCHED: "Branched run: the largest batch that trained on as well, and the next one tried, which did not.",
}
"""What happens at each kind of critical batch."""


def origin(one: Log) -> None:
    """Where a log comes from, and what it says about itself."""
    if loaded.is_shipped(one):
        source = (
            "Measured with this project's harness on a small model on a CPU, not on this scenario's model. Load your own file on the "
            "Upload page to see it here."
        )
    else:
        source = f"From your {text.plain(one.record.name)}, loaded for this session."
    st.caption(source)
    if one.comments:
        with st.expander("What the file says about itself"):
            st.code("\n".join(one.comments), language=None, wrap_lines=True)


def critical(scenario: Scenario) -> None:
    """The critical batch of one small model by three measurements, and what they disagree on; the user's own likewise."""
    own = _own()
    if len({value.method for value in own}) > 1:
        st.subheader("Your measurements side by side", anchor=False)
        st.markdown(disagreement(own, "Your model"))
        _table(own)
        _not_comparable()
    found, values = shipped.sweep("convergence"), shipped.critical_values()
    st.subheader("Measured here", anchor=False)
    st.markdown(disagreement(values, MODEL))
    _table(values)
    st.markdown(
        "The critical batch grows through training, and each measurement sees another part of it: the hyperbola whole runs, a branch "
        "one point, the noise scale's mean over a whole run mostly its first steps, whose |G|² is largest. In other studies noise "
        "scale and critical batch were 0.4 to 18 times apart, and in two models of 1B and 7B orders of magnitude: trust what was "
        "measured on your own run, in the way in which you mean to use it."
    )
    details = st.expander("The measurements behind this table", key="critical_here", on_change="rerun")
    if details.open:
        with details:
            st.markdown(f"{found.verdict} {measure.describe(found)}")
            sweep(scenario, found, "Optimizer steps to the target", "steps")
            branched(scenario, shipped.log("branch"))


def throughput(scenario: Scenario) -> None:
    """The shipped throughput sweep against the step-time model."""
    st.subheader("Measured here", anchor=False)
    found = shipped.sweep("throughput")
    st.markdown(f"A small GPT timed with this project's harness on a CPU. {found.verdict} {measure.describe(found)}")
    details = st.expander("The sweep behind this", key="throughput_here", on_change="rerun")
    if details.open:
        with details:
            sweep(scenario, found, "Whole job [tok/s]", "tok/s")


def _table(values: list[Value]) -> None:
    st.table(tables.critical_values(values), hide_index=True)
    st.caption(" ".join(MEANINGS[method] for method in dict.fromkeys(value.method for value in values)))


def _own() -> list[Value]:
    """What the loaded data say of the critical batch, what they identify first."""
    fits = [one.fit for one in overlay.measurements("steps") if one.identified and one.batch_unit == "tokens"]
    logs = {one.kind: one.record for one in loaded.logs_loaded() if not loaded.is_shipped(one)}
    branches = logs["branch"].branches if "branch" in logs else ()
    found = comparison.values(fits[0] if fits else None, logs.get("noise"), branches)
    return sorted(found, key=lambda value: not comparison.identified([value]))


def _not_comparable() -> None:
    """Name what is loaded and has no place in the table, for its unit or its lack of parts."""
    for one in loaded.logs_loaded():
        if one.kind == "noise" and one.record.unit != "tokens":
            st.caption(f"Your noise-scale log counts in {one.record.unit}, not in tokens, and cannot be compared.")
        elif one.kind == "noise" and not one.record.has_parts:
            st.caption("Your noise-scale log has the ratio alone, without an average to compare.")
    if any(one.batch_unit != "tokens" for one in overlay.measurements("steps")):
        st.caption("Your steps to a target count the batch in sequences, not in tokens, and cannot be compared.")


def disagreement(values: list[Value], model: str) -> str:
    """How far the values are apart, and which of them contradict the first beyond their intervals."""
    reference, *others = values
    known = comparison.identified(values)
    if not known:
        return f"**None of these measurements identifies the critical batch of {model[0].lower() + model[1:]}**, bounds at most."
    apart = [
        f"the {value.method} ({text.plain(value.at)}) is {text.times(comparison.ratio(value, reference))} it"
        for value in others
        if comparison.apart(value, reference)
    ]
    rest = "; ".join(apart) if apart else "nothing"
    return (
        f"**{model} has a critical batch of {text.between(min(known), max(known), text.tokens)}, depending on how it is measured: "
        f"{text.spread(known)} apart.** Beyond the intervals, what contradicts the {reference.method} ({text.tokens(reference.batch)}): "
        f"{rest}. The measurements answer different questions, so none proves another."
    )


def sweep(scenario: Scenario, found: Measurement, title: str, unit: str) -> None:
    """A shipped sweep: its chart, and how far each point lies from the fit."""
    shell.chart(
        measured_figure([found], title, unit, shell.batch_axis(scenario)),
        key=f"here_{found.quantity}",
        alt=f"{title} against batch size as measured, with the fit. {found.verdict}",
        table=found.points,
    )
    st.table(tables.residuals(found), hide_index=True)
    tuning(found)


def tuning(one: Measurement) -> None:
    """The best learning rate of each batch, where the points are taken there."""
    if one.tuning is not None:
        st.table(tables.tuning(one.tuning), hide_index=True)
        st.caption(
            "A run that never arrived counts as slower than any that did. Few seeds make the share coarse; a next best within a few "
            "percent says that the choice hardly matters. The best of several noisy medians is a little optimistic."
        )


def branched(scenario: Scenario, one: Log) -> None:
    """The chart of a branched run and the verdict of each checkpoint."""
    record = one.record
    shell.chart(
        branch_figure(record.branches, record.tolerance, shell.batch_axis(scenario)),
        key=f"branches_{'here' if loaded.is_shipped(one) else 'own'}",
        alt="Loss above the unchanged batch against the batch of each branch, one curve a checkpoint. "
        + " ".join(f"{branch.label}: {branch.verdict}" for branch in record.branches),
        table=record.table,
    )
    for branch in record.branches:
        st.markdown(f"- {text.plain(branch.label)}: {branch.verdict}")
    for sentence in record.problems:
        st.caption(text.plain(sentence))
