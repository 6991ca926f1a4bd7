"""A batch ramp in the syntax of trainers; `ramp_import` reads it back.

Trainers count padding as tokens: thresholds and batches are written padded, in whole tokens or sequences. Sources:
Megatron-LM's megatron/core/num_microbatches_calculator.py and pull request 4411 (April 2026); OLMo-core's
olmo_core/train/callbacks/batch_size_scheduler.py.
"""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bsmath import ramp_export_notes
from bsmath.ramp_stages import Stage, whole_ratios

Stages = tuple[Stage, ...]
SUFFIXES = {"T": 10**12, "B": 10**9, "M": 10**6, "K": 10**3}
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


def _exact(tokens: float) -> str:
    """Tokens without rounding: with padding they are no whole numbers, and a threshold moved by one costs a step."""
    return str(int(tokens) if tokens == int(tokens) else float(tokens))


def _table(stages: Stages, rates, seq_len: int, total_tokens: float) -> str:
    out = io.StringIO()
    rows, step = csv.writer(out, lineterminator="\n"), 0
    rows.writerow(COLUMNS)
    ends = [*(stage.threshold_tokens for stage in stages[1:]), total_tokens]
    for number, (stage, end, rate) in enumerate(zip(stages, ends, rates, strict=True), 1):
        batch = (stage.global_batch_size, _exact(stage.tokens_per_step), stage.steps)
        rows.writerow([number, _exact(stage.threshold_tokens), _exact(end), step, *batch, f"{rate:.6g}"])
        step += stage.steps
    return out.getvalue()


RAMP_EXPORTS: dict[str, RampExport] = {
    "megatron": RampExport(
        label="Megatron-LM", file="megatron_batch.sh", language="bash",
        unfit=lambda stages: "", write=_megatron, notes=ramp_export_notes.megatron,
    ),
    "megatron_rampup": RampExport(
        label="Megatron-LM before April 2026", file="megatron_rampup.sh", language="bash",
        unfit=_no_rampup, write=_megatron_rampup, notes=ramp_export_notes.megatron_rampup,
    ),
    "olmo": RampExport(
        label="OLMo-core", file="olmo_batch.py", language="python", unfit=_no_olmo, write=_olmo, notes=ramp_export_notes.olmo
    ),
    "table": RampExport(
        label="Table", file="batch_stages.csv", language="csv",
        unfit=lambda stages: "", write=_table, notes=ramp_export_notes.table,
    ),
}  # fmt: skip
"""Forms by key, in the order of their display."""
