"""The Change batch page's parts: what the new run is to be, the answer in words, and the tables."""

import pandas as pd
import streamlit as st

from bsmath import change_batch_checks, lr
from bsmath.change_case import Check
from bsmath.change_outlook import ChangeOutlook, change_outlook, usual_rule
from bsmath.change_settings import BETA_RULES, Setting
from bsmath.scenario import CHOICES, Scenario
from pages.ui import state, text, tied

SCHEDULE_WORDS = {"cosine": "cosine", "linear": "linear", "wsd": "constant, then decay (WSD)", "constant": "constant"}
AVERAGE_WORDS = {
    "token": "over all tokens of the step",
    "sequence": "over each sequence first",
    "micro_batch": "over each micro-batch first",
}


def wanted(scenario: Scenario) -> None:
    """The inputs of the new run."""
    with st.container(horizontal=True):
        for label, name, help in (
            ("New replicas", "new_data_parallel_size", "Data-parallel size after the change: devices over devices per replica."),
            ("New micro-batch", "new_micro_batch_size", "In sequences. `per_device_train_batch_size`, `--micro-batch-size`."),
            ("New accumulation", "new_grad_accum_steps", "`gradient_accumulation_steps` per replica."),
            ("New sequence", "new_seq_len", "In tokens. `--seq-length`, `block_size`: doubling it doubles the batch in tokens."),
        ):  # fmt: skip
            least = 16 if name == "new_seq_len" else 1
            st.number_input(label, min_value=least, step=1, width=160, help=help, **tied.choice(name))
    left, right = st.columns(2)
    left.selectbox(
        "The rate moves by",
        CHOICES["rate_rule"],
        format_func=lambda name: (
            f"{lr.RULES[usual_rule(scenario) if name == 'usual' else name].label}"
            + (" (usual)" if name == "usual" else "")
        ),
        help="No rule is universal; their spread is below. The usual one saturates: derived for SGD, the best fit for AdamW.",
        **tied.choice("rate_rule"),
    )
    right.selectbox(
        "Adam's betas",
        CHOICES["beta_rule"],
        format_func=BETA_RULES.get,
        help="Contested: most runs keep them. `beta^k` keeps the half-life in tokens, 1 - k (1 - beta) goes with the square-root rule.",
        **tied.choice("beta_rule"),
    )


def tuned_elsewhere(scenario: Scenario, found: ChangeOutlook) -> None:
    """Where the old run's rate comes from, if it was tuned at another batch than its own."""
    old = found.change.old
    if old.tokens_per_step == scenario.reference_tokens_per_step:
        return
    st.caption(
        f"The scenario's rate of {text.scientific(scenario.learning_rate)} was tuned at {text.tokens(scenario.reference_tokens_per_step)} per step; "
        f"the rule takes it to {text.scientific(old.learning_rate)} at the old run's {text.tokens(old.tokens_per_step)}."
    )
    st.button(
        f"No: {text.scientific(scenario.learning_rate)} is the old run's rate",
        on_click=state.change,
        kwargs={"reference_tokens_per_step": old.tokens_per_step},
        help="Makes the old run's batch the reference batch.",
    )


def worked_out(scenario: Scenario) -> ChangeOutlook | None:
    """The change, or a sentence on what in it is out of range."""
    try:
        return change_outlook(scenario)
    except ValueError as error:
        st.warning(text.plain(f"This change has no settings to offer: {error}."))
        return None


def answer(found: ChangeOutlook) -> str:
    """The change in one or two sentences, and what it would cost to change nothing else."""
    old, new = found.change.old, found.change.new
    if old == new:
        return (
            f"**The new run is the old one**: {text.tokens(old.tokens_per_step)} per step on {_devices(old)}. Type what changes "
            "below: more replicas, another micro-batch, a longer sequence."
        )
    moved = f"From {_devices(old)} to {_devices(new)}" if old.num_devices != new.num_devices else "On the same devices"
    said = (
        f"**{moved} the batch goes from {text.tokens(old.tokens_per_step)} to {text.tokens(new.tokens_per_step)} "
        f"({text.times(found.change.batch_ratio)}): peak rate {text.scientific(old.learning_rate)} to {text.scientific(new.learning_rate)}, "
        f"{text.whole(old.steps(old.total_tokens))} steps to {text.whole(new.steps(new.total_tokens))}, "
        f"{text.duration(found.old.seconds)} to {text.duration(found.new.seconds)}.**"
    )
    caused = [one for one in found.checks if one.caused]
    if not caused:
        return f"{said} Nothing that is left as it was breaks silently."
    return f"{said} Changing nothing else would cost: {text.plain(caused[0].cost)}."


def _devices(run) -> str:
    return text.plural(run.num_devices, "device")


def settings(found: tuple[Setting, ...]) -> pd.DataFrame:
    """Every setting before and after."""
    return pd.DataFrame(
        {
            "Setting": [one.name for one in found],
            "Old run": [_value(one.name, one.before) for one in found],
            "New run": [_value(one.name, one.after) for one in found],
            "By, and what that rests on": [f"{one.rule}: {one.status}, {one.confidence}" for one in found],
            "Why": [one.reason for one in found],
        }
    )


def _value(name: str, value: float) -> str:
    if "[steps]" in name:
        return text.whole(value)
    if name == "tokens per step":
        return text.count(value, 4)
    return text.scientific(value) if name in ("peak learning rate", "epsilon") else f"{value:.4g}"


def checks(found: tuple[Check, ...]) -> str:
    """What breaks silently, as a list."""
    return "\n".join(
        f"- **{text.plain(one.wrong)}.** {_sentence(one.cost)} *Set:* {text.plain(one.remedy)}." for one in found
    )


def _sentence(cost: str) -> str:
    return text.plain(f"{cost[:1].upper()}{cost[1:]}.")


def ways(table: pd.DataFrame) -> None:
    """Ways to use the new devices, the fastest first, each one click away."""
    best = table.iloc[0]
    if best["way"] != "as described":
        described = table.loc[table["way"] == "as described", "seconds"].iloc[0]
        st.markdown(
            f"**Faster on the same devices: {best['way']}**, {text.duration(best['seconds'])} instead of {text.duration(described)}. "
            "The goal is the scenario's; a batch beyond B_crit spends its rate on tokens that teach little."
        )
    st.table(_ways_shown(table), hide_index=True)
    with st.container(horizontal=True):
        for place, row in table[table["way"] != "as described"].iterrows():
            changes = {f"new_{name}": int(row[name]) for name in ("micro_batch_size", "grad_accum_steps")}
            st.button(f"Use {row['way'].split(',')[0]}", key=f"way_{place}", on_click=state.change, kwargs=changes)


def _ways_shown(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Way": table["way"],
            "Micro-batch": table["micro_batch_size"],
            "Accumulation": table["grad_accum_steps"],
            "Tokens per step": [text.count(value) for value in table["tokens_per_step"]],
            "Rate": [text.rate(value) for value in table["tokens_per_second"]],
            "Tokens": [text.count(value) for value in table["tokens"]],
            "Time to the goal": [text.duration(value) for value in table["seconds"]],
        }
    )


def division(scenario: Scenario) -> None:
    """A wanted global batch, and why it cannot hold."""
    size = st.number_input(
        "Wanted global batch [sequences]",
        min_value=1,
        max_value=10**12,
        value=None,
        step=1,
        placeholder="optional",
        width=260,
        help="`train_batch_size`, `--global-batch-size`. It must be micro-batch x accumulation x replicas.",
    )
    if size is None:
        return
    micro, replicas = scenario.new_micro_batch_size, scenario.new_data_parallel_size
    refused = change_batch_checks.division(size, micro, replicas)
    if refused:
        st.warning(refused)
        return
    accumulation = change_batch_checks.accumulation_for(size, micro, replicas)
    st.markdown(f"{size:,} = {micro:,} x {accumulation:,} x {replicas:,}: accumulation {accumulation:,} makes it.")
    if accumulation != scenario.new_grad_accum_steps:
        st.button("Use it", on_click=state.change, kwargs={"new_grad_accum_steps": accumulation})


def old_run(scenario: Scenario) -> None:
    """What the old configuration says beside the sidebar's settings."""
    with st.container(horizontal=True):
        for label, name, help in (
            ("Rate at the end", "min_learning_rate", "`--min-lr`, `min_lr`; it keeps its share of the peak."),
            ("Epsilon", "epsilon", "`adam_epsilon`, `--adam-eps`."),
            ("Checkpoint every [tokens]", "checkpoint_tokens", "`--save-interval`, `save_steps`, in tokens; 0 where not known."),
            ("Evaluation every [tokens]", "eval_tokens", "`--eval-interval`, `eval_steps`, in tokens; 0 where not known."),
            ("Decay at the end [tokens]", "decay_tokens", "Of a WSD schedule."),
            ("Gradient norm", "gradient_norm", "Median before clipping, from the log; empty where not known."),
        ):  # fmt: skip
            st.text_input(label, width=190, help=help, **tied.typed(name))
    with st.container(horizontal=True):
        for label, name, words, help in (
            ("Schedule", "schedule", SCHEDULE_WORDS, "`lr_scheduler_type`, `--lr-decay-style`."),
            ("Written in", "schedule_unit", {}, "What the configuration counts its schedule in; samples count as tokens here."),
            ("Weight decay is", "decay", {"coupled": "times the rate", "independent": "by itself"}, "PyTorch's AdamW multiplies it by the rate."),
            ("Loss is a mean", "loss_average", AVERAGE_WORDS, "It matters where sequences or micro-batches have unequal numbers of tokens."),
        ):  # fmt: skip
            st.selectbox(
                label,
                CHOICES[name],
                width=260,
                help=help,
                format_func=lambda value, words=words: words.get(value, value),
                **tied.choice(name),
            )
