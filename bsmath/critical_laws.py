"""Published laws for the batch above which tokens are wasted, each by its own definition and in its own range.

All are empirical fits; a number outside a law's range is an extrapolation. By definition alone they differ three- to
fourfold on the same data. Every function takes N [parameters], D [tokens], C [FLOP] or L [nats/token] as float, array or
Series and returns tokens per step. `LAWS` lists them; those for the batch of least loss are in `optimal_laws`.
"""

from bsmath.flops import SECONDS_PER_DAY
from bsmath.law import Law

PF_DAY = 1e15 * SECONDS_PER_DAY  # FLOP
ZHANG_SEQ_LEN = 512  # tokens/sequence; their B is in sequences
MERRILL_SEQ_LEN = 4096  # tokens/document; their B is in documents
POWER_LINES_SEQ_LEN = 2048  # tokens/sequence; their B is in sequences


def kaplan(loss):
    """B_crit = 2e8 / L^(1/0.21): doubles per 13 % lower loss. [tokens]"""
    return 2e8 / loss ** (1 / 0.21)


def kaplan_compute(compute):
    """2.0e6 C^0.24, C in PF-days: B_crit along their compute-efficient runs. [tokens]"""
    return 2.0e6 * (compute / PF_DAY) ** 0.24


def zhang_data(tokens):
    """22.91 (D/1e6)^0.47 sequences of 512. [tokens]"""
    return ZHANG_SEQ_LEN * 22.91 * (tokens / 1e6) ** 0.47


def zhang_params(num_params):
    """93.1968 (N/1e6)^0.46828 sequences of 512, the printed 93.20 N^0.47 unrounded. [tokens]"""
    return ZHANG_SEQ_LEN * 93.1968 * (num_params / 1e6) ** 0.46828


def merrill_plateau():
    """4096 documents of 4096, where the critical batch stops growing in a run; they fit no law. [tokens]"""
    return 4096 * MERRILL_SEQ_LEN


def power_lines_critical(tokens):
    """0.0471 D_min^0.462 sequences of 2048, the prefactor unverified; `tokens` is D_min, the least to the loss. [tokens]"""
    return POWER_LINES_SEQ_LEN * 0.0471 * tokens**0.462


ZHANG_BOX = {"num_params": (85e6, 1.2e9), "tokens": (1.741e9, 2.4576e10)}
"""The five runs, which all lie near D = 20 N: the law in N holds along that line only."""

LAWS: dict[str, Law] = {
    "kaplan": Law(
        label="Kaplan et al. 2020, in L",
        short="Kaplan, L",
        kind="critical",
        needs=("loss",),
        function=kaplan,
        definition="critical: twice the least steps and tokens",
        status="empirical",
        valid_range="WebText2 and its tokenizer, loss of about 2 to 6 nats/token; 2.1e8 in place of 2e8 is quoted too, without a source found here",
        range={"loss": (2, 6)},
        evidence="second-hand",
        source="arXiv 2001.08361, eq. 5.3",
    ),
    "kaplan_compute": Law(
        label="Kaplan et al. 2020, in C",
        short="Kaplan, C",
        kind="critical",
        needs=("compute",),
        function=kaplan_compute,
        definition="critical: twice the least, on compute-efficient runs",
        status="empirical",
        valid_range="WebText2, models up to 1.5B non-embedding parameters, compute-efficient as found then: D = 2e10 C^0.27; C is that of a "
        "batch far below this one",
        range={"num_params": (768, 1.5e9)},
        evidence="second-hand",
        source="arXiv 2001.08361",
    ),
    "zhang_data": Law(
        label="Zhang et al. 2024, in D",
        short="Zhang, D",
        kind="critical",
        needs=("tokens",),
        function=zhang_data,
        definition="critical: 20 % more tokens than by linear scaling",
        status="empirical",
        valid_range="85M to 1.2B, 1.7B to 25B tokens, C4, context 512, constant rate with weight averaging; scaling from 256 sequences; the "
        "five batches in the authors' notebook, fitted here, give 22.72 D^0.468, 2 to 3 % less there",
        range=ZHANG_BOX,
        evidence="second-hand",
        source="arXiv 2410.21676",
    ),
    "zhang_params": Law(
        label="Zhang et al. 2024, in N",
        short="Zhang, N",
        kind="critical",
        needs=("num_params",),
        function=zhang_params,
        definition="critical: 20 % more tokens than by linear scaling",
        status="empirical",
        valid_range="85M to 1.2B, along D = 20 N only: at fixed D, size hardly matters",
        range=ZHANG_BOX,
        evidence="code",
        source="arXiv 2410.21676 and the authors' notebook",
    ),
    "merrill_plateau": Law(
        label="Merrill et al. 2025, plateau",
        short="Merrill, plateau",
        kind="critical",
        needs=(),
        function=merrill_plateau,
        definition="critical: loss recovers to 0.01 nats in 2 billion tokens",
        status="empirical",
        valid_range="OLMo 1B and 7B after the early rise; near 0 at the start",
        range={"num_params": (1e9, 7e9)},
        evidence="paper",
        source="arXiv 2505.23971",
    ),
    "power_lines_critical": Law(
        label="Power Lines 2025, B_crit in D",
        short="Power Lines crit., D",
        kind="critical",
        needs=("tokens",),
        function=power_lines_critical,
        definition="critical: twice the least steps and tokens",
        status="empirical",
        valid_range="111M to 3.3B, SlimPajama, muP, context 2048; the law is in the least tokens D_min, and D in its place gives 1.4x too "
        "much at a batch of B_crit, more above it",
        range={"num_params": (111e6, 3.3e9)},
        evidence="unverified",
        unverified="the prefactor 0.0471 and its unit, sequences of 2048; the exponent 0.462 was read in secondary texts",
        source="Bergsma et al., arXiv 2505.13738",
    ),
}
