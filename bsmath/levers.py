"""What to change first: the wall-clock to the goal after each single change that a user could make."""

from dataclasses import dataclass

from bsmath.outlook import outlook
from bsmath.scenario import RANGES, Scenario


@dataclass(frozen=True, kw_only=True)
class Lever:
    """One change and what it does."""

    name: str
    """The change, in words."""
    seconds: float
    """Wall-clock to the goal after it. [s]"""
    time_ratio: float
    """Wall-clock after over before."""
    work_ratio: float
    """Device-hours after over before."""


CHANGES = {
    "twice the replicas": lambda run: {"data_parallel_size": 2 * run.data_parallel_size},
    "half the fixed time per step": lambda run: {"fixed_time": run.fixed_time / 2},
    "a tenth more MFU": lambda run: {"mfu": min(1.1 * run.mfu, 1.0)},
    "half the micro-batch": lambda run: {"micro_batch_size": max(run.micro_batch_size // 2, 1)},
    "twice the accumulation": lambda run: {"grad_accum_steps": 2 * run.grad_accum_steps},
}
"""Changes by name; each gives the fields that it sets."""


def levers(scenario: Scenario) -> list[Lever]:
    """Every possible change, the one that saves most time first."""
    before = outlook(scenario)
    found = []
    for name, change in CHANGES.items():
        fields = change(scenario)
        possible = all(RANGES[field][0] <= value <= RANGES[field][1] for field, value in fields.items())
        if possible and any(getattr(scenario, field) != value for field, value in fields.items()):
            after = outlook(scenario.change(**fields))
            found.append(
                Lever(
                    name=name,
                    seconds=after.seconds,
                    time_ratio=after.seconds / before.seconds,
                    work_ratio=after.device_hours / before.device_hours,
                )
            )
    return sorted(found, key=lambda lever: lever.time_ratio)
