"""The section on the next batch worth measuring: what it costs, and how far it would narrow the knee."""

import math

import streamlit as st

from bsmath import batch, hyperbola_verdict, next_run, step_costs, step_verdict, throughput
from bsmath.measured import Measurement
from bsmath.next_run import NextRun
from bsmath.scenario import Scenario
from pages.charts.next_run import gain_figure
from pages.ui import loaded, overlay, shell, text

STEPS, WARMUP = 50, 10
"""Steps that a timing run is reckoned to time, and those before them."""
KNEES = {"steps": "B_crit", "tokens_per_second": "B_half"}


def section(scenario: Scenario, found: list[Measurement]) -> None:
    """For each measured series with a fit: the batch to measure next, its price, and what it would tell."""
    fitted = [one for one in found if one.fit is not None]
    if not fitted:
        return
    st.subheader("The next run worth measuring", anchor=False)
    for one in fitted:
        advice = overlay.beside(one, "advice", lambda one=one: advise(one, _sequence(scenario, one)))
        with st.container(border=True):
            if advice is None:
                st.markdown(f"**{text.plain(one.label)}**: {refusal(one)}")
                continue
            st.markdown(f"**{text.plain(one.label)}**: {said(scenario, one, advice, one.batch_unit)}")
            st.caption(overlay.beside(one, "advice_notes", lambda one=one, advice=advice: _notes(one, advice)))
            if one.batch_unit == "tokens":
                key = f"next_{one.quantity}_{one.source}_{one.series}"
                shell.folded("What every other batch would give", key, _others, scenario, one, advice)


def _notes(one: Measurement, advice: NextRun) -> str:
    """What must be said with an advice; nothing that the scenario moves."""
    return " ".join((advice.reason, *cautions(one, advice), repeat(advice, one.batch_unit)))


def advise(one: Measurement, sequence: float = 1.0) -> NextRun | None:
    """The advice on a fitted series, in whole sequences of so many tokens; None where its curve does not describe it."""
    if one.quantity == "steps":
        described = hyperbola_verdict.kind(one.fit) != hyperbola_verdict.UNEXPLAINED
        return next_run.hyperbola(one.fit, sequence=sequence) if described and not _refused(one) else None
    described = step_verdict.kind(one.fit) != step_verdict.UNEXPLAINED
    return next_run.throughput(one.fit, STEPS, WARMUP, sequence=sequence) if described else None


def _sequence(scenario: Scenario, one: Measurement) -> float:
    """Tokens of one sequence of a loaded series, counted as its batches are; 1 where the file does not say."""
    sweep = loaded.sweep(one.source)
    if sweep is None or "seq_len" not in sweep.table:
        own = loaded.entries().get(one.source)
        length = float((own.answers.get("seq_len") if own else None) or 1)
    else:
        length = sweep.table.loc[sweep.table["series"] == one.series, "seq_len"].max()
    real = batch.tokens_per_step(1, length, scenario.padding_fraction if one.quantity == "tokens_per_second" else 0)
    return float(real) if real > 0 else 1.0


def _refused(one: Measurement) -> bool:
    """Whether the learning rate was not tuned at every batch."""
    return one.verdict.startswith(hyperbola_verdict.REFUSED)


def refusal(one: Measurement) -> str:
    """Why there is no advice."""
    if one.quantity == "steps" and _refused(one):
        return "no next batch can be advised before the learning rate is tuned at each of these."
    verdict, curve = (hyperbola_verdict, "hyperbola") if one.quantity == "steps" else (step_verdict, "straight line")
    if verdict.kind(one.fit) == verdict.UNEXPLAINED:
        return f"no next batch can be advised, since a {curve} does not describe this sweep. Settle the points that are far off it first."
    if one.quantity != "steps" and one.fit.curved:
        return (
            "no next batch is advised: the step time follows a curve here, and the advice knows only the straight line."
        )
    return "no next batch is advised: every one within reach is measured already."


def said(scenario: Scenario, one: Measurement, advice: NextRun, unit: str = "tokens") -> str:
    """The batch, its price, and the interval now and after; `unit` is that of the sweep's batches."""
    now, after = _ends(advice.now, unit), _ends(advice.expected, unit)
    return (
        f"measure **{advice.tokens_per_step:,.0f} {unit} per step** next: {price(scenario, one, advice, unit)}. "
        f"{KNEES[one.quantity]} is {now} now (90 %), and {after} is expected after it."
    )


def price(scenario: Scenario, one: Measurement, advice: NextRun, unit: str = "tokens") -> str:
    """What the run costs; in time too, where the batch is in tokens."""
    devices = batch.num_devices(scenario.data_parallel_size, scenario.model_parallel_size)
    if one.quantity != "steps":
        return f"about {text.duration(advice.cost)} for {STEPS} timed steps after {WARMUP} others"
    if advice.cost < advice.tokens_per_step:
        return "its cost is not known, as the file's steps have no known scale"
    steps = text.whole(advice.cost / advice.tokens_per_step)
    length = f"about {text.count(advice.cost)}{text.GAP}{unit} in {steps} {'step' if steps == '1' else 'steps'}"
    if unit != "tokens":
        return length
    fixed, plateau = step_costs.effective(scenario)
    rate = throughput.tokens_per_second(advice.tokens_per_step, fixed, plateau, scenario.padding_fraction)
    return f"{length}, {text.count(advice.cost / rate * devices / 3600)} device-hours at this scenario's rate"


def cautions(one: Measurement, advice: NextRun) -> list[str]:
    """What the advice rests on that may not hold."""
    sentences = []
    if advice.assumed:
        known = " (4 to 8 % on language models with a tuned rate)" if one.quantity == "steps" else ""
        sentences.append(f"Two batches show no scatter: {text.percent(advice.scatter)} is assumed{known}.")
    elif not _narrower(advice.now, advice.expected):
        sentences.append(
            f"The points lie closer to the curve than such runs usually do, so today's interval may be too narrow by luck: "
            f"{text.percent(advice.scatter)} of scatter is reckoned with."
        )
    if one.quantity == "steps" and advice.tokens_per_step < one.points["tokens_per_step"].min():
        sentences.append("Clearly more tokens than that would show that small batches cost extra here.")
    if one.quantity == "steps" and hyperbola_verdict.kind(one.fit) == hyperbola_verdict.REJECTED:
        sentences.append("The hyperbola is rejected, and the advice rests on it: take the interval as a rough size.")
    return sentences


def repeat(advice: NextRun, unit: str = "tokens") -> str:
    """What the most useful repeat would give instead."""
    if advice.repeat is None:
        return "Repeating a batch tells nothing yet: only a new one does."
    row = advice.repeat
    ends = row["low"], row["high"]
    gain = row["information"]
    much = f"{text.percent(gain) if gain < 1 else text.times(gain)} as much for its cost"
    leaves = f", and would leave {_ends(ends, unit)}" if _narrower(advice.now, ends) else ""
    return f"Repeating {row['tokens_per_step']:,.0f} instead tells at best {much}{leaves}."


def _others(scenario: Scenario, one: Measurement, advice: NextRun) -> None:
    shell.chart(
        gain_figure(advice.table, advice.tokens_per_step, shell.batch_axis(scenario)),
        key=f"next_{one.quantity}_{one.series}",
        alt=f"Gain for its cost against the batch: {advice.tokens_per_step:,.0f} tokens per step tells most.",
        table=advice.table,
    )
    st.caption(
        "Gain is the rise of 1/width², the precision of log B, for each token or second. Batches up to "
        f"{next_run.FARTHEST:g} times beyond the measured ones are considered: further out cost and curve are guesses."
    )


def _ends(ends: tuple[float, float], unit: str) -> str:
    """An interval of a batch."""
    written = text.between(*ends)
    return written if written == text.between(0, math.inf) else f"{written}{text.GAP}{unit}"


def _narrower(now: tuple[float, float], after: tuple[float, float]) -> bool:
    """Whether an interval shrinks: it gets an end that it lacked, or those that it has move together."""
    closed, closes = (one[0] > 0 and math.isfinite(one[1]) for one in (now, after))
    if closed:
        return closes and now[1] / now[0] > after[1] / after[0]
    return closes or after[0] > now[0] or after[1] < now[1]
