"""Which dimensions a scenario's model has: those it names, where they fit its parameters, else those of a usual model."""

from dataclasses import dataclass

import pandas as pd

from bsmath import dimensions, exact_flops, flops, shape
from bsmath.architecture import Architecture, active_params, num_params
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario

AGREES = 0.05
"""Largest relative difference of parameters at which dimensions still describe the scenario's model."""


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """Dimensions, and whether they are the model's own."""

    architecture: Architecture
    """The dimensions in use."""
    assumed: bool
    """Whether they are only usual for this size."""
    contradicted: tuple[float, float] | None = None
    """Parameters and active parameters of named dimensions that describe another model."""


def of(scenario: Scenario) -> ModelShape:
    """The dimensions to count with."""
    if scenario.architecture:
        named = dimensions.read(scenario.architecture)
        counts = num_params(named), active_params(named)
        wanted = scenario.num_params, scenario.active_params
        if all(abs(count / want - 1) <= AGREES for count, want in zip(counts, wanted, strict=True)):
            return ModelShape(architecture=named, assumed=False)
        return ModelShape(
            architecture=shape.assumed_shape(scenario.active_params),
            assumed=True,
            contradicted=tuple(map(float, counts)),
        )
    return ModelShape(architecture=shape.assumed_shape(scenario.active_params), assumed=True)


def fields_of(architecture: Architecture) -> dict:
    """The scenario fields that these dimensions set; parameters to four digits, which is how they are quoted."""
    changes = {
        "architecture": dimensions.write(architecture),
        "num_params": float(f"{num_params(architecture):.4g}"),
        "active_params": float(f"{active_params(architecture):.4g}"),
    }
    if architecture.num_experts is not None:
        changes |= {"num_experts": architecture.num_experts, "top_k": architecture.top_k}
    return changes


def readings(scenario: Scenario, run: Outlook, architecture: Architecture) -> pd.DataFrame:
    """One rate read by every count of FLOPs.

    Returns
    -------
    DataFrame
        counted, flops_per_token [FLOP/token], utilization (of the dense peak, at this run's rate), tokens_per_second (whole
        job, padded, at which this count reaches the scenario's plateau MFU).
    """
    full = exact_flops.exact_flops_per_token(architecture, scenario.seq_len)
    causal = exact_flops.exact_flops_per_token(architecture, scenario.seq_len, causal=True)
    counts = {
        "6N (this dashboard)": run.flops_per_token,
        "exact, attention in full (PaLM)": full.total,
        "exact, causal attention halved": causal.total,
        f"executed, recomputation {scenario.recompute} (HFU)": exact_flops.hardware_flops_per_token(
            full, scenario.recompute
        ),
    }
    padded = run.padded_tokens_per_second
    job = scenario.peak_flops, run.num_devices
    return pd.DataFrame(
        [
            {
                "counted": name,
                "flops_per_token": count,
                "utilization": flops.mfu(padded, count, *job),
                "tokens_per_second": flops.tokens_per_second(scenario.mfu, count, *job),
            }
            for name, count in counts.items()
        ]
    )
