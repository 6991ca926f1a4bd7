"""The harness's GPT with a mixture of experts in place of each feed-forward layer.

    y = sum over the top k of p_e FFN_e(x),  p = softmax(W x)          balance = E sum_e f_e P_e

A router picks k of E experts for every token and weights them with their own probabilities, which are not made to sum to 1,
so that a router with k = 1 learns too (Fedus et al. 2021, arXiv 2101.03961, Switch; OLMoE does the same with k = 8). Each
expert is 4/k times as wide as the model: a token uses the matrices of the plain GPT's layer. No expert has a capacity, so
no pick is dropped. f_e is the share of the picks that went to an expert, P_e its mean probability; balance is 1 where both are
even. It is taken over what is forwarded at once and added over the layers.
"""

import torch
from torch import nn
from torch.nn import functional

from bsmath.bench import gpt
from bsmath.bench.gpt import GPT, Block, Shape


def hidden(width: int, top_k: int) -> int:
    """Inner features of one expert."""
    return max(4 * width // top_k, 1)


def num_params(shape: Shape, num_experts: int, top_k: int) -> int:
    """Parameters held in memory: those of the plain GPT, with experts and router in place of its feed-forward matrices."""
    experts = num_experts * shape.width * (2 * hidden(shape.width, top_k) + 1)
    return gpt.num_params(shape) + shape.layers * (experts - 8 * shape.width**2)


class Experts(nn.Module):
    """The router and the experts of one layer; keeps what the last forward pass chose."""

    def __init__(self, width: int, num_experts: int, top_k: int):
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(width, num_experts, bias=False)
        self.up = nn.Parameter(torch.empty(num_experts, hidden(width, top_k), width))
        self.down = nn.Parameter(torch.empty(num_experts, width, hidden(width, top_k)))
        self.chosen: torch.Tensor | None = None
        """Experts of each token, [tokens, top_k]."""
        self.balance: torch.Tensor | None = None
        """The balancing loss, without its weight."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, -2)
        probability = self.router(tokens).float().softmax(dim=-1)
        weight, self.chosen = probability.topk(self.top_k, dim=-1)
        self.balance = self._balance(probability)
        mixed = torch.zeros_like(tokens)
        for expert, (up, down) in enumerate(zip(self.up, self.down, strict=True)):
            token, place = torch.where(self.chosen == expert)
            out = functional.linear(functional.gelu(functional.linear(tokens[token], up)), down)
            mixed = mixed.index_add(0, token, (weight[token, place, None] * out).to(mixed.dtype))
        return mixed.view_as(x)

    def _balance(self, probability: torch.Tensor) -> torch.Tensor:
        num_experts = probability.shape[-1]
        picks = torch.bincount(self.chosen.flatten(), minlength=num_experts) / self.chosen.numel()
        return num_experts * (picks * probability.mean(dim=0)).sum()


class ExpertBlock(Block):
    """Attention, then the experts, each added to what came in."""

    def __init__(self, width: int, heads: int, num_experts: int, top_k: int):
        super().__init__(width, heads)
        del self.mlp_up, self.mlp_down
        self.experts = Experts(width, num_experts, top_k)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention_out(self._attention(self.attention_norm(x)))
        return x + self.experts(self.mlp_norm(x))


class ExpertGPT(GPT):
    """Bytes in, logits of the next byte out. While it trains, its loss holds the weighted balancing loss."""

    def __init__(self, shape: Shape, *, num_experts: int, top_k: int, balancing_loss: float):
        super().__init__(shape)
        self.balancing_loss = balancing_loss
        blocks = (ExpertBlock(shape.width, shape.heads, num_experts, top_k) for _ in range(shape.layers))
        self.blocks = nn.Sequential(*blocks)
        for weight in self.blocks.parameters():
            if weight.dim() > 1:  # as in GPT: variance 1 / fan-in
                nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)

    def loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Cross-entropy, the mean over all tokens; in training mode with the balancing loss of these tokens. [nats/token]"""
        loss = super().loss(inputs, targets)
        if self.training and self.balancing_loss:
            loss = loss + self.balancing_loss * sum(block.experts.balance for block in self.blocks)
        return loss

    @torch.no_grad()
    def chosen(self, inputs: torch.Tensor) -> torch.Tensor:
        """The experts that each layer picks for each token, [layers, tokens, top_k]."""
        self(inputs)
        return torch.stack([block.experts.chosen for block in self.blocks])
