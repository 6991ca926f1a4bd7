"""Tables as they are shown: numbers written out, columns named with units."""

import pandas as pd

from bsmath import comparison, critical, lr
from bsmath.companions import Companion
from bsmath.comparison import Value
from bsmath.measured import Measurement
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from bsmath.sweeps import UNITS, Column, Sweep
from pages.ui import mapping, measure, text


def marked_batches(scenario: Scenario, run: Outlook) -> pd.DataFrame:
    """B_crit, B_fast and the fastest feasible batch on the hyperbola: label, tokens_per_step, steps, tokens."""
    named = {
        "B_crit": scenario.critical_batch_size,
        "B_fast": run.fastest_batch,
        "fastest feasible": run.fastest_feasible_batch,
    }
    named = {label: size for label, size in named.items() if size > 0}
    curve = critical.tradeoff(scenario.critical_batch_size, scenario.min_steps, list(named.values()))
    return curve.assign(label=list(named))


def worked_example(scenario: Scenario, run: Outlook) -> pd.DataFrame:
    """Steps, tokens and the price of each doubling, from a sixteenth to sixteen times B_crit, with this run among them."""
    knee = scenario.critical_batch_size
    sizes = sorted({*(knee * 4.0**power for power in range(-2, 3)), run.tokens_per_step})
    curve = critical.tradeoff(knee, scenario.min_steps, sizes)
    doubled = critical.doubling_step_ratio(curve["tokens_per_step"], knee)
    dearer = critical.doubling_token_ratio(curve["tokens_per_step"], knee)
    return pd.DataFrame(
        {
            "B [tokens]": [
                f"{text.count(size)} (this run)" if size == run.tokens_per_step else text.count(size) for size in sizes
            ],
            "Steps": curve["steps"].map(text.whole),
            "Tokens": curve["tokens"].map(text.count),
            "S / S_min": curve["step_overhead"].map(text.times),
            "E / E_min": curve["token_overhead"].map(text.times),
            "Next doubling: steps": doubled.map(text.signed),
            "Next doubling: tokens": dearer.map(text.signed),
        }
    )


def rules(table: pd.DataFrame) -> pd.DataFrame:
    """The learning-rate rules at this batch; what each rests on is in `rule_notes`."""
    return pd.DataFrame(
        {
            "Rule": [lr.RULES[name].label for name in table["rule"]],
            "Rate": table["rate"].map(text.scientific),
            "Against reference": table["ratio"].map(text.times),
            "Local exponent": table["slope"].map("{:.2f}".format),
        }
    )


def rule_notes() -> str:
    """Status, region of validity and source of every rule."""
    return "\n".join(
        f"- **{rule.label}**: {rule.status}. Where: {rule.validity}. {rule.source}." for rule in lr.RULES.values()
    )


def companions(settings: list[Companion]) -> pd.DataFrame:
    """What moves with the batch besides the rate."""
    return pd.DataFrame(
        {
            "Setting": [one.name for one in settings],
            "At the reference batch": [_setting(one.before) for one in settings],
            "At this batch": [_setting(one.after) for one in settings],
            "Why": [one.reason for one in settings],
        }
    )


def _setting(value: float | None) -> str:
    return "not possible" if value is None else f"{value:.5g}"


def problems(loaded: Sweep) -> pd.DataFrame:
    """What could not be used of a file, and what was done about it."""
    rows = [
        {
            "Row": "whole file" if one.row is None else str(one.row),
            "Column": one.column or "",
            "What": one.what,
            "What was done": one.action,
        }
        for one in loaded.problems
    ]
    return pd.DataFrame(rows)


def columns(found: tuple[Column, ...]) -> pd.DataFrame:
    """Each column of a file with what it was taken for: header, meaning, unit, first (values), note."""
    rows = [
        {
            "header": column.header,
            "meaning": column.meaning or mapping.IGNORED,
            "unit": column.unit,
            "first": ", ".join(map(str, column.first_values)),
            "note": column.note,
        }
        for column in found
    ]
    return pd.DataFrame(rows)


def units(found: tuple[Column, ...]) -> list[str]:
    """The units that a column may be given, and those that the columns have."""
    return list(dict.fromkeys([*UNITS, *(column.unit for column in found)]))


RUN_COLUMNS = {
    "label": "Run",
    "batch": "Batch, as logged or named",
    "seq_len": "Tokens per sequence",
    "num_devices": "Devices",
    "learning_rate": "Peak learning rate",
    "seed": "Seed",
    "model": "Group",
    "steady": "Steps in the median",
    "left_out": "Warm-up left out",
    "last_step": "Last step",
    "last_loss": "Last loss",
    "grad_norm": "Gradient norm",
    "dropped": "Dropped tokens",
    "ended": "Ended",
}
"""Columns of the table of runs, and their titles."""


def runs(overview: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Runs as they are shown: rates and batches with the digits that matter, no column that says nothing."""
    told = overview.dropna(axis=1, how="all").loc[:, lambda frame: ~frame.eq("").all()]
    always = [
        "label",
        *(
            name
            for name in overview
            if name in told or name in ("batch", "seq_len", "num_devices", "learning_rate", "model")
        ),
    ]
    order = ["label", "batch", "seq_len", "num_devices", "tokens_per_step", "tokens_per_second"]
    shown = overview[[*order, *(name for name in dict.fromkeys(always) if name not in order)]]
    shown = shown[
        [
            name
            for name in shown
            if name in told or name in ("batch", "seq_len", "num_devices", "learning_rate", "model")
        ]
    ]
    for name in ("tokens_per_second", "last_loss", "grad_norm", "dropped"):
        if name in shown:
            shown = shown.assign(**{name: shown[name].map(lambda value: float(f"{value:.4g}"))})
    return shown


def points(found: list[Measurement]) -> pd.DataFrame:
    """The measured points of the shown series."""
    return pd.concat([one.points.assign(series=one.label) for one in found], ignore_index=True)


def steps(one: Measurement) -> pd.DataFrame:
    """Steps to the target at each batch, with the range of the runs."""
    points = one.points
    return pd.DataFrame(
        {
            f"B [{one.batch_unit}]": points["tokens_per_step"].map(text.count),
            "Steps, median": points["median"].map(text.whole),
            "Lowest": points["low"].map(text.whole),
            "Highest": points["high"].map(text.whole),
            "Runs": points["count"].astype(int),
        }
    )


def every_series(found: list[Measurement]) -> pd.DataFrame:
    """One row for each series and quantity: batches, fitted numbers with intervals, verdict."""
    rows = [
        {"Series": one.label, "Batches": len(one.points)} | measure.numbers(one) | {"Verdict": one.verdict}
        for one in found
    ]
    return pd.DataFrame(rows).fillna("")


def critical_values(values: list[Value]) -> pd.DataFrame:
    """The critical batch by several measurements."""
    return pd.DataFrame(
        {
            "Measured by": [value.method for value in values],
            "At": [text.plain(value.at) for value in values],
            "Batch [tokens]": [text.count(value.batch) for value in values],
            "Interval [tokens]": [text.between(value.low, value.high) for value in values],
            "Against the first": [text.times(comparison.ratio(value, values[0])) for value in values],
        }
    )


def residuals(found: Measurement) -> pd.DataFrame:
    """Every measured batch beside its fit: what was measured, what the fit says, how far apart."""
    table = found.residuals()
    return pd.DataFrame(
        {
            "B [tokens]": table["tokens_per_step"].map(text.count),
            "Measured": table["median"].map(text.whole),
            "Lowest to highest": [
                text.between(low, high, text.whole) for low, high in zip(table["low"], table["high"], strict=True)
            ],
            "Fit": table["fit"].map(text.whole),
            "Measured over fit": (table["median"] / table["fit"]).map(text.signed),
        }
    )


def tuning(best: pd.DataFrame) -> pd.DataFrame:
    """The best learning rate of each batch, how sure that is, and what did not arrive."""
    edges = {"lowest": ", lowest tried", "highest": ", highest tried", "only": ", only one tried", "": ""}
    return pd.DataFrame(
        {
            "B [tokens]": best["tokens_per_step"].map(text.count),
            "Best rate": best["learning_rate"].map(_rate) + best["at_edge"].map(edges),
            "Steps, median": best["steps"].map(text.whole),
            "Runs there": best["count"],
            "Next best": [
                f"{_rate(rate)}, {text.signed(ratio)}" if ratio > 0 else "none"
                for rate, ratio in zip(best["runner_up"], best["runner_up_ratio"], strict=True)
            ],
            "Still best when seeds are redrawn": best["confidence"].map(
                lambda share: "unknown" if share != share else text.percent(share)
            ),
            "Runs that never arrived": best["censored"],
        }
    )


def _rate(rate: float) -> str:
    return text.scientific(rate) if rate > 0 else "none arrived"
