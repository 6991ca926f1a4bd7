"""The Batch ramp page in words: controls, the answer, what is assumed, the trap of schedules in steps."""

import streamlit as st

from bsmath import lr, published_ramps, ramp_curves, ramp_kinds
from bsmath.ramp_outlook import SAME, RampOutlook, Schedule
from bsmath.ramp_trap import Trap
from bsmath.scenario import Scenario
from pages.ui import text, tied

FIELDS = {
    "linear_tokens": ("ramp_start", "ramp_end", "ramp_tokens"),
    "linear_steps": ("ramp_start", "ramp_end", "ramp_tokens"),
    "staircase": ("ramp_start", "ramp_end", "ramp_tokens", "ramp_levels"),
    "doubling": ("ramp_start", "ramp_end", "ramp_tokens"),
    "law": ("ramp_start", "ramp_end", "ramp_factor"),
    "law_doubling": ("ramp_start", "ramp_end", "ramp_factor"),
    "adaptive": ("ramp_start", "ramp_end", "ramp_factor"),
    "seesaw": ("ramp_start", "ramp_end"),
    "stages": ("ramp_stages",),
    "flat": ("ramp_end",),
}
"""What each kind asks for."""
LABELS = {
    "ramp_start": ("Start [tokens per step]", "Empty: an eighth of the end."),
    "ramp_end": ("End [tokens per step]", "Empty: this run's batch; rules that follow B_crit then rise as far as it does."),
    "ramp_tokens": ("Over [tokens]", "Length of the ramp. Megatron's former flag counts it in samples (sequences)."),
    "ramp_levels": ("Levels", "Different batches, both ends included: Megatron's (end - start)/increment + 1."),
    "ramp_factor": ("Times B_crit", "1 spends twice the least steps and tokens, whatever the course; less saves tokens."),
    "ramp_stages": ("Stages, tokens:sequences", "`0:768 250B:1536`: from 0 tokens on 768 sequences a step, from 250B on 1,536. Megatron's own form."),
}  # fmt: skip
"""Label and help of each field."""


def choose(scenario: Scenario) -> None:
    """The kind of ramp, its numbers, how B_crit moves, and what it is compared with."""
    left, right = st.columns(2)
    left.selectbox(
        "Ramp",
        list(ramp_kinds.KINDS),
        format_func=ramp_kinds.KINDS.get,
        help="Everything is in tokens seen; steps follow.",
        **tied.choice("ramp"),
    )
    right.selectbox(
        "B_crit through the run",
        list(ramp_kinds.GROWTHS),
        format_func=ramp_kinds.GROWTHS.get,
        help="How it moves is disputed. Its level is the scenario's: the average that a flat run sees stays B_crit.",
        **tied.choice("critical_growth"),
    )
    with st.container(horizontal=True):
        for name in FIELDS[scenario.ramp]:
            label, help = LABELS[name]
            st.text_input(label, width=420 if name == "ramp_stages" else 190, help=help, **tied.typed(name))
    known = {**ramp_kinds.KINDS, **{name: one.label for name, one in published_ramps.ramps().items()}}
    chosen = [name for name in scenario.ramps_compared.split() if name not in known]
    st.multiselect(
        "Compare with",
        [*known, *chosen],
        format_func=lambda name: known.get(name, name),
        max_selections=ramp_kinds.MOST_NAMES,
        placeholder="Other shapes, or the ramps of published runs",
        help="Other shapes run between the same ends; published ramps keep their own batches and thresholds.",
        **tied.names_choice("ramps_compared"),
    )


def answer(scenario: Scenario, found: RampOutlook) -> str:
    """What the ramp takes and whether it pays, in a few sentences."""
    one, flat = found.chosen, found.flat
    said = (
        f"**{one.label}, {_span(one)}: {text.whole(one.steps)} steps, {text.tokens(one.tokens)}, {text.duration(one.seconds)}.** "
        f"The flat batch of {text.tokens(flat.ramp.end)} takes {text.signed(flat.steps / one.steps)} steps, "
        f"{text.signed(flat.tokens / one.tokens)} tokens and {text.signed(flat.seconds / one.seconds)} time"
    )
    if scenario.goal == "budget":
        return f"{said}; of the budget's tokens the ramp wastes {text.percent(one.progress.waste)}, the flat batch {text.percent(flat.progress.waste)}."
    return f"{said}. {pays(scenario, found)}"


def _span(one: Schedule) -> str:
    ramp = one.ramp
    if ramp.smallest == ramp.largest:
        return f"{text.tokens(ramp.end)} throughout"
    return f"{text.count(ramp.at(0.0))} to {text.tokens(ramp.at(one.tokens))} per step within {text.tokens(one.rises)}"


def pays(scenario: Scenario, found: RampOutlook) -> str:
    """Whether the ramp saves hours on these devices, and why not where it does not."""
    one, flat, start = found.chosen, found.flat, found.start
    if one.ramp.smallest == one.ramp.largest:
        return "Nothing ramps: choose a shape, or two different ends."
    against = one.seconds / flat.seconds
    if against < 1 - SAME:
        first = f"The ramp saves {text.percent(1 - against)} of the flat batch's hours: the tokens that it does not waste outweigh its shorter steps."
    elif against <= 1 + SAME:
        first = "In hours it makes no difference."
    elif one.tokens < flat.tokens:
        first = f"**It saves tokens but not hours**: {text.signed(against)} time, as small batches leave these devices waiting on what every step costs."
    else:
        first = f"It costs {text.percent(against - 1)} more time than the flat batch."
    if one.steps < start.steps * (1 - SAME) and one.seconds > start.seconds * (1 + SAME):
        first += (
            f" Against staying at {text.tokens(start.ramp.end)} it saves {text.percent(1 - one.steps / start.steps)} of the steps "
            "**but no hours: on these devices a larger batch makes each step longer by as much**; it pays with more devices."
        )
    elif one.steps < start.steps * (1 - SAME):
        first += (
            f" Against staying at {text.tokens(start.ramp.end)} it saves {text.percent(1 - one.steps / start.steps)} of the steps and "
            f"{text.percent(1 - one.seconds / start.seconds)} of the hours."
        )
    return f"{first} {gain(found)}"


def gain(found: RampOutlook) -> str:
    """What ramping itself is worth: against the flat batch that needs as many tokens."""
    best = f"the best ramp of all would save {text.percent(found.best_gain)} under this growth of B_crit"
    if found.course.growth == 1:
        return "Under a constant B_crit no ramp can beat the best flat batch."
    if found.gain >= SAME:
        return f"Ramping itself saves {text.percent(found.gain)} of the steps of the flat batch that needs as many tokens; {best}."
    if found.gain > -SAME:
        return f"A flat batch with as many tokens needs as many steps; {best}."
    return f"**A flat batch of another size does better**: with as many tokens it needs {text.percent(1 - 1 / (1 - found.gain))} fewer steps; {best}."


def doubts(found: RampOutlook) -> tuple[str, ...]:
    """What in this comparison was assumed, or does not work on these devices."""
    said = [text.plain(sentence) for sentence in found.course.said]
    if found.chosen.ramp.smallest < found.smallest_step * (1 - 1e-9):
        said.append(
            f"Below {text.tokens(found.smallest_step)} per step, one sequence on every replica, some devices have nothing to do: "
            "start there, or with fewer replicas."
        )
    if found.chosen.ramp.length > found.chosen.tokens * (1 + 1e-9):
        said.append(
            f"This run ends after {text.tokens(found.chosen.tokens)}, before the ramp is over at {text.tokens(found.chosen.ramp.length)}: "
            "it never gets to its last batch."
        )
    if found.unknown:
        said.append(f"No ramp is called {text.listed(found.unknown)}.")
    return tuple(said)


def numbers(scenario: Scenario, found: RampOutlook) -> tuple[tuple[str, str, str], ...]:
    """Metrics of the chosen ramp."""
    one, start = found.chosen, found.start
    shown = [
        ("Steps", text.whole(one.steps), f"{text.signed(one.steps / start.steps)} against staying at {text.count(start.ramp.end)}"),
        ("Tokens", text.count(one.tokens), f"{text.signed(one.tokens / start.tokens)} against staying there"),
        ("Wasted", text.percent(one.progress.waste), f"tokens beyond the least; {text.percent(found.flat.progress.waste)} at the flat end"),
        ("Time", text.duration(one.seconds), f"{text.signed(one.seconds / found.flat.seconds)} against the flat end, same devices"),
    ]  # fmt: skip
    if scenario.goal == "budget":
        shown[1] = (
            "Useful tokens",
            text.count(one.progress.useful_tokens),
            "what tiny batches would have needed to get as far",
        )
    return tuple(shown)


def trapped(scenario: Scenario, one: Schedule, found: Trap) -> str:
    """What a schedule in steps does to this ramp."""
    if one.ramp.smallest == one.ramp.largest:
        return "With a batch that stays, steps and tokens say the same."
    said = (
        f"Counted in steps of the final batch, the schedule would have {text.whole(found.horizon_steps)} steps; this run takes "
        f"{text.whole(one.steps)}. "
    )
    if found.rate_ends < one.tokens * (1 - SAME) and scenario.schedule != "constant":
        said += (
            f"**So the rate reaches its end after {text.tokens(found.rate_ends)}, and the last {text.percent(1 - found.rate_ends / one.tokens)} "
            "of the run trains at the lowest rate.** "
        )
    if scenario.warmup_tokens > 0 and found.warmup_ends < scenario.warmup_tokens * (1 - SAME):
        said += f"A warmup meant to take {text.tokens(scenario.warmup_tokens)} is over after {text.tokens(found.warmup_ends)}. "
    if one.rises > 0 and found.ramp_ends < one.rises * (1 - SAME):
        said += f"The ramp itself, written in steps, is over after {text.tokens(found.ramp_ends)} instead of {text.tokens(one.rises)}. "
    return (
        said
        + "Write every length in tokens or samples, or count the steps with the ramp (the Table for your trainer below has them)."
    )


def alt(found: RampOutlook) -> str:
    """The schedules in words, for a screen reader."""
    return "; ".join(f"{one.label}: {_span(one)}" for one in found.schedules)


def rule_label(scenario: Scenario, one: Schedule) -> str:
    """The rule by which the rate follows the batch."""
    return f"the rule {lr.RULES[ramp_curves.rule_of(scenario, one)].label}"


def rate_words(scenario: Scenario, one: Schedule) -> str:
    """How the rate follows, from where to where, and what is not sure about it."""
    first, last = (ramp_curves.peak_rates(scenario, one, seen) for seen in (0.0, one.tokens))
    return (
        f"By {rule_label(scenario, one)} the peak goes from {text.scientific(first)} at {text.tokens(one.ramp.at(0.0))} to "
        f"{text.scientific(last)} at {text.tokens(one.ramp.at(one.tokens))}, times the {scenario.schedule} schedule in tokens (Change batch sets "
        "both). No rule is universal: the Learning rate page has their spread. Betas, decay and clipping move with the batch too; most "
        "published ramps left them."
    )
