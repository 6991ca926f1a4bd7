"""Which law of the batch a measured grid of learning rates supports: every law of `lr_grid_laws` against its optima.

One exponent over a wide range misleads where the slope falls, so slopes along the range stand beside it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from bsmath import lr_grid_words
from bsmath.lr_grid_law_fit import LawFit, fit_law
from bsmath.lr_grid_laws import GRID_LAWS, SCALE_WEIGHT, Points

FEWEST_BATCHES, FEWEST_RATES = 3, 3
SUPPORTED, REJECTED = 2.0, 6.0
"""AICc above the best law's: up to the first a law is supported, above the second rejected, in doubt between. A convention:
Burnham and Anderson 2002 call up to 2 substantial support, 4 to 7 considerably less, above 10 none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GridFit:
    """The laws fitted to one grid's optima."""

    points: Points
    """Optima and bounds that were fitted."""
    laws: dict[str, LawFit]
    """Every law of `GRID_LAWS`."""
    slopes: pd.DataFrame
    """Local exponents between neighboring ones of three or four groups of optima: low, high [tokens, the groups' middles], slope, least, most."""
    skipped: int
    """Batches left out because fewer than FEWEST_RATES rates were tried there."""

    @property
    def table(self) -> pd.DataFrame:
        """One row a law, best first: law, aicc, difference, standing ("supported", "in doubt", "rejected", "left out"), scale."""
        rows = [{"law": name, "aicc": one.aicc, "scale": one.scale} for name, one in self.laws.items()]
        table = pd.DataFrame(rows).sort_values("aicc", ignore_index=True, kind="stable")
        difference = table["aicc"] - table["aicc"].min()
        standing = np.select(
            [difference.isna(), difference <= SUPPORTED, difference <= REJECTED],
            ["left out", "supported", "in doubt"],
            "rejected",
        )
        return table.assign(difference=difference, standing=standing)

    @property
    def best(self) -> str:
        """The law with the least AICc."""
        return str(self.table["law"].iloc[0])

    @property
    def exponent(self) -> tuple[float, float, float]:
        """The power law's exponent and its interval."""
        power = self.laws["power"]
        return power.parameters["exponent"], *power.interval["exponent"]

    @property
    def verdict(self) -> str:
        """What the grid says, in words."""
        return lr_grid_words.verdict(self)

    def predict(self, tokens_per_step, law: str | None = None):
        """Best learning rate at these batches, by the law with the least AICc or the one named."""
        return self.laws[law or self.best].predict(tokens_per_step)


@np.errstate(over="ignore", under="ignore")  # ends of intervals far beyond any rate are 0 and inf
def fit(optima: pd.DataFrame, level: float = 0.90) -> GridFit:
    """Fit every law to the optima of one grid.

    Parameters
    ----------
    optima : DataFrame
        As `lr_grid.optima` or `lr_grid.stated` returns it, of one group. Optima at an edge enter as bounds; batches with fewer
        than three rates are left out.
    level : float
        Of all intervals.

    Raises
    ------
    ValueError
        Where there are several groups, where half of the optima or more are at an edge, or fewer than three are not.
    """
    if "group" in optima and optima["group"].nunique() > 1:
        raise ValueError(f"group must be a single one, got {', '.join(map(str, optima['group'].unique()))}")
    used = optima[~(optima["rates"] < FEWEST_RATES)].sort_values("tokens_per_step")
    _refuse(optima, used)
    side = used["edge"].map({"": 0, "highest": 1, "lowest": -1}).to_numpy()
    rate = np.select([side > 0, side < 0], [used["low"], used["high"]], used["learning_rate"])
    batch, log_sd = used["tokens_per_step"].to_numpy(float), used["log_sd"].to_numpy(float)
    points = Points(batch=batch, log_rate=np.log(rate), log_sd=log_sd, side=side)
    laws = {name: fit_law(law, points, level) for name, law in GRID_LAWS.items()}
    compared = [one for one in laws.values() if np.isfinite(one.aicc)]
    scale = min(compared, key=lambda one: one.aicc).scale
    return GridFit(points=points, laws=laws, slopes=_slopes(points, scale, level), skipped=len(optima) - len(used))


def _refuse(optima: pd.DataFrame, used: pd.DataFrame) -> None:
    """Refuse optima that no law can be read from."""
    batches = used["tokens_per_step"].nunique()
    if batches < len(used):
        raise ValueError(f"tokens_per_step must be named once each, got {len(used)} rows for {batches} batches")
    if batches < FEWEST_BATCHES:
        raise ValueError(
            f"optima must hold {FEWEST_BATCHES} batches with {FEWEST_RATES} rates tried each, got {batches} of {len(optima)}"
        )
    edges = int((used["edge"] != "").sum())
    if 2 * edges >= batches or batches - edges < FEWEST_BATCHES:
        wider = {"highest": "higher", "lowest": "lower"}
        sides = " and ".join(wider[side] for side in wider if (used["edge"] == side).any())
        rule = "most batches" if 2 * edges >= batches else f"{FEWEST_BATCHES} batches"
        raise ValueError(
            f"learning_rate must be tried on both sides of the optimum at {rule}, got the optimum at the edge of the rates "
            f"tried at {edges} of {batches} batches; widen the grid to {sides} rates"
        )


def _slopes(points: Points, scale: float, level: float) -> pd.DataFrame:
    """Local exponents along the range, between the weighted means of neighboring groups of optima; bounds are left out."""
    x, y = np.log(points.batch[points.known]), points.log_rate[points.known]
    weight = 1 / points.log_sd[points.known] ** 2
    groups = np.array_split(np.arange(x.size), int(np.clip(x.size // 2, 3, 4)))
    middle, rate = (np.array([np.average(v[one], weights=weight[one]) for one in groups]) for v in (x, y))
    variance = np.array([1 / weight[one].sum() for one in groups])
    slope = np.diff(rate) / np.diff(middle)
    student = stats.t.ppf((1 + level) / 2, x.size + SCALE_WEIGHT - 2)
    half = student * scale * np.sqrt(variance[1:] + variance[:-1]) / np.diff(middle)
    ends = {"low": np.exp(middle[:-1]), "high": np.exp(middle[1:])}
    return pd.DataFrame({**ends, "slope": slope, "least": slope - half, "most": slope + half})
