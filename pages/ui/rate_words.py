"""The sentences of the Throughput page: what a larger batch would gain, which batch is fastest, what an MFU may not be."""

from bsmath import batch, flops, headroom, presets, step_costs, throughput
from bsmath.headroom import Fastest
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.ui import text


def rate_verdict(scenario: Scenario, run: Outlook, fastest: Fastest) -> str:
    """Whether a larger batch would raise the rate, in one sentence."""
    gain = throughput.plateau_fraction(2 * run.tokens_per_step, run.half_batch) / run.plateau_fraction
    reached = f"**{text.percent(run.plateau_fraction)} of the plateau's rate is reached"
    terms = step_costs.terms_at(scenario, run.padded_tokens_per_step)
    name = str(terms.dominant)
    if run.plateau_fraction >= 0.9 and name != "compute":
        return (
            f"{reached}, but not because it computes: {text.percent(getattr(terms, name) / terms.total)} of a step is "
            f"{step_costs.TERMS[name]}.** Accumulating twice as much would raise the rate by {text.percent(gain - 1)}; larger "
            "micro-batches raise the plateau itself."
        )
    if run.plateau_fraction >= 0.9:
        return (
            f"**This run is compute-bound**: doubling the batch gives {_doubling_gain(scenario, run, gain - 1)}; "
            f"{text.rate(run.padded_tokens_per_second)}{_padded(scenario)} at MFU {text.percent(run.mfu)} imply "
            f"**N = {text.count(scenario.active_params)}** by 6N{_fastest_span(scenario, fastest)}. "
            f"{reached}:** MFU {text.percent(run.mfu)} is this run's, the plateau's is {text.percent(run.plateau_mfu)}."
        )
    if run.compute_bound:
        return f"{reached}.** Doubling the batch would raise the rate by {text.percent(gain - 1)}."
    return (
        f"{reached}: this run is overhead-bound.** Doubling the batch would raise the rate by {text.percent(gain - 1)}, since "
        f"{text.duration(run.fixed_time)} of each {text.duration(run.step_time)} step do not depend on the batch."
    )


def _doubling_gain(scenario: Scenario, run: Outlook, gain: float) -> str:
    """What a doubling gives, and at most by the fastest matmul measured on the device."""
    ceiling = scenario.matmul_ceiling
    if ceiling is None or run.mfu >= ceiling:
        return f"{text.percent(gain)} more tok/s"
    doubled = headroom.most_doubling_gain(run.mfu, ceiling)
    most = flops.mfu_headroom(run.mfu, ceiling) - 1
    return (
        f"**at most {text.percent(doubled)} more tok/s** and no batch more than {text.percent(most, 3)}, for the fastest matmul measured "
        f"on this device reaches {text.percent(ceiling, 3)} of its peak ({text.percent(gain)} at the assumed t_fixed)"
    )


def _fastest_span(scenario: Scenario, found: Fastest) -> str:
    """The range of the fastest batch, as the end of a sentence."""
    if scenario.goal == "budget":
        return ""
    low, high = found.tokens_per_step
    return (
        f"; the batch that reaches the target soonest is **{text.count(low)} to {text.tokens(high)}**, over t_fixed from "
        f"{text.duration(found.fixed_time[0])} to {text.duration(found.fixed_time[1])} and B_crit from "
        f"{text.count(found.critical_batch_size[0])} to {text.tokens(found.critical_batch_size[1])}"
    )


def _padded(scenario: Scenario) -> str:
    return " (padded)" if scenario.padding_fraction else ""


def fastest_open(scenario: Scenario, run: Outlook, found: Fastest) -> str:
    """Which batch is fastest, as a range over what the scenario only assumes."""
    if scenario.goal == "budget":
        return ""
    low, high = found.tokens_per_step
    sequence = batch.tokens_per_step(1, scenario.seq_len, scenario.padding_fraction)
    best = f"at {text.duration(run.fixed_time)} and {text.count(scenario.critical_batch_size)} it is B_fast = {text.tokens(run.fastest_batch)}"
    if run.fastest_batch < low:
        best += ", less than one sequence on every replica"
    ceiling = scenario.matmul_ceiling
    longest = (
        "The longest t_fixed is all that the matmul ceiling leaves of this run's step"
        if ceiling is not None and run.mfu < ceiling
        else "The longest t_fixed is the assumed one, for no ceiling bounds it"
    )
    return (
        f"**Which batch is fastest?** {text.count(low)} to {text.tokens(high)} ({text.whole(low / sequence)} to "
        f"{text.whole(high / sequence)} sequences), with t_fixed between {text.duration(found.fixed_time[0])} and "
        f"{text.duration(found.fixed_time[1])} and B_crit between {text.count(found.critical_batch_size[0])} and "
        f"{text.tokens(found.critical_batch_size[1])}; {best}. {longest}, the B_crit are the scenario's and published laws'. "
        "Measure both to narrow it."
    )


def above_ceiling(scenario: Scenario, mfu: float) -> str:
    """A warning where an MFU is above the fastest matmul measured on the device; empty where it is possible or unknown."""
    ceiling = scenario.matmul_ceiling
    if ceiling is None or mfu <= ceiling:
        return ""
    return (
        f"An MFU of {text.percent(mfu)} is above the fastest BF16 matmul measured on {scenario.device.label} "
        f"({text.percent(ceiling)} of its dense peak). Check that the rate is this job's and not another "
        "device's, that the parameters are right, and that attention or recomputation is not counted as model FLOPs."
    )


def accelerator_notes(scenario: Scenario) -> str:
    """What the user of this accelerator should know: its note, and figures that no vendor page confirmed."""
    device = scenario.device
    if device is None:
        return ""
    said = [device.note] if device.note else []
    if device.unverified:
        fields = ", ".join(name.replace("_", " ") for name in device.unverified)
        said.append(f"Not confirmed by a vendor's page for {device.label}: {fields}.")
    return " ".join(said)


def sparse_peak(scenario: Scenario) -> str:
    """A warning where a typed peak is the 2:4-sparse figure of some device; empty otherwise."""
    if scenario.device is not None or scenario.precision != "bf16":
        return ""
    for device in presets.hardware().values():
        sparse = device.sparse_peak_flops
        if sparse and abs(scenario.peak_flops / sparse - 1) < 0.005:
            return (
                f"{text.flops(scenario.peak_flops)} is the 2:4-sparse BF16 figure of {device.label}; training is dense. Type "
                f"{text.flops(device.peak_flops)}: with the sparse figure every MFU reads half of what it is."
            )
    return ""


def ceiling(scenario: Scenario, run: Outlook) -> str:
    """How far the run's MFU lies below the fastest matmul measured on its accelerator."""
    ceiling = scenario.matmul_ceiling
    if ceiling is None:
        return ""
    if warning := above_ceiling(scenario, run.mfu):
        return warning
    headroom = flops.mfu_headroom(run.mfu, ceiling)
    return (
        f"The fastest BF16 matmul measured on this device reaches {text.percent(ceiling)} of its dense peak, so "
        f"at {text.percent(run.mfu)} this run could be {text.times(headroom)} as fast at the very most."
    )
