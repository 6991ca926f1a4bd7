"""A noise-scale log that has been read: both parts through a run, their averages and what can be drawn of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bsmath import checks, noise_along
from bsmath.kept import kept
from bsmath.noise_estimate import NoiseScaleEstimate, estimate

ALL = "all"
"""The group of all parameters."""
OWN = "the log's own unit"
LATE = 0.5
"""Share of a run after which its second half begins: early on |G|^2 is so large that it would decide a mean over all."""
WINDOWS = 10
"""Windows of a long log that do not overlap, over which the curve is averaged."""
WINDOW = "window"
"""The average that is no exponential one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseLog:
    """Both parts of the noise scale through a run, for all parameters and for each layer group that was logged."""

    name: str
    """The file's name."""
    table: pd.DataFrame
    """One row for each group and row of the log: group, step, tokens, tokens_per_step [unit], steps_averaged [steps],
    grad_sq_norm, trace, noise_scale (where the file has it alone) [unit], loss [nats/token]; nan where unknown."""
    unit: str
    """Of the noise scale and of tokens_per_step: "tokens", "sequences", "initial batches" or "the log's own unit"."""
    place: str
    """What `tokens` counts: "tokens"; "steps" or "steps at the initial batch" where the file has no tokens."""
    problems: tuple[str, ...]
    """What could not be used and what makes the result doubtful, in sentences."""

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Layer groups, all parameters first."""
        return tuple(self.table["group"].unique())

    @cached_property
    def has_parts(self) -> bool:
        """Whether the file has both parts, or the ratio alone."""
        return bool(self.table["trace"].notna().any())

    def rows(self, group: str = ALL, since: float = 0.0) -> pd.DataFrame:
        """The rows of one group in the order of training, from this share of the run on."""
        checks.between("since", since, 0, 1)
        checks.one_of("group", group, self.groups)
        last = self.table["tokens"].max()
        return self.table[(self.table["group"] == group) & (self.table["tokens"] >= since * last)]

    @kept
    def estimate(self, group: str = ALL, since: float = 0.0) -> NoiseScaleEstimate:
        """The noise scale over the run, or over what comes after the share `since` of it; see bsmath.noise_estimate.estimate."""
        rows = self.rows(group, since).dropna(subset=["trace", "grad_sq_norm"])
        return estimate(rows["trace"], rows["grad_sq_norm"], rows["steps_averaged"])

    @cached_property
    def batches(self) -> tuple[float, ...]:
        """Different batch sizes of the run, ascending; empty where they are not known. [unit]"""
        return tuple(sorted(self.table["tokens_per_step"].dropna().unique().tolist()))

    def window(self, group: str = ALL) -> int:
        """Rows that a point of `smoothed` averages: a tenth of the group's, five at least."""
        return max(5, len(self.rows(group)) // WINDOWS | 1)

    @kept
    def smoothed(self, group: str = ALL, rows: int | None = None, average: str = WINDOW) -> pd.DataFrame:
        """The noise scale along training; see bsmath.noise_along. By default `rows` is that of `window`.

        `average` is "window", or the decay per row of an exponential average as text. Besides its columns: noise
        (trace over the batch, or over 1 where no batch is known), and unsmoothed raw_grad_sq_norm and raw_noise. Where the file has the ratio alone,
        noise_scale is that and all else nan.
        """
        table = self.rows(group).reset_index(drop=True)
        rows = self.window(group) if rows is None else rows
        if not self.has_parts:
            drawn = table[["tokens", "noise_scale"]].assign(low=np.nan, high=np.nan, grad_sq_norm=np.nan, trace=np.nan)
        elif average == WINDOW:
            drawn = noise_along.smoothed(table, rows)
        else:
            drawn = noise_along.exponential(table, float(average))
        batch = table["tokens_per_step"] if self.batches else 1.0
        raw = {"raw_grad_sq_norm": table["grad_sq_norm"], "raw_noise": table["trace"] / batch}
        return drawn.assign(noise=drawn["trace"] / batch, **raw)
