"""Dimensions for a scenario that names none: the nearest model of the GPT-3 family, scaled to its parameter count.

    layers = L0 (N/N0)^(1/3), rounded
    width  = h0 sqrt(N/N0 L0/layers), rounded to whole heads and a multiple of 64       so that 12 L h^2 grows as N

Rule of thumb: eight published shapes (Brown et al. 2020, arXiv 2005.14165, table 2.1) from 125M to 175B parameters; between
and beyond them depth and width share the change. Of the dense models in data/models.toml, L h (which activations follow) is
0.69 to 1.41 times the assumed one (a test); most have a gated MLP and a larger vocabulary.
"""

import math

from bsmath import presets
from bsmath.architecture import Architecture

FAMILY = tuple(f"gpt_3_{size}" for size in ("125m", "350m", "760m", "1_3b", "2_7b", "6_7b", "13b", "175b"))
"""Names in data/models.toml."""

WIDTH_STEP = 64
"""Widths are multiples of this, so that matmuls fill their tiles; it is also the narrowest head of the family."""

EMBEDDING_SHARE = 1 / 3
"""Most of N that the embedding takes, about that of the smallest member (31 %): smaller models get a smaller vocabulary."""


def assumed_shape(num_params: float) -> Architecture:
    """Plausible dimensions of a dense model with N parameters; for a mixture of experts pass the active ones.

    Embeddings are tied and the MLP is plain and four times as wide as the model, as in GPT-3.
    """
    near = min((presets.models()[name] for name in FAMILY), key=lambda m: abs(math.log(num_params / m.num_params)))
    member, growth = near.architecture, num_params / near.num_params
    layers = max(round(growth ** (1 / 3) * member.num_layers), 1)
    step = math.lcm(WIDTH_STEP, member.head_dim)
    width = step * max(round(math.sqrt(growth * member.num_layers / layers) * member.hidden_size / step), 1)
    return Architecture(
        num_layers=layers,
        hidden_size=width,
        num_heads=width // member.head_dim,
        vocab_size=max(min(member.vocab_size, int(EMBEDDING_SHARE * num_params / width)), 1),
        ffn_size=4 * width,
        gated_mlp=False,
        tied_embeddings=True,
    )
