"""The scenario and its outlook in words: the line on top of every page, and the text to paste into a message."""

import pandas as pd

from bsmath import critical, presets
from bsmath.expert_load import WANTED_CV, WANTED_DROP, ExpertLoad
from bsmath.levers import Lever
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.ui import text


def summary(scenario: Scenario, run: Outlook) -> str:
    """0.8B dense, 64 x NVIDIA H100 SXM, 4.2M tokens per step (1,024 sequences of 4,096)."""
    return (
        f"{model(scenario)}, {devices(scenario, run)}, {text.tokens(run.tokens_per_step)} per step "
        f"({run.global_batch_size:,} x {scenario.seq_len:,})"
    )


def model(scenario: Scenario) -> str:
    """7.96B dense, or 671B with 37B active."""
    size = text.count(scenario.num_params)
    if scenario.active_params == scenario.num_params:
        return f"{size} dense"
    return f"{size} with {text.count(scenario.active_params)} active"


def devices(scenario: Scenario, run: Outlook) -> str:
    """64 x NVIDIA H100 SXM."""
    known = presets.hardware()
    name = known[scenario.accelerator].label if scenario.accelerator in known else text.flops(scenario.peak_flops)
    return f"{run.num_devices:,} x {name}"


def verdict(scenario: Scenario, run: Outlook) -> str:
    """The answer to "what batch size?" for this run, in two sentences."""
    if scenario.goal == "budget":
        return (
            f"**{text.tokens(scenario.token_budget)} take {text.duration(run.seconds)}** at "
            f"{text.percent(run.plateau_fraction)} of the plateau's rate. A larger batch can save at most "
            f"{text.percent(1 - run.plateau_fraction)} of that time, and reaches a higher loss with the same tokens."
        )
    low, high = run.flat_range
    now, best = text.tokens(run.tokens_per_step), text.tokens(run.fastest_feasible_batch)
    span = f"within 5 % of the best time from {text.count(low)} to {text.tokens(high)}"
    if run.tokens_per_step > high:
        return (
            f"**{now} per step is larger than this hardware wants: {best} reach the same loss in "
            f"{text.duration(run.best_seconds)} instead of {text.duration(run.seconds)}.** The optimum is broad, {span}."
        )
    if run.tokens_per_step < low:
        return (
            f"**{now} per step is too small: {best} reach the same loss in {text.duration(run.best_seconds)} instead of "
            f"{text.duration(run.seconds)}.** The optimum is broad, {span}."
        )
    return f"**Keep {now} per step: nothing on this hardware is clearly faster.** The optimum is broad, {span}."


def feasibility(scenario: Scenario, run: Outlook, fitted: bool) -> str:
    """Where the unconstrained optimum lies, what a job can reach, and what is only assumed."""
    if run.fastest_batch < run.smallest_step:
        place = (
            f"The unconstrained optimum B_fast = {text.tokens(run.fastest_batch)} lies below one micro-batch on every replica "
            f"({text.tokens(run.smallest_step)}), so that is the fastest feasible batch; a smaller micro-batch reaches lower."
        )
    else:
        place = (
            f"The fastest feasible batch is the whole number of micro-batches nearest to B_fast = "
            f"{text.tokens(run.fastest_batch)} in time."
        )
    origin = "fitted to the loaded sweep" if fitted else "assumed, not measured"
    exposed = run.fixed_time - scenario.fixed_time
    beside = (
        f"; {text.duration(exposed)} of communication that nothing hides come on top"
        if exposed > 1e-9 * run.fixed_time
        else ""
    )
    return f"{place} t_fixed = {text.duration(scenario.fixed_time)} is {origin}{beside}."


def report(scenario: Scenario, run: Outlook, address: str) -> str:
    """The run as plain text for a pull request or a message."""
    aim = "token budget" if scenario.goal == "budget" else "target loss"
    lines = [
        f"Run: {summary(scenario, run)}",
        f"Rate: {text.rate(run.tokens_per_second)} whole job, real tokens; MFU {text.percent(run.mfu)} of the dense peak "
        f"({text.percent(scenario.mfu)} at the plateau, {text.count(run.half_batch)} tokens reach half of it)",
        f"To the {aim}: {text.whole(run.steps)} steps, {text.tokens(run.tokens)}, {text.duration(run.seconds)}, "
        f"{text.count(run.device_hours)} device-hours"
        + (f", cost {text.money(run.cost)}" if run.cost is not None else ""),
    ]
    if scenario.goal == "target":
        lines += [
            f"Assumed: B_crit {text.tokens(scenario.critical_batch_size)}, S_min {text.whole(scenario.min_steps)} steps, "
            f"t_fixed {text.duration(scenario.fixed_time)}",
            f"Fastest feasible batch: {text.tokens(run.fastest_feasible_batch)} (unconstrained "
            f"{text.tokens(run.fastest_batch)}; within 5 % of the best from {text.count(run.flat_range[0])} to "
            f"{text.count(run.flat_range[1])})",
        ]
    return "\n".join([*lines, address]).replace(text.GAP, " ")


def hyperbola_place(scenario: Scenario, run: Outlook) -> str:
    """Where the run stands on the hyperbola."""
    knee = scenario.critical_batch_size
    more_tokens = critical.token_overhead(run.tokens_per_step, knee)
    more_steps = critical.step_overhead(run.tokens_per_step, knee)
    return (
        f"{text.times(run.knee_ratio)} B_crit: {text.times(more_tokens)} the least tokens, "
        f"{text.times(more_steps)} the least steps"
    )


def cost(run: Outlook) -> str:
    """Device-hours, and their price once one is typed."""
    hours = f"{text.count(run.device_hours)} device-hours"
    return hours if run.cost is None else f"{hours}, cost {text.money(run.cost)}"


def doubling(scenario: Scenario, run: Outlook) -> str:
    """The price of the next doubling, and on which side of the knee this run stands."""
    knee = scenario.critical_batch_size
    fewer = 1 - critical.doubling_step_ratio(run.tokens_per_step, knee)
    more = critical.doubling_token_ratio(run.tokens_per_step, knee) - 1
    side = "below" if run.tokens_per_step < knee else "at" if run.tokens_per_step == knee else "above"
    advice = {
        "below": "worth it wherever more devices, or idle ones, can take the larger batch",
        "at": "the point where steps and tokens are both twice their least",
        "above": "mostly waste, unless wall-clock is all that counts and devices are free",
    }[side]
    return (
        f"**Doubling the batch would save {text.percent(fewer)} of the steps for {text.percent(more)} more tokens**: this run "
        f"is {side} the critical batch of {text.tokens(knee)}, {advice}."
    )


def rate_advice(scenario: Scenario, run: Outlook, table: pd.DataFrame, suggested: float) -> str:
    """The learning rate for this batch, with the rules' spread as the honest answer."""
    low, high = text.scientific(table["rate"].min()), text.scientific(table["rate"].max())
    move = f"From {text.tokens(scenario.reference_tokens_per_step)} to {text.tokens(run.tokens_per_step)} per step"
    if run.tokens_per_step == scenario.reference_tokens_per_step:
        return f"**This run stands at its reference batch: keep {text.scientific(scenario.learning_rate)}.** All rules agree there."
    return (
        f"**{move}, start a sweep at a peak rate of {text.scientific(suggested)} and try half and twice that.** The rules for "
        f"{scenario.optimizer} say {low} to {high}: none is universal, so a rate far from the reference must be measured."
    )


def experts_verdict(scenario: Scenario, load: ExpertLoad) -> str:
    """Whether the batch is too small for the experts, in a few sentences."""
    if scenario.num_experts == scenario.top_k:
        return "**Every token goes to every expert**: nothing is routed, so no load is uneven and nothing is dropped."
    dense = "The scenario's model is dense; this is what an expert layer would see. " * (
        scenario.active_params == scenario.num_params
    )
    starved = f"; about {text.count(load.idle)} of {scenario.num_experts} experts get none" if load.idle >= 0.05 else ""
    router = f"a router of skew {load.skew:g}" if load.skew else "uniform routing"
    said = (
        f"**Each expert gets about {text.count(load.group_mean)} tokens of those routed together{starved}**, give or take "
        f"{text.percent(load.cv)}. With {router} a capacity factor of {scenario.capacity_factor:g} drops {text.percent(load.dropped)} of them"
        f"{'' if load.skew else '; real routers drop more'}. {dense}"
    )
    first, _, rest = load.answer.partition(". ")
    return f"**{first}.** {rest} {said.replace('**', '')}" if load.answer else said


def experts_solved(load: ExpertLoad) -> str:
    """What capacity factor and what batch would be enough."""
    batch = (
        f"and a load CV of {text.percent(WANTED_CV)} needs {text.tokens(load.tokens_for_cv)} routed together"
        if load.tokens_for_cv < float("inf")
        else f"and no batch brings the load CV down to {text.percent(WANTED_CV)}: the router's own skew is {text.percent(load.skew)}"
    )
    return (
        f"To drop at most {text.percent(WANTED_DROP)} takes a capacity factor of **{load.least_factor:.3g}**, {batch}."
    )


def matmul(scenario: Scenario, load: ExpertLoad) -> str:
    """Whether an expert's matmul can be compute-bound, and what it costs where not."""
    if not load.matmul:
        return "A typed peak has no memory bandwidth, so whether an expert's matmul is compute-bound cannot be said."
    if load.matmul == float("inf"):
        return "These experts are too narrow to be compute-bound on this accelerator with any number of tokens: reading their weights takes longer."
    enough = load.group_mean >= load.matmul
    known = load.slowdown == load.slowdown
    return (
        f"An expert's matmul needs at least {text.count(load.matmul)} tokens to be compute-bound on this accelerator"
        f"{'' if known else ' (peak over memory bandwidth; more with small experts)'}. A micro-batch gives it "
        f"{text.count(load.group_mean)}: "
        + (
            "enough."
            if enough
            else "**memory-bound**, so a larger micro-batch or expert-parallel group would raise MFU."
        )
        + (
            f" By the roofline, padded to capacity (a dropless model is not), the experts' matmuls take {text.times(load.slowdown)} the time of their useful FLOPs at "
            f"the peak, and the compute of a whole step {text.times(load.step_slowdown)}: as much tok/s is lost, before all-to-all and kernels. A "
            "measured MFU holds this already."
            if known
            else " With a model's dimensions (Overview, or Throughput) this is exact."
        )
    )


def first_change(found: list[Lever]) -> str:
    """What to change first, and what the other changes would give."""
    listed = "; ".join(
        f"{lever.name}: {text.duration(lever.seconds)} ({text.signed(lever.time_ratio)} time, "
        f"{text.signed(lever.work_ratio)} device-hours)"
        for lever in found
    )
    return f"**What to change first.** {listed}."
