"""A plain GPT over bytes: the decoder-only transformer that the harness trains.

Pre-norm blocks x + attention(norm(x)), x + mlp(norm(x)) with learned positions, a GELU four times as wide and no biases
(Radford et al. 2019, GPT-2); attention is PyTorch's own causal scaled dot product. Every parameter is used by every token.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

BYTES = 256
"""Vocabulary: one token a byte, so no tokenizer has to be fetched."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What decides the size of the model."""

    seq_len: int
    """Longest sequence. [tokens]"""
    layers: int
    """Transformer blocks."""
    width: int
    """Features per token between the blocks; a multiple of heads."""
    heads: int
    """Attention heads."""
    tied_head: bool = True
    """Whether the output layer shares the weights of the byte embedding."""


def num_params(shape: Shape) -> int:
    """Parameters held in memory, embeddings included; a tied head counts once.

    A block has 12 width^2 in its matrices (3 query, key, value; 1 output; 4 up; 4 down) and 2 width in its norms.
    """
    embeddings = (BYTES + shape.seq_len) * shape.width
    blocks = shape.layers * (12 * shape.width**2 + 2 * shape.width)
    head = 0 if shape.tied_head else BYTES * shape.width
    return embeddings + blocks + shape.width + head


class Block(nn.Module):
    """Attention, then the feed-forward layer, each added to what came in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width, bias=False)
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.attention_out = nn.Linear(width, width, bias=False)
        self.mlp_norm = nn.LayerNorm(width, bias=False)
        self.mlp_up = nn.Linear(width, 4 * width, bias=False)
        self.mlp_down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention_out(self._attention(self.attention_norm(x)))
        return x + self.mlp_down(functional.gelu(self.mlp_up(self.mlp_norm(x))))

    def _attention(self, x: torch.Tensor) -> torch.Tensor:
        sequences, seq_len, width = x.shape
        per_head = self.query_key_value(x).view(sequences, seq_len, 3 * self.heads, width // self.heads)
        query, key, value = per_head.transpose(1, 2).chunk(3, dim=1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return mixed.transpose(1, 2).reshape(sequences, seq_len, width)


class GPT(nn.Module):
    """Bytes in, logits of the next byte out."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.embedding = nn.Embedding(BYTES, shape.width)
        self.position = nn.Embedding(shape.seq_len, shape.width)
        self.blocks = nn.Sequential(*(Block(shape.width, shape.heads) for _ in range(shape.layers)))
        self.norm = nn.LayerNorm(shape.width, bias=False)
        self.head = nn.Linear(shape.width, BYTES, bias=False)
        for weight in self.parameters():
            if weight.dim() == 2:
                # variance 1 / fan-in keeps signals at one size whatever the width (LeCun et al. 1998)
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
        if shape.tied_head:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits [sequences, seq_len, BYTES] of int64 tokens [sequences, seq_len]."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.embedding(tokens) + self.position(positions))))

    def loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Cross-entropy, the mean over all tokens. [nats/token]"""
        return functional.cross_entropy(self(inputs).flatten(0, 1), targets.flatten())
