"""Learning rate against batch size: scaling rules through one tuned point, and the settings that move with the batch.

    constant     eta_0                                    linear  eta_0 B/B_0
    square root  eta_0 sqrt(B/B_0)                        saturating  eta_0 ((1 + B_n/B_0) / (1 + B_n/B))^alpha
    surge        eta_0 (sqrt(B_s/B_0) + sqrt(B_0/B_s)) / (sqrt(B_s/B) + sqrt(B/B_s))
    AdamW memory 1/(eta lambda) steps                     beta half-life  B ln(1/2)/ln(beta) tokens

Every rule gives the reference rate eta_0 at the reference batch B_0; none is universal (Shallue et al. 2018, arXiv
1811.03600). `RULES` lists them with what each rests on. B is tokens per step; `numeric` is a float, array or Series.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LOG_STEP = 1e-4
"""Half-width of `local_slope` in ln B: truncation about 1e-9, rounding about 1e-12."""


def constant(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch=None):
    """The reference rate at every batch. Parameters as in `saturating`, saturation_batch unused."""
    return reference_learning_rate * (tokens_per_step / reference_tokens_per_step) ** 0  # the power gives B's shape


def square_root(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch=None):
    """eta_0 sqrt(B/B_0). Parameters as in `saturating`, saturation_batch unused.

    Where noise dominates, an Adam step's variance eta^2 does not depend on B, and its signal grows as eta sqrt(B). With
    1/B steps per token, eta ~ sqrt(B) keeps variance and signal per *token*; variance per step was never at stake.
    """
    return reference_learning_rate * np.sqrt(tokens_per_step / reference_tokens_per_step)


def linear(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch=None):
    """eta_0 B/B_0. Parameters as in `saturating`, saturation_batch unused."""
    return reference_learning_rate * tokens_per_step / reference_tokens_per_step


def saturating(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch, exponent=1):
    """eta_max / (1 + B_n/B)^alpha through the reference: linear far below B_n (alpha = 1), constant far above.

    Derived for SGD, alpha = 1 (McCandlish et al. 2018, arXiv 1812.06162, eq. 2.6); empirical for AdamW. Their grid rule
    (eq. A.3) has alpha from 0.5 to 1 for Adam; 0.5 is also how far noise shrinks Adam's mean step per coordinate.

    Parameters
    ----------
    tokens_per_step : numeric
        Global batch size B. [tokens]
    reference_learning_rate : numeric
        Peak rate eta_0 tuned at the reference batch.
    reference_tokens_per_step : numeric
        B_0. [tokens]
    saturation_batch : numeric
        B_n, at which the rate is 2^-alpha of its limit: SGD's noise scale, or AdamW's fitted one. [tokens]
    exponent : numeric
        alpha.

    Returns
    -------
    numeric
        Peak learning rate.
    """
    at_reference, here = 1 + saturation_batch / reference_tokens_per_step, 1 + saturation_batch / tokens_per_step
    return reference_learning_rate * (at_reference / here) ** exponent


def surge(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch):
    """Peak rate that rises as sqrt(B), peaks at B_s = saturation_batch and falls. Parameters as in `saturating`."""
    at_reference, here = reference_tokens_per_step / saturation_batch, tokens_per_step / saturation_batch
    return reference_learning_rate * (at_reference**-0.5 + at_reference**0.5) / (here**-0.5 + here**0.5)


def local_slope(function, tokens_per_step, *args):
    """Local exponent d ln(rate) / d ln(B) of function(B, *args), by a central difference in ln B."""
    above = function(tokens_per_step * np.exp(LOG_STEP), *args)
    below = function(tokens_per_step * np.exp(-LOG_STEP), *args)
    return np.log(above / below) / (2 * LOG_STEP)


def adamw_timescale_steps(learning_rate, weight_decay):
    """Steps over which AdamW forgets, 1/(eta lambda); inf without decay. [steps]

    Derived for decay multiplied by the rate, as in PyTorch (Wang and Aitchison 2024, arXiv 2405.13698).
    """
    with np.errstate(divide="ignore"):
        return np.divide(1, learning_rate * weight_decay)


def adamw_timescale_tokens(tokens_per_step, learning_rate, weight_decay):
    """Tokens over which AdamW forgets, B/(eta lambda); over the run's tokens D it is a share of the run. [tokens]"""
    return tokens_per_step * adamw_timescale_steps(learning_rate, weight_decay)


def weight_decay_keeping_timescale(weight_decay, batch_ratio, learning_rate_ratio):
    """lambda B_new/B / (eta_new/eta), which keeps B/(eta lambda) in tokens (derived, Wang and Aitchison 2024).

    For small eta lambda, as always in practice; decay that is not multiplied by the rate has `independent_decay_keeping_timescale`.
    """
    return weight_decay * batch_ratio / learning_rate_ratio


def independent_decay_keeping_timescale(weight_decay, batch_ratio):
    """1 - (1 - lambda)^(B_new/B): weights that shrink by 1 - lambda a step, whatever the rate, shrink as much per token (derived).

    About lambda B_new/B while that is small, and never beyond 1, at which a step would turn the weights' sign.
    """
    return 1 - (1 - weight_decay) ** batch_ratio


def beta_keeping_half_life(beta, batch_ratio):
    """beta^(B_new/B), which keeps an average's half-life in tokens (derived).

    That keeping it is best is empirical (Marek et al. 2025, arXiv 2507.07101); most production runs keep 0.9 and 0.95.
    """
    return beta**batch_ratio


def beta_half_life_tokens(tokens_per_step, beta):
    """Tokens after which a gradient's weight in an average halves, B ln(1/2)/ln(beta); 0 where beta is 0. [tokens]"""
    with np.errstate(divide="ignore"):
        return tokens_per_step * np.log(0.5) / np.log(beta)


def beta_from_half_life(tokens_per_step, half_life_tokens):
    """beta = 2^(-B/t_half) for a half-life in tokens; 1e7 is Marek et al.'s default for the second moment."""
    return 2 ** (-tokens_per_step / half_life_tokens)


def beta_malladi(beta, batch_ratio):
    """1 - k (1 - beta) for k = B_new/B, the square-root rule's beta; nan once k (1 - beta) reaches 1.

    Derived in the noise-dominated limit of small rates (Malladi et al. 2022, arXiv 2205.10287); beta^k agrees while
    k (1 - beta) is small and exists beyond.
    """
    scaled = 1 - batch_ratio * (1 - beta)
    return scaled * np.where(scaled > 1e-12, 1, np.nan)  # not 0: 1 - 10 (1 - 0.9) leaves 2e-16 of float noise


def epsilon_malladi(epsilon, batch_ratio):
    """epsilon/sqrt(k), the square-root rule's Adam epsilon: it follows sqrt(v), which falls as 1/sqrt(B) (derived)."""
    return epsilon / np.sqrt(batch_ratio)


def warmup_steps(warmup_tokens, tokens_per_step):
    """Steps of a warmup that is defined in tokens. [steps]"""
    return warmup_tokens / tokens_per_step


def clip_norm_ratio(tokens_per_step, reference_tokens_per_step, noise_scale):
    """|g_B|/|g_B0| = sqrt((1 + B_n/B) / (1 + B_n/B_0)): a clip threshold times this clips as often (derived)."""
    return np.sqrt(1 + noise_scale / tokens_per_step) / np.sqrt(1 + noise_scale / reference_tokens_per_step)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A learning-rate rule and what it rests on."""

    label: str
    """Name for legends."""
    function: Callable
    """(tokens_per_step, reference_learning_rate, reference_tokens_per_step, saturation_batch) -> peak learning rate."""
    saturation: str | None
    """Scenario field that holds its saturation batch; None where it has none."""
    optimizers: tuple[str, ...]
    """Values of the scenario's optimizer that it was made for."""
    status: str
    """Derived, empirical or rule of thumb."""
    validity: str
    """Where it holds."""
    source: str
    """Citation."""


RULES: dict[str, Rule] = {
    "constant": Rule(
        label="Constant",
        function=constant,
        saturation=None,
        optimizers=("adamw", "sgd"),
        status="derived (limit of saturating SGD), empirical for AdamW",
        validity="far above the saturation batch",
        source="McCandlish et al. 2018, arXiv 1812.06162, eq. 2.6",
    ),
    "square_root": Rule(
        label="Square root",
        function=square_root,
        saturation=None,
        optimizers=("adamw",),
        status="derived (small-rate limit)",
        validity="noise-dominated gradients, small rates; wins only locally in the largest public grid",
        source="Malladi et al. 2022, arXiv 2205.10287",
    ),
    "linear": Rule(
        label="Linear",
        function=linear,
        saturation=None,
        optimizers=("sgd",),
        status="derived (limit of saturating SGD)",
        validity="SGD far below the noise scale, after warmup; wins nowhere for AdamW in the largest public grid",
        source="Goyal et al. 2017, arXiv 1706.02677",
    ),
    "saturating_sgd": Rule(
        label="Saturating (SGD)",
        function=saturating,
        saturation="noise_scale",
        optimizers=("sgd",),
        status="derived",
        validity="local quadratic model, SGD; saturates in practice a bit below the noise scale",
        source="McCandlish et al. 2018, arXiv 1812.06162, eq. 2.6",
    ),
    "saturating_adamw": Rule(
        label="Saturating (AdamW)",
        function=saturating,
        saturation="adam_saturation_batch",
        optimizers=("adamw",),
        status="empirical",
        validity="best by AICc in 16 of 17 groups (10 batches, 12 rates, cosine); local slope from about 0.65 at small "
        "batches to about 0 at large ones; its saturation batch grows with training length",
        source="fitted to the largest public grid of rates and batches; form of McCandlish et al. 2018",
    ),
    "surge": Rule(
        label="Surge (Adam)",
        function=surge,
        saturation="surge_peak_batch",
        optimizers=("adamw",),
        status="derived (sign-like updates), peak batch to be fitted",
        validity="up to and around the peak; not to be extrapolated beyond, where the true optimum tends to a constant",
        source="Li et al. 2024, arXiv 2405.14578",
    ),
}
