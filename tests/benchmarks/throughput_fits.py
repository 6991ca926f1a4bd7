"""How well fitted step times predict what they have not seen: python -m tests.benchmarks.throughput_fits FILE_OR_FOLDER ...

For every series of every table: the verdict, the leave-one-out error (median over the batches used) and the error at the
largest batch when it is held out. The summary gives medians over the series of each verdict. Batch sizes count samples where
a file names no sequence length. Bar: 5 % and 10 % over the series of which the straight line is said to hold.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from bsmath import measured, step_verdict, sweeps
from bsmath.measured import Measurement
from bsmath.step_fit import fit_step_time

FEWEST = 4
"""Batch sizes from which a fit without one of them still has a degree of freedom."""


def held_out(found: Measurement) -> np.ndarray:
    """Relative error of the rate at each batch that the fit used, when it is fitted without that batch."""
    used = found.points[~found.points["tokens_per_step"].isin(found.fit.broken + found.fit.beyond)]
    batch, rate = used["tokens_per_step"].to_numpy(float), used["median"].to_numpy(float)
    if batch.size < FEWEST:
        return np.array([np.nan])
    errors = []
    for i in range(batch.size):
        rest = np.arange(batch.size) != i
        errors.append(fit_step_time(batch[rest], rate[rest]).predict(batch[i]) / rate[i] - 1)
    return np.abs(errors)


def rows(path: Path):
    """One row a series of a table: what is said of it, and the errors."""
    try:
        sweep = sweeps.read(path.read_bytes(), path.name, {"seq_len": 1})
    except sweeps.SweepError as error:
        print(f"{path.name}: {error}")
        return
    for series in sweep.series if sweep.has_throughput else ():
        found = measured.measurement(sweep, series, "tokens_per_second")
        row = {"file": path.name, "series": series, "batches": len(found.points)}
        if found.fit is None:
            yield row | {"verdict": "no fit: " + found.verdict.split(":")[0]}
            continue
        errors = held_out(found)
        curve = "curve" if found.fit.curved else ""
        yield row | {
            "verdict": step_verdict.kind(found.fit),
            "model": curve,
            "worst": found.worst_residual,
            "leave_one_out": np.median(errors),
            "largest": errors[-1],
        }


def main() -> None:
    """Print the table and its summary."""
    given = [Path(argument) for argument in sys.argv[1:]] or [Path("data/measured")]
    files = [path for each in given for path in (sorted(each.rglob("*.*")) if each.is_dir() else [each])]
    table = pd.DataFrame([row for path in files if path.suffix in (".csv", ".json", ".md") for row in rows(path)])
    with pd.option_context("display.max_rows", None, "display.width", 200, "display.max_colwidth", 60):
        print(table.to_string(index=False, float_format="{:.3f}".format, na_rep=""))
        errors = ["worst", "leave_one_out", "largest"]
        summary = table.groupby("verdict")[errors].median().assign(series=table.groupby("verdict").size())
        print("\nMedians over the series of each verdict\n", summary.to_string(float_format="{:.3f}".format, na_rep=""))
    holds = table[table["verdict"].isin(step_verdict.LINEAR)].dropna(subset=["leave_one_out"])
    if holds.empty:
        return
    good = table[table["verdict"].isin((*step_verdict.LINEAR, step_verdict.OVERLAP, step_verdict.SLOW))]
    print(
        f"\nThe straight line holds in {len(holds)} of {len(table)} series: medians {holds['leave_one_out'].median():.1%} leave-one-out "
        f"and {holds['largest'].median():.1%} at the held-out largest batch. With the curve for overlapping costs, "
        f"{len(good)} series are described ({good['leave_one_out'].median():.1%}, {good['largest'].median():.1%})."
    )


if __name__ == "__main__":
    main()
