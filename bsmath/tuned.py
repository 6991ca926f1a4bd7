"""The best learning rate of each batch in a sweep of steps to a target, and how sure that choice is.

The hyperbola of `critical` assumes the rate tuned at every batch, so its fit needs the steps at each batch's best rate. A run
that did not arrive is censored: it needs more steps than it was given, and counts as more than any run that did arrive.
Dropping it would favor the rates at which only lucky seeds arrive.

Two limits of what comes out. The least of several noisy medians is somewhat too small (a selection bias that shrinks with more
seeds and grows with more rates), and it is at most as good as the rates tried: the optimum is flat, so a runner-up within a few
percent says that the choice hardly matters, not that it failed.
"""

import numpy as np
import pandas as pd

COLUMNS = (
    "tokens_per_step", "learning_rate", "steps", "low", "high", "count", "censored", "rates", "runner_up", "runner_up_ratio",
    "confidence", "at_edge", "undecided",
)  # fmt: skip
RESAMPLES = 2000
"""Bootstrap resamples for each batch; the share of them is then known to about 0.01."""
LEAST_RESAMPLES, MOST_DRAWN = 20, 5_000_000
"""A batch with very many runs is resampled less often, so that at most so many runs are drawn."""


def best_rates(runs: pd.DataFrame) -> pd.DataFrame:
    """The rate with the least median steps at each batch.

    Medians are over the runs of one rate (its seeds). Where half of them or more did not arrive, a rate has no median and
    cannot be best. Equal medians go to the rate whose slowest run is faster, then to the lower rate.

    Parameters
    ----------
    runs : DataFrame
        One row a run: tokens_per_step [tokens], learning_rate, steps (to the target; nan or inf where the run did not arrive).
        Optional: steps_run (what a run was given; nan where not known, inf where it diverged), seed.

    Returns
    -------
    DataFrame
        One row a batch, ascending.

        - tokens_per_step [tokens], learning_rate, steps (the median at that rate); nan where no rate has a median;
        - low, high: least and most steps at that rate; in the most, a run that did not arrive has the steps it was given;
        - count: runs at that rate; censored: runs at this batch, whatever the rate, that did not arrive; rates: rates tried;
        - runner_up, runner_up_ratio: the rate with the next median, and that median over the best; nan where there is none;
        - confidence: share of bootstrap resamples over the seeds in which this rate is still best, ties shared. The rates are
          resampled together where all of them have the same seeds, else each by itself. nan where the best or the runner-up
          has one run: nothing then says how sure the choice is. With two or three seeds the share is rough;
        - at_edge: "lowest" or "highest" where the best rate is the last one tried on that side, "only" where no other was
          tried, else "": the optimum may lie beyond, and the steps are an upper bound;
        - undecided: other rates that were stopped before this one's steps, and might have beaten it.

    Raises
    ------
    ValueError
        Where a column is missing or a batch, rate or step count is not positive.
    """
    runs = _checked(runs)
    rows = [_best(batch, group) for batch, group in runs.groupby("tokens_per_step", sort=True)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def medians(runs: pd.DataFrame, by: list[str]) -> pd.Series:
    """Median steps of each group of runs; inf where half of them or more did not arrive."""
    return runs["steps"].fillna(np.inf).groupby([runs[name] for name in by]).median()


def least_steps(runs: pd.DataFrame, best: pd.DataFrame) -> pd.Series:
    """Steps that it takes at least at each batch where no rate arrived (see `best_rates`), by tokens_per_step.

    The least over the rates of the median steps that their runs were given; batches where that is not known are left out.
    """
    runs = _checked(runs)
    lost = runs[runs["tokens_per_step"].isin(best.loc[best["steps"].isna(), "tokens_per_step"])]
    given = lost.groupby(["tokens_per_step", "learning_rate"])["least"].median()
    least = given.groupby(level="tokens_per_step").min()
    return least[np.isfinite(least)]


def _checked(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with steps of inf where they did not arrive, in an order that does not depend on that of the rows."""
    missing = [name for name in ("tokens_per_step", "learning_rate", "steps") if name not in runs]
    if missing:
        raise ValueError(f"runs must have the column {missing[0]}, got {', '.join(map(str, runs.columns))}")
    steps = runs["steps"].astype(float).fillna(np.inf)
    given = runs["steps_run"].astype(float).fillna(np.inf) if "steps_run" in runs else np.inf
    runs = runs.assign(steps=steps, least=steps.where(np.isfinite(steps), given))  # what each run needs at least
    for name in ("tokens_per_step", "learning_rate", "steps"):
        wrong = runs[name][~(runs[name] > 0)]
        if len(wrong):
            raise ValueError(f"{name} must be positive, got {float(wrong.iloc[0])!r}")
    order = ["tokens_per_step", "learning_rate", *(["seed"] if "seed" in runs else []), "steps", "least"]
    return runs.sort_values(order)


def _best(batch: float, runs: pd.DataFrame) -> dict:
    """One row of the result."""
    rates, first = np.unique(runs["learning_rate"], return_index=True)
    steps, least = (np.split(runs[name].to_numpy(), first[1:]) for name in ("steps", "least"))
    middle = np.array([_median(values) for values in steps])
    ranked = np.lexsort(([values.max() for values in steps], middle))
    best, second = ranked[0], ranked[min(1, len(ranked) - 1)]
    row = {"tokens_per_step": batch, "censored": int(np.isinf(runs["steps"]).sum()), "rates": len(rates)}
    if np.isinf(middle[best]):
        return row | {"count": 0, "at_edge": "", "undecided": 0}
    rivals = second != best and np.isfinite(middle[second])
    earliest = np.array([_median(values) for values in least])
    alone = len(steps[best]) == 1 or rivals and len(steps[second]) == 1
    return row | {
        "learning_rate": rates[best],
        "steps": middle[best],
        "low": steps[best].min(),
        "high": least[best].max(initial=0, where=np.isfinite(least[best])),
        "count": len(steps[best]),
        "runner_up": rates[second] if rivals else np.nan,
        "runner_up_ratio": middle[second] / middle[best] if rivals else np.nan,
        "confidence": np.nan if alone else _confidence(steps, best, _paired(runs, len(rates))),
        "at_edge": "only" if len(rates) == 1 else {0: "lowest", len(rates) - 1: "highest"}.get(best, ""),
        "undecided": int((np.delete(earliest, best) < middle[best]).sum()),
    }


def _median(values: np.ndarray) -> np.ndarray:
    """Median along the last axis; several times faster than numpy's on short rows."""
    ordered, size = np.sort(values, axis=-1), values.shape[-1]
    return ordered[..., (size - 1) // 2] / 2 + ordered[..., size // 2] / 2


def _confidence(steps: list[np.ndarray], best: int, paired: bool) -> float:
    """Share of resamples in which a rate is best; the generator starts anew at each batch, so batches do not interact."""
    generator = np.random.default_rng(0)
    resamples = int(np.clip(MOST_DRAWN // sum(map(len, steps)), LEAST_RESAMPLES, RESAMPLES))
    drawn = generator.integers(len(steps[0]), size=(resamples, len(steps[0]))) if paired else None
    found = np.array(
        [
            _median(values[drawn if paired else generator.integers(len(values), size=(resamples, len(values)))])
            for values in steps
        ]
    )
    least = found.min(axis=0)
    winners = (found == least) & np.isfinite(least)
    return float((winners[best] / np.maximum(winners.sum(axis=0), 1)).mean())


def _paired(runs: pd.DataFrame, rates: int) -> bool:
    """Whether every rate has the same seeds, each once."""
    if "seed" not in runs or runs.duplicated(["learning_rate", "seed"]).any():
        return False
    return len(runs) == rates * runs["seed"].nunique()
