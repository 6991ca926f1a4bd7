"""Layers and width of a GPT of the harness with a given number of parameters. Needs no PyTorch."""

import math
from dataclasses import dataclass

ASPECT = 64
"""Usual width over layers: GPT-2 small is 768 wide and has 12 (Radford et al. 2019)."""
HEAD = 64
"""Usual features of one attention head, as in the same model."""
BYTES = 256
"""Vocabulary: one token a byte."""
CLOSE = 0.05
"""Up to this far from the asked number of parameters, the proportions decide between two models."""
LAYERS, WIDTH = 1_000, 32_768
"""The most that is proposed, 1.3e13 parameters."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A GPT of the harness."""

    layers: int
    """Transformer blocks."""
    width: int
    """Features per token."""
    seq_len: int
    """Positions. [tokens]"""

    @property
    def heads(self) -> int:
        """Attention heads."""
        return max(1, self.width // HEAD)

    @property
    def num_params(self) -> int:
        """The count of gpt.num_params: embeddings of bytes and positions, blocks, a last norm."""
        return (BYTES + self.seq_len + 1) * self.width + self.layers * (12 * self.width**2 + 2 * self.width)


def model(num_params: float, seq_len: int) -> Model:
    """The model with about as many parameters whose proportions are nearest to the usual ones."""

    def sized(width: int) -> Model:
        left = num_params - (BYTES + seq_len + 1) * width
        layers = round(left / (12 * width**2 + 2 * width))
        return Model(layers=min(max(layers, 1), LAYERS), width=width, seq_len=seq_len)

    def unlike(found: Model) -> tuple[float, float]:
        aspect = found.width / found.layers / ASPECT
        return max(abs(math.log(found.num_params / num_params)), CLOSE), abs(math.log(aspect))

    return min(map(sized, [*range(8, HEAD, 8), *range(HEAD, WIDTH + 1, HEAD)]), key=unlike)
