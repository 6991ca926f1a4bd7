"""How fast the steps of a run were, from its log: one row a run and batch, with the steps of the warm-up left out.

A log says it as tokens per second (of the job or of a device), as the time of a step, as samples per second, or only by its clock.
The median over the steady steps is taken and the range that holds nine tenths of them; both stay in the unit of the log until the
batch, the tokens of a sequence and the devices are settled.
"""

import numpy as np
import pandas as pd

from bsmath.sweeps import cells, columns, infer

DIRECT = {
    "tokens_per_second": "tokens/s",
    "step_time": "s/step",
    "tokens_per_second_per_device": "tokens/s/device",
    "samples_per_second": "samples/s",
    "samples_per_second_per_device": "samples/s/device",
    "steps_per_second": "steps/s",
}
"""Meanings of columns that hold a rate, the most direct first, and what the rate then counts."""
BATCHES = ("batch_tokens", "batch_sequences", "batch")
"""Meanings of columns that hold a batch."""
CLOCKS = frozenset(
    "wall_time_s wall_time_sec wall_time walltime elapsed elapsed_s elapsed_sec elapsed_time _runtime _timestamp".split()
)
"""Headers of a clock in seconds."""
LEAST_STEADY = 3
"""Logged steps from which the first is left out: it holds compilation and the filling of caches."""
SLOW = 1.1
"""Time of a step over the median of the later half from which an early step still belongs to the warm-up. A convention."""
MOST_WARM = 0.5
"""Largest share of the logged steps that can be warm-up."""
MOST_RANKED = 10_000
"""Steady steps up to which all are ranked; of more, every second, third ... one."""
ROUNDED = 1e-4
"""Relative error of printed rates and times."""
INNER = (0.05, 0.95)
"""Quantiles of the range that is shown."""
COLUMNS = ("run", "batch", "kind", "median", "low", "high", "count", "left_out", "step_time", "implied")
GRADIENTS = frozenset(
    "grad_norm gradient_norm global_grad_norm gnorm total_grad_norm optim_total_grad_norm norm".split()
)
"""Headers of a gradient norm."""
DROPPED = frozenset(
    "dropped_fraction drop_rate dropped_rate token_drop_rate dropped_tokens_fraction moe_dropped_fraction".split()
)
"""Headers of the share of routed tokens that experts dropped."""
BESIDE = ("num_devices", "num_params", "grad_norm", "dropped", "state", "hardware")
"""What `beside` tells of a run."""


def rates(frame: pd.DataFrame, runs: list, step: np.ndarray) -> pd.DataFrame:
    """One row a run and batch.

    Parameters
    ----------
    frame : DataFrame
        Text or number columns as they were logged.
    runs : list of slice or ndarray
        The places of the rows of each run, in the order of its steps.
    step : ndarray
        Steps done at each row, nan where not logged; empty where no column holds them. [steps]

    Returns
    -------
    DataFrame
        run; batch (as logged, nan where no column holds it); kind (a value of DIRECT); median, low, high over the steady steps, in
        the unit of kind; count of these; left_out, the steps of the warm-up; step_time (median) [s] and implied, the tokens of a
        step by rate times step time [tokens], nan where not known.
    """
    logged, sizes = _logged(frame, step, runs), _sizes(frame)
    rows = []
    for run, places in enumerate(runs):
        own = {kind: values[places] for kind, values in logged.items()}
        for batch, part in _phases(sizes, places):
            rows += [{"run": run, "batch": batch} | found for found in _summary(own, part)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _phases(sizes: np.ndarray | None, places) -> list[tuple[float, np.ndarray | slice]]:
    """The batches of a run, each with its rows among those of the run; nan where no column holds the batch."""
    if sizes is None:
        return [(np.nan, slice(None))]
    own = sizes[places]
    if len(own) and own[0] == own[-1] and (own == own[0]).all():
        return [(float(own[0]), slice(None))]
    own = pd.Series(own).ffill().bfill().to_numpy()
    codes, different = pd.factorize(own, use_na_sentinel=False)
    return [(float(size), np.flatnonzero(codes == code)) for code, size in enumerate(different)]


def kinds(frame: pd.DataFrame) -> list:
    """Headers of columns that hold a rate or the time of a step."""
    return [header for header in frame if columns.recognize(str(header), is_number=True).meaning in DIRECT]


def recognized(frame: pd.DataFrame) -> dict:
    """What each header says, by whether its cells are numbers."""
    return {
        header: columns.recognize(str(header), is_number=bool(pd.api.types.is_numeric_dtype(frame[header].dtype)))
        for header in frame
    }


def logs_rate(frame: pd.DataFrame) -> np.ndarray:
    """Whether each row has a cell from which a rate may follow."""
    wanted = kinds(frame) + [header for header in frame if _name(header) in CLOCKS]
    return frame[wanted].notna().any(axis=1).to_numpy(bool) if wanted else np.zeros(len(frame), bool)


def beside(frame: pd.DataFrame, runs: list) -> dict[str, list]:
    """What else the log says of each run, by the names of BESIDE: devices, parameters, the median gradient norm of its later half, the
    mean share of dropped tokens, how it ended, and its hardware; nan or empty where it does not say."""
    found = {header: said.meaning for header, said in recognized(frame).items()}
    chosen = {
        "num_devices": next((header for header in found if found[header] == "num_devices"), None),
        "num_params": next((header for header in found if found[header] == "num_params"), None),
        "grad_norm": next((header for header in found if _name(header) in GRADIENTS), None),
        "dropped": next((header for header in found if _name(header) in DROPPED), None),
    }
    told: dict[str, list] = {}
    for name, header in chosen.items():
        values = np.empty(0) if header is None else cells.numbers(frame[header], cells.COUNTS)
        told[name] = [_usual(values[places], name == "dropped") for places in runs] if header else [np.nan] * len(runs)
    state = next((header for header in frame if _name(header) in ("state", "status")), None)
    hardware = next((header for header in found if found[header] == "hardware"), None)
    for name, header in (("state", state), ("hardware", hardware)):
        told[name] = ["" if header is None else str(frame[header].iloc[places].iloc[-1])[:20] for places in runs]
    return told


def _usual(values: np.ndarray, mean: bool) -> float:
    """Mean or median of the later half of a run; nan where nothing was logged."""
    later = values[len(values) // 2 :]
    later = later[np.isfinite(later)]
    return float(np.mean(later) if mean else np.median(later)) if len(later) else np.nan


def steady(times: np.ndarray) -> int:
    """Index of the first step after the warm-up, from the times of the logged steps [any unit]."""
    if len(times) < LEAST_STEADY:
        return 0
    later = times[len(times) // 2 :]
    usual = np.median(cells.spread(later))
    slow = times[: max(int(MOST_WARM * len(times)), 1)] > SLOW * usual
    fast = int(np.argmin(slow))
    return max(len(slow) if slow[fast] else fast, 1)


def _summary(logged: dict[str, np.ndarray], part: np.ndarray | slice) -> list[dict]:
    """The most direct rate that was logged in these rows; nothing where there is none."""
    times = logged.get("s/step")
    for kind, values in logged.items():
        values = values[part]
        empty = np.isnan(values)
        own = values[~empty] if empty.any() else values
        if not len(own):
            continue
        first = steady(own if kind == "s/step" else 1 / own)
        kept = own[first :: max(len(own) // MOST_RANKED, 1)]
        low, middle, high = np.quantile(kept, [INNER[0], 0.5, INNER[1]])
        found = {"kind": kind, "median": float(middle), "low": float(low), "high": float(high)}
        timed = kind != "s/step" and times is not None
        spent = times[part][~np.isnan(times[part])][first:] if timed else own[:0]
        beside = {"step_time": float(np.median(spent)) if len(spent) else np.nan, "implied": np.nan}
        if kind == "tokens/s" and timed:
            product = times[part] * values
            constant = infer.constant(np.append(product * (1 - ROUNDED), product * (1 + ROUNDED)))
            beside["implied"] = np.nan if constant is None else constant
        return [found | {"count": len(own) - first, "left_out": first} | beside]
    return []


def _logged(frame: pd.DataFrame, step: np.ndarray, runs: list) -> dict[str, np.ndarray]:
    """What was logged of the rate in base units, by kind, the most direct first; nan where it is no positive number."""
    found = recognized(frame)
    logged = {}
    for meaning, kind in DIRECT.items():
        for header in [header for header, said in found.items() if said.meaning == meaning][:1]:
            values = cells.numbers(frame[header], columns.units(meaning), found[header].scale)
            logged[kind] = cells.positive(values)
    clock = next((header for header in frame if _name(header) in CLOCKS), None)
    if "s/step" not in logged and clock is not None and len(step):
        logged["s/step"] = _by_clock(cells.numbers(frame[clock], cells.TIMES), step, runs)
    return logged


def _by_clock(clock: np.ndarray, step: np.ndarray, runs: list) -> np.ndarray:
    """The time of a step between two rows of a run, by the clock; it holds what else was done meanwhile."""
    found = np.full(len(clock), np.nan)
    every = np.arange(len(clock))
    for places in runs:
        known = every[places]
        known = known[~(np.isnan(clock[known]) | np.isnan(step[known]))]
        spent, steps = np.diff(clock[known]), np.diff(step[known])
        usable = (spent > 0) & (steps > 0)
        found[known[1:][usable]] = spent[usable] / steps[usable]
    return found


def _sizes(frame: pd.DataFrame) -> np.ndarray | None:
    """The batch that each row logs; None where no column holds it."""
    said = recognized(frame)
    for wanted in BATCHES:
        for header in [header for header, found in said.items() if found.meaning == wanted][:1]:
            return cells.positive(cells.numbers(frame[header], cells.COUNTS, said[header].scale))
    return None


def _name(header) -> str:
    return str(header).split("/")[-1].strip().lower().replace(" ", "_")
