"""Which two norms to log, and what a noise scale cannot say: the parts of the Noise scale page that are read once."""

import pandas as pd
import streamlit as st

NORMS = (
    ("DDP", "Small: in a communication hook, before the reduce, mean over replicas. Big: `.grad` after the backward pass. By then every "
     "replica holds the average, so a \"local\" norm taken there is the big one and the noise comes out 0."),
    ("Accumulation", "Small: each micro-batch's own gradient. Big: `.grad` at the end of the step. Where the loss is divided by a micro-batches, "
     "multiply the small squared norm by a²."),
    ("FSDP, ZeRO-2, ZeRO-3", "A rank keeps a shard of the average: its norm is neither. Big: the sum of the shards' squared norms. For the small "
     "one make a short run with DDP, or take per-example norms."),
    ("Loss summed over tokens", "Divide the squared norms by b² and by B². Undivided, they make the noise negative."),
    ("Loss scale (fp16)", "Divide both by scale². It cancels in the noise scale while it stays the same, not in |G|² and tr(Σ)."),
    ("Clipping", "Take both before it: a clipped big norm is at most the threshold, and the noise scale comes out too large."),
)  # fmt: skip
"""Where the training runs, and what to take there."""


def which() -> None:
    """What the small and the big norm are, and where to take them."""
    st.markdown(
        "The **small** norm is the mean, over replicas or micro-batches, of the squared norm of each one's mean gradient, **before** the "
        "all-reduce. The **big** norm is the squared norm of their average. Average squares, not norms: the square of a mean is too small. "
        "Smaller small batches make the estimate surer."
    )
    st.table(
        pd.DataFrame(NORMS, columns=["Training", "What to take"]),
        hide_index=True,
    )
    st.caption(
        "Derived (McCandlish et al. 2018, appendix A.1; Gray et al. 2024, arXiv 2411.00999). Hooks: "
        "https://docs.pytorch.org/docs/2.13/ddp_comm_hooks.html. Norms of DDP and FSDP differed by a factor of 8 in one trainer: "
        "https://github.com/pytorch/torchtitan/issues/2318."
    )


def limits() -> None:
    """What studies and data disagree on, where a user would be misled otherwise."""
    st.markdown(
        "- **A relative signal.** It predicts the critical batch to an order of magnitude at best: beside it, 0.4 to 18 times as large in "
        "one set of public logs (Pollux), too small by orders of magnitude in two models of 1B and 7B (Merrill et al. 2025). Others use its "
        "changes with profit. To know B_crit, measure steps to a loss.\n"
        "- **Compare averages over a whole run or the same part of it.** Within one run it grew 3- to 20,000-fold in those logs.\n"
        "- **Compare at one batch and one rate.** It depends on the batch at which it is measured, and a rate k times too small raises it "
        "about k times (McCandlish et al. 2018, appendix C).\n"
        "- **Look at the spread.** Repeated estimates at one checkpoint differed almost threefold.\n"
        "- **Later in training.** One study sees the critical batch grow about tenfold through a run (McCandlish et al.), another rise "
        "early and then stay (Merrill et al.)."
    )
