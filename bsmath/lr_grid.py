"""The best learning rate of each batch in a measured grid of rates and batches, and how well the grid knows it.

    value = least + curvature (ln rate - ln optimum)^2        near the optimum, whatever the law of the value

The three to five tried rates nearest to the best one are fitted (`lr_grid_valley`). A best rate that is the last one tried on
its side is a bound, not an optimum. Runs that diverged enter no parabola, but the optimum lies short of their rate; so do values
more than a third above the best of their batch, finite as they are (`lr_grid_valley.walls`).

The error of an optimum is the larger of two. The residuals of all parabolas of a group, and its repeats, tell the noise.
The rest is shape: a valley is steeper toward high rates, and a parabola through points a log spacing h apart cannot tell.
Knowing only which rate is nearest gives h/sqrt(12) = 0.29 h, so h/4 is taken as the least: about +-33 % for rates a factor 2
apart (90 %), as good as the largest public grid knows its optima.

Limit: where the noise of one value exceeds its rise from the optimum to the next rate, luck picks the best rate, and 90 %
intervals hold the truth in 70 to 80 % of simulated grids. Repeats or wider steps of the rate help.
"""

import numpy as np
import pandas as pd
from scipy import stats

from bsmath.lr_grid_valley import FAR, Valley, valley_of, walls

COLUMNS = (
    "tokens_per_step", "learning_rate", "low", "high", "value", "edge", "rates", "diverged", "log_sd", "best_learning_rate",
    "best_value", "tolerance_low", "tolerance_high",
)  # fmt: skip
TOLERANCE = 0.002
"""Rise of the value, as a share, within which a rate is as good as the best; a factor 2 in rate where the optimum is flat."""
SHAPE_ERROR = 0.25
"""Least standard deviation of an optimum in log spacings of its rates; see the module."""
NORMAL = float(stats.norm.ppf(0.95))
"""Half-width of a 90 % interval in standard deviations."""


def optima(grid: pd.DataFrame) -> pd.DataFrame:
    """The optimal rate of each batch, or the bound that the rates tried put on it.

    Parameters
    ----------
    grid : DataFrame
        One row a run: tokens_per_step [tokens], learning_rate, value (final loss, or steps to a target; lower is better; nan
        or inf where the run diverged). Optional: group (a model or data size; each has optima of its own; blank is one too).
        Repeated rows are seeds; a rate has diverged where half of its runs did or more. Of seeds, one that is more than a third
        above both the best of its batch and the median of its rate counts as diverged.

    Returns
    -------
    DataFrame
        One row a batch (and group, then the first column), ascending.

        - tokens_per_step [tokens]; learning_rate: the optimum, at an edge the best rate tried;
        - low, high: its 90 % interval; at an edge the bound, halfway from the best rate to the next, and 0 or inf;
        - value: the parabola's least; best_learning_rate, best_value: the best rate tried, and its mean value;
        - edge: "lowest" or "highest" where the optimum lies beyond the rates tried on that side, else "";
        - rates, diverged: rates tried, and those that diverged;
        - log_sd: standard deviation of ln optimum, at an edge of where the bound lies;
        - tolerance_low, tolerance_high: rates tried whose value is within TOLERANCE of the least; nan without a parabola.

    Raises
    ------
    ValueError
        Where a column is missing, or a batch, a rate or a value is not positive.
    """
    grid = _checked(grid)
    if "group" not in grid:
        return pd.DataFrame(_rows(grid), columns=list(COLUMNS))
    groups = grid.assign(group=grid["group"].astype(object).fillna("")).groupby("group", sort=True)
    rows = [{"group": name} | row for name, part in groups for row in _rows(part)]
    return pd.DataFrame(rows, columns=["group", *COLUMNS])


def stated(tokens_per_step, learning_rate, spacing: float = 2.0) -> pd.DataFrame:
    """Optima from a table that names the best rate of each batch alone: known to SHAPE_ERROR of the factor between rates tried."""
    batch, rate = np.asarray(tokens_per_step, float), np.asarray(learning_rate, float)
    if not spacing > 1:
        raise ValueError(f"spacing must be more than 1, got {spacing!r}")
    table = pd.DataFrame({"tokens_per_step": batch, "learning_rate": rate, "value": 1.0})
    _checked(table)
    error = SHAPE_ERROR * np.log(spacing)
    ends = {"low": rate * np.exp(-NORMAL * error), "high": rate * np.exp(NORMAL * error)}
    known = table.assign(value=np.nan, edge="", log_sd=error, best_learning_rate=rate, **ends)
    return known.sort_values("tokens_per_step", ignore_index=True).reindex(columns=list(COLUMNS))


def above_best(grid: pd.DataFrame) -> pd.DataFrame:
    """One row a batch and rate: its mean value, and its excess over the batch's best as a share; nan where runs diverged."""
    cells = _means(_checked(grid))["mean"].rename("value").reset_index()
    return cells.assign(excess=cells["value"] / cells.groupby("tokens_per_step")["value"].transform("min") - 1)


def _checked(grid: pd.DataFrame) -> pd.DataFrame:
    """The grid with numbers as floats and nan where a run diverged."""
    names = ["tokens_per_step", "learning_rate", "value"]
    missing = [name for name in names if name not in grid]
    if missing:
        raise ValueError(f"grid must have the column {missing[0]}, got {', '.join(map(str, grid.columns))}")
    grid = grid.assign(**grid[names].astype(float))
    grid["value"] = grid["value"].where(np.isfinite(grid["value"]))
    for name in names:
        wrong = grid[name][~((grid[name] > 0) & np.isfinite(grid[name]) | (grid[name].isna() & (name == "value")))]
        if len(wrong):
            raise ValueError(f"{name} must be positive, got {float(wrong.iloc[0])!r}")
    return grid


def _means(grid: pd.DataFrame) -> pd.DataFrame:
    """Mean, variance and counts of the runs at each batch and rate."""
    with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
        runs = grid.groupby(["tokens_per_step", "learning_rate"])["value"].agg(["mean", "var", "count", "size"])
    runs.loc[(2 * runs["count"] <= runs["size"]) | ~np.isfinite(runs["mean"]), "mean"] = np.nan
    return runs


def _without_outliers(grid: pd.DataFrame) -> pd.DataFrame:
    """The runs with nan for a seed that diverged to a finite value."""
    median = grid.groupby(["tokens_per_step", "learning_rate"])["value"].transform("median")
    best = median.groupby(grid["tokens_per_step"]).transform("min")
    return grid.assign(value=grid["value"].where(~(grid["value"] / (1 + FAR) > np.maximum(best, median))))


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")  # rates and values of absurd size
def _rows(grid: pd.DataFrame) -> list[dict]:
    """The rows of one group, whose batches share what is known of the noise."""
    runs = _means(_without_outliers(grid))
    runs["lost"] = runs["mean"].isna()
    batches = []
    for batch, part in runs.groupby(level=0):
        part = part.droplevel(0)
        far = walls(np.log(part.index.to_numpy()), part["mean"].to_numpy())
        batches.append((float(batch), part.assign(mean=part["mean"].mask(far))))
    valleys = [valley_of(np.log(part.index.to_numpy()), part["mean"].to_numpy()) for _, part in batches]
    squares = sum(one.squares for one in valleys if one)
    freedom = sum(one.freedom for one in valleys if one)
    scatter = squares / freedom if freedom > 0.5 else 0.0  # a variance of relative values
    noise = scatter * (stats.t.ppf(0.95, max(freedom, 1)) / NORMAL) ** 2
    within = _within(pd.concat([part for _, part in batches])) if batches else 0.0
    return [_row(batch, part, valley, noise, within) for (batch, part), valley in zip(batches, valleys, strict=True)]


def _within(runs: pd.DataFrame) -> float:
    """Variance of one run among its repeats, relative to their mean, widened for the few that there are."""
    repeats = runs["count"].sub(1).clip(lower=0).where(runs["mean"].notna(), 0)
    within = (runs["var"] / runs["mean"] ** 2 * repeats).sum() / max(repeats.sum(), 1)
    return within * (stats.t.ppf(0.95, max(repeats.sum(), 1)) / NORMAL) ** 2


def _row(batch: float, runs: pd.DataFrame, valley: Valley | None, noise: float, within: float) -> dict:
    """One row of the result."""
    x, value = np.log(runs.index.to_numpy()), runs["mean"].to_numpy()
    lost = np.isnan(value)
    row = {"tokens_per_step": batch, "rates": len(x), "diverged": int(runs["lost"].sum()), "edge": ""}
    if lost.all():
        return row | _bound(x[:1], 0, lowest=True) | {"learning_rate": float(runs.index[0])}
    best = int(np.nanargmin(value))
    row |= dict.fromkeys(["best_learning_rate", "learning_rate"], float(runs.index[best]))
    row |= dict.fromkeys(["best_value", "value"], float(value[best]))
    floor, ceiling = x[:best][lost[:best]].max(initial=-np.inf), x[best:][lost[best:]].min(initial=np.inf)
    at = x[best] + valley.vertex if valley else np.nan
    if valley and max(floor, x[0]) <= at <= min(ceiling, x[-1]):
        variance = np.maximum(noise, within / runs["count"].to_numpy()[valley.points])
        error = np.sqrt((valley.gradient**2 * variance).sum()) * value[best]
        spacing = (x[best + 1] - x[best - 1]) / 2
        half = np.sqrt(TOLERANCE * max(valley.least, 0) / valley.curvature)
        tolerance = np.exp(np.clip([at - half, at + half], x[0], x[-1]))
        row |= {"value": valley.least, "tolerance_low": tolerance[0], "tolerance_high": tolerance[1]}
        return row | _interval(at, max(error, SHAPE_ERROR * spacing), floor, ceiling)
    side = (at < x[best]) if valley else best == 0
    if (valley or best in (0, len(x) - 1)) and not np.isfinite(floor if side else ceiling):
        return row | _bound(x, best, side)
    even = (x[best + 1] - x[best - 1]) / np.sqrt(12)  # anywhere between the two neighbors
    return row | _interval(x[best], even, floor, ceiling)


def _interval(at: float, error: float, floor: float, ceiling: float) -> dict:
    """An optimum with its 90 % interval, short of the rates that diverged."""
    ends = np.exp(np.clip([at - NORMAL * error, at + NORMAL * error], floor, ceiling))
    return {"learning_rate": np.exp(at), "log_sd": error, "low": ends[0], "high": ends[1]}


def _bound(x: np.ndarray, best: int, lowest: bool) -> dict:
    """An optimum at an edge: of rates evenly spaced around a symmetric valley the best is the nearest."""
    inner = min(best + 1, len(x) - 1) if lowest else max(best - 1, 0)
    spacing = abs(x[inner] - x[best]) or 1.0
    halfway = np.exp((x[inner] + x[best]) / 2)
    ends = {"low": 0.0, "high": halfway} if lowest else {"low": halfway, "high": np.inf}
    return {"edge": "lowest" if lowest else "highest", "log_sd": SHAPE_ERROR * spacing, **ends}
