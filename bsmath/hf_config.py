"""A Hugging Face config.json, pasted or dropped, as the dimensions of a model.

Dense and MoE decoders of the common model types are read; what a file leaves out follows its model type
(hf_families.py), and every such step is a sentence in `notes`. Unknown types are read by the names of their keys. What
cannot be read is one ValueError that names the key, the rule and the value.
"""

import re
from dataclasses import dataclass

from bsmath import hf_families
from bsmath.architecture import Architecture
from bsmath.hf_file import File, opened, shown


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a config.json says about its model."""

    architecture: Architecture
    """Dimensions."""
    label: str
    """Class and model type, as far as the file names them."""
    max_position_embeddings: int | None
    """Longest sequence the model is made for; None if not stated. [tokens]"""
    notes: tuple[str, ...]
    """Sentences on what was assumed and what was left out."""


def read(text: str | bytes, name: str = "config.json") -> Config:
    """The dimensions in the text of a config.json; a ValueError says in one sentence why not."""
    try:
        file = opened(text, name)
        _check_kind(file)
        architecture = _architecture(file)
        _note_unused(file)
        return Config(
            architecture=architecture,
            label=_label(file) or name,
            max_position_embeddings=file.number("positions"),
            notes=tuple(dict.fromkeys(file.notes)),
        )
    except RecursionError:
        raise ValueError(f"{name} must be nested less deeply, got more levels than can be read") from None


def _check_kind(file: File):
    """Refuse files of another kind, and models that are not decoders of attention and MLP."""
    if not file.sizes and not any(file.stated(field) for field in ("num_layers", "hidden_size", "num_heads")):
        for key, whose in hf_families.OTHER_FILES.items():
            if key in file.top:
                base = file.top.get("base_model_name_or_path")
                of = f" of {shown(base)}" if isinstance(base, str) else ""
                raise ValueError(f"{file.name} must be the file with the dimensions{of}, got {whose} file")
    if file.flag("is_encoder_decoder"):
        raise ValueError(f"{file.name} must describe a decoder, got an encoder-decoder (is_encoder_decoder is true)")
    rule = "be a transformer with attention and an MLP in each layer"
    if file.kind in hf_families.NO_TRANSFORMERS:
        raise ValueError(f"model_type must {rule}, got {file.kind!r}")
    for key in ("layer_types", "layers_block_type"):
        for layer in file.sequence(key):
            if isinstance(layer, str) and layer not in hf_families.ATTENTION_LAYERS:
                raise ValueError(f"{key} must {rule}, got {shown(layer)}")
    if 0 in file.sequence("attn_type_list"):  # MiniMax: 0 is linear attention, 1 softmax attention
        raise ValueError(f"attn_type_list must {rule}, got 0 (linear attention)")


def _architecture(file: File) -> Architecture:
    """The dimensions, with what the model type fills in."""
    if not file.known:
        file.note(f"model_type {file.kind or 'missing'} is not known here: read by the names of its keys.")
    sizes = {field: file.needed(field) for field in ("hidden_size", "num_layers", "num_heads", "vocab_size")}
    mlp, latent = _mlp(file, sizes), _latent(file)
    extra = file.family.get("extra_positions")
    positions = 0 if extra is None else (file.number("positions") or 0) + extra
    attention = latent or {"num_kv_heads": _kv_heads(file, sizes), "head_dim": file.filled("head_dim")}
    try:
        return Architecture(**sizes, **mlp, **attention, **_flags(file), learned_positions=positions)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file.name}: {error}") from None


def _kv_heads(file: File, sizes: dict) -> int:
    if file.flag("multi_query") and not file.flag("new_decoder_architecture"):
        return 1
    heads = file.filled("num_kv_heads")
    if heads is None and file.family.get("gated_mlp", True):  # the older, plain types have no such key
        file.note("num_key_value_heads is not in the file: taken as many as attention heads.")
    return heads or sizes["num_heads"]


def _latent(file: File) -> dict:
    rank = file.number("kv_lora_rank", low=0)
    if not rank:
        return {}
    rotary = file.needed("rope_head_dim")
    return {
        "kv_lora_rank": rank,
        "q_lora_rank": file.number("q_lora_rank", low=0) or None,
        "rope_head_dim": rotary,
        "head_dim": file.needed("nope_head_dim") + rotary,
        "value_head_dim": file.needed("value_head_dim"),
    }


def _flags(file: File) -> dict:
    tied = file.flag("tied_embeddings", None)
    if tied is None:
        tied = file.family.get("tied_embeddings", True)
        whose = f"model type {file.kind}" if file.known else "transformers' base class"
        file.note(f"tie_word_embeddings is not in the file: taken as {str(tied).lower()}, the default of {whose}.")
    biases = file.flag("biases") and not file.flag("no_bias")
    return {"tied_embeddings": tied, "biases": biases, "qkv_bias": not biases and file.flag("qkv_bias")}


def _mlp(file: File, sizes: dict) -> dict:
    gated = file.family.get("gated_mlp")
    if gated is None:
        named = [file.values[key] for key in hf_families.ACTIVATIONS if isinstance(file.values.get(key), str)]
        activation = named[0][:40] if named else "not named"
        gated = activation == "not named" or bool(re.search("glu|silu|swish", activation.lower()))
        kind = "gated" if gated else "plain"
        file.note(f"The MLP is taken as {kind}, from its activation ({activation}).")
    dense = file.number("dense_ffn_size") or file.number("ffn_size")
    if dense is None and not gated:
        ratio = file.number("expansion_ratio") or 4
        dense = ratio * sizes["hidden_size"]
        file.note(f"The MLP's width is not in the file: taken as {ratio} times the hidden size.")
    dense = (dense or file.needed("ffn_size")) // file.family.get("ffn_share", 1)
    return {"gated_mlp": gated, "ffn_size": dense, **_experts(file, sizes["num_layers"])}


def _experts(file: File, layers: int) -> dict:
    experts = file.number("num_experts", low=0) if file.stated("num_experts") else None
    if experts is None and file.stated("top_k"):
        experts = file.filled("num_experts")
    if not experts or experts == 1:
        return {}
    width = file.needed("expert_ffn_size")
    shared, shared_width = file.filled("num_shared_experts", low=0), file.number("shared_ffn_size", low=0)
    if shared is None and shared_width:
        shared = round(shared_width / width)
        if shared * width != shared_width:
            file.note(f"Shared experts {shared_width} wide are counted as {shared} of {width}, the routed ones' width.")
    return {
        "num_experts": experts,
        "top_k": file.needed("top_k"),
        "expert_ffn_size": width,
        "num_shared_experts": shared or 0,
        "num_dense_layers": layers - sum(_routed(file, layers)),
    }


def _routed(file: File, layers: int) -> list[bool]:
    """For each layer, whether its MLP is routed."""
    listed, dense = file.indices("moe_layers"), file.indices("mlp_only_layers")
    if listed:
        return [layer in listed for layer in range(layers)]
    pattern = file.sequence("moe_layer_freq")
    if pattern:
        if len(pattern) != layers:
            raise ValueError(f"moe_layer_freq must have one entry for each of {layers} layers, got {len(pattern)}")
        return [entry not in (0, None) for entry in pattern]
    first, last = file.number("first_moe_layer", low=0) or 0, file.number("last_moe_layer", low=-1)
    last = layers - 1 if last in (None, -1) else last
    multiple, every = file.number("moe_layer_freq") or 1, file.number("moe_every") or 1
    inside = [first <= layer <= last and layer not in dense for layer in range(layers)]
    return [inside[layer] and layer % multiple == 0 and (layer + 1) % every == 0 for layer in range(layers)]


def _note_unused(file: File):
    for part in hf_families.OTHER_PARTS:
        if isinstance(file.top.get(part), dict):
            file.note(f"{part} is not counted: only the language model was read.")
    window = file.unused("sliding_window")
    if window and file.flag("use_sliding_window", True):
        file.note(f"The sliding window of {window:,} tokens is not used: attention counts the whole sequence.")
    if file.unused("mtp_layers"):
        file.note("num_nextn_predict_layers is not counted: multi-token prediction adds parameters and work.")
    if file.top.get("quantization_config") or file.values.get("quantization_config"):
        file.note("quantization_config is not used: the dimensions are those of the unquantized model.")


def _label(file: File) -> str:
    names = file.top.get("architectures")
    named = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    kind = f" ({file.kind})" if named and file.kind else file.kind
    return "".join(char for char in named[:60] + kind if char.isprintable())
