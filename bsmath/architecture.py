"""The dimensions of a transformer, and the parameters that follow from them.

Whatever a configuration file states is enough to count parameters: embedding, attention (grouped or latent), MLP (plain or
gated, dense or routed), norms. Published counts agree within 1 % (a test over `data/models.toml`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One decoder-only transformer."""

    num_layers: int
    """Transformer blocks, L."""
    hidden_size: int
    """Width of the residual stream, h."""
    num_heads: int
    """Query heads, H."""
    vocab_size: int
    """Rows of the embedding, V."""
    ffn_size: int
    """Inner width of a dense MLP."""
    num_kv_heads: int = None  # takes num_heads
    """Key and value heads; fewer than num_heads in grouped-query attention."""
    head_dim: int = None  # takes hidden_size / num_heads
    """Width of one query or key head, Q."""
    gated_mlp: bool = True
    """Whether an MLP has three matrices (SwiGLU, GeGLU) or two."""
    tied_embeddings: bool = False
    """Whether the logits reuse the embedding."""
    learned_positions: int = 0
    """Rows of a learned position embedding; 0 with rotary or ALiBi positions."""
    biases: bool = False
    """Whether the linear layers carry biases (GPT-2, GPT-3)."""
    qkv_bias: bool = False
    """Whether query, key and value alone carry biases (Qwen2)."""
    num_experts: int | None = None
    """Routed experts of a MoE layer; None for a dense model."""
    top_k: int | None = None
    """Routed experts per token."""
    expert_ffn_size: int | None = None
    """Inner width of one routed expert."""
    num_shared_experts: int = 0
    """Experts that every token passes, each of expert_ffn_size."""
    num_dense_layers: int = 0
    """Layers of a MoE model whose MLP is dense."""
    q_lora_rank: int | None = None
    """Latent attention: rank of the query's compression; None without."""
    kv_lora_rank: int | None = None
    """Latent attention: rank of the key-value compression; None for plain attention."""
    rope_head_dim: int = 0
    """Latent attention: the rotary part of a query-key head, held once for all heads; part of head_dim."""
    value_head_dim: int = None  # takes head_dim
    """Width of one value head."""
