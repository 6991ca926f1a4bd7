"""The words of this dashboard, their symbols and units, and what other tools call them."""

import pandas as pd

TERMS = (
    ("sequence length", "T", "tokens/sequence", "`block_size` (nanoGPT), `max_seq_len`, `--seq-length`"),
    ("micro-batch", "b", "sequences", "`train_micro_batch_size_per_gpu` (DeepSpeed), `per_device_train_batch_size` (HF), "
     "`device_batch_size` (nanochat); OLMo's `rank_microbatch_size` is in tokens"),
    ("accumulation steps", "a", "", "`gradient_accumulation_steps`; AdaptDL's `accum_steps` is one less"),
    ("replicas", "d", "", "data-parallel size, `dp_world_size` (OLMo), `num_replicas` (AdaptDL)"),
    ("global batch", "", "sequences", "b a d; `train_batch_size` (DeepSpeed, Levanter); OLMo's is in tokens"),
    ("tokens per step", "B", "real tokens", "`total_batch_size` (nanochat)"),
    ("noise scale", "B_simple", "tokens", "`gns`: tr(Sigma)/|G|^2 from gradient norms"),
    ("critical batch size", "B_crit", "real tokens", "CBS; here where both steps and tokens are twice their least. Zhang et al. use "
     "20 % more steps than linear scaling, which is 3 to 4.4 times smaller on the same data"),
    ("least steps, least tokens", "S_min, E_min", "steps, tokens", "limits of the hyperbola; E_min = S_min B_crit"),
    ("half batch", "B_half", "real tokens", "batch at which half the plateau's rate is reached, t_fixed R"),
    ("fastest batch", "B_fast", "real tokens", "least wall-clock to the target on fixed hardware, sqrt(B_half B_crit)"),
    ("useful tokens", "u", "tokens", "what tiny batches would have needed to get as far; the rest of what was spent is waste"),
    ("batch ramp", "B(D)", "real tokens", "batch warmup; `--rampup-batch-size` counts samples, `--step-batch-size-schedule` tokens"),
    ("gamma", "", "0 to 1", "product of both overheads of the best ramp; 1 for a flat batch"),
    ("frontier", "", "", "the plans that no other beats in both time and cost"),
    ("goodput", "", "tokens/s", "Pollux: rate times statistical efficiency"),
    ("plateau", "R", "tokens/s", "rate at large batches, n peak MFU / 6N, whole job"),
    ("MFU", "", "0 to 1", "model FLOPs over the dense peak; HFU also counts recomputation"),
    ("tokens routed together", "M", "tokens", "micro-batch x expert-parallel group: what a capacity factor applies to"),
    ("capacity factor", "CF", "", "room of an expert over its mean load; dropless models have none"),
)  # fmt: skip


def table() -> pd.DataFrame:
    """The glossary as it is shown."""
    return pd.DataFrame(TERMS, columns=["Name", "Symbol", "Unit", "Elsewhere, and what it means"])
