"""How the peak learning rate moves with the batch, and what must move with it: decay, betas, warmup, clipping.

    constant eta_0      square root eta_0 sqrt(B/B_0)      linear eta_0 B/B_0
    saturating eta_max / (1 + B_n/B)          surge 2 eta_max / (sqrt(B_s/B) + sqrt(B/B_s))

Every rule passes through the reference: rate eta_0 tuned at batch B_0. None is universal (Shallue et al. 2018, arXiv
1811.03600): each says where it holds. `numeric` is a float, an array or a Series.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


def constant(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch=None):
    """The reference rate at every batch.

    Parameters
    ----------
    tokens_per_step : numeric
        Batch B. [tokens]
    reference_learning_rate : numeric
        Rate eta_0 tuned at the reference batch.
    reference_tokens_per_step : numeric
        B_0. [tokens]
    saturation_batch : numeric
        Not used here; all rules take the same arguments so that they can be drawn together. [tokens]
    """
    return reference_learning_rate * (tokens_per_step / tokens_per_step)


def square_root(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch=None):
    """eta_0 sqrt(B/B_0): keeps the noise and the signal that each token adds to Adam's update. Arguments of `constant`."""
    return reference_learning_rate * np.sqrt(tokens_per_step / reference_tokens_per_step)


def linear(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch=None):
    """eta_0 B/B_0: k small steps of SGD taken as one, while the gradient hardly moves. Arguments of `constant`."""
    return reference_learning_rate * tokens_per_step / reference_tokens_per_step


def saturating(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch):
    """eta_max / (1 + B_n/B) through the reference: linear below B_n, flat above. Arguments of `constant`."""
    below = 1 + saturation_batch / reference_tokens_per_step
    return reference_learning_rate * below / (1 + saturation_batch / tokens_per_step)


def surge(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch):
    """2 eta_max / (sqrt(B_s/B) + sqrt(B/B_s)) through the reference: peaks at B_s, then falls. Arguments of `constant`."""
    reference = _surge(reference_tokens_per_step / saturation_batch)
    return reference_learning_rate * _surge(tokens_per_step / saturation_batch) / reference


def _surge(ratio):
    return 2 / (np.sqrt(1 / ratio) + np.sqrt(ratio))


def local_slope(rule: Callable, tokens_per_step, *arguments):
    """Local exponent d ln rate / d ln B of a rule, by a central difference of one percent in B."""
    high, low = rule(tokens_per_step * 1.005, *arguments), rule(tokens_per_step / 1.005, *arguments)
    return np.log(high / low) / (2 * np.log(1.005))


def adamw_timescale_steps(learning_rate, weight_decay):
    """Steps over which AdamW forgets its weights, 1/(eta lambda), with PyTorch's decay. [steps]"""
    return 1 / (learning_rate * weight_decay)


def adamw_timescale_tokens(tokens_per_step, learning_rate, weight_decay):
    """The same in tokens, B/(eta lambda) (Wang and Aitchison 2024, arXiv 2405.13698). [tokens]"""
    return tokens_per_step * adamw_timescale_steps(learning_rate, weight_decay)


def weight_decay_keeping_timescale(weight_decay, batch_ratio, learning_rate_ratio):
    """AdamW's lambda that keeps B/(eta lambda) when B and eta change by these ratios. Derived."""
    return weight_decay * batch_ratio / learning_rate_ratio


def beta_half_life_tokens(tokens_per_step, beta):
    """Tokens after which a moment has forgotten half, B ln(1/2)/ln(beta) (Marek et al. 2025, arXiv 2507.07101). [tokens]"""
    return tokens_per_step * np.log(0.5) / np.log(beta)


def beta_keeping_half_life(beta, batch_ratio):
    """Beta that keeps its half-life in tokens, beta^k. Empirical: better at small batches than a fixed beta."""
    return beta**batch_ratio


def beta_malladi(beta, batch_ratio):
    """1 - k (1 - beta), the square-root rule's beta (Malladi et al. 2022, arXiv 2205.10287); nan where k (1 - beta) reaches 1."""
    step = batch_ratio * (1 - np.asarray(beta, float))
    return np.where(step < 1, 1 - step, np.nan)[()]


def warmup_steps(warmup_tokens, tokens_per_step):
    """Steps of a warmup defined in tokens. [steps]"""
    return warmup_tokens / tokens_per_step


def clip_norm_ratio(tokens_per_step, reference_tokens_per_step, noise_scale):
    """Expected gradient norm at B over that at B_0, from |g_B| ~ |G| sqrt(1 + B_noise/B). Derived."""
    return np.sqrt((1 + noise_scale / tokens_per_step) / (1 + noise_scale / reference_tokens_per_step))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One learning-rate rule."""

    label: str
    """As it is shown."""
    function: Callable
    """(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch) -> rate."""
    saturation: str | None
    """Scenario field that holds its saturation batch."""
    optimizers: tuple[str, ...]
    """Optimizers that it is claimed for."""
    status: str
    """Derived, empirical or rule of thumb."""
    validity: str
    """Where it holds."""
    source: str
    """Citation."""


RULES = {
    "constant": Rule(
        label="Constant",
        function=constant,
        saturation=None,
        optimizers=("adamw", "sgd"),
        status="rule of thumb",
        validity="Adam at large batches, where the best rate has gone flat",
        source="what the saturating laws tend to; nothing to scale",
    ),
    "square_root": Rule(
        label="Square root",
        function=square_root,
        saturation=None,
        optimizers=("adamw",),
        status="derived (noise-dominated, small rate)",
        validity="B well below the noise scale, B/B_0 (1 - beta) < 1; in measured grids only locally",
        source="Malladi et al. 2022, arXiv 2205.10287",
    ),
    "linear": Rule(
        label="Linear",
        function=linear,
        saturation=None,
        optimizers=("sgd",),
        status="derived (SGD)",
        validity="B well below the noise scale, after warmup; for Adam it wins nowhere in measured grids",
        source="Goyal et al. 2017, arXiv 1706.02677",
    ),
    "saturating_sgd": Rule(
        label="Saturating, SGD",
        function=saturating,
        saturation="noise_scale",
        optimizers=("sgd",),
        status="derived (quadratic model)",
        validity="SGD and momentum, every B while B is far below the dataset",
        source="McCandlish et al. 2018, arXiv 1812.06162, eq. 2.6",
    ),
    "saturating_adamw": Rule(
        label="Saturating, AdamW",
        function=saturating,
        saturation="adam_saturation_batch",
        optimizers=("adamw",),
        status="empirical (best by AICc in 16 of 17 groups of the largest public grid)",
        validity="once B_n is fitted to your own sweep; B_n grows with training length",
        source="form of McCandlish et al. 2018, app. A.2; fitted to public AdamW grids",
    ),
    "surge": Rule(
        label="Surge (Adam)",
        function=surge,
        saturation="surge_peak_batch",
        optimizers=("adamw",),
        status="derived (sign-like updates), peak fitted",
        validity="up to a few times the peak; the fall beyond is not to be extrapolated",
        source="Li et al. 2024, arXiv 2405.14578",
    ),
}
"""Every rule by name; the page draws them all."""
