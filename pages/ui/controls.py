"""The scenario's widgets in the sidebar: one line a field, each with the names that other tools use for it."""

import streamlit as st

from bsmath import presets
from bsmath.scenario import Scenario
from pages.ui import text, tied


def _steps(low: int, high: int, mantissas=(1, 1.5, 2, 3, 5, 7)) -> list[float]:
    """Readable values from 10^low to 10^high."""
    return [float(f"{m}e{power}") for power in range(low, high) for m in mantissas] + [10.0**high]


SIZES = _steps(5, 13)
TOKENS = _steps(2, 10)
LENGTHS = [2**power for power in range(4, 21)]
FRACTIONS = [percent / 100 for percent in range(1, 101)]
SHARES = [percent / 100 for percent in range(0, 101, 5)]
STEPS = _steps(0, 8)
SECONDS = [0.0, *_steps(-4, 2)]
BUDGETS = _steps(3, 15, (1, 2, 5))


def draw(scenario: Scenario) -> None:
    """The decisive five first, the rest by subject."""
    _slid(
        "Parameters", "num_params", SIZES, "N, held in memory. `num_params`, model size; 7B and 7.3e9 are understood."
    )
    _slid("Sequence [tokens]", "seq_len", LENGTHS, "T. `block_size`, `max_seq_len`, `--seq-length`.")
    _slid("MFU at the plateau", "mfu", FRACTIONS, "Model-FLOPs utilization at large batches, against the dense peak.")
    _slid(
        "B_crit [tokens]", "critical_batch_size", TOKENS, "Critical batch size, CBS: twice the least steps and tokens."
    )
    _slid("S_min [steps]", "min_steps", STEPS, "Steps to the target loss that remain at an infinite batch.")
    for label, body in SECTIONS.items():
        section = st.expander(label, **tied.section(label))
        if section.open:
            with section:
                body(scenario)


def _batch(scenario: Scenario) -> None:
    _whole(
        "Micro-batch [sequences]",
        "micro_batch_size",
        "Per replica. `per_device_train_batch_size`, DeepSpeed's `..._per_gpu`.",
    )
    _whole("Accumulation", "grad_accum_steps", "Micro-batches per step. `gradient_accumulation_steps`.")
    _whole("Replicas", "data_parallel_size", "Data-parallel size. `dp_world_size`, `num_replicas`.")
    _whole("Devices per replica", "model_parallel_size", "Tensor x pipeline x context parallel.")
    _typed(
        "Padding fraction", "padding_fraction", "Share of padding: it costs time and teaches nothing. 0 when packed."
    )


def _hardware(scenario: Scenario) -> None:
    known = presets.hardware()
    typed = [] if scenario.accelerator in known else [scenario.accelerator]
    st.selectbox(
        "Accelerator",
        [*known, *typed],
        format_func=lambda name: known[name].label if name in known else f"typed: {text.flops(float(name))}",
        help="Sets the dense BF16 peak, memory and bandwidths.",
        **tied.choice("accelerator"),
    )
    _typed(
        "or its dense peak [FLOP/s]",
        "accelerator",
        "A preset's name or a number such as 989e12: not the sparse figure.",
    )
    st.segmented_control(
        "Precision", ("bf16", "fp8"), required=True, help="Which dense peak counts.", **tied.choice("precision")
    )
    _slid(
        "Fixed time per step [s]",
        "fixed_time",
        SECONDS,
        "t_fixed: launches, optimizer, all-reduce latency. Assumed until fitted.",
    )
    _typed("Active parameters", "active_params", "Per token, for a mixture of experts; enters 6N.")
    st.segmented_control(
        "Goal", ("target", "budget"), required=True, help="A target loss, or a token budget.", **tied.choice("goal")
    )
    _slid("Token budget", "token_budget", BUDGETS, "D, real tokens; used where the goal is a budget.")
    _typed(
        "Target loss [nats/token]",
        "target_loss",
        "L at the end of the run, for published laws that are written in it. Empty leaves those out.",
    )
    _typed("Price per device-hour", "price_per_device_hour", "Any currency. Cost is shown only once this is typed.")


def _rate(scenario: Scenario) -> None:
    st.segmented_control(
        "Optimizer", ("adamw", "sgd"), required=True, help="Decides which rules apply.", **tied.choice("optimizer")
    )
    _typed("Peak learning rate", "learning_rate", "Tuned at the reference batch. `lr`, `base_lr`, `--lr`.")
    _typed(
        "Reference batch [tokens]", "reference_tokens_per_step", "B_0, where that rate was tuned. nanochat's `B_REF`."
    )
    _typed("Noise scale [tokens]", "noise_scale", "Where SGD's rate saturates: B_noise, B_simple.")
    _typed("AdamW saturation batch [tokens]", "adam_saturation_batch", "B_n of the empirical law; fit it if you can.")
    _typed("Surge peak [tokens]", "surge_peak_batch", "Where the surge rule peaks; not the noise scale.")
    _typed("Weight decay", "weight_decay", "AdamW's lambda. `--weight-decay`, `wd`.")
    _typed("beta 1", "beta1", "`adam_beta1`, `--adam-beta1`.")
    _typed("beta 2", "beta2", "`adam_beta2`, `--adam-beta2`.")
    _typed("Warmup [tokens]", "warmup_tokens", "Defined in tokens; trainers often want steps.")
    _typed("Clip norm", "clip_norm", "Global gradient norm. `max_grad_norm`, `grad_clip`, `--clip-grad`.")


def _experts(scenario: Scenario) -> None:
    _whole("Routed experts", "num_experts", "E per layer. `moe_num_experts`, `--num-experts`, `n_routed_experts`.")
    _whole("Experts per token", "top_k", "k. `moe_top_k`, `--moe-router-topk`, `num_experts_per_tok`.")
    _typed("Capacity factor", "capacity_factor", "Room per expert over the mean. `--moe-expert-capacity-factor`.")
    _whole("Expert-parallel group", "expert_parallel_size", "Replicas routed together. `--expert-model-parallel-size`.")


def _slid(label: str, name: str, options: list[float], help: str) -> None:
    left, right = st.columns((3, 2), vertical_alignment="bottom")
    left.select_slider(label, help=help, **tied.slider(name, options))
    right.text_input(f"{label}, exact", label_visibility="collapsed", **tied.typed(name))


def _typed(label: str, name: str, help: str) -> None:
    st.text_input(label, help=help, **tied.typed(name))


def _whole(label: str, name: str, help: str) -> None:
    st.number_input(label, min_value=1, step=1, help=help, **tied.choice(name))


def _memory(scenario: Scenario) -> None:
    _typed(
        "Dimensions",
        "architecture",
        "A preset's name or `num_layers=32 hidden_size=4096 ...`; paste a config.json on the Throughput page.",
    )
    st.segmented_control(
        "Recomputation",
        ("none", "selective", "full"),
        required=True,
        help="Activation checkpointing. `selective`: attention scores are not kept (FlashAttention, Megatron's selective). `full`: whole layers.",
        **tied.choice("recompute"),
    )
    st.segmented_control(
        "ZeRO stage",
        (0, 1, 2, 3),
        required=True,
        help="What replicas share out: 1 optimizer, 2 gradients, 3 weights. FSDP: FULL_SHARD is 3, SHARD_GRAD_OP 2, DDP 0.",
        **tied.choice("zero_stage"),
    )
    st.segmented_control(
        "Gradients in",
        ("bf16", "fp32"),
        required=True,
        help="Megatron's `accumulate-allreduce-grads-in-fp32`.",
        **tied.choice("gradient_dtype"),
    )
    _slid("Overhead per micro-batch [s]", "micro_batch_time", SECONDS, "Launches and data loading, once a micro-batch.")
    _typed(
        "Network per device [bytes/s]",
        "network_bandwidth",
        "One way, between replicas: 50e9 is 400 Gb/s. Empty: the accelerator's link within a node, else 50e9, at 80 %.",
    )
    _slid("Overlap of communication", "overlap", SHARES, "Share of the backward pass that can hide it; 1 is the ideal.")


SECTIONS = {
    "Batch and devices": _batch,
    "Hardware and goal": _hardware,
    "Memory and network": _memory,
    "Learning rate": _rate,
    "Mixture of experts": _experts,
}
