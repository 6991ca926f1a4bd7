"""Tables about a model on its hardware as they are shown: parameters, FLOPs, memory, splits."""

import pandas as pd

from bsmath.architecture import Architecture, parameter_table
from pages.ui import text

PARTS = {
    "embedding": "Embedding",
    "unembedding": "Logits' matrix",
    "attention": "Attention",
    "dense_mlp": "MLP",
    "routed_experts": "Routed experts",
    "shared_experts": "Shared experts",
    "router": "Routers",
    "biases": "Biases",
    "norms": "Norms",
    "positions": "Positions",
}


def parameters(arch: Architecture) -> pd.DataFrame:
    """Parameters by part, held and active, without parts that a model does not have."""
    held, active = parameter_table(arch), parameter_table(arch, active=True)
    parts = [part for part, number in held.items() if number]
    names = [*(PARTS[part] for part in parts), "Together"]
    columns = {
        "Held": [*(held[part] for part in parts), sum(held.values())],
        "Used by a token": [*(active[part] for part in parts), sum(active.values())],
    }
    if arch.num_experts is None:
        del columns["Used by a token"]
    return pd.DataFrame({"Parameters": names} | {name: list(map(text.count, each)) for name, each in columns.items()})


def readings(table: pd.DataFrame) -> pd.DataFrame:
    """One rate read by every count of FLOPs (see bsmath.model_shape.readings)."""
    return pd.DataFrame(
        {
            "Counted": table["counted"],
            "FLOP per token": table["flops_per_token"].map(lambda value: text.count(value, 4)),
            "Utilization at this run's rate": table["utilization"].map(text.percent),
            "Rate at the plateau's MFU, counted so [tok/s]": table["tokens_per_second"].map(lambda v: text.count(v, 4)),
        }
    )


def memory(low: dict[str, float], high: dict[str, float]) -> pd.DataFrame:
    """Memory of one device by part."""
    return pd.DataFrame(
        {
            "Part": [*low, "together"],
            "Least [GB]": [value / 1e9 for value in (*low.values(), sum(low.values()))],
            "Most [GB]": [value / 1e9 for value in (*high.values(), sum(high.values()))],
        }
    ).round(2)


def splits(table: pd.DataFrame) -> pd.DataFrame:
    """Splits of a global batch, the fastest first (see bsmath.split_outlook)."""
    return pd.DataFrame(
        {
            "Micro-batch [sequences]": table["micro_batch_size"],
            "Accumulation": table["grad_accum_steps"],
            "Replicas": table["data_parallel_size"],
            "Predicted rate [tok/s]": table["tokens_per_second"].map(lambda value: text.count(value, 4)),
            "Step": table["step_time"].map(text.duration),
            "Fits": table["fits"],
        }
    )
