"""The splits of a wanted global batch on a scenario's devices, each with its predicted rate, the fastest first."""

from dataclasses import dataclass

import pandas as pd

from bsmath import splits
from bsmath.memory_outlook import MemoryOutlook
from bsmath.outlook import Outlook, outlook
from bsmath.scenario import RANGES, Scenario
from bsmath.splits import Split

MOST = 24
"""Splits that are ranked, the ones with the largest micro-batches: smaller ones only pay overhead more often."""


@dataclass(frozen=True, kw_only=True)
class SplitOutlook:
    """How a wanted global batch can be made."""

    table: pd.DataFrame
    """micro_batch_size [sequences], grad_accum_steps, data_parallel_size, tokens_per_second [real tokens/s], step_time [s] and fits (`surely`
    or `maybe`), the fastest first; empty where the batch cannot be split."""
    nearest: tuple[int | None, int | None]
    """Largest feasible global batch up to the wanted one and smallest from it on. [sequences]"""
    tied: bool
    """Whether every split has the same predicted rate."""


def split_outlook(scenario: Scenario, run: Outlook, found: MemoryOutlook, wanted: int) -> SplitOutlook:
    """All splits of `wanted` sequences on the scenario's devices whose micro-batch may fit."""
    most = int(RANGES["micro_batch_size"][1])
    sure, may = found.largest_micro_batch or (most, most)
    job = run.num_devices, scenario.model_parallel_size, min(may, most)
    candidates = sorted(splits.feasible(wanted, *job), key=lambda split: -split.micro_batch_size)[:MOST]
    runs = {split: outlook(_with(scenario, split)) for split in candidates if _possible(split)}
    ordered = splits.ranked(
        runs, lambda split: float(f"{runs[split].tokens_per_second:.9g}")
    )  # equal but for float noise
    table = pd.DataFrame(
        [
            {
                "micro_batch_size": split.micro_batch_size,
                "grad_accum_steps": split.grad_accum_steps,
                "data_parallel_size": split.data_parallel_size,
                "tokens_per_second": runs[split].tokens_per_second,
                "step_time": runs[split].step_time,
                "fits": "surely" if split.micro_batch_size <= sure else "maybe",
            }
            for split in ordered
        ]
    )
    rates = [each.tokens_per_second for each in runs.values()]
    return SplitOutlook(
        table=table,
        nearest=splits.nearest(wanted, *job),
        tied=len(rates) > 1 and max(rates) - min(rates) < 1e-6 * max(rates),
    )


def _with(scenario: Scenario, split: Split) -> Scenario:
    return scenario.change(
        micro_batch_size=split.micro_batch_size,
        grad_accum_steps=split.grad_accum_steps,
        data_parallel_size=split.data_parallel_size,
    )


def _possible(split: Split) -> bool:
    return all(getattr(split, name) <= RANGES[name][1] for name in ("grad_accum_steps", "data_parallel_size"))
