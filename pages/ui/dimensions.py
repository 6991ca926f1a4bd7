"""The model's dimensions: those in use, and a config.json that fills them."""

import streamlit as st

from bsmath.architecture import Architecture
from bsmath.model_shape import ModelShape
from bsmath.scenario import Scenario
from pages.ui import actions, model_tables, text

MEGABYTES = 1


def section(scenario: Scenario, shape: ModelShape) -> None:
    """What the dimensions are, and where to paste others."""
    st.markdown(origin(scenario, shape))
    st.dataframe(model_tables.parameters(shape.architecture), hide_index=True)
    st.text_area(
        "Paste a Hugging Face config.json", key="config_text", height=110, placeholder='{"hidden_size": 4096, ...}'
    )
    left, right = st.columns(2, vertical_alignment="bottom")
    left.button("Use these dimensions", on_click=actions.read_pasted_config)
    right.file_uploader(
        "or drop the file",
        type=["json"],
        max_upload_size=MEGABYTES,
        key="config_file",
        on_change=actions.read_dropped_config,
    )


def origin(scenario: Scenario, shape: ModelShape) -> str:
    """Whose dimensions these are, in a sentence."""
    described = describe(shape.architecture)
    if shape.contradicted:
        total, active = shape.contradicted
        return (
            f"The dimensions named in the scenario hold {text.count(total)} parameters ({text.count(active)} active), the scenario says "
            f"{text.count(scenario.num_params)} ({text.count(scenario.active_params)}): they describe another model and are not "
            f"used. Assumed instead, as usual for this size: {described}."
        )
    if shape.assumed:
        return (
            f"Dimensions are **assumed**, scaled from the GPT-3 family to {text.count(scenario.active_params)} parameters: {described}. "
            "Choose a model on the Overview or paste its config.json below to count with its own."
        )
    return f"Dimensions of the model itself: {described}."


def describe(arch: Architecture) -> str:
    """32 layers of width 4,096, 32 heads of 128 (8 for keys and values), gated MLP of 14,336, vocabulary 128,256."""
    grouped = f" ({arch.num_kv_heads} for keys and values)" if arch.num_kv_heads < arch.num_heads else ""
    latent = " in latent attention" if arch.kv_lora_rank is not None else ""
    mlp = f"{'gated' if arch.gated_mlp else 'plain'} MLP of {arch.ffn_size:,}"
    if arch.num_experts is not None:
        shared = f" and {arch.num_shared_experts} shared" if arch.num_shared_experts else ""
        mlp = f"{arch.top_k} of {arch.num_experts} experts{shared}, {arch.expert_ffn_size:,} wide"
    return (
        f"{text.plural(arch.num_layers, 'layer')} of width {arch.hidden_size:,}, {text.plural(arch.num_heads, 'head')} of {arch.head_dim}{grouped}{latent}, {mlp}, "
        f"vocabulary {arch.vocab_size:,}"
    )
