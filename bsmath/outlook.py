"""Everything that follows from a scenario: sizes, rates, budgets, the fastest batch. Derived afresh, never stored."""

from dataclasses import dataclass

from bsmath import batch, critical, flops, step_costs, throughput
from bsmath.scenario import Scenario

FLAT = 0.05
"""How far above the best time a batch may lie to count as equally good: the optimum is broad, so 5 % spans several-fold."""


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The derived numbers of one run; token counts are real tokens unless the name says padded."""

    num_devices: int
    """Replicas times devices per replica."""
    global_batch_size: int
    """Sequences per optimizer step. [sequences]"""
    tokens_per_step: float
    """B. [real tokens]"""
    padded_tokens_per_step: float
    """What the hardware processes in a step. [padded tokens]"""
    smallest_step: float
    """One micro-batch on every replica. [real tokens]"""
    flops_per_token: float
    """6 times the active parameters. [FLOP/token]"""
    padded_plateau: float
    """Whole-job rate at large batches of this micro-batch. [padded tokens/s]"""
    plateau: float
    """The same in real tokens. [tokens/s]"""
    plateau_mfu: float
    """Model-FLOPs utilization at that rate: the scenario's, less what each micro-batch costs beside its compute."""
    fixed_time: float
    """What does not grow with the batch at this micro-batch: the scenario's, and communication not hidden. [s]"""
    half_batch: float
    """B_half. [real tokens]"""
    fastest_batch: float
    """B_fast before feasibility. [real tokens]"""
    fastest_feasible_batch: float
    """Least time to target among whole micro-batches on every replica. [real tokens]"""
    flat_range: tuple[float, float]
    """Batches within 5 % of the best feasible time to target. [real tokens]"""
    step_time: float
    """[s]"""
    tokens_per_second: float
    """Whole job. [real tokens/s]"""
    knee_ratio: float
    """B / B_crit."""
    reference_ratio: float
    """B over the batch at which the learning rate was tuned."""
    mfu: float
    """The run's own model-FLOPs utilization, padded tokens counted as work."""
    plateau_fraction: float
    """Share of the plateau's rate reached."""
    goodput: float
    """Rate times statistical efficiency. [tokens/s]"""
    steps: float
    """Optimizer steps to the goal. [steps]"""
    tokens: float
    """Tokens to the goal. [real tokens]"""
    seconds: float
    """Wall-clock to the goal. [s]"""
    best_seconds: float
    """Wall-clock to the target at the fastest feasible batch. [s]"""
    cost: float | None
    """Device hours times their price; None while no price is typed."""

    @property
    def padded_tokens_per_second(self) -> float:
        """Whole job, padding included: what MFU counts. [padded tokens/s]"""
        return self.padded_tokens_per_step / self.step_time

    @property
    def device_hours(self) -> float:
        """Devices times hours."""
        return self.num_devices * self.seconds / 3600

    @property
    def token_efficiency(self) -> float:
        """Share of the tokens that a tiny batch would have needed too, goodput over rate."""
        return self.goodput / self.tokens_per_second

    @property
    def compute_bound(self) -> bool:
        """Whether more than half of a step's time grows with the batch."""
        return self.plateau_fraction > 0.5


def seconds_to_goal(scenario: Scenario, tokens_per_step):
    """Wall-clock to the scenario's goal at other batch sizes, on the same devices. [s]"""
    fixed, padded = step_costs.effective(scenario)
    real = padded * (1 - scenario.padding_fraction)
    half = throughput.half_batch(fixed, padded, scenario.padding_fraction)
    if scenario.goal == "budget":
        return scenario.token_budget / throughput.tokens_per_second(
            tokens_per_step, fixed, padded, scenario.padding_fraction
        )
    return throughput.time_to_target(tokens_per_step, half, scenario.critical_batch_size, scenario.min_steps, real)


def outlook(scenario: Scenario) -> Outlook:
    """Derive every number of a run from its scenario."""
    sequences = batch.global_batch_size(
        scenario.micro_batch_size, scenario.grad_accum_steps, scenario.data_parallel_size
    )
    real = batch.tokens_per_step(sequences, scenario.seq_len, scenario.padding_fraction)
    padded = batch.tokens_per_step(sequences, scenario.seq_len)
    smallest = real / scenario.grad_accum_steps
    devices = batch.num_devices(scenario.data_parallel_size, scenario.model_parallel_size)
    work = flops.flops_per_token(scenario.active_params)
    fixed, limit = step_costs.effective(scenario)
    half = throughput.half_batch(fixed, limit, scenario.padding_fraction)
    knee = scenario.critical_batch_size
    time = throughput.step_time(padded, fixed, limit)
    rate = real / time
    feasible = float(throughput.fastest_feasible_batch(half, knee, smallest))
    steps, tokens = _budget(scenario, real)
    seconds = steps * time
    target = scenario.change(goal="target")
    return Outlook(
        num_devices=devices,
        global_batch_size=sequences,
        tokens_per_step=real,
        padded_tokens_per_step=padded,
        smallest_step=smallest,
        flops_per_token=work,
        padded_plateau=limit,
        plateau=limit * (1 - scenario.padding_fraction),
        plateau_mfu=flops.mfu(limit, work, scenario.peak_flops, devices),
        fixed_time=fixed,
        half_batch=half,
        fastest_batch=float(throughput.fastest_batch(half, knee)),
        fastest_feasible_batch=feasible,
        flat_range=tuple(float(end) for end in throughput.batches_within(FLAT, half, knee, smallest)),
        step_time=time,
        tokens_per_second=rate,
        knee_ratio=real / knee,
        reference_ratio=real / scenario.reference_tokens_per_step,
        mfu=flops.mfu(padded / time, work, scenario.peak_flops, devices),
        plateau_fraction=throughput.plateau_fraction(real, half),
        goodput=throughput.goodput(rate, real, knee),
        steps=steps,
        tokens=tokens,
        seconds=seconds,
        best_seconds=seconds_to_goal(target, feasible),
        cost=_cost(scenario.price_per_device_hour, devices, seconds),
    )


def _budget(scenario: Scenario, tokens_per_step: float) -> tuple[float, float]:
    """Steps and tokens to the goal."""
    if scenario.goal == "budget":
        return scenario.token_budget / tokens_per_step, scenario.token_budget
    knee = (scenario.critical_batch_size, scenario.min_steps)
    return critical.steps_to_target(tokens_per_step, *knee), critical.tokens_to_target(tokens_per_step, *knee)


def _cost(price: float | None, devices: int, seconds: float) -> float | None:
    return None if price is None else price * devices * seconds / 3600
