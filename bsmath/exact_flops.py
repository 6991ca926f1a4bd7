"""Floating-point work per token counted from a model's dimensions, and what recomputation adds to it.

    model      linear layers 6 N_l + attention's scores 6 L H (Q + Q_v) T + logits 6 h V
    hardware   none       the same
               selective  + a third of the scores: their forward pass runs again (Korthikanti et al. 2022, arXiv 2205.05198)
               full       + a third of all but the logits: the forward pass of the layers runs again

Derived: a forward pass is a third of the model FLOPs, a backward pass two thirds. N_l is the active matmul parameters of
the layers (architecture.matmul_params less the logits), so grouped and latent attention, gated MLPs and the experts one
token passes are counted as they are; the embedding's lookup, biases, norms, softmax and routing's sorting are not. Every
layer is taken to attend over the whole sequence: with sliding windows this is too much. What a kernel recomputes by itself
(FlashAttention's backward pass forms the scores again) belongs to no count here, as in published HFU.
"""

from dataclasses import dataclass

from bsmath.architecture import Architecture, matmul_params
from bsmath.flops import attention_flops_per_token


@dataclass(frozen=True, kw_only=True)
class ModelFlops:
    """Model FLOPs per token, forward and backward, by part; numeric."""

    linear: float
    """Matrices of the layers: attention's projections, MLP or experts, router. [FLOP/token]"""
    attention: float
    """Scores, and their use on values. [FLOP/token]"""
    logits: float
    """The last matrix, from the residual stream to the vocabulary. [FLOP/token]"""

    @property
    def total(self):
        """All of it, the numerator of MFU. [FLOP/token]"""
        return self.linear + self.attention + self.logits


def exact_flops_per_token(arch: Architecture, seq_len, causal: bool = False) -> ModelFlops:
    """Model FLOPs per token from a model's dimensions.

    Parameters
    ----------
    arch : Architecture
        The dimensions.
    seq_len : numeric
        Tokens per sequence, T. [tokens]
    causal : bool
        Count only the visible half of attention's scores; PaLM's convention counts all.
    """
    logits = arch.hidden_size * arch.vocab_size
    shape = arch.num_layers, arch.num_heads, arch.head_dim
    return ModelFlops(
        linear=6 * (matmul_params(arch) - logits),
        attention=attention_flops_per_token(*shape, seq_len, causal, arch.value_head_dim),
        logits=6 * logits,
    )


def _none(model: ModelFlops):
    return model.total


def _selective(model: ModelFlops):
    return model.total + model.attention / 3


def _full(model: ModelFlops):
    return model.total + (model.linear + model.attention) / 3


def hardware_flops_per_token(model: ModelFlops, recompute: str):
    """FLOPs executed per token under a kind of recomputation, one of RECOMPUTE. [FLOP/token]"""
    return RECOMPUTE[recompute](model)


def recompute_factor(model: ModelFlops, recompute: str):
    """HFU over MFU: executed FLOPs over model FLOPs, from 1 to 4/3. [-]"""
    return hardware_flops_per_token(model, recompute) / model.total


RECOMPUTE = {"none": _none, "selective": _selective, "full": _full}
"""Kinds of activation recomputation, by the name that Megatron-LM gives them."""
