"""How mixtures of experts keep their loads even, and over which tokens each method looks at the balance.

That choice is where the batch enters. A loss over one micro-batch asks a few sequences to use all experts; over the
global batch only the average must be even, so experts may specialize. A method that steers the router leaves the
sampling noise of moe.py, which falls with the tokens routed together. The entries restate their sources; nothing is
derived here.
"""

from dataclasses import dataclass

MICRO_BATCH, SEQUENCE, GLOBAL_BATCH = "micro-batch", "sequence", "global batch"
GROUP = "tokens routed together"
NONE = "not balanced"
SCOPES = (MICRO_BATCH, SEQUENCE, GLOBAL_BATCH, GROUP, NONE)
"""Sets of tokens over which a balance is computed."""


@dataclass(frozen=True, kw_only=True)
class BalancingMethod:
    """One way to keep expert loads even, or to live with uneven ones."""

    name: str
    """Name for people."""
    what: str
    """What it does, in a sentence."""
    scope: str
    """Tokens over which the balance is computed, one of SCOPES."""
    source: str
    """Address of the paper."""


METHODS = (
    BalancingMethod(
        name="auxiliary loss",
        what="Adds a E sum_i f_i P_i to the loss, the share of tokens each expert gets times its mean router "
        "probability, which is least when all experts get the same.",
        scope=MICRO_BATCH,
        source="https://arxiv.org/abs/2101.03961",  # Switch; the idea is GShard's, arXiv 2006.16668
    ),
    BalancingMethod(
        name="global-batch balance",
        what="Sums the counts f_i of that loss over all devices (and micro-batches) before it is formed, so "
        "that a sequence may favor a few experts as long as the step as a whole does not.",
        scope=GLOBAL_BATCH,
        source="https://arxiv.org/abs/2501.11873",
    ),
    BalancingMethod(
        name="bias without auxiliary loss",
        what="After each step raises a bias of every underused expert and lowers that of every overused one; "
        "the bias decides which experts are picked and stays out of their weights and of the gradient.",
        scope=GLOBAL_BATCH,
        source="https://arxiv.org/abs/2412.19437",
    ),
    BalancingMethod(
        name="sequence-level loss",
        what="Forms the auxiliary loss within each sequence; DeepSeek-V3 adds it at a weight of 1e-4 to its "
        "biases, only against extreme imbalance in one text.",
        scope=SEQUENCE,
        source="https://arxiv.org/abs/2412.19437",
    ),
    BalancingMethod(
        name="dropless block-sparse experts",
        what="Evens nothing out: matmuls over blocks take every expert at the load it has, so that no token is "
        "dropped and padding ends at the next full block; an auxiliary loss may be added.",
        scope=NONE,
        source="https://arxiv.org/abs/2211.15841",
    ),
    BalancingMethod(
        name="expert choice",
        what="Turns the choice around: each expert takes its CF M/E best tokens, so loads are equal by "
        "construction, while a token gets as many experts as want it, or none; picking among later tokens "
        "too does not suit generation token by token.",
        scope=GROUP,
        source="https://arxiv.org/abs/2202.09368",
    ),
)
