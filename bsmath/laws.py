"""Published laws for the batch size of language-model pretraining, each in its own words, units and range.

Critical laws say where tokens start to be wasted, optimal laws which batch has the least loss at a fixed budget;
critical ones differ again by definition, three- to fourfold on the same data. All are empirical fits; a number outside
a law's range is an extrapolation. `LAWS` lists them. Every function takes N [parameters], D [tokens], C [FLOP] or L
[nats/token] as float, array or Series and returns tokens per step.

Left out, since no source was found for a prefactor: Power Lines (Bergsma et al. 2025, arXiv 2505.13738: B_opt ~
D^0.383, B_crit ~ D^0.462), Shuai et al. 2024 (2412.01505: B_opt ~ C^0.102), Scion 2025 (B ~ D^0.45), Porian et al. 2024
(2406.19146).
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from bsmath.flops import flops_per_token

ZHANG_SEQ_LEN = 512  # tokens/sequence; their B is in sequences
MERRILL_SEQ_LEN = 4096  # tokens/document; their B is in documents


def kaplan(loss):
    """B_crit = 2e8 / L^(1/0.21): doubles per 13 % lower loss. [tokens]"""
    return 2e8 / loss ** (1 / 0.21)


def zhang_data(tokens):
    """22.91 (D/1e6)^0.47 sequences of 512. [tokens]"""
    return ZHANG_SEQ_LEN * 22.91 * (tokens / 1e6) ** 0.47


def zhang_params(num_params):
    """93.1968 (N/1e6)^0.46828 sequences of 512, the printed 93.20 N^0.47 unrounded. [tokens]"""
    return ZHANG_SEQ_LEN * 93.1968 * (num_params / 1e6) ** 0.46828


def merrill_plateau():
    """4096 documents of 4096, where the critical batch stops growing in a run; they fit no law. [tokens]"""
    return 4096 * MERRILL_SEQ_LEN


def step_law(tokens):
    """0.58 D^0.571. [tokens]"""
    return 0.58 * tokens**0.571


def deepseek(compute):
    """0.2920 C^0.3271. [tokens]"""
    return 0.2920 * compute**0.3271


def minicpm(loss):
    """1.21e9 / L^6.24. [tokens]"""
    return 1.21e9 / loss**6.24


def moonlight(compute):
    """0.0065202 C^0.4137915. [tokens]"""
    return 0.0065202 * compute**0.4137915


def schaipp(tokens):
    """0.667 D^0.566. [tokens]"""
    return 0.667 * tokens**0.566


def step_law_learning_rate(num_params, tokens):
    """Peak rate of Step Law, 1.79 N^-0.713 D^0.307: rises with D, unlike the two below. Empirical, as `step_law`."""
    return 1.79 * num_params**-0.713 * tokens**0.307


def deepseek_learning_rate(compute):
    """Peak rate of DeepSeek LLM, 0.3118 C^-0.1250. Empirical, four rates over 2.5 decades: weaker than its batch."""
    return 0.3118 * compute**-0.1250


def moonlight_learning_rate(compute):
    """Peak rate of Moonlight, 0.0127339 C^-0.0574752. Empirical, as `moonlight`."""
    return 0.0127339 * compute**-0.0574752


def power_lines_timescale(num_params, tokens):
    """Best AdamW timescale B/(eta lambda D) as a share of the run, 1.084 (D/N)^-0.527.

    Empirical (Bergsma et al. 2025, arXiv 2505.13738): 111M-3.3B parameters, SlimPajama, muP, context 2048.
    """
    return 1.084 * (tokens / num_params) ** -0.527


def power_lines_weight_decay(tokens_per_step, learning_rate, num_params, tokens):
    """AdamW's lambda at that timescale, B/(eta D tau), for B well below B_crit. Range as `power_lines_timescale`."""
    return tokens_per_step / (learning_rate * tokens * power_lines_timescale(num_params, tokens))


@dataclass(frozen=True, kw_only=True)
class Law:
    """One published law and what it means."""

    label: str
    """Authors, year and what the law depends on."""
    kind: str
    """`critical`: tokens are wasted above. `optimal`: least loss at a fixed budget."""
    needs: tuple[str, ...]
    """Arguments of the function, out of num_params, tokens, compute [FLOP] and loss [nats/token]."""
    function: Callable
    """Tokens per step from these arguments."""
    definition: str
    """What exactly the number is."""
    status: str
    """Derived, empirical or rule of thumb."""
    valid_range: str
    """Models, data and settings that it was fitted on."""
    source: str
    """Citation."""


LAWS: dict[str, Law] = {
    "kaplan": Law(
        label="Kaplan et al. 2020, in L",
        kind="critical",
        needs=("loss",),
        function=kaplan,
        definition="critical: twice the least steps and tokens (hyperbola)",
        status="empirical",
        valid_range="WebText2 and its tokenizer, loss of about 2 to 6 nats/token",
        source="arXiv 2001.08361, eq. 5.3",
    ),
    "zhang_data": Law(
        label="Zhang et al. 2024, in D",
        kind="critical",
        needs=("tokens",),
        function=zhang_data,
        definition="critical: 20 % more tokens than by linear scaling from 256 sequences",
        status="empirical",
        valid_range="85M to 1.2B, 1.7B to 25B tokens, C4, context 512, constant rate with weight averaging",
        source="arXiv 2410.21676",
    ),
    "zhang_params": Law(
        label="Zhang et al. 2024, in N",
        kind="critical",
        needs=("num_params",),
        function=zhang_params,
        definition="critical: 20 % more tokens than by linear scaling from 256 sequences",
        status="empirical",
        valid_range="85M to 1.2B, along D = 20 N only: at fixed D, size hardly matters",
        source="arXiv 2410.21676 and the authors' notebook",
    ),
    "merrill_plateau": Law(
        label="Merrill et al. 2025, plateau",
        kind="critical",
        needs=(),
        function=merrill_plateau,
        definition="critical: largest batch whose loss recovers to 0.01 nats within two steps' tokens",
        status="empirical",
        valid_range="OLMo 1B and 7B after the early rise; near 0 at the start",
        source="arXiv 2505.23971",
    ),
    "step_law": Law(
        label="Step Law, Li et al. 2025, in D",
        kind="optimal",
        needs=("tokens",),
        function=step_law,
        definition="optimal: least loss at fixed N and D, rate tuned along",
        status="empirical",
        valid_range="3,700 models, context 2048, cosine to a fixed floor",
        source="arXiv 2503.04715",
    ),
    "deepseek": Law(
        label="DeepSeek LLM 2024, in C",
        kind="optimal",
        needs=("compute",),
        function=deepseek,
        definition="optimal: within 0.25 % of the least loss at fixed compute",
        status="empirical",
        valid_range="1e17 to 2e19 FLOP without embeddings, checked at 1e20",
        source="arXiv 2401.02954, eq. 1",
    ),
    "minicpm": Law(
        label="MiniCPM, Hu et al. 2024, in L",
        kind="optimal",
        needs=("loss",),
        function=minicpm,
        definition="optimal: least tokens to this loss",
        status="empirical",
        valid_range="9M, 30M and 170M models",
        source="arXiv 2404.06395",
    ),
    "moonlight": Law(
        label="Moonlight, Liu et al. 2025, in C",
        kind="optimal",
        needs=("compute",),
        function=moonlight,
        definition="optimal: least loss at fixed compute",
        status="empirical",
        valid_range="compute-optimal runs, context 8192, C = 6 N D",
        source="arXiv 2502.16982, table 9",
    ),
    "schaipp": Law(
        label="Schaipp 2026, in D",
        kind="optimal",
        needs=("tokens",),
        function=schaipp,
        definition="optimal: least loss at fixed D; 5 % more compute allows a fourfold band",
        status="empirical",
        valid_range="range not stated in the text read",
        source="arXiv 2607.01487",
    ),
}


def predictions(num_params: float, tokens: float, loss: float | None = None) -> pd.DataFrame:
    """Every law that these inputs suffice for, with compute C = 6 N D.

    Parameters
    ----------
    num_params : float
        N.
    tokens : float
        D, tokens of the run. [tokens]
    loss : float, optional
        L; without it the laws in the loss are left out. [nats/token]

    Returns
    -------
    DataFrame
        law, label, kind, tokens_per_step [tokens], definition, valid_range, source.
    """
    compute = flops_per_token(num_params) * tokens
    inputs = {"num_params": num_params, "tokens": tokens, "compute": compute, "loss": loss}
    rows = []
    for name, law in LAWS.items():
        given = {need: inputs[need] for need in law.needs}
        if None not in given.values():
            shown = {key: getattr(law, key) for key in ("definition", "valid_range", "source")}
            batch = law.function(**given)
            rows.append({"law": name, "label": law.label, "kind": law.kind, "tokens_per_step": batch} | shown)
    return pd.DataFrame(rows)
