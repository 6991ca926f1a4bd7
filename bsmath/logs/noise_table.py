"""The table of a noise-scale log: columns by meaning -> both parts in one unit, in the order of training."""

import re

import numpy as np
import pandas as pd

from bsmath import noise
from bsmath.logs import noise_headers
from bsmath.logs.noise_log import ALL, OWN
from bsmath.sweeps import cells

LARGEST = 1e100
"""A larger number has overflowed or is a mistake, and its square would overflow."""


def made(
    frame: pd.DataFrame, headers: dict[str, str], found: dict[str, pd.Series], source: set[str], place: str
) -> tuple[pd.DataFrame, str]:
    """The table of a log (see NoiseLog), unusable rows included, and the unit of its noise scale."""
    which, batch = unit(found, source)
    if which == OWN and re.search(r"[\[(]\s*tokens?\b", headers.get("ratio", "").lower()):
        which = "tokens"
    columns = {
        "group": groups(frame, headers),
        "step": found["step"],
        "tokens": found[place].where(found[place] >= 0),
        "tokens_per_step": batch,
        "steps_averaged": found["steps_averaged"].where(found["steps_averaged"] > 0, 1.0),
    }
    return pd.DataFrame(columns | parts(found, source, which) | {"loss": found["loss"]}), which


def one_run(frame: pd.DataFrame, headers: dict[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows of the first run in the file, and what is to be said about the others."""
    runs = frame[headers["run"]].dropna() if "run" in headers else pd.Series(dtype=object)
    if runs.nunique() < 2:
        return frame, []
    first = runs.iloc[0]
    only = frame[frame[headers["run"]] == first].reset_index(drop=True)
    return only, [f"The file holds {runs.nunique()} runs; only {str(first)!r} was read."]


def numbers(frame: pd.DataFrame, header: str | None) -> pd.Series:
    """A column as finite floats, nan elsewhere and where they are too large."""
    found = np.full(len(frame), np.nan) if header is None else cells.numbers(frame[header], cells.COUNTS)
    return pd.Series(np.where(np.abs(found) < LARGEST, found, np.nan), index=frame.index)


def groups(frame: pd.DataFrame, headers: dict[str, str]) -> pd.Series:
    if "group" not in headers:
        return pd.Series(ALL, index=frame.index)
    names = frame[headers["group"]].astype(object).fillna(ALL).astype(str).str.strip()
    return names.where(~names.str.lower().isin(("", "all", "total", "global", "model")), ALL)


def unit(found: dict[str, pd.Series], source: set[str]) -> tuple[str, pd.Series]:
    """Unit of the noise scale, and the batch of each row in it."""
    if "sequences_big" in source:
        in_tokens = found["seq_len"].notna().any()
        return (
            ("tokens", found["sequences_big"] * found["seq_len"])
            if in_tokens
            else ("sequences", found["sequences_big"])
        )
    if "tokens_big" in source:
        return "tokens", found["tokens_per_step"].fillna(found["tokens_big"])
    if "initial_variance" in source:
        return "initial batches", found["tokens_per_step"] * np.nan
    return ("tokens" if found["tokens_per_step"].notna().any() else OWN), found["tokens_per_step"]


def parts(found: dict[str, pd.Series], source: set[str], unit: str) -> dict[str, pd.Series]:
    """Both parts and the logged ratio, nan where they are not known."""
    nothing = found["step"] * np.nan
    if source == {"ratio"}:
        return {"grad_sq_norm": nothing, "trace": nothing, "noise_scale": found["ratio"].where(found["ratio"] > 0)}
    norms = next((norms for norms in noise_headers.NORMS if set(norms) <= source), None)
    if norms is None:
        variance = found["initial_variance" if "initial_variance" in source else "trace"]
        return {"grad_sq_norm": found["grad_sq_norm"], "trace": variance, "noise_scale": nothing}
    kind = "tokens" if "tokens_big" in source else "sequences"
    each = found["seq_len"] if (kind, unit) == ("sequences", "tokens") else 1.0
    small, big = found[f"{kind}_small"] * each, found[f"{kind}_big"] * each
    lower, upper = (found[norm] if norm in noise_headers.NORMS[0] else found[norm] ** 2 for norm in norms)
    usable = (small > 0) & (big > small) & (found[norms[0]] >= 0) & (found[norms[1]] >= 0)
    four = (small.where(usable), big, lower, upper)
    return {"grad_sq_norm": noise.grad_sq_norm(*four), "trace": noise.trace(*four), "noise_scale": nothing}


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order of training, the last of those at one place; all parameters first."""
    names = sorted(table["group"].unique(), key=lambda group: group != ALL)
    table = table.assign(group=pd.Categorical(table["group"], names)).drop_duplicates(["group", "tokens"], keep="last")
    ordered = table.sort_values(["group", "tokens"], kind="stable", ignore_index=True)
    return ordered.assign(group=ordered["group"].astype(object))


def in_tokens(table: pd.DataFrame) -> pd.DataFrame:
    """The table with `tokens` in tokens instead of steps."""
    taken = table.groupby("group", sort=False)["tokens"].diff().fillna(table["tokens"])
    trained = (taken * table["tokens_per_step"]).groupby(table["group"], sort=False).cumsum()
    return table.assign(tokens=trained)


def with_all(table: pd.DataFrame) -> pd.DataFrame:
    """The table with rows of all parameters: sums over the layers where those alone were logged."""
    groups = table["group"].nunique()
    if (table["group"] == ALL).any() or table["trace"].isna().all():
        return table
    both = table.groupby("tokens")[["grad_sq_norm", "trace"]].agg(["sum", "count"])
    whole = table.drop_duplicates("tokens").set_index("tokens").sort_index()
    for part in ("grad_sq_norm", "trace"):
        whole[part] = both[part]["sum"]
    whole = whole[both["trace"]["count"] == groups].reset_index().assign(group=ALL)
    return pd.concat([whole[table.columns], table], ignore_index=True)
