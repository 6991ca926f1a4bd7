"""Published laws for the batch of least loss at a fixed budget of compute or tokens.

All are empirical fits; a number outside a law's range is an extrapolation. Units as in `critical_laws`. `LAWS` lists them,
`EXPONENTS` those whose prefactor is not published: they have a slope, but no level that could be drawn.
"""

from dataclasses import dataclass

from bsmath.critical_laws import POWER_LINES_SEQ_LEN
from bsmath.law import Law

PORIAN_SEQ_LEN = 2048  # tokens/sequence, as in the authors' count of FLOPs; their B is in sequences
PORIAN_NUM_PARAMS = 1.08e8


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


def power_lines_optimal(tokens):
    """0.0306 D^0.383 sequences of 2048, the prefactor unverified. [tokens]"""
    return POWER_LINES_SEQ_LEN * 0.0306 * tokens**0.383


def porian(num_params):
    """160 (N/1.08e8)^0.70 sequences of 2048, the exponent unverified. [tokens]"""
    return PORIAN_SEQ_LEN * 160 * (num_params / PORIAN_NUM_PARAMS) ** 0.70


LAWS: dict[str, Law] = {
    "step_law": Law(
        label="Step Law, Li et al. 2025, in D",
        short="Step Law, D",
        kind="optimal",
        needs=("tokens",),
        function=step_law,
        definition="optimal: least loss at fixed N and D, rate tuned along",
        status="empirical",
        valid_range="3,700 models, context 2048, cosine to a fixed floor; sizes and tokens not stated in the text read",
        evidence="code",
        source="arXiv 2503.04715 and the authors' repository",
    ),
    "deepseek": Law(
        label="DeepSeek LLM 2024, in C",
        short="DeepSeek, C",
        kind="optimal",
        needs=("compute",),
        function=deepseek,
        definition="optimal: within 0.25 % of the least loss at fixed C",
        status="empirical",
        valid_range="1e17 to 2e19 FLOP without embeddings, checked at 1e20",
        range={"compute": (1e17, 2e19)},
        evidence="second-hand",
        source="arXiv 2401.02954, eq. 1",
    ),
    "minicpm": Law(
        label="MiniCPM, Hu et al. 2024, in L",
        short="MiniCPM, L",
        kind="optimal",
        needs=("loss",),
        function=minicpm,
        definition="optimal: least tokens to this loss",
        status="empirical",
        valid_range="9M, 30M and 170M models",
        range={"num_params": (9e6, 170e6)},
        evidence="second-hand",
        source="arXiv 2404.06395",
    ),
    "moonlight": Law(
        label="Moonlight, Liu et al. 2025, in C",
        short="Moonlight, C",
        kind="optimal",
        needs=("compute",),
        function=moonlight,
        definition="optimal: least loss at fixed C",
        status="empirical",
        valid_range="compute-optimal runs, context 8192, C = 6 N D; compute not stated in the text read",
        evidence="paper",
        source="arXiv 2502.16982, table 9",
    ),
    "schaipp": Law(
        label="Schaipp 2026, in D",
        short="Schaipp, D",
        kind="optimal",
        needs=("tokens",),
        function=schaipp,
        definition="optimal: least loss at fixed D",
        status="empirical",
        valid_range="not stated in the text read; 5 % more compute allows a fourfold band",
        evidence="second-hand",
        source="arXiv 2607.01487",
    ),
    "power_lines_optimal": Law(
        label="Power Lines 2025, B_opt in D",
        short="Power Lines opt., D",
        kind="optimal",
        needs=("tokens",),
        function=power_lines_optimal,
        definition="optimal: least loss at fixed D",
        status="empirical",
        valid_range="111M to 3.3B, SlimPajama, muP, context 2048",
        range={"num_params": (111e6, 3.3e9)},
        evidence="unverified",
        unverified="the prefactor 0.0306 and its unit, sequences of 2048; the exponent 0.383 was read in secondary texts",
        source="Bergsma et al., arXiv 2505.13738",
    ),
    "porian": Law(
        label="Porian et al. 2024, in N",
        short="Porian, N",
        kind="optimal",
        needs=("num_params",),
        function=porian,
        definition="optimal: least loss at D = 20 N",
        status="empirical",
        valid_range="25M to 110M, RefinedWeb, rate and beta2 tuned along, sequences of 2048 assumed",
        range={"num_params": (2.5e7, 1.1e8)},
        evidence="unverified",
        unverified="the exponent 0.70 and the length of a sequence; the authors' notebook has the 160 sequences at 108M and used 640 at "
        "902M, where this gives 707",
        source="arXiv 2406.19146 and the authors' notebook",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Exponent:
    """A published power law without a published prefactor."""

    label: str
    """Authors, year and what the law depends on."""
    variable: str
    """What the batch is a power of."""
    exponent: float
    """d log B / d log of the variable."""
    source: str
    """Citation, with what is known of the setting."""


EXPONENTS = (
    Exponent(
        label="Shuai et al. 2024, in C", variable="compute", exponent=0.102, source="arXiv 2412.01505, second-hand"
    ),
    Exponent(
        label="Scion, norm transfer 2025, in D",
        variable="tokens",
        exponent=0.45,
        source="arXiv 2510.03871, second-hand",
    ),
)
"""Both optimal; compute-optimal runs in the first."""
