"""How the critical batch moves through a run: the shape from a law or a log, the level from the scenario.

A flat run's hyperbola has the harmonic mean of the course as its B_crit (see `progress`), so every course is scaled until that
mean is the scenario's B_crit: a law or a log then says only how it grows. Laws in D are taken at useful tokens, those that tiny batches
would have needed, and laws in C at 6 N times these; below a ten-thousandth of the run nothing is known and the course is flat.
"""

from dataclasses import dataclass

import numpy as np

from bsmath import laws, progress
from bsmath import ramp as ramps
from bsmath.logs.branch import BranchLog
from bsmath.logs.noise_log import NoiseLog
from bsmath.numerals import count
from bsmath.ramp import Ramp
from bsmath.scenario import Scenario

EARLIEST, LATEST = 1e-4, 10.0
"""Between which multiples of a run's useful tokens a law is followed."""
POINTS = 48
"""Most points of a log's course."""
COVERED = 0.01
"""Share of the run that a log must reach for its own tokens to count; a shorter one is stretched over the run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """The critical batch against useful tokens."""

    curve: Ramp
    """B_crit after so many useful tokens. [tokens]"""
    useful_tokens: float
    """Of the whole run, E_min of its target. [tokens]"""
    factor: float
    """What the law's or the log's own values were multiplied by."""
    said: tuple[str, ...] = ()
    """Sentences on what was assumed."""

    @property
    def growth(self) -> float:
        """B_crit at the end over that at a hundredth of the run."""
        return float(self.curve.at(self.useful_tokens) / self.curve.at(self.useful_tokens / 100))


def course(scenario: Scenario, useful_tokens: float, log: NoiseLog | BranchLog | None = None) -> Course:
    """The course that the scenario asks for; `log` is the noise log or the branch log where it asks for one. [tokens]"""
    kind, said = scenario.critical_growth, ()
    if kind == "constant":
        curve = ramps.flat(scenario.critical_batch_size)
    elif kind in laws.LAWS:
        useful = useful_tokens * np.geomspace(EARLIEST, LATEST, 11)
        curve = ramps.through(useful, laws.LAWS[kind].at(laws.inputs(scenario.active_params, useful)))
    else:
        points = None if log is None else _points(log, scenario.seq_len)
        if points is None or len(points[0]) < 2:
            said = (f"No {kind} log with a course in tokens is loaded, so the critical batch is taken as constant.",)
            curve = ramps.flat(scenario.critical_batch_size)
        else:
            tokens, sizes, said = _over_run(*points, useful_tokens, log.name)
            curve = ramps.through(tokens, sizes)
    leveled = progress.leveled(curve, useful_tokens, scenario.critical_batch_size)
    return Course(curve=leveled, useful_tokens=useful_tokens, factor=leveled.end / curve.end, said=said)


def _points(log: NoiseLog | BranchLog, seq_len: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Tokens and critical batches of a log, ascending; None where its place in the run or its unit is not known in tokens."""
    if isinstance(log, BranchLog):
        found = [
            (one.tokens, one.critical_batch_size if one.critical_batch_size > 0 else one.low) for one in log.branches
        ]
        tokens, sizes = np.array(found, float).reshape(-1, 2).T
    elif log.place != "tokens" or log.unit not in ("tokens", "sequences"):
        return None
    else:
        table = log.smoothed(log.groups[0])
        tokens, sizes = table["tokens"].to_numpy(float), table["noise_scale"].to_numpy(float)
        sizes = sizes * (seq_len if log.unit == "sequences" else 1)
    good = np.isfinite(sizes) & (sizes > 0) & (tokens > 0)
    tokens, first = np.unique(tokens[good], return_index=True)
    keep = (
        np.unique(np.linspace(0, len(tokens) - 1, min(len(tokens), POINTS)).round().astype(int)) if len(tokens) else []
    )
    return tokens[keep], sizes[good][first][keep]


def _over_run(tokens: np.ndarray, sizes: np.ndarray, useful_tokens: float, name: str) -> tuple:
    """The course on the run's own tokens, and what was done to get it there."""
    reached = tokens[-1] / useful_tokens
    if reached < COVERED:
        said = (
            f"{name} ends after {count(tokens[-1])} tokens, {reached:.2g} of this run: its course is stretched over the whole run, as if "
            "the run were a larger one of the same kind.",
        )
        return tokens / reached, sizes, said
    if reached < 1:
        return tokens, sizes, (f"{name} ends at {reached:.0%} of this run; from there on B_crit is taken to stay.",)
    return tokens, sizes, ()
