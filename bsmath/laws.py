"""Published laws for the batch size of language-model pretraining, in tokens per step.

They do not mean the same: "optimal" is the batch of least loss at a fixed budget, "critical" the batch where tokens start to
be wasted, by a definition that each law names. Empirical throughout; a law outside its range is an extrapolation. Power Lines
(Bergsma et al. 2025, arXiv 2505.13738) gives exponents, B_opt ~ D^0.383 and B_crit ~ D^0.462, but no prefactor whose unit could
be confirmed, so it is left out. `numeric` is a float, an array or a Series.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from bsmath.flops import flops_per_token

ZHANG_SEQUENCE = 512
"""Tokens per sequence in Zhang et al. 2024, whose laws are in sequences and in millions."""


def kaplan(loss):
    """B_* / L^(1/alpha_B), B_* = 2e8 tokens, alpha_B = 0.21; `loss` in nats per token. [tokens]"""
    return 2e8 / loss ** (1 / 0.21)


def minicpm(loss):
    """1.21e9 / L^6.24; `loss` in nats per token. [tokens]"""
    return 1.21e9 / loss**6.24


def zhang_data(tokens):
    """22.91 D^0.47 sequences of 512, D in millions of tokens; here `tokens` is D in tokens. [tokens]"""
    return ZHANG_SEQUENCE * 22.91 * (tokens / 1e6) ** 0.47


def zhang_params(num_params):
    """93.20 N^0.47 sequences of 512, N in millions of parameters, along D = 20 N. [tokens]"""
    return ZHANG_SEQUENCE * 93.20 * (num_params / 1e6) ** 0.47


def step_law(tokens):
    """0.58 D^0.571, D in tokens. [tokens]"""
    return 0.58 * tokens**0.571


def schaipp(tokens):
    """0.667 D^0.566, D in tokens. [tokens]"""
    return 0.667 * tokens**0.566


def deepseek(compute):
    """0.2920 C^0.3271, C in FLOP. [tokens]"""
    return 0.2920 * compute**0.3271


def moonlight(compute):
    """0.0065202 C^0.4137915, C in FLOP. [tokens]"""
    return 0.0065202 * compute**0.4137915


def merrill():
    """The plateau of 4,096 documents of 4,096 tokens. [tokens]"""
    return 4096.0 * 4096.0


@dataclass(frozen=True, kw_only=True)
class Law:
    """One published law."""

    label: str
    """Authors and year."""
    function: Callable
    """Takes what `needs` names, as keywords; returns tokens per step. [tokens]"""
    needs: tuple[str, ...]
    """Out of num_params, tokens [tokens], compute [FLOP], loss [nats/token]."""
    kind: str
    """`critical` or `optimal`."""
    definition: str
    """What the batch means."""
    valid_range: str
    """Where it was fitted."""
    source: str
    """Citation."""


def _law(label, function, needs, kind, definition, valid_range, source) -> Law:
    return Law(
        label=label,
        function=function,
        needs=needs,
        kind=kind,
        definition=f"{kind}: {definition}",
        valid_range=valid_range,
        source=source,
    )


LAWS = {
    "kaplan": _law(
        "Kaplan et al. 2020", kaplan, ("loss",), "critical", "twice the least steps and tokens",
        "WebText2, loss 2 to 6 nats", "arXiv 2001.08361, eq. 5.3",
    ),
    "zhang_data": _law(
        "Zhang et al. 2024, in D", zhang_data, ("tokens",), "critical", "20 % more steps than linear scaling from 256 sequences",
        "85M to 1.2B, C4, context 512, constant rate with weight averaging", "arXiv 2410.21676",
    ),
    "zhang_params": _law(
        "Zhang et al. 2024, in N", zhang_params, ("num_params",), "critical", "20 % more steps, along D = 20 N only",
        "85M to 1.2B, C4, context 512", "arXiv 2410.21676",
    ),
    "merrill": _law(
        "Merrill et al. 2025", merrill, (), "critical", "loss recovers within 0.01 nats after the batch grows",
        "plateau late in training, OLMo 1B and 7B", "arXiv 2505.23971",
    ),
    "step_law": _law(
        "Step Law, Li et al. 2025", step_law, ("tokens",), "optimal", "least loss at fixed N and D",
        "3,700 models up to 1e11 tokens, context 2048, cosine", "arXiv 2503.04715",
    ),
    "schaipp": _law(
        "Schaipp 2026", schaipp, ("tokens",), "optimal", "least loss at fixed D; 5 % more compute allows a 4 times wide band",
        "range not stated in the text read here", "arXiv 2607.01487",
    ),
    "deepseek": _law(
        "DeepSeek LLM 2024", deepseek, ("compute",), "optimal", "within 0.25 % of the least loss at fixed compute",
        "1e17 to 2e19 FLOP, checked at 1e20", "arXiv 2401.02954, eq. 1",
    ),
    "moonlight": _law(
        "Moonlight, Liu et al. 2025", moonlight, ("compute",), "optimal", "compute-optimal training",
        "Muon runs; table 9", "arXiv 2502.16982",
    ),
    "minicpm": _law(
        "MiniCPM, Hu et al. 2024", minicpm, ("loss",), "optimal", "least tokens to a loss",
        "9M, 30M and 170M models", "arXiv 2404.06395",
    ),
}  # fmt: skip
"""Every law by name."""


def predictions(num_params: float, tokens: float, loss: float | None = None) -> pd.DataFrame:
    """Every law whose inputs are known, for one model and budget.

    Parameters
    ----------
    num_params, tokens : float
        N and D [tokens]; compute is 6 N D.
    loss : float, optional
        [nats/token]

    Returns
    -------
    DataFrame
        law, label, kind, tokens_per_step [tokens], definition, valid_range, source.
    """
    known = {"num_params": num_params, "tokens": tokens, "compute": flops_per_token(num_params) * tokens}
    known |= {} if loss is None else {"loss": loss}
    rows = [
        {
            "law": name,
            "label": law.label,
            "kind": law.kind,
            "tokens_per_step": law.function(**{need: known[need] for need in law.needs}),
            "definition": law.definition,
            "valid_range": law.valid_range,
            "source": law.source,
        }
        for name, law in LAWS.items()
        if set(law.needs) <= set(known)
    ]
    return pd.DataFrame(rows)
