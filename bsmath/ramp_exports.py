"""A batch ramp in the syntax of trainers, and Megatron-LM's flags for one as the text of typed stages.

Trainers count padding as tokens: thresholds and batches are written padded, in whole tokens or sequences. Sources:
Megatron-LM's megatron/core/num_microbatches_calculator.py and pull request 4411 (April 2026); OLMo-core's
olmo_core/train/callbacks/batch_size_scheduler.py.
"""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bsmath import ramp_kinds
from bsmath.exports import flags
from bsmath.ramp_stages import Stage, whole_ratios

__all__ = ["RAMP_EXPORTS", "RampExport", "read_schedule"]

Stages = tuple[Stage, ...]
SUFFIXES = {"T": 10**12, "B": 10**9, "M": 10**6, "K": 10**3}
FAR = 0.005
"""Relative difference of a rate that is worth a sentence."""
LONGEST = 20_000
"""Characters of a text that is read."""
_STEP = re.compile(r"step[-_]batch[-_]size[-_]schedule[\s=:\"']*([0-9][0-9KMBTkmbt.eE+:,_ \t]*)")
_RAMPUP = re.compile(
    r"rampup[-_]batch[-_]size[\s=:\"'\[]*([0-9]{1,12})[\s,]+([0-9]{1,12})[\s,]+([0-9]{1,15})(?![0-9.])"
)
COLUMNS = ("stage", "from_tokens", "to_tokens", "from_step", "sequences", "tokens_per_step", "steps", "learning_rate")


@dataclass(frozen=True, kw_only=True)
class RampExport:
    """One form of a batch ramp."""

    label: str
    """Name of the form."""
    file: str
    """File name."""
    language: str
    """Language of the text, for display: bash, python or csv."""
    unfit: Callable[[Stages], str]
    """Why the form cannot say these stages, as one sentence; empty where it can."""
    write: Callable[[Stages, Sequence[float], int, float], str]
    """(stages, peak rate of each, seq_len [tokens/sequence], total_tokens [real tokens]) -> text; ValueError: unfit."""
    notes: Callable[[Stages, Sequence[float], int], tuple[str, ...]]
    """The same but for the total -> sentences on units, and on what goes with the text."""


def _padded(stages: Stages, tokens: float, seq_len: int) -> int:
    """Real tokens with their padding, which trainers count, in whole ones. [tokens]"""
    return round(tokens * stages[0].global_batch_size * seq_len / stages[0].tokens_per_step)


def _samples(stages: Stages, tokens: float) -> int:
    """The nearest whole number of sequences for a length in real tokens. [sequences]"""
    return round(tokens * stages[0].global_batch_size / stages[0].tokens_per_step)


def _digits(number: int) -> str:
    """A whole number with the suffix that leaves it whole, since a trainer takes int(float(number) * factor)."""
    for suffix, factor in SUFFIXES.items():
        if number and number % factor == 0:
            return f"{number // factor}{suffix}"
    return str(number)


def _schedule(stages: Stages, seq_len: int) -> str:
    return " ".join(
        f"{_digits(_padded(stages, stage.threshold_tokens, seq_len))}:{stage.global_batch_size}" for stage in stages
    )


def _bash(*lines: str) -> str:
    return "\n".join(["MEGATRON_ARGS=(", *(f"    --{line}" for line in lines), ")", ""])


def _megatron(stages: Stages, rates, seq_len: int, total_tokens: float) -> str:
    return _bash(
        f'step-batch-size-schedule "{_schedule(stages, seq_len)}"  # from so many tokens on: sequences a step',
        f"seq-length {seq_len}  # makes the thresholds tokens",
        f"train-samples {_samples(stages, total_tokens)}  # sequences",
    )


def _rises(stages: Stages) -> list[int]:
    sizes = [stage.global_batch_size for stage in stages]
    return [after - before for before, after in zip(sizes, sizes[1:], strict=False)]


def _no_rampup(stages: Stages) -> str:
    """Why the stages are no linear rise; a threshold may be off by one sequence, which whole samples cannot say."""
    rises, sequence = _rises(stages), stages[0].tokens_per_step / stages[0].global_batch_size
    if not rises or min(rises) <= 0 or min(rises) != max(rises):
        return "--rampup-batch-size can only say a rise by equal increments."
    share = stages[-1].threshold_tokens / len(rises)
    if any(abs(stage.threshold_tokens - index * share) > sequence for index, stage in enumerate(stages)):
        return (
            "--rampup-batch-size can only say increments at equal distances: it divides its samples equally over them."
        )
    return ""


def _megatron_rampup(stages: Stages, rates, seq_len: int, total_tokens: float) -> str:
    _must_fit(_no_rampup(stages))
    start, over = stages[0].global_batch_size, _samples(stages, stages[-1].threshold_tokens)
    return _bash(
        f"rampup-batch-size {start} {_rises(stages)[0]} {over}  # start, increment, over so many sequences",
        f"global-batch-size {stages[-1].global_batch_size}  # sequences of one step, after the rise",
        f"seq-length {seq_len}",
        f"train-samples {_samples(stages, total_tokens)}  # sequences",
    )


def _must_fit(reason: str) -> None:
    if reason:
        raise ValueError(f"stages must fit the form, got others: {reason}")


def _no_olmo(stages: Stages) -> str:
    if whole_ratios([stage.global_batch_size for stage in stages]):
        return ""
    return (
        "OLMo-core's callback takes only batches of which the larger of two neighbors is a whole multiple of the other."
    )


def _olmo(stages: Stages, rates, seq_len: int, total_tokens: float) -> str:
    _must_fit(_no_olmo(stages))
    thresholds = [f"        Duration.tokens({_padded(stages, stage.threshold_tokens, seq_len)})," for stage in stages]
    return "\n".join([
        "from olmo_core.optim import AdamWConfig",
        "from olmo_core.train import Duration",
        "from olmo_core.train.callbacks import BatchSizeSchedulerCallback",
        "",
        f"GLOBAL_BATCH_SIZE = {stages[0].global_batch_size * seq_len}  # tokens, of the data loader: the first batch",
        f"MAX_DURATION = Duration.tokens({_padded(stages, total_tokens, seq_len)})",
        f"optim = AdamWConfig(lr={rates[0]:.6g})  # the rate of the first batch; the callback scales it from there",
        "batch_size_scheduler = BatchSizeSchedulerCallback(",
        f"    batch_sizes={[stage.global_batch_size * seq_len for stage in stages]},  # tokens a step",
        "    schedule=[",
        *thresholds,
        "    ],",
        ")",
        "",
    ])  # fmt: skip


def _table(stages: Stages, rates, seq_len: int, total_tokens: float) -> str:
    out = io.StringIO()
    rows, step = csv.writer(out, lineterminator="\n"), 0
    rows.writerow(COLUMNS)
    ends = [*(stage.threshold_tokens for stage in stages[1:]), total_tokens]
    for number, (stage, end, rate) in enumerate(zip(stages, ends, rates, strict=True), 1):
        batch = (stage.global_batch_size, round(stage.tokens_per_step), stage.steps)
        rows.writerow([number, round(stage.threshold_tokens), round(end), step, *batch, f"{rate:.6g}"])
        step += stage.steps
    return out.getvalue()


def _notes(*said: str, stages: Stages, rates, seq_len: int, follows: bool) -> tuple[str, ...]:
    """Sentences, and where they apply those on rates that do not follow the batch and on padding."""
    padding = 1 - stages[0].tokens_per_step / (stages[0].global_batch_size * seq_len)
    if not follows and min(rates) < max(rates):
        said += (f"No rate follows the batch: --lr is one peak; the stages ask for {rates[0]:.3g} to {rates[-1]:.3g}.",)
    if padding > 1e-9:
        said += (
            f"The trainer counts padding as tokens; lengths were converted with a padding of {100 * padding:.3g} %.",
        )
    return said


def _megatron_notes(stages: Stages, rates, seq_len: int) -> tuple[str, ...]:
    return _notes(
        "Thresholds are tokens because --seq-length is given; batches are sequences of the whole job. K, M, B and T "
        "are 1e3, 1e6, 1e9 and 1e12.",
        "Leave out --global-batch-size; versions that check refuse both. --rampup-batch-size and "
        "--decrease-batch-size-if-needed exclude the schedule too.",
        "It needs training by samples: --train-samples and lengths in samples, not --train-iters.",
        stages=stages, rates=rates, seq_len=seq_len, follows=False,
    )  # fmt: skip


def _rampup_notes(stages: Stages, rates, seq_len: int) -> tuple[str, ...]:
    return _notes(
        "Start, increment and samples, all in sequences: the samples are divided equally over the "
        f"(end - start) / increment = {len(stages) - 1} batches before the end, which --global-batch-size names.",
        "Pull request 4411 (April 2026) removed the flag: later versions refuse it, or ignore it with a warning.",
        "It needs training by samples: --train-samples, not --train-iters.",
        stages=stages, rates=rates, seq_len=seq_len, follows=False,
    )  # fmt: skip


def _olmo_notes(stages: Stages, rates, seq_len: int) -> tuple[str, ...]:
    far = max(abs(stage.learning_rate_ratio * rates[0] / rate - 1) for stage, rate in zip(stages, rates, strict=True))
    told = (f"What it sets differs from the rates of the stages by up to {100 * far:.0f} %.",) if far > FAR else ()
    return _notes(
        "Batches and thresholds are tokens. The callback goes into the trainer's with_callback.",
        "With Adam the callback multiplies the base rate by sqrt(new / old batch) itself: set the rate of the first "
        "batch, and do not scale it a second time.",
        *told,
        "The data loader must start at the first batch: the callback changes any other to it, and the rate with it.",
        "A larger batch waits until the number of batches so far is divisible by the factor, up to factor - 1 steps.",
        "A cosine or linear scheduler must have units of tokens, its warmup too, or a t_max; else the run is refused.",
        stages=stages, rates=rates, seq_len=seq_len, follows=True,
    )  # fmt: skip


def _table_notes(stages: Stages, rates, seq_len: int) -> tuple[str, ...]:
    return (
        "Tokens are without padding; sequences are of the whole job. Steps are whole: a batch holds until a step "
        "begins at or after the next threshold, which it oversteps by less than one step.",
    )


RAMP_EXPORTS: dict[str, RampExport] = {
    "megatron": RampExport(
        label="Megatron-LM", file="megatron_batch.sh", language="bash",
        unfit=lambda stages: "", write=_megatron, notes=_megatron_notes,
    ),
    "megatron_rampup": RampExport(
        label="Megatron-LM before April 2026", file="megatron_rampup.sh", language="bash",
        unfit=_no_rampup, write=_megatron_rampup, notes=_rampup_notes,
    ),
    "olmo": RampExport(
        label="OLMo-core", file="olmo_batch.py", language="python", unfit=_no_olmo, write=_olmo, notes=_olmo_notes
    ),
    "table": RampExport(
        label="Table", file="batch_stages.csv", language="csv",
        unfit=lambda stages: "", write=_table, notes=_table_notes,
    ),
}  # fmt: skip
"""Forms by key, in the order of their display."""


def read_schedule(
    text: str, seq_len: int | None = None, global_batch_size: int | None = None, padding_fraction: float = 0
) -> str:
    """Typed stages, [real tokens]:[sequences], of Megatron-LM's --step-batch-size-schedule or --rampup-batch-size.

    The latter needs a sequence length and its last batch: the text's --seq-length and --global-batch-size, else these.
    """
    if len(text) > LONGEST:
        raise ValueError(f"text must be of at most {LONGEST:,} characters, got {len(text):,}")
    if found := _STEP.search(text):
        stages = ramp_kinds.read_stages(found[1])
    elif found := _RAMPUP.search(text):
        said = flags.parse(text)
        end, length = _count(said, "global-batch-size", global_batch_size), _count(said, "seq-length", seq_len)
        stages = _rampup_stages(*map(int, found.groups()), end, length)
    else:
        raise ValueError(
            f"text must hold --step-batch-size-schedule or --rampup-batch-size with its values, got {text[:60]!r}"
        )
    real = " ".join(f"{_digits(round(tokens * (1 - padding_fraction)))}:{size}" for tokens, size in stages)
    return ramp_kinds.checked_stages(real)


def _count(said: dict, flag: str, given: int | None) -> int:
    value = said.get(flag) or given
    if value is None or not re.fullmatch("[1-9][0-9]{0,8}", str(value)):
        raise ValueError(f"text must name --{flag} in whole numbers, which --rampup-batch-size needs, got {value!r}")
    return int(value)


def _rampup_stages(start: int, increment: int, samples: int, end: int, seq_len: int) -> list[tuple[float, int]]:
    rises, rest = divmod(end - start, increment) if increment else (0, 0)
    if rest or not 1 <= rises < ramp_kinds.MOST_STAGES:
        most = ramp_kinds.MOST_STAGES - 1
        raise ValueError(f"text must rise by 1 to {most} whole increments, got {increment} from {start} to {end}")
    return [(samples * index * seq_len / rises, start + index * increment) for index in range(rises + 1)]
