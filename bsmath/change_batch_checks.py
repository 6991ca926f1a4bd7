"""What breaks silently in how a batch is counted and averaged: padding, means of means, balance losses, wanted batches."""

from collections.abc import Iterator

from bsmath import moe
from bsmath.change_case import Case, Check
from bsmath.numerals import count

NOISY_LOAD = 0.1
"""Coefficient of variation from sampling alone from which a balance loss mostly sees noise. A convention."""


def padding(case: Case) -> Iterator[Check]:
    share = case.change.new.padding_fraction
    if share == 0:
        return
    new = case.change.new
    yield Check(
        wrong=f"Padding is counted as tokens: {share:.0%} of each step teaches nothing",
        cost=f"a run counted in padded tokens ends after {count(new.total_tokens * (1 - share))} real ones instead of "
        f"{count(new.total_tokens)}; the batch is {count(new.tokens_per_step)}, not {count(new.padded_tokens_per_step)} tokens",
        remedy="count real tokens in budget, warmup and batch; pack sequences to have none",
        caused=False,
    )


def loss_average(case: Case) -> Iterator[Check]:
    old, new = case.change.old, case.change.new
    if new.loss_average == "token" or new.padding_fraction == 0 and new.loss_average == "micro_batch":
        return
    if new.loss_average == "sequence":
        yield Check(
            wrong="The loss is a mean over sequences, not over tokens",
            cost="a token of a sequence half as long as another counts twice as much; losses of runs with other lengths do not compare",
            remedy="divide the sum over all tokens of the step by their number (Megatron: --calculate-per-token-loss)",
            caused=False,
        )
        return
    parts = new.grad_accum_steps * new.data_parallel_size
    moved = new.micro_batch_size != old.micro_batch_size
    if parts > 1:
        yield Check(
            wrong=f"The loss is a mean of {parts:,} means over micro-batches"
            + (", and the micro-batch changes" if moved else ""),
            cost="with padding these have unequal numbers of tokens: one with half as many counts each of its tokens twice; a "
            "smaller micro-batch makes them more unequal, so the same data give another gradient",
            remedy="divide the sum over all tokens of the step by their number, across accumulation and replicas",
            caused=False,
        )


def normalization(case: Case) -> Iterator[Check]:
    old, new = case.change.old.micro_batch_size, case.change.new.micro_batch_size
    if old == new:
        return
    wider = (old / new) ** 0.5
    yield Check(
        wrong="Whatever is normalized over a batch now sees another micro-batch",
        cost=f"batch statistics, contrastive losses and the like come from {new:,} instead of {old:,} sequences, their noise is {wider:.3g} times "
        "as large; a transformer with layer or RMS normalization has none",
        remedy="synchronized statistics, or the old micro-batch",
        caused=False,
    )


def balance(case: Case) -> Iterator[Check]:
    new = case.change.new
    if case.num_experts <= case.top_k:
        return
    micro, whole = (
        float(moe.expert_load_cv(sequences * new.seq_len, case.num_experts, case.top_k))
        for sequences in (new.micro_batch_size, new.global_batch_size)
    )
    if micro >= NOISY_LOAD:
        yield Check(
            wrong=f"A balance loss per micro-batch sees loads that differ by {micro:.0%} even under a perfect router",
            cost=f"the router is pushed against sampling noise; over the global batch it would be {whole:.1%}",
            remedy="the balance loss, or the bias update, over the global batch",
            caused=False,
        )


def division(global_batch_size: int, micro_batch_size: int, data_parallel_size: int) -> str:
    """Why a wanted global batch cannot be made, and the nearest that can; empty where it can. [sequences]"""
    each = micro_batch_size * data_parallel_size
    times, left = divmod(global_batch_size, each)
    if left == 0 and times > 0:
        return ""
    near = [(each * count, count) for count in (times, times + 1) if count > 0]
    told = " and ".join(f"{size:,} (accumulation {count:,})" for size, count in near)
    return (
        f"A global batch of {global_batch_size:,} cannot hold: it is no multiple of micro-batch {micro_batch_size:,} x "
        f"{data_parallel_size:,} replicas = {each:,}. Nearest: {told}."
    )


def accumulation_for(global_batch_size: int, micro_batch_size: int, data_parallel_size: int) -> int:
    """Accumulation that makes a global batch, where it divides."""
    return global_batch_size // (micro_batch_size * data_parallel_size)
