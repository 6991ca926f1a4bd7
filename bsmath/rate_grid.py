"""Grids of learning rate and batch from what people load: tables of final losses, logs of runs (see `logs.curve_grid`), sweeps."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bsmath import lr_grid, lr_grid_fit
from bsmath.kept import kept
from bsmath.lr_grid_fit import GridFit
from bsmath.sweeps import runs

LEAST_BATCHES, LEAST_RATES = 2, 2
"""Batches, and rates at one of them, from which runs are a grid."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RateGrid:
    """Runs over learning rate and batch, and what each came to."""

    name: str
    """Where they come from."""
    table: pd.DataFrame
    """One row a run: tokens_per_step [`batch_unit`], learning_rate, value (nan where it diverged) and group (a model, and settings that
    other runs at the same batch and rate do not share; empty for one)."""
    value: str
    """What the value is, in words: "final loss", "validation loss at 1B tokens", "steps to the target"."""
    batch_unit: str
    """"tokens" or "sequences"."""
    problems: tuple[str, ...] = ()
    """What was left out or assumed, in sentences."""

    @property
    def groups(self) -> list[str]:
        """The models that have grids of their own, the one with the most runs first; a blank one is "". Never empty."""
        return self._group.value_counts(sort=True).index.tolist() or [""]

    @property
    def _group(self) -> pd.Series:
        return self.table["group"].astype(object).fillna("").astype(str)

    def of(self, group: str) -> pd.DataFrame:
        """The runs of one model."""
        return self.table[self._group == group].drop(columns="group")

    @kept
    def in_tokens(self, seq_len: int) -> "RateGrid":
        """The same with batches in tokens, where need be with sequences of an assumed length."""
        if self.batch_unit == "tokens":
            return self
        said = f"Its batches are in sequences; {seq_len:,} tokens each were assumed."
        table = self.table.assign(tokens_per_step=self.table["tokens_per_step"] * seq_len)
        return replace(self, table=table, batch_unit="tokens", problems=(*self.problems, said))

    @kept
    def optima(self, group: str) -> pd.DataFrame:
        """The best rate of each batch (see `lr_grid.optima`, or `lr_grid.stated` where one rate is named for each batch)."""
        own = self.of(group)
        if own.groupby("tokens_per_step")["learning_rate"].nunique().max() > 1:
            return lr_grid.optima(own)
        own = own.drop_duplicates(["tokens_per_step", "learning_rate"])
        return lr_grid.stated(own["tokens_per_step"], own["learning_rate"])

    @kept
    def fit(self, group: str) -> GridFit | str:
        """The laws fitted to one model's optima, or the sentence that refuses it."""
        try:
            return lr_grid_fit.fit(self.optima(group))
        except ValueError as error:
            return str(error)


def is_grid(table: pd.DataFrame) -> bool:
    """Whether runs with tokens_per_step and learning_rate are over several batches, and several rates at one of them."""
    rates = table.groupby("tokens_per_step")["learning_rate"].nunique()
    return len(rates) >= LEAST_BATCHES and rates.max() >= LEAST_RATES


def scenario_changes(fit: GridFit, tokens_per_step: float) -> dict[str, float]:
    """Fields of the scenario that a fitted grid gives: the rate at the measured batch nearest to this one, by the best law, and the
    saturation batch of AdamW where its law is not rejected and the grid bounds it."""
    batch = fit.points.batch
    nearest = float(batch[np.abs(np.log(batch / tokens_per_step)).argmin()])
    changes = {"reference_tokens_per_step": nearest, "learning_rate": float(f"{fit.predict(nearest):.4g}")}
    law, standing = fit.laws["saturating"], fit.table.set_index("law").loc["saturating", "standing"]
    if standing in ("supported", "in doubt") and np.isfinite(law.interval["saturation_batch"]).all():
        changes["adam_saturation_batch"] = float(f"{law.parameters['saturation_batch']:.3g}")
    return changes


def of_sweep(table: pd.DataFrame, name: str, unit: str) -> RateGrid | None:
    """The grid in a sweep of steps to a target over batch and rate; None where there is none."""
    tried = runs(table)
    if tried is None or not is_grid(tried):
        return None
    found = tried[["tokens_per_step", "learning_rate"]].assign(value=tried["steps"], group=tried["series"].astype(str))
    return RateGrid(name=name, table=found.reset_index(drop=True), value="steps to the target", batch_unit=unit)
