"""What fitted hyperbolas say of measured sweeps: python -m tests.benchmarks.critical_fits FILE_OR_FOLDER ...

For every series of every table with steps to a target: the verdict, B_crit with its 90 % interval, the exponent of a free fit,
the worst residual, and the error at the largest batch when it is held out of the fit. The loss curves of one folder are one sweep,
at several targets. Batches are in samples where a file names no sequence length; the same sweep in two files counts once in the
medians. Bar: the median error at the held-out largest
batch is at most 10 % over the sweeps that bracket the knee.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from bsmath import hyperbola_verdict, logs, measured, power_hyperbola, sweeps
from bsmath.hyperbola_fit import HyperbolaFit, fit_hyperbola
from bsmath.logs.curves import joined
from bsmath.sweeps import Sweep

FEWEST = 4
"""Batches from which a fit without the largest still has a degree of freedom."""


def held_out(fit: HyperbolaFit) -> float:
    """Relative error of the steps at the largest batch that the fit used, when it is fitted without that one."""
    used = np.isin(fit.batch, fit.used)
    batch, steps = fit.batch[used], np.exp(fit.log_steps[used])
    if batch.size < FEWEST:
        return np.nan
    return float(fit_hyperbola(batch[:-1], steps[:-1]).predict(batch[-1]) / steps[-1] - 1)


def rows(sweep: Sweep):
    """One row a series of a sweep."""
    for series in sweep.series if sweep.has_steps else ():
        found = measured.measurement(sweep, series, "steps")
        row = {"file": sweep.name, "series": series, "batches": len(found.points)}
        if found.fit is None:
            yield row | {"verdict": "no fit: " + found.verdict.split(":")[0]}
            continue
        fit = found.fit
        low, high = fit.interval()["critical_batch_size"]
        free = power_hyperbola.fit(fit.line)
        yield row | {
            "left": len(fit.left),
            "broken": len(fit.broken),
            "verdict": hyperbola_verdict.kind(fit),
            "B_crit": fit.critical_batch_size,
            "low": low,
            "high": high,
            "alpha": free.exponent if free else np.nan,
            "worst": abs(fit.worst[1]),
            "largest": abs(held_out(fit)),
        }


def read(path: Path) -> Sweep | None:
    """The sweep in a file; None, with the reason on screen, where there is none."""
    try:
        return sweeps.read(path.read_bytes(), path.name, {"seq_len": 1})
    except sweeps.SweepError as error:
        print(f"{path.name}: {error}")
        return None


def crossed(folder: Path, files: list[Path]) -> list[Sweep]:
    """The loss curves of a folder as sweeps at three targets: the default one, and two above it."""
    found = [one.record for path in files if (one := logs.read(path.read_bytes(), path.name)) and one.kind == "curves"]
    if not found:
        return []
    record = joined(found)
    low, high = record.targets().default, record.targets().high
    swept = [record.sweep(float(np.round(low + share * (high - low), 3))) for share in (0, 0.05, 0.1)]
    return [dataclasses.replace(one, name=f"{folder.name}: {one.name}") for one in swept]


def main() -> None:
    """Print the table and its summary."""
    given = [Path(argument) for argument in sys.argv[1:]] or [Path("data")]
    files = [path for each in given for path in (sorted(each.rglob("*.*")) if each.is_dir() else [each])]
    found = [read(path) for path in files if path.suffix in (".csv", ".json", ".md")]
    for folder in sorted({path.parent for path in files if path.suffix == ".jsonl"}):
        found += crossed(folder, [path for path in files if path.parent == folder and path.suffix == ".jsonl"])
    table = pd.DataFrame([row for sweep in found if sweep for row in rows(sweep)])
    with pd.option_context("display.max_rows", None, "display.width", 220, "display.max_colwidth", 40):
        print(table.to_string(index=False, float_format="{:.4g}".format, na_rep=""))
    once = table.drop_duplicates(["batches", "B_crit", "low", "high"])
    for name in (hyperbola_verdict.BRACKETED, hyperbola_verdict.U_SHAPED):
        errors = once.loc[once["verdict"] == name, "largest"].dropna()
        if len(errors):
            print(f"{name}: {len(errors)} sweeps, median error at the held-out largest batch {errors.median():.1%}")


if __name__ == "__main__":
    main()
