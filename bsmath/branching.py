"""The critical batch size by branching: from a checkpoint, train on with larger batches and see which end no worse.

    k* = largest k with L_k' <= L_1 + eps for every k' <= k          B* = k* B

A run at batch B [tokens] and rate eta is branched at a checkpoint: each branch trains for the same tokens with k B and
sqrt(k) eta (Adam), and L_k is its loss at the end. Only tried k are known, so that B* lies in [k* B, next k B] and is given at
the geometric mean (Merrill et al. 2025, arXiv 2505.23971: branches of 2 billion tokens, eps = 0.01, losses smoothed). The method is
empirical and assumes that a branch which has recovered stays so.

Branches with the same seed see the same data, so the excess L_k - L_1 is averaged over seeds within pairs. Its standard error
tells what other data would give; it knows nothing of other runs or of another held-out text, and with few seeds it is itself
rough.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

PUBLISHED_TOLERANCE = 0.01
"""eps of Merrill et al., for smoothed losses. [nats/token]"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Branch:
    """One checkpoint and the branches from it, smallest batch first; the first is the unchanged one."""

    label: str
    """Which checkpoint: "step 500, 128,000 tokens"."""
    step: int
    """Step of the run at which it was branched."""
    tokens: float
    """What the run had trained on by then. [tokens]"""
    tokens_per_step: np.ndarray
    """Batch of each branch, k B. [tokens]"""
    excess: np.ndarray
    """Loss at the end above the unchanged branch's, mean over seeds; inf where one diverged. [nats/token]"""
    error: np.ndarray
    """Two standard errors of the excess; nan where there is one seed. [nats/token]"""
    seeds: np.ndarray
    """Pairs that each excess is the mean of."""
    tolerance: float
    """eps: an excess up to here counts as recovered. [nats/token]"""

    @property
    def low(self) -> float:
        """The largest batch up to which every branch has recovered, k* B. [tokens]"""
        return bracket(self.tokens_per_step, self.excess <= self.tolerance)[0]

    @property
    def high(self) -> float:
        """The next batch tried, which has not; inf where all have. [tokens]"""
        return bracket(self.tokens_per_step, self.excess <= self.tolerance)[1]

    @property
    def critical_batch_size(self) -> float:
        """Geometric mean of both; nan where every branch has recovered. [tokens]"""
        return float(np.sqrt(self.low * self.high)) if np.isfinite(self.high) else np.nan

    @property
    def sure(self) -> tuple[float, float]:
        """Bounds that hold wherever each excess lies within its two standard errors. [tokens]"""
        low, _ = bracket(self.tokens_per_step, ~(self.excess + self.error > self.tolerance) & ~np.isnan(self.error))
        _, high = bracket(self.tokens_per_step, ~(self.excess - self.error > self.tolerance))
        return low, high

    @property
    def verdict(self) -> str:
        """What the branches tell, and how sure it is."""
        low, high = self.low, self.high
        if np.isinf(high):
            found = (
                f"Every batch up to {low:,.0f} tokens per step has recovered: the critical batch size is at least that. "
                "Larger factors would find it."
            )
        elif low == self.tokens_per_step[0]:
            found = (
                f"Already {high:,.0f} tokens per step end above the tolerance: the critical batch size is below that, and as "
                f"nothing under the run's own {low:,.0f} was tried, it may be lower still."
            )
        else:
            found = (
                f"Up to {low:,.0f} tokens per step the loss has recovered, at {high:,.0f} it has not: the critical batch size "
                f"lies between, about {self.critical_batch_size:,.0f}."
            )
        return f"{found} {self._sureness()}"

    def _sureness(self) -> str:
        """How far the errors let the bracket move."""
        if np.isnan(self.error[1:]).all():
            return "A single seed gives no error, so how sure this is remains open."
        low, high = self.sure
        if (low, high) == (self.low, self.high):
            return "Every excess is more than two standard errors from the tolerance."
        upper = "no upper bound" if np.isinf(high) else f"{high:,.0f}"
        return f"Within two standard errors, {low:,.0f} to {upper} cannot be excluded."


def bracket(tokens_per_step: np.ndarray, recovered: np.ndarray) -> tuple[float, float]:
    """The largest batch up to which all have recovered and the next one, inf where there is none. [tokens]

    The first batch is the unchanged one, which has nothing to recover from.
    """
    failed = np.flatnonzero(~recovered[1:])
    if not len(failed):
        return float(tokens_per_step[-1]), np.inf
    return float(tokens_per_step[failed[0]]), float(tokens_per_step[failed[0] + 1])


def branches(table: pd.DataFrame, tolerance: float) -> tuple[Branch, ...]:
    """One record a checkpoint, in the order of training.

    Parameters
    ----------
    table : DataFrame
        One row a branch: checkpoint_step, checkpoint_tokens [tokens], batch_factor, tokens_per_step [tokens], seed, loss
        [nats/token], inf where it diverged; run where the file holds several.
    tolerance : float
        eps. [nats/token]
    """
    keys = ["run", "checkpoint_step"] if "run" in table else ["checkpoint_step"]
    several = "run" in table and table["run"].nunique() > 1
    found = []
    for key, rows in table.groupby(keys, sort=True):
        one = _branch(rows, tolerance, f"{key[0]}, " if several else "")
        if one is not None:
            found.append(one)
    return tuple(found)


def _branch(rows: pd.DataFrame, tolerance: float, prefix: str) -> Branch | None:
    """One checkpoint's record; None where no larger batch has an unchanged one to be compared with."""
    losses = rows.pivot_table(index="seed", columns="tokens_per_step", values="loss", aggfunc="mean")
    losses = losses[np.isfinite(losses.iloc[:, 0])]  # nothing can be compared with one that diverged
    if rows["batch_factor"].min() != 1 or losses.shape[1] < 2 or losses.empty:
        return None
    unchanged = losses.iloc[:, 0].to_numpy()
    excess, error, count = (np.zeros(losses.shape[1]) for _ in range(3))
    for position, loss in enumerate(losses.to_numpy().T):
        excess[position], error[position], count[position] = _paired(loss, unchanged)
    error[0] = 0.0  # the unchanged branch against itself
    tried = count > 0
    step, tokens = int(rows["checkpoint_step"].iloc[0]), float(rows["checkpoint_tokens"].iloc[0])
    return Branch(
        label=f"{prefix}step {step:,}, {tokens:,.0f} tokens",
        step=step,
        tokens=tokens,
        tokens_per_step=losses.columns.to_numpy(float)[tried],
        excess=excess[tried],
        error=error[tried],
        seeds=count[tried].astype(int),
        tolerance=float(tolerance),
    )


def _paired(loss: np.ndarray, unchanged: np.ndarray) -> tuple[float, float, int]:
    """Mean difference of the pairs that are there, two standard errors of it, pairs."""
    difference = (loss - unchanged)[~np.isnan(loss)]
    if not np.isfinite(difference).all():
        return np.inf, 0.0, len(difference)
    if len(difference) < 2:
        return difference.sum() if len(difference) else np.nan, np.nan, len(difference)
    return difference.mean(), 2 * difference.std(ddof=1) / np.sqrt(len(difference)), len(difference)
