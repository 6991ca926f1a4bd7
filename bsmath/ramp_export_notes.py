"""What the written forms of a batch ramp mean, leave out and ask for: sentences beside `ramp_exports`, of the same sources."""

from bsmath.ramp_stages import Stage

FAR = 0.005
"""Relative difference of a rate that is worth a sentence."""


def megatron(stages: tuple[Stage, ...], rates, seq_len: int) -> tuple[str, ...]:
    return _sentences(
        "Thresholds are tokens because --seq-length is given; batches are sequences of the whole job. K, M, B and T "
        "are 1e3, 1e6, 1e9 and 1e12.",
        "Leave out --global-batch-size; versions that check refuse both. --rampup-batch-size and "
        "--decrease-batch-size-if-needed exclude the schedule too.",
        "It needs training by samples: --train-samples and lengths in samples, not --train-iters.",
        stages=stages, rates=rates, seq_len=seq_len, follows=False,
    )  # fmt: skip


def megatron_rampup(stages: tuple[Stage, ...], rates, seq_len: int) -> tuple[str, ...]:
    return _sentences(
        "Start, increment and samples, all in sequences: the samples are divided equally over the "
        f"(end - start) / increment = {len(stages) - 1} batches before the end, which --global-batch-size names.",
        "Pull request 4411 (April 2026) removed the flag: later versions refuse it, or ignore it with a warning.",
        "It needs training by samples: --train-samples, not --train-iters.",
        stages=stages, rates=rates, seq_len=seq_len, follows=False,
    )  # fmt: skip


def olmo(stages: tuple[Stage, ...], rates, seq_len: int) -> tuple[str, ...]:
    far = max(abs(stage.learning_rate_ratio * rates[0] / rate - 1) for stage, rate in zip(stages, rates, strict=True))
    told = (f"What it sets differs from the rates of the stages by up to {100 * far:.0f} %.",) if far > FAR else ()
    return _sentences(
        "Batches and thresholds are tokens. The callback goes into the trainer's with_callback.",
        "With Adam the callback multiplies the base rate by sqrt(new / old batch) itself: set the rate of the first "
        "batch, and do not scale it a second time.",
        *told,
        "The data loader must start at the first batch: the callback changes any other to it, and the rate with it.",
        "A larger batch waits until the number of batches so far is divisible by the factor, up to factor - 1 steps.",
        "A cosine or linear scheduler must have units of tokens, its warmup too, or a t_max; else the run is refused.",
        stages=stages, rates=rates, seq_len=seq_len, follows=True,
    )  # fmt: skip


def table(stages: tuple[Stage, ...], rates, seq_len: int) -> tuple[str, ...]:
    return (
        "Tokens are without padding; sequences are of the whole job. Steps are whole: a batch holds until a step "
        "begins at or after the next threshold, which it oversteps by less than one step.",
    )


def _sentences(*said: str, stages: tuple[Stage, ...], rates, seq_len: int, follows: bool) -> tuple[str, ...]:
    """Sentences, and where they apply those on rates that do not follow the batch and on padding."""
    padding = 1 - stages[0].tokens_per_step / (stages[0].global_batch_size * seq_len)
    if not follows and min(rates) < max(rates):
        said += (f"No rate follows the batch: --lr is one peak; the stages ask for {rates[0]:.3g} to {rates[-1]:.3g}.",)
    if padding > 1e-9:
        said += (
            f"The trainer counts padding as tokens; lengths were converted with a padding of {100 * padding:.3g} %.",
        )
    return said
