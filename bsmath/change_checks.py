"""What breaks without an error message when the batch moves: each check says what is wrong, what it costs, and what to set."""

from collections.abc import Iterator

from bsmath import lr
from bsmath.change_batch_checks import balance, loss_average, normalization, padding
from bsmath.change_case import Case, Check
from bsmath.numerals import count, duration, scientific, whole

FLAT_RATE = 2.0
"""Factor in the rate within which the loss stays within 0.2 % of the best in the largest public grid (AdamW)."""
TOLD = 1.05
"""Ratios closer to one than this are not worth a sentence. A convention."""
ALWAYS, NEVER = 1.5, 0.1
"""Median gradient norm over the threshold from which nearly every step is clipped, and below which none is. Conventions."""


def checks(case: Case) -> list[Check]:
    """Everything that applies, the most expensive kinds first."""
    return [found for each in CHECKS for found in each(case)]


def schedule_in_steps(case: Case) -> Iterator[Check]:
    old, new = case.change.old, case.change.new
    ratio = case.change.batch_ratio
    if case.schedule_unit != "steps" or 1 / TOLD < ratio < TOLD:
        return
    steps, kept = old.steps(old.total_tokens), old.steps(old.total_tokens) * new.tokens_per_step
    longer = kept / new.total_tokens
    yield Check(
        wrong="The schedule is written in steps, and a step now has another size",
        cost=f"left at {whole(steps)} steps the run reads {count(kept)} tokens, {longer:.3g} times what it needs: "
        f"{duration(case.new_seconds * longer)} instead of {duration(case.new_seconds)}; its warmup becomes "
        f"{count(old.steps(old.warmup_tokens) * new.tokens_per_step)} tokens instead of {count(old.warmup_tokens)}",
        remedy=f"{whole(new.steps(new.total_tokens))} steps, warmup {whole(new.steps(new.warmup_tokens))}; or a schedule in tokens or samples",
    )


def rate_left(case: Case) -> Iterator[Check]:
    old, new = case.change.old, case.change.new
    off = old.learning_rate / new.learning_rate
    if 1 / TOLD < off < TOLD:
        return
    moved = " and ".join(
        name
        for name, before, after in (
            ("replicas", old.data_parallel_size, new.data_parallel_size),
            ("sequence length", old.seq_len, new.seq_len),
            ("micro-batch", old.micro_batch_size, new.micro_batch_size),
            ("accumulation", old.grad_accum_steps, new.grad_accum_steps),
        )
        if before != after
    )
    within = 1 / FLAT_RATE <= off <= FLAT_RATE
    yield Check(
        wrong=f"The batch moved by a factor {case.change.batch_ratio:.3g} ({moved}) and the rate did not",
        cost=f"left at {scientific(old.learning_rate)} it is {off:.3g} times what the rule says"
        + ("; within a factor 2 the loss stayed within 0.2 % of the best in the largest public grid" if within
           else "; beyond the factor 2 within which the loss is flat: slower training, or a run that diverges"),
        remedy=f"{scientific(new.learning_rate)}, and a sweep of a factor 2 either side",
    )  # fmt: skip


def decay_left(case: Case) -> Iterator[Check]:
    old, new = case.change.old, case.change.new
    if old.weight_decay == 0 or old.optimizer != "adamw":
        return
    rate = new.learning_rate if old.decay == "coupled" else 1.0
    was = lr.adamw_timescale_tokens(new.tokens_per_step, rate, new.weight_decay)
    left = lr.adamw_timescale_tokens(new.tokens_per_step, rate, old.weight_decay)
    if 1 / FLAT_RATE < left / was < FLAT_RATE:
        return
    yield Check(
        wrong="The weights forget over another number of tokens",
        cost=f"with decay {old.weight_decay:g} kept they forget over {count(left)} tokens instead of {count(was)}, "
        f"{left / new.total_tokens:.3g} of the run",
        remedy=f"weight decay {new.weight_decay:.3g}",
    )


def clipping(case: Case) -> Iterator[Check]:
    old, new = case.change.old, case.change.new
    if not case.gradient_norm or old.clip_norm == 0:
        return
    scale = case.rules.noise_scale or case.critical_batch_size  # the best guess where none was measured
    ratio = lr.clip_norm_ratio(new.tokens_per_step, old.tokens_per_step, scale)
    norm = case.gradient_norm * ratio
    share = norm / old.clip_norm
    if share >= ALWAYS:
        yield Check(
            wrong=f"Nearly every step is clipped: the gradient norm is expected at {norm:.3g}, the threshold is {old.clip_norm:g}",
            cost=f"the update is {1 / share:.3g} times as long as the rate says for SGD; Adam divides most of that out again, and "
            "what is left is that batches with large gradients count less",
            remedy=f"a threshold above {norm:.2g}, or none",
            caused=False,
        )
    if share <= NEVER:
        yield Check(
            wrong=f"Clipping never happens: the gradient norm is expected at {norm:.3g}, the threshold is {old.clip_norm:g}",
            cost=f"only a spike of {1 / share:.3g} times the usual norm is caught",
            remedy=f"a threshold of a few times {norm:.2g}",
            caused=False,
        )


def beyond(case: Case) -> Iterator[Check]:
    old, new = case.change.old, case.change.new
    knee = new.tokens_per_step / case.critical_batch_size
    if knee < 1 or new.tokens_per_step <= old.tokens_per_step:
        return
    tokens = (1 + knee) / (1 + old.tokens_per_step / case.critical_batch_size)
    yield Check(
        wrong=f"The new batch is {knee:.3g} times the critical batch",
        cost=f"{tokens:.3g} times the tokens of the old run for the same loss, {1 + knee:.3g} times the least",
        remedy=f"a batch of at most {count(case.critical_batch_size)} tokens, unless time matters more than devices",
    )


def nothing_bought(case: Case) -> Iterator[Check]:
    old, new = case.change.old, case.change.new
    faster = case.new_rate / case.old_rate
    if new.num_devices != old.num_devices or faster < 1 or case.new_seconds <= case.old_seconds * TOLD:
        return
    yield Check(
        wrong=f"The rate rises by {faster - 1:.1%}, and the target comes later",
        cost=f"{duration(case.new_seconds)} instead of {duration(case.old_seconds)} on the same devices: each token teaches less",
        remedy="the old batch",
    )


def accumulation(case: Case) -> Iterator[Check]:
    new = case.change.new
    if new.grad_accum_steps == 1 or case.single_seconds * TOLD >= case.new_seconds:
        return
    yield Check(
        wrong=f"{new.grad_accum_steps:,} micro-batches are accumulated without need",
        cost=f"without accumulation the same devices reach the goal in {duration(case.single_seconds)} instead of {duration(case.new_seconds)}",
        remedy="accumulation 1, and the other settings moved to that batch; more replicas if the batch must stay",
        caused=False,
    )


def never_falls(case: Case) -> Iterator[Check]:
    new = case.change.new
    if new.schedule == "wsd" and new.decay_tokens == 0:
        yield Check(
            wrong="The schedule is constant, then decay, and the decay has no length",
            cost="the rate never falls, and the loss stays above that of a run whose rate does",
            remedy="a length of the decay, 10 to 20 % of the run (a rule of thumb)",
            caused=False,
        )


def never_arrives(case: Case) -> Iterator[Check]:
    new = case.change.new
    if new.warmup_tokens < new.total_tokens / 2:
        return
    share = new.warmup_tokens / new.total_tokens
    yield Check(
        wrong="The warmup takes half of the run or more",
        cost=f"{count(new.warmup_tokens)} of {count(new.total_tokens)} tokens; the rate "
        + (f"ends at {1 / share:.0%} of its peak" if share > 1 else "is at its peak for the rest alone"),
        remedy="a shorter warmup",
        caused=False,
    )


def short_warmup(case: Case) -> Iterator[Check]:
    new = case.change.new
    if new.optimizer != "adamw" or new.warmup_tokens == 0:
        return
    memory, steps = 1 / (1 - new.beta2), new.steps(new.warmup_tokens)
    if steps < memory:
        yield Check(
            wrong=f"The warmup ends after {whole(steps)} steps, before Adam's second moment has settled ({whole(memory)} steps)",
            cost="the first full-size updates are divided by a noisy estimate: a loss spike, or none (a rule of thumb)",
            remedy=f"a warmup of at least {count(memory * new.tokens_per_step)} tokens, or a smaller beta 2",
            caused=False,
        )


CHECKS = (
    schedule_in_steps, rate_left, decay_left, padding, loss_average, clipping, beyond, nothing_bought, accumulation,
    never_falls, never_arrives, short_warmup, balance, normalization,
)  # fmt: skip
"""All checks."""
