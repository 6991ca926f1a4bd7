"""The dimensions of a transformer, and the parameters that follow from them (derived: the sizes of its matrices).

Whatever a configuration file states is enough to count parameters: embedding, attention (grouped or latent), MLP (plain or
gated, dense or routed), norms. Published counts agree within 1 % (a test over `data/models.toml`); norms on queries, keys
and latents, attention sinks and routing biases are left out, together less than 1 in 10,000.

    attention  h H Q + h K Q + h K Q_v + H Q_v h                           grouped (K heads of keys and values)
               h r_q + r_q H Q + h (r + Q_r) + r H (Q - Q_r + Q_v) + H Q_v h  latent (DeepSeek-V2, arXiv 2405.04434)
    MLP        3 h f gated (Shazeer 2020, arXiv 2002.05202), 2 h f plain; one more for each routed and shared expert
"""

from dataclasses import dataclass, fields

from . import checks


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
    relative_positions: bool = False
    """Whether attention projects relative positions by one more matrix a layer (Transformer-XL, Gopher, Chinchilla)."""
    biases: bool = False
    """Whether the linear layers and the norms carry biases (GPT-2, GPT-3)."""
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

    def __post_init__(self):
        for field in fields(self):
            self._check(field)
        if self.head_dim is None and self.hidden_size % self.num_heads:
            raise ValueError(f"num_heads must divide hidden_size ({self.hidden_size}), got {self.num_heads!r}")
        self._fill("num_kv_heads", self.num_heads)
        self._fill("head_dim", self.hidden_size // self.num_heads)
        self._fill("value_head_dim", self.head_dim)
        if self.num_heads % self.num_kv_heads:
            raise ValueError(f"num_kv_heads must divide num_heads ({self.num_heads}), got {self.num_kv_heads!r}")
        self._check_routing()
        self._check_latent()

    def _check(self, field):
        value = getattr(self, field.name)
        if isinstance(field.default, bool):
            if not isinstance(value, bool):
                raise TypeError(f"{field.name} must be true or false, got {value!r}")
        elif value is not None or field.default is not None:
            object.__setattr__(self, field.name, checks.whole(field.name, value, low=0 if field.default == 0 else 1))

    def _fill(self, name: str, value: int):
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _check_routing(self):
        for name in ("top_k", "expert_ffn_size"):
            if (getattr(self, name) is None) != (self.num_experts is None):
                raise ValueError(f"{name} must come with num_experts ({self.num_experts}), got {getattr(self, name)!r}")
        if self.num_experts is None:
            for name in ("num_shared_experts", "num_dense_layers"):
                if getattr(self, name):
                    raise ValueError(f"{name} must come with num_experts, got {getattr(self, name)!r}")
            return
        checks.whole("top_k", self.top_k, high=self.num_experts)
        checks.whole("num_dense_layers", self.num_dense_layers, low=0, high=self.num_layers)

    def _check_latent(self):
        if self.kv_lora_rank is None:
            if self.q_lora_rank is not None:
                raise ValueError(f"q_lora_rank must come with kv_lora_rank, got {self.q_lora_rank!r}")
            if self.rope_head_dim:
                raise ValueError(f"rope_head_dim must come with kv_lora_rank, got {self.rope_head_dim!r}")
        elif not 0 < self.rope_head_dim < self.head_dim:
            raise ValueError(
                f"rope_head_dim must be from 1 to below head_dim ({self.head_dim}), got {self.rope_head_dim!r}"
            )


def _attention(arch: Architecture) -> int:
    """Matrices of one layer's attention."""
    hidden, latent, rotary = arch.hidden_size, arch.kv_lora_rank, arch.rope_head_dim
    queries, values = arch.num_heads * arch.head_dim, arch.num_heads * arch.value_head_dim
    rank = arch.q_lora_rank
    query = hidden * queries if rank is None else hidden * rank + rank * queries
    if latent is None:
        key_value = hidden * arch.num_kv_heads * (arch.head_dim + arch.value_head_dim)
    else:
        key_value = hidden * (latent + rotary) + latent * (queries - arch.num_heads * rotary + values)
    return query + key_value + values * hidden


def _biases(arch: Architecture, experts: int) -> int:
    """Biases of the linear layers; `experts` of the routed ones of a MoE layer count."""
    qkv = arch.num_heads * arch.head_dim + arch.num_kv_heads * (arch.head_dim + arch.value_head_dim)
    if not arch.biases:
        return arch.num_layers * qkv if arch.qkv_bias else 0
    inner = 2 if arch.gated_mlp else 1
    expert = inner * (arch.expert_ffn_size or 0) + arch.hidden_size
    dense = _dense_layers(arch) * (inner * arch.ffn_size + arch.hidden_size)
    routed = _moe_layers(arch) * ((experts + arch.num_shared_experts) * expert + (arch.num_experts or 0))
    return arch.num_layers * (qkv + arch.hidden_size) + dense + routed


def _moe_layers(arch: Architecture) -> int:
    return 0 if arch.num_experts is None else arch.num_layers - arch.num_dense_layers


def _dense_layers(arch: Architecture) -> int:
    return arch.num_layers - _moe_layers(arch)


def parameter_table(arch: Architecture, active: bool = False) -> dict[str, int]:
    """Parameters by part; with `active`, top_k routed experts of a MoE layer instead of all. [-]"""
    hidden, layers, moe_layers = arch.hidden_size, arch.num_layers, _moe_layers(arch)
    experts = (arch.top_k if active else arch.num_experts) or 0
    matrices = 3 if arch.gated_mlp else 2
    expert = matrices * hidden * (arch.expert_ffn_size or 0)
    relative = layers * hidden * arch.num_heads * arch.head_dim if arch.relative_positions else 0
    return {
        "embedding": arch.vocab_size * hidden,
        "unembedding": 0 if arch.tied_embeddings else arch.vocab_size * hidden,
        "attention": layers * _attention(arch),
        "dense_mlp": _dense_layers(arch) * matrices * hidden * arch.ffn_size,
        "routed_experts": moe_layers * experts * expert,
        "shared_experts": moe_layers * arch.num_shared_experts * expert,
        "router": moe_layers * hidden * (arch.num_experts or 0),
        "biases": _biases(arch, experts),
        "norms": (2 * layers + 1) * hidden * (2 if arch.biases else 1),
        "positions": arch.learned_positions * hidden + relative,
    }


def num_params(arch: Architecture) -> int:
    """Parameters held in memory. [-]"""
    return sum(parameter_table(arch).values())


def active_params(arch: Architecture) -> int:
    """Parameters of one token: top_k routed experts of a MoE layer, and everything else. [-]"""
    return sum(parameter_table(arch, active=True).values())


def matmul_params(arch: Architecture) -> int:
    """Active parameters that multiply a token, the N of 6N: matrices of the layers and of the logits. [-]

    Not the embedding's lookup, biases, norms and positions; the logits' matrix counts also where it is the embedding's.
    """
    table = parameter_table(arch, active=True)
    layers = ("attention", "dense_mlp", "routed_experts", "shared_experts", "router")
    return arch.vocab_size * arch.hidden_size + sum(table[part] for part in layers)
