"""Logs of several runs, from one file or from one file a run -> a sweep: the steps at which each loss reaches a target, and the
rate at which its steps were done."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from bsmath import loss_curves
from bsmath.kept import kept
from bsmath.logs import curve_grid, curve_headers, curve_overview, curve_rates, curve_sweep, curve_table, run_rates
from bsmath.logs.curve_headers import LOSSES
from bsmath.loss_curves import TargetRange
from bsmath.rate_grid import RateGrid
from bsmath.sweeps import Column, Question, Sweep, SweepError, columns

LEAST_POINTS = 3
"""Places of a run from which its losses are a curve and not the result of a sweep."""
MOST_HEADERS = 5000
"""Columns of a log of runs; what has more is none."""
LEAST_RATES = 5
"""Logged steps of a run from which its rates are a log and not a few repeats."""
EDITABLE = ("batch", "seq_len", "num_devices", "learning_rate", "seed", "model")
"""What can be corrected of a run."""
LIKELY_TOKENS = 16_384
"""Bare batches of which half are this large are more likely in tokens: few runs have that many sequences."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the curves are read; the fields are answers of the user."""

    loss: str = ""
    """A key of LOSSES; empty for the first that the file has."""
    smoothing: str = ""
    """One of loss_curves.SMOOTHINGS; empty for none of a validation loss and a window of a training loss."""
    width: float = loss_curves.WIDTH
    """Width of the smoothing, as a share of the steps so far."""
    seq_len: int | None = None
    """Tokens per sequence, where the file does not say it. [tokens]"""
    batch_unit: str = ""
    """"tokens" or "sequences" where the file does not say what its batch counts."""
    num_devices: int | None = None
    """Devices of a job, where the log gives its rate per device and does not say how many there were."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """One run, ready to be crossed by a target."""

    run: int
    """Its row in the table of runs."""
    label: str
    """Its name."""
    steps: np.ndarray
    """Optimizer steps done. [steps]"""
    loss: np.ndarray
    """The smoothed loss; nan or inf where it was no number. [nats/token]"""
    raw: np.ndarray
    """The loss as it was logged. [nats/token]"""
    tokens_per_step: float
    """Batch, in the unit of `LossCurves.batch_unit`; nan where it is not known."""
    last: float
    """Steps that the run was given. [steps]"""


@dataclass(frozen=True, kw_only=True, eq=False)
class LossCurves:
    """The logs of runs in one or several files."""

    name: str
    """The file's name, or what the files have in common."""
    runs: pd.DataFrame
    """One row a run: label, batch, batch_in (what it counts: "tokens", "sequences" or ""), tokens_per_step (where the tokens
    by step or the rate tell it), learning_rate, seed, seq_len, model, and what `run_rates.BESIDE` names; nan where not known."""
    points: pd.DataFrame
    """One row a run and step: run (row of `runs`), step, tokens, samples, training, validation (losses, inf where no number)."""
    rates: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(run_rates.COLUMNS)))
    """One row a run and batch: how fast its steps were (see `run_rates.rates`)."""
    columns: tuple[Column, ...] = ()
    """What each column of a table was taken for; empty where a trainer printed the log."""
    problems: tuple[str, ...] = field(default=())
    """What was assumed and what could not be used, in sentences."""

    @property
    def losses(self) -> tuple[str, ...]:
        """Kinds of loss that were logged, the preferred one first: that of the validation, unless only the other is a curve."""
        most = self.points.groupby("run")[list(LOSSES)].count().max()
        logged = [kind for kind in LOSSES if most[kind] > 0]
        return tuple(sorted(logged, key=lambda kind: most[kind] < LEAST_POINTS))

    @property
    def has_curve(self) -> bool:
        """Whether some run has losses at several places; else the rows are results of runs."""
        if len(self.points) > (LEAST_POINTS - 1) * len(self.runs):
            return True  # so many rows cannot be spread more thinly over the runs
        return bool(self.points.groupby("run").size().max() >= LEAST_POINTS)  # of no runs that is nan

    @property
    def has_rate(self) -> bool:
        """Whether some run's log tells a rate over several steps."""
        return bool((self.rates["count"] + self.rates["left_out"] >= LEAST_RATES).any())

    @kept
    def resolved(self, reading: Reading = Reading()) -> Reading:
        """The reading with its defaults filled in."""
        loss = reading.loss if reading.loss in self.losses else next(iter(self.losses), "training")
        usual = "none" if loss == "validation" else "window"
        return replace(reading, loss=loss, smoothing=reading.smoothing or usual)

    @kept
    def ratio(self) -> float | None:
        """Tokens of one unit of the batch, where the tokens by step of some runs agree on it; 1 where it is in tokens."""
        known = (self.runs["tokens_per_step"] / self.runs["batch"]).dropna()
        if known.empty or known.max() > known.min() * 1.01 or round(known.iloc[0]) < 1:
            return None
        return float(round(known.median()))

    @kept
    def batches(self, reading: Reading = Reading()) -> tuple[pd.Series, str]:
        """The batch of each run, and its unit: "tokens", or "sequences" where some run's tokens are not known."""
        runs = self.runs
        tokens = runs["tokens_per_step"].fillna(runs["batch"] * self.tokens_each(reading))
        if tokens.notna().eq(runs["batch"].notna() | runs["tokens_per_step"].notna()).all():
            return tokens, "tokens"
        return runs["batch"], "sequences"

    @kept
    def tokens_each(self, reading: Reading = Reading()) -> pd.Series:
        """Tokens of one unit of each run's batch: 1 where it is in tokens, else those of a sequence; nan where not known."""
        each = self.runs["seq_len"].fillna(reading.seq_len or np.nan)
        if (ratio := self.ratio()) is not None:
            each = each.fillna(ratio)
        counted = self.runs["batch_in"]
        return each.mask(counted.eq("tokens") | counted.eq("") & (self._unit(reading) == "tokens"), 1.0)

    @kept
    def throughput(self, reading: Reading = Reading()) -> pd.DataFrame:
        """The rate of each run and batch in tokens per second (see `curve_rates.throughput`)."""
        return curve_rates.throughput(self, reading)

    @kept
    def overview(self, reading: Reading = Reading()) -> pd.DataFrame:
        """What each run was and did (see `curve_overview.overview`)."""
        return curve_overview.overview(self, reading)

    @kept
    def questions(self, reading: Reading = Reading()) -> list[Question]:
        """What the files leave open, answered or not."""
        runs, asked = self.runs, []
        bare = runs["batch_in"].eq("") & runs["batch"].notna()
        if bare.any() and self.ratio() is None and self._unit(Reading()) == "tokens":
            text = "Do the batches of these runs count tokens or sequences?"
            asked.append(Question(key="batch_unit", text=text, choices=("tokens", "sequences"), default="tokens"))
        if self.batches(replace(reading, seq_len=None))[1] == "sequences":
            text = "How many tokens has a sequence? The files do not say it; 1 counts the batch in samples."
            asked.append(Question(key="seq_len", text=text, choices=(), default=None))
        if self.rates["kind"].str.endswith("/device").any() and runs["num_devices"].isna().any():
            text = "On how many devices did a run go? The logs give tok/s per device and do not say it."
            asked.append(Question(key="num_devices", text=text, choices=(), default="1"))
        return asked

    @kept
    def curves(self, reading: Reading = Reading()) -> list[Curve]:
        """Every run whose loss of this kind was logged."""
        if reading != (full := self.resolved(reading)):
            return self.curves(full)
        batches, unit = self.batches(reading)
        found = []
        for run, rows in self.points.groupby("run", sort=True):
            own, size = self.runs.loc[run], batches[run]
            rows = rows.assign(step=curve_sweep.steps(rows, own, size if unit == "tokens" else np.nan))
            last, logged = rows["step"].max(), rows.dropna(subset=[reading.loss, "step"]).sort_values("step")
            steps, raw = logged["step"].to_numpy(), logged[reading.loss].to_numpy()
            if not len(steps):
                continue
            loss = loss_curves.smoothed(steps, raw, reading.smoothing, reading.width)
            found.append(
                Curve(
                    run=run, label=own["label"], steps=steps, loss=loss, raw=raw, tokens_per_step=float(size), last=last
                )
            )
        return found

    @kept
    def targets(self, reading: Reading = Reading()) -> TargetRange | None:
        """Which losses can be a target; None where no run with a batch has any."""
        curves = self.curves(reading)
        return loss_curves.target_range((one.tokens_per_step, one.loss) for one in curves if one.tokens_per_step > 0)

    @kept
    def sweep(self, target: float | None = None, reading: Reading = Reading()) -> Sweep:
        """Steps of each run to a target [nats/token], by default the one of `targets`, as a sweep over batch and rate.

        Its table has the column `resolution` besides [steps]: the distance of the evaluations around the crossing.
        """
        return curve_sweep.sweep(self, target, reading)

    @kept
    def grid(self, reading: Reading = Reading()) -> RateGrid | None:
        """The grid of learning rates and batches that the runs are, if they are one (see `curve_grid.grid`)."""
        return curve_grid.grid(self, reading)

    @kept
    def missing(self) -> list[str]:
        """What is needed for a critical batch and not there, in sentences."""
        return curve_sweep.missing(self)

    def with_runs(self, edits: pd.DataFrame) -> "LossCurves":
        """The same with other values of what is EDITABLE: one row a run, as in `runs`."""
        runs = self.runs.copy()
        runs["model"] = edits["model"].fillna("").astype(str).str.strip().str[:60]
        for name in EDITABLE[:-1]:
            values = pd.to_numeric(edits[name], errors="coerce")
            runs[name] = values.where((values > 0) | (values == 0) & (name == "seed")).to_numpy(float)
        changed = ~(runs["batch"].eq(self.runs["batch"]) | runs["batch"].isna() & self.runs["batch"].isna())
        runs.loc[changed, "tokens_per_step"] = np.nan
        return replace(self, runs=runs)

    def _unit(self, reading: Reading) -> str:
        """What a batch counts of which no column and no name says it."""
        if reading.batch_unit:
            return reading.batch_unit
        if self.ratio() is not None:
            return "tokens" if self.ratio() == 1 else "sequences"
        if self.runs["seq_len"].notna().any():
            return "sequences"
        return "tokens" if self.runs["batch"].median() >= LIKELY_TOKENS else "sequences"


def recognizes(headers: list[str]) -> bool:
    """Whether columns hold the place in a run, and a loss or a rate."""
    if len(headers) > MOST_HEADERS:
        return False
    frame = curve_headers.unfolded(pd.DataFrame(columns=headers))
    found = {meaning for meaning, names in curve_headers.meanings(list(frame.columns)).items() if names}
    if not found & set(curve_headers.PLACES):
        return False
    return bool(found & set(LOSSES)) or bool(run_rates.kinds(frame))


def read(frame: pd.DataFrame, name: str) -> LossCurves:
    """The runs in a table of text or numbers."""
    runs, points, rates, said = curve_table.tables(curve_headers.unfolded(frame), name)
    if points.empty and rates.empty:
        raise SweepError(f"{name} must have rows with a step and a loss or a rate, got none")
    return LossCurves(name=name, runs=runs, points=points, rates=rates, problems=tuple(dict.fromkeys(said)))


def counts_results(frame: pd.DataFrame) -> bool:
    """Whether the place in the run is under a header that a sweep has over its results, such as steps."""
    headers = curve_headers.meanings(list(frame.columns))
    first = [header for place in curve_headers.PLACES for header in headers.get(place, ())[:1]][:1]
    return any(columns.recognize(header, is_number=True).meaning in columns.RESULTS for header in first)


def joined(found: Iterable[LossCurves]) -> LossCurves:
    """The runs of several files together."""
    found = list(found)
    if len(found) == 1:
        return found[0]
    first = np.cumsum([0, *(len(one.runs) for one in found)])
    points = [one.points.assign(run=one.points["run"] + start) for one, start in zip(found, first, strict=False)]
    rates = [one.rates.assign(run=one.rates["run"] + start) for one, start in zip(found, first, strict=False)]
    said = [sentence for one in found for sentence in one.problems]
    return LossCurves(
        name=f"{len(found)} files",
        runs=pd.concat([one.runs for one in found], ignore_index=True),
        points=pd.concat(points, ignore_index=True),
        rates=pd.concat(rates, ignore_index=True),
        columns=tuple({column.header: column for one in reversed(found) for column in one.columns}.values()),
        problems=tuple(dict.fromkeys(said)),
    )
