"""What the literature disagrees on: both sides with their sources, and what this project does about it.

Nothing is resolved here. Each item is at most two sentences on a page: what the sides say, then what is done. Numbers are
the authors' own unless an item says otherwise.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Side:
    """One position."""

    says: str
    """The claim, in plain words."""
    source: str
    """Who says so, and where."""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """One question on which published work differs."""

    subject: str
    """The question."""
    sides: tuple[Side, ...]
    """The positions."""
    here: str
    """What this project does."""
    pages: tuple[str, ...]
    """Pages that show it, by file name without ending; the Reference shows all."""


CRITICAL, RATE, NOISE, THROUGHPUT = "critical_batch", "learning_rate", "noise_scale", "throughput"
_MCCANDLISH = "McCandlish et al. 2018, arXiv 1812.06162"
_ZHANG = "Zhang et al. 2024, arXiv 2410.21676"
_MERRILL = "Merrill et al. 2025, arXiv 2505.23971"
_STEP_LAW = "Step Law, Li et al. 2025, arXiv 2503.04715"
_MAREK = "Marek et al. 2025, arXiv 2507.07101"
_SHALLUE = "Shallue et al. 2018, arXiv 1811.03600"
_MALLADI = "Malladi et al. 2022, arXiv 2205.10287"
_MOONLIGHT = "Moonlight, Liu et al. 2025, arXiv 2502.16982"
_DEEPSEEK = "DeepSeek LLM 2024, arXiv 2401.02954"
_PALM = "PaLM, Chowdhery et al. 2022, arXiv 2204.02311, app. B"
_FLASH = "FlashAttention's benchmark, https://github.com/Dao-AILab/flash-attention"

ITEMS = (
    Disagreement(
        subject="Does the noise scale predict the critical batch?",
        sides=(
            Side(says="within about ten times", source=_MCCANDLISH),
            Side(says="orders of magnitude too low on OLMo 1B and 7B", source=_MERRILL),
            Side(says="useful as a relative signal", source="Gray et al. 2024, arXiv 2411.00999"),
        ),
        here="Both are shown beside each other and neither replaces the other: compare the noise scale with itself, over one run.",
        pages=(CRITICAL, NOISE),
    ),
    Disagreement(
        subject="What does the critical batch depend on?",
        sides=(
            Side(says="the loss alone", source="Kaplan et al. 2020, arXiv 2001.08361"),
            Side(says="the tokens trained on, not the size", source=f"{_ZHANG}; Power Lines, arXiv 2505.13738"),
            Side(says="workload and optimizer", source=_SHALLUE),
            Side(says="for the optimal batch, compute", source=f"{_DEEPSEEK}; {_MOONLIGHT}"),
        ),
        here="All laws are listed and none is preferred: in compute-optimal runs loss, tokens and compute move together and cannot "
        "tell these apart.",
        pages=(CRITICAL,),
    ),
    Disagreement(
        subject="How fast does the batch grow with the tokens D?",
        sides=(
            Side(says="optimal batch as D^0.383", source="Power Lines, Bergsma et al. 2025, arXiv 2505.13738"),
            Side(says="optimal batch as D^0.566 to D^0.571", source=f"Schaipp 2026, arXiv 2607.01487; {_STEP_LAW}"),
            Side(says="critical batch as D^0.46 to D^0.47", source=f"Power Lines; {_ZHANG}"),
            Side(says="the hyperbola's, from the latter's own steps, as D^0.62", source="fitted here"),
        ),
        here="No exponent is built in: each law keeps its own, and your B_crit is typed or fitted.",
        pages=(CRITICAL,),
    ),
    Disagreement(
        subject="What is a critical batch?",
        sides=(
            Side(says="steps and tokens both twice their least", source=_MCCANDLISH),
            Side(says="20 % more steps than linear scaling", source=_ZHANG),
            Side(says="loss recovers to within 0.01 nats in 2 billion tokens", source=_MERRILL),
        ),
        here="B_crit here is the first; the second is converted exactly, the third is measured by branching a run and not converted.",
        pages=(CRITICAL,),
    ),
    Disagreement(
        subject="How does Adam's learning rate follow the batch?",
        sides=(
            Side(says="as its square root", source=_MALLADI),
            Side(says="a power of 0.5 to 1, then saturating", source=_MCCANDLISH),
            Side(says="a power of 0.75 to 1", source="Shuai et al. 2024, arXiv 2412.01505"),
            Side(says="a power of 0.62 (Scion)", source="Filatov et al. 2025, arXiv 2510.03871"),
            Side(says="rises, peaks, then falls", source="Li et al. 2024, arXiv 2405.14578"),
            Side(says="no rule holds everywhere", source=_SHALLUE),
        ),
        here="All rules are drawn through your reference, and their spread is the answer: sweep around it.",
        pages=(RATE,),
    ),
    Disagreement(
        subject="Does the best rate rise or fall as the run grows?",
        sides=(
            Side(says="it rises with tokens, as D^0.307 at fixed size", source=_STEP_LAW),
            Side(says="it falls with compute", source=f"{_DEEPSEEK}; {_MOONLIGHT}"),
        ),
        here="The rules here move your rate over the batch only, from where you tuned it.",
        pages=(RATE,),
    ),
    Disagreement(
        subject="Do Adam's betas move with the batch?",
        sides=(
            Side(says="1 - k (1 - beta) for k times the batch", source=_MALLADI),
            Side(says="beta^k, the same half-life in tokens", source=_MAREK),
            Side(says="most published runs keep 0.9 and 0.95 at every batch", source="their technical reports"),
        ),
        here="The half-life rule is used, as it never leaves 0 to 1, with the other beside it; for small changes both agree.",
        pages=(RATE,),
    ),
    Disagreement(
        subject="Is it worth growing the batch during a run?",
        sides=(
            Side(says="yes, 43 % fewer steps", source=_MERRILL),
            Side(says="yes, 36 % less serial time", source="Seesaw, Meterez et al. 2025, arXiv 2510.14717"),
            Side(says="yes, 18 % less time", source="Gray et al. 2024, arXiv 2411.00999"),
            Side(says="little, about 4 % predicted in one example", source=f"{_MCCANDLISH}, app. D"),
            Side(says="no: constant batch, or a ramp that cost 18.8 % more steps", source="Kimi K2; Qwen3.8, by secondary reports"),
        ),
        here="The Batch ramp page computes what a ramp gains under a chosen growth of B_crit; everywhere else one B_crit stands for a run.",
        pages=(CRITICAL, "batch_ramp"),
    ),
    Disagreement(
        subject="Is gradient accumulation normal or wasteful?",
        sides=(
            Side(says="normal practice to reach a large batch", source="most trainers' recipes"),
            Side(says="wasteful unless devices or bandwidth need it, as small batches train as well", source=_MAREK),
        ),
        here="It is counted for what it does: it raises the batch without memory, and pays off only while t_fixed is a visible share "
        "of a step.",
        pages=(THROUGHPUT,),
    ),
    Disagreement(
        subject="Do large batches generalize worse?",
        sides=(
            Side(says="yes, they end in sharp minima", source="Keskar et al. 2017, arXiv 1609.04836"),
            Side(says="an artifact of tuning and budget", source=_SHALLUE),
            Side(says="yes, even at equal steps", source="Smith et al. 2020, arXiv 2006.15081"),
        ),
        here="Nothing here models it: everything is steps and tokens to one loss, so measure that loss on held-out text.",
        pages=(CRITICAL, RATE),
    ),
    Disagreement(
        subject="How does the critical batch change during training?",
        sides=(
            Side(says="it grows about tenfold through the run", source=_MCCANDLISH),
            Side(says="it rises early, then stays", source=_MERRILL),
        ),
        here="B_crit here is one number for the whole run to a loss; a noise log or branches show how yours moves.",
        pages=(CRITICAL, NOISE),
    ),
    Disagreement(
        subject="Which work does MFU count?",
        sides=(
            Side(says="6N a token", source="Kaplan et al. 2020, arXiv 2001.08361"),
            Side(says="also attention's scores, in full, and apart from it what recomputation runs (HFU)", source=_PALM),
            Side(says="half of the scores where attention is causal", source=_FLASH),
        ),
        here="MFU here is 6N over the dense BF16 peak (an FP8 or sparse peak would halve it), with the other counts beside it: where counts "
        "differ, compare tokens per second.",
        pages=(THROUGHPUT,),
    ),
)  # fmt: skip


def for_page(name: str) -> tuple[Disagreement, ...]:
    """What a page must mention, by its file name without ending; all of it for the Reference."""
    return ITEMS if name == "reference" else tuple(one for one in ITEMS if name in one.pages)
