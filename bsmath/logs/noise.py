"""Reader of noise-scale logs: the harness's and the meter's own, and any table with the noise scale by step.

The parts are made from gradient norms, squared or not, at two batch sizes where the file has them, else taken as they are
logged: |G|^2 and tr(Sigma), or AdaptDL's grad_sqr and grad_var. A logged ratio alone is read too, but has neither
average nor interval. Layer groups stand in rows or in columns. The two batch sizes stand in columns, or in comment lines
above the header. All in tokens where the file says how many; else in its own unit.
"""

import numpy as np
import pandas as pd

from bsmath.logs import noise_doubts, noise_headers, noise_table, noise_wide
from bsmath.logs.noise_log import ALL, LATE, OWN, WINDOW, NoiseLog
from bsmath.sweeps import SweepError

__all__ = ["ALL", "LATE", "OWN", "WINDOW", "NoiseLog", "has_ratio_alone", "is_ramp", "read", "recognizes"]

TO_ADD = "columns tokens_small and tokens_big, or lines such as `# tokens_small: 4096` and `# tokens_big: 131072` above the header"


def recognizes(headers: list[str], comments: tuple[str, ...] = ()) -> bool:
    """Whether the columns hold a noise scale and the place in the run; `comments` may give the batch sizes.

    Two norms named as small and big are such a log too, also without the sizes of their batches: `read` then asks for them.
    """
    meanings = set(noise_headers.meanings([*noise_wide.per_example(headers), *noise_wide.constants(comments)]))
    known = noise_headers.source_of(meanings) is not None or noise_headers.lacks_batches(meanings)
    return bool(meanings & noise_headers.PLACE.keys()) and known


def has_ratio_alone(frame: pd.DataFrame) -> bool:
    """Whether nothing but a logged ratio makes the table a log: a sweep may have measured one beside its result."""
    headers = noise_wide.per_example(list(frame.columns))
    return noise_headers.source_of(set(noise_headers.meanings(headers))) == {"ratio"}


def is_ramp(frame: pd.DataFrame, batch: np.ndarray) -> bool:
    """Whether a batch of these rows only grows through the first run, as in a log; a sweep starts anew with each."""
    headers = noise_headers.meanings(list(frame.columns))
    if "run" in headers:
        first = (frame[headers["run"]] == frame[headers["run"]].iloc[0]).to_numpy()
        frame, batch = frame[first], batch[first]
    place = _place(headers, {name: noise_table.numbers(frame, headers.get(name)) for name in noise_headers.PLACE})
    found = pd.DataFrame({"place": noise_table.numbers(frame, headers[place]).to_numpy(), "batch": batch}).dropna()
    found = found.sort_values("place", kind="stable")
    again = found.groupby("place")["batch"].nunique().max() > 1
    return len(found) > 1 and not again and bool(found["batch"].is_monotonic_increasing)


def _place(headers: dict[str, str], found: dict[str, pd.Series]) -> str:
    """The column that tells the place in the run: the first of PLACE that changes through it."""
    known = [name for name in noise_headers.PLACE if name in headers]
    return next((name for name in known if found[name].nunique() > 1), known[0])


def read(frame: pd.DataFrame, name: str, comments: tuple[str, ...] = ()) -> NoiseLog:
    """The log in a table whose headers `recognizes` accepts; SweepError where no row of it can be used.

    `comments` are the lines above the header, which may give batch sizes for all rows.
    """
    frame, problems = noise_wide.with_constants(frame, comments)
    frame, more = noise_wide.long(frame)
    headers = noise_headers.meanings(list(frame.columns))
    source = _source(headers, list(frame.columns), name)
    frame, runs = noise_table.one_run(frame, headers)
    problems += [*more, *runs, *noise_headers.others(frame, headers, source)]
    found = {
        meaning: noise_table.numbers(frame, headers.get(meaning))
        for meaning in noise_headers.HEADERS
        if meaning not in ("group", "run")
    }
    place = _place(headers, found)
    table, unit = noise_table.made(frame, headers, found, source, place)
    rows, said = _usable(
        table, source, [headers[one] for one in noise_headers.HEADERS if one in source | {place}], name
    )
    if place == "step" and unit == "tokens" and rows["tokens_per_step"].notna().all():
        place, rows = "tokens", noise_table.in_tokens(rows)
    rows = noise_table.with_all(rows)
    problems += [*said, *noise_doubts.sentences(rows, source, unit)]
    return NoiseLog(name=name, table=rows, unit=unit, place=noise_headers.PLACE[place], problems=tuple(problems))


def _source(headers: dict[str, str], columns: list[str], name: str) -> set[str]:
    """The meanings that the noise scale is made from, or why there are none."""
    source, listed = noise_headers.source_of(set(headers)), ", ".join(map(str, columns))
    if source is None and noise_headers.lacks_batches(set(headers)):
        raise SweepError(f"{name} must say of which batches its two gradient norms are ({TO_ADD}), got {listed}")
    if source is None or not noise_headers.PLACE.keys() & set(headers):
        raise SweepError(f"{name} must have columns of a noise scale and a step, got {listed}")
    return source


def _usable(table: pd.DataFrame, source: set[str], used: list[str], name: str) -> tuple[pd.DataFrame, list[str]]:
    """The rows with numbers, in the order of training, and what is to be said about the others."""
    measured = ["tokens", "noise_scale"] if source == {"ratio"} else ["tokens", "grad_sq_norm", "trace"]
    good = table.dropna(subset=measured)
    listed = ", ".join(used)
    if good.empty:
        rows = f"none of {len(table):,} with usable numbers in {listed}"
        why = "; a noise scale of zero or below is not identified" if source == {"ratio"} else ""
        raise SweepError(f"{name} must have usable rows below its header line, got {rows}{why}")
    said = []
    if len(good) < len(table):
        why = ", and a noise scale of zero or below is not identified" if source == {"ratio"} else ""
        said.append(f"{_rows(len(table) - len(good))} left out, without usable numbers in {listed}{why}.")
    ordered = noise_table.ordered(good)
    if len(ordered) < len(good):
        gone = _rows(len(good) - len(ordered))
        said.append(f"{gone} left out, with a place in the run that a later row has again.")
    return ordered, said


def _rows(count: int) -> str:
    return "1 row was" if count == 1 else f"{count:,} rows were"
